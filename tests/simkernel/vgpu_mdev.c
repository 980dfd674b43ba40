// SPDX-License-Identifier: GPL-2.0-or-later
#include "vgpu_mdev.h"
#include "sim.h"
int mdev_build(struct sim *s)
{
	(void)s;
	return 0;
}
struct mdev_parent *mdev_parent_add(struct sim *s, struct dev *d, struct card *c,
				    unsigned int limit)
{
	(void)s;
	(void)d;
	(void)c;
	(void)limit;
	return NULL;
}
void mdev_parent_del(struct sim *s, struct mdev_parent *p)
{
	(void)s;
	(void)p;
}
