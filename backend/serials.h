/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serial numbers tell a card from another of its kind. They lie in config space, whose reading wakes a
 * sleeping device and may hang with a sick one: each is read once, by a helper. */
#ifndef PCIDEVFS_BACKEND_SERIALS_H
#define PCIDEVFS_BACKEND_SERIALS_H

#include <stddef.h>
#include <stdint.h>

struct backend;
struct out;
struct sysfs;
struct touched;

/* The PCIe Device Serial Number in this config space, 0 when it has none. Only the chain of extended
 * capabilities is read. */
uint64_t serial_read(int config);

/* In a helper: addresses has them separated by blanks, and is cut up. Appends "<address> <hex>" lines for
 * those that have one. 0, -EINVAL, or -errno when something of ours has run out: then nothing is known. */
int serials_scan(const struct sysfs *s, char *addresses, struct out *ret);

/* Looks for those not looked for yet, into the model. A device that does not answer has none. -errno: something
 * of ours has run out, and some are still to be looked for. */
int serials_run(struct backend *b);
/* Only for these: what is asked of a card that has just come must know who it is. */
void serials_of(struct backend *b, const struct touched *of, size_t n_of);

#endif
