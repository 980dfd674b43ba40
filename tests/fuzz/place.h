/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A directory of a fuzzer's own, gone with it. */
#ifndef PCIDEVFS_FUZZ_PLACE_H
#define PCIDEVFS_FUZZ_PLACE_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static char root[] = "/tmp/pcidevfs-fuzz.XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void clean(void)
{
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

#endif
