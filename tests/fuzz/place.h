/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory of a fuzzer's own, gone with it. */
#ifndef PCIDEVFS_FUZZ_PLACE_H
#define PCIDEVFS_FUZZ_PLACE_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/pcidevfs-fuzz.XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* Below the root, with the directories to it. */
static inline const char *place(const char *path)
{
	static char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + sizeof(root); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	return full;
}

static void clean(void)
{
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
