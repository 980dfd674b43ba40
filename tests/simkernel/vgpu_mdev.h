/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mediated devices of the vendor's driver: their bus, and who makes them. */
#ifndef SIM_VGPU_MDEV_H
#define SIM_VGPU_MDEV_H

struct card;
struct dev;
struct mdev_parent;
struct sim;

int mdev_build(struct sim *s);
/* Lets the device make up to limit mediated devices of the card. NULL: no memory. */
struct mdev_parent *mdev_parent_add(struct sim *s, struct dev *d, struct card *c,
				    unsigned int limit);
/* Removes them all, waiting for those who have one open. The parent's memory stays. */
void mdev_parent_del(struct sim *s, struct mdev_parent *p);

#endif
