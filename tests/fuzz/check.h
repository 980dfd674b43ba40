/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PCIDEVFS_FUZZ_CHECK_H
#define PCIDEVFS_FUZZ_CHECK_H

#include <stdlib.h>

/* What a fuzzer finds is an abort. */
static inline void check(int holds)
{
	if (!holds)
		abort();
}

#endif
