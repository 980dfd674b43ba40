// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vfio-pci: the functions it takes, the devices for a VMM, and the wait until the VMM closes them.
 * A simulated VMM is a directory in proc/ with descriptors that lead to the group's node in dev/,
 * which is recognized by its inode. It holds all functions of the group that were on vfio-pci when
 * it came.
 */
#include "device.h"
#include "facts.h"
#include "func.h"
#include "iommu.h"
#include "sim.h"
#include "vfio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VFIO_MAJOR 511
#define VFIO_CDEV_MAJOR 510

bool vfio_is_open(const struct func *f)
{
	return f->vfio_dev >= 0 && f->dev.group && f->dev.group->holder;
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
	for_each_func(s, f)
		if (f->vfio_dev == n)
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

static int device_rec(struct sim *s, struct func *f, int n)
{
	char path[TREE_PATH_MAX];
	struct record *r;

	snprintf(path, sizeof(path), "%.4000s/vfio-dev/vfio%d", f->dev.rec->path, n);
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
	f->vfio_rec = r;
	return 0;
}

void vfio_nodes(struct sim *s, const struct func *f)
{
	char node[64];

	node_name(node, sizeof(node), f->dev.group->number);
	facts_node(s, node);
	if (!s->cdev)
		return;
	cdev_name(node, sizeof(node), f->vfio_dev);
	facts_node(s, node);
}

int vfio_probe(struct sim *s, struct dev *d)
{
	struct func *f = func_of(d);
	int r, n;

	if (f->bridge || !f->dev.group)
		return -EINVAL;
	if (f->num_vfs)
		return -EBUSY;
	r = group_device_get(f->dev.group);
	if (r)
		return r;
	n = free_number(s);
	r = device_rec(s, f, n);
	if (r) {
		group_device_put(s, f->dev.group);
		return r;
	}
	f->vfio_dev = n;
	f->vfio_binds++;
	vfio_nodes(s, f);
	if (f->dev.group->vfio == 1)
		device_add(s, f->dev.group->vfio_rec);
	device_add(s, f->vfio_rec);
	return 0;
}

int vfio_remove(struct sim *s, struct dev *d)
{
	struct func *f = func_of(d);
	char node[64];

	/* No limit and no way out, as in the kernel. */
	while (vfio_is_open(f))
		if (sim_wait(s))
			return -EINTR;
	if (s->cdev) {
		cdev_name(node, sizeof(node), f->vfio_dev);
		facts_remove(s, node);
	}
	device_remove(s, f->vfio_rec);
	machine_record_free(f->vfio_rec);
	f->vfio_rec = NULL;
	f->vfio_dev = -1;
	tree_remove_name(s->tree, f->dev.dir, "vfio-dev");
	group_device_put(s, f->dev.group);
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
	const struct group *g = group_find(s, group);

	if (!g || !g->vfio)
		return -ENODEV;
	for_each_func(s, f)
		if (f->dev.group == g && f->dev.drv && !f->dev.drv->kind->own_dma)
			return -EPERM;
	return 0;
}

int vfio_hold(struct sim *s, int group, pid_t pid, const char *comm)
{
	struct group *g = group_find(s, group);
	char path[64], target[64];
	int r;

	if (!g || !g->vfio)
		return -ENODEV;
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
	return 0;
}

static bool same_holder(const struct group *g, const void *arg)
{
	const struct group *other = arg;

	return g != other && g->holder == other->holder;
}

int vfio_release(struct sim *s, int group)
{
	struct group *g = group_find(s, group);
	char path[64];

	if (!g || !g->holder)
		return -ENODEV;
	if (group_each(s, same_holder, g))
		snprintf(path, sizeof(path), "proc/%d/fd/%d", (int)g->holder, 4 + group);
	else
		snprintf(path, sizeof(path), "proc/%d", (int)g->holder);
	facts_remove(s, path);
	g->holder = 0;
	pthread_cond_broadcast(&s->changed);
	return 0;
}
