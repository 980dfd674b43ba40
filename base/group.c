// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gid_t group_find(void)
{
	static const char name[] = GROUP_NAME ":";
	FILE *groups = fopen(GROUP_DIR "/" GROUP_FILE, "re");
	char line[1024];
	gid_t gid = 0;

	/* The C library's own reader asks for the file's position at each line. */
	while (groups && fgets(line, sizeof(line), groups)) {
		bool ours = !strncmp(line, name, sizeof(name) - 1);
		const char *number = ours ? strchr(line + sizeof(name) - 1, ':') : NULL;

		if (number)
			gid = (gid_t)strtoul(number + 1, NULL, 10);
	}
	if (groups)
		fclose(groups);
	return gid;
}
