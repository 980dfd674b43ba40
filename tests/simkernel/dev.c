// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices of any bus: they come and go, are locked, send events, have children. */
#include "bus.h"
#include "dev.h"
#include "device.h"
#include "effects.h"
#include "iommu.h"
#include "sim.h"
#include "usb.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void dev_init(struct sim *s, struct bus *bus, struct dev *d, const struct record *r)
{
	const char *group = record_text(r, 'L', "iommu_group");

	d->bus = bus;
	d->rec = r;
	d->name = base_name(r->path);
	d->vfio_dev = -1;
	d->set = group && strrchr(group, '/') ? atoi(base_name(group)) : ++s->next_set;
	*bus->devs_tail = d;
	bus->devs_tail = &d->next;
}

static size_t env_of(struct dev *d, char *buf, size_t size)
{
	const struct bus_rules *rules = d->bus->rules;
	size_t n = rules->env_before ? rules->env_before(d, buf, size) : 0;

	if (d->drv)
		n += (size_t)snprintf(buf + n, size - n, "DRIVER=%s\n", d->drv->name);
	n += rules->env(d, buf + n, size - n);
	if (*d->modalias)
		n += (size_t)snprintf(buf + n, size - n, "MODALIAS=%s\n", d->modalias);
	return n;
}

void dev_event_with(struct sim *s, struct dev *d, const char *action, const char *more)
{
	char env[1024], *alias;
	size_t n =
		(size_t)snprintf(env, sizeof(env), "SUBSYSTEM=%s\n%s", d->bus->rules->name, more);

	env_of(d, env + n, sizeof(env) - n);
	/* As the kernel does, so that udev does not load the driver again that was just unbound. */
	alias = strcmp(action, "unbind") ? NULL : strstr(env, "MODALIAS=");
	if (alias)
		*alias = '\0';
	uevent(s, action, d->rec->path, env);
}

void dev_event(struct sim *s, struct dev *d, const char *action)
{
	dev_event_with(s, d, action, "");
}

static ssize_t uevent_show(struct sim *s, void *obj, char *page)
{
	return (ssize_t)env_of(obj, page, PAGE_TEXT);
}

static int uevent_store(struct sim *s, void *obj, const char *text, size_t len)
{
	if (strncmp(text, "add", 3) && strncmp(text, "change", 6))
		return -EINVAL;
	dev_event(s, obj, *text == 'a' ? "add" : "change");
	return 0;
}

static const struct reaction dev_rows[] = {
	{ .name = "uevent", .mode = 0644, .show = uevent_show, .store = uevent_store },
	{ .name = NULL },
};

int dev_lock(struct sim *s, struct dev *d)
{
	while (d->busy)
		if (sim_wait(s))
			return -EINTR;
	if (!d->dir)
		return -ENODEV;
	d->busy = true;
	return 0;
}

int dev_read_lock(struct sim *s, struct dev *d)
{
	int r = 0;

	d->readers++;
	while (d->busy && !d->readable && !r)
		r = sim_wait(s);
	d->readers--;
	pthread_cond_broadcast(&s->changed);
	return r ? r : d->dir ? 0 : -ENODEV;
}

/* Lets waiting readers finish before the device's files go. */
static void let_read(struct sim *s, struct dev *d)
{
	d->readable = true;
	pthread_cond_broadcast(&s->changed);
	while (d->readers && !sim_wait(s))
		;
	d->readable = false;
}

void dev_unlock(struct sim *s, struct dev *d)
{
	d->busy = false;
	pthread_cond_broadcast(&s->changed);
}

int dev_appear(struct sim *s, struct dev *d)
{
	d->dir = tree_mkdirs(s->tree, s->tree->root, d->rec->path);
	if (!d->dir)
		return -ENOMEM;
	d->added = s->quiet;
	device_fill(s, d->dir, d->rec, true);
	sim_rows(s, d->dir, dev_rows, d);
	tree_link_to(s->tree, d->dir, "subsystem", d->bus->dir);
	tree_link_to(s->tree, d->bus->devices, d->name, d->dir);
	if (s->iommu && !d->bus->rules->own_groups)
		group_join(s, d, s->quiet ? d->set : -1);
	return 0;
}

void dev_vanish(struct sim *s, struct dev *d)
{
	let_read(s, d);
	dev_children_remove(s, d, false);
	tree_remove_name(s->tree, d->bus->devices, d->name);
	dev_event(s, d, "remove");
	group_leave(s, d);
	tree_remove(s->tree, d->dir);
	d->dir = NULL;
	free(d->override);
	d->override = NULL;
}

/* Is r below d, without another device of its bus in between? What is below an interface of a USB
 * device comes and goes with the interface's driver. */
static bool is_child(const struct dev *d, const struct record *r)
{
	const char *p = r->path + strlen(d->rec->path);
	char part[NAME_MAX + 1];

	while (*p++ == '/') {
		size_t len = strcspn(p, "/");

		snprintf(part, sizeof(part), "%.*s", (int)len, p);
		if (d->bus->rules->is_name(part))
			return false;
		p += len;
		if (*p && usb_is_interface(part))
			return false;
	}
	return true;
}

/* Buses and wake-up sources exist with any driver. */
static bool of_driver(const struct record *r)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");

	return !subsystem || (strcmp(subsystem, "pci_bus") && strcmp(subsystem, "wakeup"));
}

/* The records below d are one range; returns its first one and their number. */
static const struct record *below(const struct sim *s, const struct dev *d, size_t *n)
{
	const struct record *first = machine_find(s->machine, d->rec->path);
	const struct record *end = s->machine->records + s->machine->n, *r = first;
	size_t len = strlen(d->rec->path);

	*n = 0;
	if (!first || first != d->rec)
		return NULL;
	for (r++; r < end && !strncmp(r->path, d->rec->path, len) && r->path[len] == '/'; r++)
		++*n;
	return first + 1;
}

void dev_children_add(struct sim *s, struct dev *d, bool drivers)
{
	size_t n;
	const struct record *r = below(s, d, &n);

	for (size_t i = 0; i < n; i++)
		if (is_child(d, &r[i]) && of_driver(&r[i]) == drivers)
			device_add(s, &r[i]);
}

/* Removes the directory that a class makes between device and parent, after its last child. */
static void remove_glue(struct sim *s, const struct dev *d, const char *path)
{
	char up[TREE_PATH_MAX];
	struct node *n;

	snprintf(up, sizeof(up), "%.*s", (int)(base_name(path) - path - 1), path);
	n = tree_walk(s->tree, s->tree->root, up);
	if (n && n != d->dir && S_ISDIR(n->mode) && !n->dir.first)
		tree_remove(s->tree, n);
}

void dev_children_remove(struct sim *s, struct dev *d, bool drivers)
{
	size_t n;
	const struct record *r = below(s, d, &n);

	while (n--) {
		if (!is_child(d, &r[n]) || of_driver(&r[n]) != drivers)
			continue;
		device_remove(s, &r[n]);
		remove_glue(s, d, r[n].path);
	}
}
