// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vfio-pci: the functions it takes; and, for any driver, the devices for a VMM and the wait until
 * the VMM closes them. A simulated VMM is a directory in proc/ with descriptors that lead to the
 * group's node in dev/, which is recognized by its inode. It holds all VFIO devices that the group
 * had when it came.
 */
#include "device.h"
#include "facts.h"
#include "func.h"
#include "iommu.h"
#include "sim.h"
#include "vfio.h"
#include "vgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VFIO_MAJOR 511
#define VFIO_CDEV_MAJOR 510

bool vfio_is_open(const struct dev *d)
{
	return d->vfio_dev >= 0 && d->group && d->group->holder;
}

static int group_device_new(struct group *g)
{
	char path[64];
	struct record *r;

	snprintf(path, sizeof(path), "/devices/virtual/vfio/%d", g->number);
	r = machine_record_new(path);
	if (!r)
		return -ENOMEM;
	record_add(r, 'E', "SUBSYSTEM", "vfio");
	record_add(r, 'E', "MAJOR", "%d", VFIO_MAJOR);
	record_add(r, 'E', "MINOR", "%d", g->number);
	record_add(r, 'E', "DEVNAME", "vfio/%d", g->number);
	record_add(r, 'A', "dev", "%d:%d\n", VFIO_MAJOR, g->number);
	g->vfio_rec = r;
	return 0;
}

static void node_name(char *buf, size_t size, int group)
{
	snprintf(buf, size, "dev/vfio/%d", group);
}

static int group_device_get(struct group *g)
{
	int r;

	if (g->vfio++)
		return 0;
	r = group_device_new(g);
	if (r) {
		g->vfio--;
		return r;
	}
	return 0;
}

static void group_device_put(struct sim *s, struct group *g)
{
	char node[64];

	if (--g->vfio)
		return;
	node_name(node, sizeof(node), g->number);
	facts_remove(s, node);
	device_remove(s, g->vfio_rec);
	machine_record_free(g->vfio_rec);
	g->vfio_rec = NULL;
}

static bool is_taken(const struct sim *s, int n)
{
	const struct bus *all[] = { &s->pci, &s->mdev };

	for (size_t i = 0; i < 2; i++)
		for (const struct dev *d = all[i]->devs; d; d = d->next)
			if (d->vfio_dev == n)
				return true;
	return false;
}

static int free_number(const struct sim *s)
{
	int n = 0;

	while (is_taken(s, n))
		n++;
	return n;
}

static void cdev_name(char *buf, size_t size, int n)
{
	snprintf(buf, size, "dev/vfio/devices/vfio%d", n);
}

static int device_rec(struct sim *s, struct dev *d, int n)
{
	char path[TREE_PATH_MAX];
	struct record *r;

	snprintf(path, sizeof(path), "%.4000s/vfio-dev/vfio%d", d->rec->path, n);
	r = machine_record_new(path);
	if (!r)
		return -ENOMEM;
	record_add(r, 'E', "SUBSYSTEM", "vfio-dev");
	if (s->cdev) {
		record_add(r, 'E', "MAJOR", "%d", VFIO_CDEV_MAJOR);
		record_add(r, 'E', "MINOR", "%d", n);
		record_add(r, 'E', "DEVNAME", "vfio/devices/vfio%d", n);
		record_add(r, 'A', "dev", "%d:%d\n", VFIO_CDEV_MAJOR, n);
	}
	d->vfio_rec = r;
	return 0;
}

void vfio_nodes(struct sim *s, const struct dev *d)
{
	char node[64];

	node_name(node, sizeof(node), d->group->number);
	facts_node(s, node);
	if (!s->cdev)
		return;
	cdev_name(node, sizeof(node), d->vfio_dev);
	facts_node(s, node);
}

int vfio_register(struct sim *s, struct dev *d)
{
	int r, n;

	if (!d->group)
		return -EINVAL;
	r = group_device_get(d->group);
	if (r)
		return r;
	n = free_number(s);
	r = device_rec(s, d, n);
	if (r) {
		group_device_put(s, d->group);
		return r;
	}
	d->vfio_dev = n;
	vfio_nodes(s, d);
	if (d->group->vfio == 1)
		device_add(s, d->group->vfio_rec);
	device_add(s, d->vfio_rec);
	return 0;
}

