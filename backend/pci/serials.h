/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serial numbers tell a card from another of its kind. They lie in config space, whose reading
 * wakes a sleeping device and may hang with a sick one: each is read once, by a helper. */
#ifndef PCIDEVFS_BACKEND_SERIALS_H
#define PCIDEVFS_BACKEND_SERIALS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/step.h"

struct backend;
struct out;
struct sysfs;
struct touched;

/* Helpers that hang at a device which was asked, by its birth; 0: none. */
struct serials {
	pthread_mutex_t lock;
	struct {
		uint64_t birth;
		struct helper_id who;
	} hung[16];
};

/* The PCIe Device Serial Number in this config space, 0 when it has none. Only the chain of
 * extended capabilities is read. False: it reads all ones, and nothing is known. */
bool serial_read(int config, uint64_t *ret);

/* In a helper: ids (key.h) has blanks between them, and is cut up. Appends "<id> <hex>" lines for
 * PCI functions that have a serial, "<id> -" for those that do not answer; of devices of other
 * buses it says nothing. 0, -EINVAL, or -errno when something of ours has run out: then nothing is
 * known. */
int serials_scan(const struct sysfs *s, char *ids, struct out *ret);

/* Looks for those not looked for yet, into the model. -EAGAIN: some did not answer, and are to be asked again; another
 * -errno: something of ours has run out, likewise. */
int serials_run(struct backend *b);
/* Only for these: what is asked of a card that has just come must know who it is. */
void serials_of(struct backend *b, const struct touched *of, size_t n_of);

#endif
