/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serial numbers distinguish cards of one kind. They are in config space. Reading that wakes a
 * sleeping device and may hang with a sick one, so a helper reads each once. */
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

/* Helpers that hang at a device, with its birth; 0: none. */
struct serials {
	pthread_mutex_t lock;
	struct {
		uint64_t birth;
		struct helper_id who;
	} hung[16];
};

/* Reads the PCIe Device Serial Number from this config space; 0 if it has none. Reads only the
 * chain of extended capabilities. False: it reads all ones, and nothing is known. */
bool serial_read(int config, uint64_t *ret);

/* In a helper: ids (key.h) are separated by blanks and overwritten. Appends "<id> <hex>" for PCI
 * functions that have a serial, "<id> -" for those that do not answer, and nothing for other buses.
 * Returns 0; -EINVAL; or -errno if a resource of ours ran out: then nothing is known. */
int serials_scan(const struct sysfs *s, char *ids, struct out *ret);

/* Reads all missing serials into the model. -EAGAIN: some did not answer and must be asked again;
 * another -errno: a resource of ours ran out, likewise. */
int serials_run(struct backend *b);
/* Likewise only for these: an operation on a new card must know its identity. */
void serials_of(struct backend *b, const struct touched *of, size_t n_of);

#endif