int vfio_pci_probe(struct sim *s, struct dev *d)
{
	struct func *f = func_of(d);
	int r;

	if (f->bridge || vgpu_forbids_vfio(s, f))
		return -EINVAL;
	if (f->num_vfs)
		return -EBUSY;
	r = vfio_register(s, d);
	if (!r)
		f->vfio_binds++;
	return r;
}

int vfio_unregister(struct sim *s, struct dev *d)
{
	char node[64];

	/* No limit and no way out, as in the kernel. */
	while (vfio_is_open(d))
		if (sim_wait(s))
			return -EINTR;
	if (s->cdev) {
		cdev_name(node, sizeof(node), d->vfio_dev);
		facts_remove(s, node);
	}
	device_remove(s, d->vfio_rec);
	machine_record_free(d->vfio_rec);
	d->vfio_rec = NULL;
	d->vfio_dev = -1;
	tree_remove_name(s->tree, d->dir, "vfio-dev");
	group_device_put(s, d->group);
	return 0;
}

static int write_proc(struct sim *s, pid_t pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/%s", (int)pid, file);
	return facts_file(s, path, text);
}

/* Makes the files that observers of processes read. */
static int add_process(struct sim *s, pid_t pid, const char *comm)
{
	char text[300];
	int r;

	snprintf(text, sizeof(text), "%.15s\n", comm);
	r = write_proc(s, pid, "comm", text);
	if (r)
		return r;
	snprintf(text, sizeof(text), "Name:\t%.15s\nState:\tS (sleeping)\nPid:\t%d\n", comm,
		 (int)pid);
	write_proc(s, pid, "status", text);
	return write_proc(s, pid, "cmdline", comm);
}

int vfio_viable(struct sim *s, int group)
{
	const struct group *g = iommu_group_find(s, group);

	if (!g || !g->vfio)
		return -ENODEV;
	for_each_func(s, f)
		if (f->dev.group == g && f->dev.drv && !f->dev.drv->kind->own_dma)
			return -EPERM;
	for_each_func(s, f)
		if (f->dev.group == g && vgpu_lacks_type(f))
			return -ENXIO;
	return 0;
}

static void tell_drivers(struct sim *s, const struct group *g)
{
	for_each_func(s, f)
		if (f->dev.group == g)
			vgpu_opened(s, f);
}

int vfio_hold(struct sim *s, int group, pid_t pid, const char *comm)
{
	struct group *g = iommu_group_find(s, group);
	char path[64], target[64];
	int r;

	if (!g || !g->vfio)
		return -ENODEV;
	if (vfio_viable(s, group) == -ENXIO)
		return -ENXIO;
	if (g->holder)
		return -EBUSY;
	r = add_process(s, pid, comm);
	if (r)
		return r;
	snprintf(path, sizeof(path), "proc/%d/fd/3", (int)pid);
	facts_link(s, path, "../../../dev/vfio/vfio");
	snprintf(path, sizeof(path), "proc/%d/fd/%d", (int)pid, 4 + group);
	snprintf(target, sizeof(target), "../../../dev/vfio/%d", group);
	facts_link(s, path, target);
	g->holder = pid;
	tell_drivers(s, g);
	return 0;
}

static bool same_holder(const struct group *g, const void *arg)
{
	const struct group *other = arg;

	return g != other && g->holder == other->holder;
}

int vfio_release(struct sim *s, int group)
{
	struct group *g = iommu_group_find(s, group);
	char path[64];

	if (!g || !g->holder)
		return -ENODEV;
	if (group_each(s, same_holder, g))
		snprintf(path, sizeof(path), "proc/%d/fd/%d", (int)g->holder, 4 + group);
	else
		snprintf(path, sizeof(path), "proc/%d", (int)g->holder);
	facts_remove(s, path);
	g->holder = 0;
	tell_drivers(s, g);
	pthread_cond_broadcast(&s->changed);
	return 0;
}
