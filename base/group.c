// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/group.h"

#include <fcntl.h>
#include <string.h>

#include "pcidevfs/util.h"

gid_t group_find(void)
{
	static const char name[] = GROUP_NAME ":";
	_free_ char *text = file_text(AT_FDCWD, GROUP_DIR "/" GROUP_FILE);
	char *next = text, *line;
	gid_t gid = 0;

	/* The C library's own reader asks for the file's position at each line. */
	while ((line = strsep(&next, "\n"))) {
		bool ours = !strncmp(line, name, sizeof(name) - 1);
		const char *number = ours ? strchr(line + sizeof(name) - 1, ':') : NULL;

		if (number)
			gid = (gid_t)strtoul(number + 1, NULL, 10);
	}
	return gid;
}
