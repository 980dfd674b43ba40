// SPDX-License-Identifier: GPL-2.0-or-later
/* Intel's VMD: a function whose driver makes a PCI domain of its own, with the functions behind it;
 * they go with the driver. */
#include "device.h"
#include "func.h"
#include "sim.h"

#include <string.h>

static bool is_behind(const struct func *f, const struct dev *vmd)
{
	size_t n = strlen(vmd->rec->path);

	return &f->dev != vmd && !strncmp(f->dev.rec->path, vmd->rec->path, n) &&
	       f->dev.rec->path[n] == '/';
}

int vmd_probe(struct sim *s, struct dev *d)
{
	int r = pci_host_probe(s, d);

	for_each_func(s, f)
		if (!r && is_behind(f, d) && !f->dev.dir && !f->dev.unplugged && !func_appear(s, f))
			bus_offer(s, &f->dev);
	return r;
}

/* The directory of the domain, without which no rescan finds what was there. */
static void remove_domain(struct sim *s, struct dev *d)
{
	for (struct node *n = d->dir->dir.first, *next; n; n = next) {
		next = n->next;
		if (S_ISDIR(n->mode) && !strncmp(n->name, "pci1", 4))
			tree_remove(s->tree, n);
	}
}

int vmd_remove(struct sim *s, struct dev *d)
{
	int r;

	func_vanish_below(s, func_of(d));
	r = pci_host_remove(s, d);
	remove_domain(s, d);
	return r;
}
