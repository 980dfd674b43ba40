// SPDX-License-Identifier: GPL-2.0-or-later
/* The PCI part of a bus: names, uevents, and the search for new functions. */
#include "device.h"
#include "func.h"
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool parent_is_there(struct sim *s, const struct func *f)
{
	char up[TREE_PATH_MAX];
	uint32_t domain, rid;

	snprintf(up, sizeof(up), "%.*s", (int)(base_name(f->dev.rec->path) - f->dev.rec->path - 1),
		 f->dev.rec->path);
	if (!func_parse(base_name(up), &domain, &rid))
		return true;
	return tree_walk(s->tree, s->tree->root, up) != NULL;
}

void pci_rescan(struct sim *s)
{
	/* Parents come before children in the list. */
	for_each_func(s, f)
		if (!f->dev.dir && !f->dev.unplugged && !f->pf && parent_is_there(s, f))
			func_appear(s, f);
	for_each_func(s, f)
		if (f->dev.dir && !f->dev.added)
			bus_offer(s, &f->dev);
}

int rescan_lock(struct sim *s)
{
	unsigned int mine = s->rescans.next++;

	while (mine != s->rescans.now)
		if (sim_wait(s))
			return -EINTR;
	return 0;
}

void rescan_unlock(struct sim *s)
{
	s->rescans.now++;
	pthread_cond_broadcast(&s->changed);
}

static int rescan_store(struct sim *s, void *obj, const char *text, size_t len)
{
	char *end;
	unsigned long yes = strtoul(text, &end, 0);
	int r;

	(void)obj, (void)len;
	if (end == text || (*end && *end != '\n'))
		return -EINVAL;
	if (!yes)
		return 0;
	r = rescan_lock(s);
	if (r)
		return r;
	pci_rescan(s);
	rescan_unlock(s);
	return 0;
}

static const struct reaction rows[] = {
	{ .name = "rescan", .mode = 0200, .flags = ROW_SHARED, .store = rescan_store },
	{ .name = NULL },
};

static bool is_name(const char *text)
{
	uint32_t domain, rid;

	return func_parse(text, &domain, &rid);
}

static struct dev *find(struct sim *s, const char *name)
{
	struct func *f = func_find(s, name);

	return f ? &f->dev : NULL;
}

static size_t env(struct dev *d, char *buf, size_t size)
{
	const struct func *f = func_of(d);

	return (size_t)snprintf(buf, size,
				"PCI_CLASS=%04X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:%04X\n"
				"PCI_SLOT_NAME=%s\n",
				f->class_code, f->vendor, f->device, f->sub_vendor, f->sub_device,
				d->name);
}

/* Without its PF's autoprobe a VF is closed to drivers. */
static bool is_shut(struct dev *d)
{
	const struct func *pf = func_of(d)->pf;

	return pf && !pf->autoprobe;
}

const struct bus_rules pci_rules = {
	.name = "pci",
	.rows = rows,
	.driver_rows = pci_driver_rows,
	.drivers = pci_drivers,
	.is_name = is_name,
	.find = find,
	.env = env,
	.has_id = pci_has_id,
	.is_shut = is_shut,
};
