// SPDX-License-Identifier: GPL-2.0-or-later
#include "device.h"
#include "facts.h"
#include "func.h"
#include "iommu.h"
#include "sim.h"
#include "usb.h"
#include "vgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Directories of every sysfs, recorded or not. */
static const char *const top[] = {
	"block",    "bus/pci/slots",   "class/net", "class/block", "dev/block",
	"dev/char", "devices/virtual", "firmware",  "fs",	   "hypervisor",
	"kernel",   "module",	       "power",
};

struct sim *sim_new(struct machine *m)
{
	struct sim *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->machine = m;
	s->quiet = true;
	s->next_set = 1 << 20; /* above any recorded group */
	s->base = -1;
	s->group_sets = calloc(GROUP_SETS, sizeof(struct group *));
	s->func_hash = calloc(1 << 16, sizeof(struct func *));
	s->tree = tree_new();
	if (!s->tree || !s->func_hash || !s->group_sets) {
		sim_free(s);
		return NULL;
	}
	return s;
}

/* Called at the end of the process, which frees the rest. */
void sim_free(struct sim *s)
{
	tree_free(s->tree);
	free(s->func_hash);
	free(s->group_sets);
	machine_free(s->machine);
	free(s);
}

static bool has_iommu(const struct machine *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (record_field(&m->records[i], 'L', "iommu_group"))
			return true;
	return false;
}

/* vfio.c makes its own, with its own numbers. */
static bool is_vfio_dev(const struct record *r)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");

	return subsystem && !strcmp(subsystem, "vfio-dev");
}

/* Events are sent by the real kernel, which also numbers them. */
static ssize_t uevent_seqnum_show(struct sim *s, void *obj, char *page)
{
	FILE *f = fopen("/sys/kernel/uevent_seqnum", "re");
	unsigned long long n = 0;

	(void)s, (void)obj;
	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return snprintf(page, PAGE_TEXT, "%llu\n", n);
}

static const struct reaction kernel_rows[] = {
	{ .name = "uevent_seqnum", .mode = 0444, .show = uevent_seqnum_show },
	{ .name = NULL },
};

int sim_build(struct sim *s)
{
	for (size_t i = 0; i < sizeof(top) / sizeof(top[0]); i++)
		if (!tree_mkdirs(s->tree, s->tree->root, top[i]))
			return -ENOMEM;
	s->iommu = has_iommu(s->machine);
	if (s->iommu)
		tree_mkdirs(s->tree, s->tree->root, "kernel/iommu_groups");
	sim_rows(s, tree_mkdirs(s->tree, s->tree->root, "kernel"), kernel_rows, s);
	if (bus_build(s, &s->pci, &pci_rules) || bus_build(s, &s->usb, &usb_rules))
		return -ENOMEM;
	facts_drivers(s);
	if (vgpu_build(s))
		return -ENOMEM;
	tree_mkdirs(s->tree, s->tree->root, "module/vfio");
	tree_mkdirs(s->tree, s->tree->root, "module/vfio_iommu_type1");
	pci_build(s);
	for (size_t i = 0; i < s->machine->n; i++) {
		const struct record *r = &s->machine->records[i];

		if (!device_is_pci(r) && !is_vfio_dev(r) && strcmp(r->path, MACHINE_FACTS))
			device_add(s, r);
	}
	s->quiet = false;
	return 0;
}

int sim_wait(struct sim *s)
{
	if (!s->ending)
		pthread_cond_wait(&s->changed, &s->lock);
	return s->ending ? -EINTR : 0;
}

void sim_sleep(struct sim *s, long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	pthread_mutex_unlock(&s->lock);
	nanosleep(&t, NULL);
	pthread_mutex_lock(&s->lock);
}

void sim_rows(struct sim *s, struct node *dir, const struct reaction *rows, void *obj)
{
	for (; rows->name; rows++) {
		struct node *n;

		if (rows->has && !rows->has(obj))
			continue;
		n = tree_file(s->tree, dir, rows->name, rows->mode, "", 0);
		if (!n)
			continue;
		n->row = rows;
		n->obj = obj;
	}
}
