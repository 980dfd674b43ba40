// SPDX-License-Identifier: GPL-2.0-or-later
#include "fs/ctl/ctl.h"
#include "layouts.h"

#include <errno.h>
#include <string.h>

#include "fs/files.h"
#include "fs/journal.h"
#include "fs/objects.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/region.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"
#include "fs/session/session.h"
#include "fs/stash.h"
#include "takeover.h"
#include "fs/tree.h"

/* By region, then those without a region. */
static const struct {
	const struct region_head *head;
	bool remade; /* by a scan, or from the state file: a program with another layout does that */
} layouts[] = {
	[STASH_SESSION] = { &session_layout },
	[STASH_MODEL] = { &model_layout, .remade = true },
	[STASH_OBJECTS] = { &objects_layout },
	[STASH_CTL] = { &ctl_layout },
	[STASH_EVENTS] = { &events_layout },
	[STASH_LOG] = { &record_layout },
	[STASH_FILES] = { &files_layout },
	[STASH_JOURNAL] = { &journal_layout },
	[STASH_INTENTS] = { &copy_layout, .remade = true },
	[STASH_COUNT] = { &stash_layout },
	{ &log_layout },
	{ &engine_layout },
	{ &estate_layout },
};

static size_t print_one(size_t i, char *text, size_t size)
{
	const struct region_head *head = layouts[i].head;

	return (size_t)snprintf(text, size, "%.8s=%u/%u", head->magic, head->abi, head->size);
}

void layouts_print(char text[static LAYOUTS_TEXT])
{
	size_t n = 0;

	*text = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(layouts) && n + 1 < LAYOUTS_TEXT; i++) {
		if (i)
			text[n++] = ' ';
		n += print_one(i, text + n, LAYOUTS_TEXT - n);
	}
}

int layouts_check(const char *theirs, struct err *err)
{
	char ours[64];

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		size_t len = print_one(i, ours, sizeof(ours)), is = strcspn(theirs, " ");
		size_t same = layouts[i].remade ? strcspn(ours, "=") + 1 : len;

		if (strncmp(ours, theirs, same) || (!layouts[i].remade && is != len))
			return fail(err, EPROTO,
				    "it keeps %s where the mount has %.*s; end the daemon and "
				    "start this one",
				    ours, (int)is, theirs);
		theirs += is;
		theirs += strspn(theirs, " ");
	}
	if (*theirs)
		return fail(err, EPROTO,
			    "it does not keep %.*s, which the mount has; end the daemon and start "
			    "this one",
			    (int)strcspn(theirs, " "), theirs);
	return 0;
}

int layouts_renew(int stash, struct err *err)
{
	struct region_head head;
	int r = 0;

	for (size_t i = 0; i < STASH_COUNT && !r; i++)
		if (layouts[i].remade && !stash_peek(stash, i, 0, &head, sizeof(head)) &&
		    !region_is(&head, layouts[i].head))
			r = stash_clear(stash, i);
	return r ? fail(err, -r, "the memory of the former program cannot be cleared: %s",
			strerror(-r))
		 : 0;
}
