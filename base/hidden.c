// SPDX-License-Identifier: GPL-2.0-or-later
/* Sentences for those who may not know which process holds a device. */
#include <string.h>

#include "pcidevfs/util.h"

#define HELD_BY "held by "
#define PID " (pid "
#define NAME_MOST 15 /* of a process, as the kernel has it */

/* The end of "NAME (pid N)"; NULL: it is something else. The name may hold such text itself, so the
 * last one counts. */
static const char *holder_end(const char *name)
{
	const char *found = NULL, *at = name, *end;

	while ((at = strstr(at, PID)) && at <= name + NAME_MOST) {
		at += strlen(PID);
		end = at + strspn(at, "0123456789");
		if (end > at && *end == ')')
			found = end + 1;
	}
	return found;
}

void out_for_all(struct out *o, const char *text)
{
	const char *at = text, *end;

	while ((at = strstr(at, HELD_BY))) {
		at += strlen(HELD_BY);
		end = holder_end(at);
		if (!end)
			continue;
		out_put(o, text, (size_t)(at - text));
		out_printf(o, "a process, see holders");
		text = at = end;
	}
	out_put(o, text, strlen(text));
}
