/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that were read and wait for their user's turn. The kernel hands them out as they came:
 * of a user whose hundreds of threads ask at once, all would go ahead of another one's. Here the
 * users take turns, and each user's requests stay in their order.
 */
#ifndef PCIDEVFS_FS_CROWD_H
#define PCIDEVFS_FS_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CROWD_MAX = 512,	 /* requests that wait */
	CROWD_SIZE = 512,	 /* bytes of one: but for long writes, all are shorter */
	CROWD_USERS_BITS = 6,
};

struct crowd {
	struct waiting {
		uint16_t len;
		uint8_t user;
		_Alignas(8) unsigned char text[CROWD_SIZE];
	} slots[CROWD_MAX];
	uint16_t order[CROWD_MAX]; /* slots: the first n wait, as they came; the others are free */
	size_t n;
	/* by user: the turn in which he was served last; some share one */
	uint64_t served[1 << CROWD_USERS_BITS];
	uint64_t turn;
};

void crowd_init(struct crowd *c);
/* False: there is no room for it. */
bool crowd_put(struct crowd *c, uint32_t uid, const void *request, size_t len);
/* Copies the next one, of CROWD_SIZE bytes at most, to buf; its length, or 0: nobody waits. */
size_t crowd_take(struct crowd *c, void *buf);

#endif
