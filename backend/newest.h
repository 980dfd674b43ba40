/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BACKEND_NEWEST_H
#define BACKEND_NEWEST_H

#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/key.h"

/* Of each device the number of the last that has told of it, since an older one may tell later. */
struct newest {
	struct newest_row {
		struct key key;
		uint64_t number;
	} *v; /* sorted */
	size_t n, cap;
};
/* 1: nothing newer has told of the device, and now this has; 0: something has; -ENOMEM. */
int newest_take(struct newest *t, const struct key *key, uint64_t number);
/* 0: nothing has. */
uint64_t newest_of(const struct newest *t, const struct key *key);

#endif
