// SPDX-License-Identifier: GPL-2.0-or-later
/* Why a driver has refused to make a vGPU. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/internal.h"
#include "backend/mdev/mdev.h"
#include "budget.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"
#include "vgpu.h"
#include "world.h"

/* Of the card of this device, and the devices that may be its vGPUs. NULL: no memory. */
static struct budget *budget_of(struct model *m, const struct key *key, struct key **ret_vfs,
				size_t *ret_n)
{
	const struct device *dev, *card, *vfs[INTENT_VFS];
	struct budget *b = NULL;

	*ret_n = 0;
	model_lock(m);
	dev = model_find(m, key);
	card = dev && device_is_vf(dev) ? model_parent(m, dev) : dev;
	if (card)
		*ret_n = model_children(m, &card->key, BUS_PCI, vfs, INTENT_VFS);
	*ret_n = *ret_n < INTENT_VFS ? *ret_n : INTENT_VFS;
	*ret_vfs = calloc(*ret_n + 1, sizeof(**ret_vfs));
	for (size_t i = 0; i < *ret_n && *ret_vfs; i++)
		(*ret_vfs)[i] = vfs[i]->key;
	if (card && *ret_vfs)
		b = budget_new(m, card, NULL);
	model_unlock(m);
	return b;
}

/* Those that the card makes of itself. */
static void set_own(const struct backend *b, const struct key *card, struct budget *budget)
{
	_closedir_ DIR *dir = sysfs_dir(&b->sys, ROOT_SYS, PCI_DEVICES "/%s", card->name);
	const struct dirent *e;
	struct key mdev;
	char type[64];

	for (size_t i = budget->n; i-- > 0;)
		budget_set(budget, budget->v[i].name, "");
	while (dir && (e = readdir(dir)))
		if (key_make(BUS_MDEV, e->d_name, &mdev) &&
		    !sysfs_link(&b->sys, ROOT_SYS, type, sizeof(type), MDEV_DEVICES "/%s/mdev_type",
				mdev.name))
			budget_set(budget, mdev.name, type);
}

static struct budget *budget_now(const struct backend *b, const struct key *dev)
{
	_free_ struct key *vfs = NULL;
	size_t n;
	struct budget *budget = budget_of(b->model, dev, &vfs, &n);
	char id[TYPE_ID];

	if (budget && !n)
		set_own(b, dev, budget);
	for (size_t i = 0; i < n && budget; i++) {
		vgpu_id(&b->sys, &vfs[i], id);
		budget_set(budget, vfs[i].name, id);
	}
	return budget;
}

/* Its driver lists what can be made of a device that is no vGPU, and that it is by now. */
int vgpu_refuse_now(const struct backend *b, const struct key *dev, const char *type,
		    struct err *err)
{
	_free_ struct vgpu_types *now = vgpu_list(b, dev, false);
	_free_ struct budget *budget = budget_now(b, dev);
	const struct vgpu_type *t = budget ? types_find(&budget->types, type, NULL) : NULL;
	char why[TYPE_WHY] = "";

	if (!budget || !now)
		return fail_nomem(err);
	if (t)
		budget_why(budget, t, why);
	return vgpu_refuse_full(dev->name, !budget->own, t ? t->name : type, why, now, err);
}
