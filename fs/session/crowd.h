/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that were read and wait for the turn of their class. The kernel delivers them in order
 * of arrival, so those of a user with hundreds of threads would all go before those of root, the
 * plugin and sync. Here these take turns with all others; each class's requests stay in order. */
#ifndef PCIDEVFS_FS_CROWD_H
#define PCIDEVFS_FS_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CROWD_MAX = 512,	 /* limit of waiting requests */
	CROWD_SIZE = 512,	 /* bytes of a request: only long writes are longer */
};

struct crowd {
	struct waiting {
		uint16_t len;
		bool reserve;
		_Alignas(8) unsigned char text[CROWD_SIZE];
	} slots[CROWD_MAX];
	/* slots: the first n wait, in order of arrival; the rest is free */
	uint16_t order[CROWD_MAX];
	size_t n;
	bool last; /* class of the last one that was served */
};

void crowd_init(struct crowd *c);
/* Returns false if there is no room for it. */
bool crowd_put(struct crowd *c, bool reserve, const void *request, size_t len);
/* Copies the next one, of at most CROWD_SIZE bytes, to buf. Returns its length; 0: nobody waits. */
size_t crowd_take(struct crowd *c, void *buf);

#endif
