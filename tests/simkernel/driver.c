// SPDX-License-Identifier: GPL-2.0-or-later
/* Drivers of any bus: which devices they match, and the core's rules of binding and unbinding. */
#include "bus.h"
#include "dev.h"
#include "device.h"
#include "iommu.h"
#include "sim.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const struct driver *drv, struct dev *d)
{
	if (d->override)
		return !strcmp(d->override, drv->name);
	if (d->bus->rules->has_id(drv, d))
		return true;
	for (size_t i = 0; i < drv->n_aliases; i++)
		if (!fnmatch(drv->aliases[i], d->modalias, 0))
			return true;
	return false;
}

void driver_link(struct sim *s, struct driver *drv, struct dev *d)
{
	d->drv = drv;
	tree_link_to(s->tree, d->dir, "driver", drv->dir);
	tree_link_to(s->tree, drv->dir, d->name, d->dir);
}

static void unlink_driver(struct sim *s, struct dev *d)
{
	tree_remove_name(s->tree, d->dir, "driver");
	tree_remove_name(s->tree, d->drv->dir, d->name);
}

int driver_probe(struct sim *s, struct driver *drv, struct dev *d)
{
	int r;

	if (!d->override && d->bus->rules->is_shut(d))
		return -ENODEV;
	if (!drv->kind->own_dma && d->group && d->group->holder)
		return -EBUSY;
	driver_link(s, drv, d);
	r = drv->kind->probe(s, d);
	if (r) {
		unlink_driver(s, d);
		d->drv = NULL;
		return r;
	}
	if (drv->kind->bound)
		drv->kind->bound(s, d);
	dev_event(s, d, "bind");
	return 0;
}

void driver_probe_all(struct sim *s, struct dev *d)
{
	for (struct driver *drv = d->bus->drivers; drv && !d->drv; drv = drv->next)
		if (matches(drv, d))
			driver_probe(s, drv, d);
}

int driver_release(struct sim *s, struct dev *d)
{
	struct driver *drv = d->drv;
	int r;

	if (!drv)
		return 0;
	unlink_driver(s, d);
	r = drv->kind->remove(s, d);
	d->drv = NULL;
	dev_event(s, d, "unbind");
	return r;
}

void driver_attach(struct sim *s, struct driver *drv)
{
	for (struct dev *d = drv->bus->devs; d; d = d->next) {
		if (!d->dir || d->drv || !matches(drv, d) || dev_lock(s, d))
			continue;
		if (!d->drv && matches(drv, d))
			driver_probe(s, drv, d);
		dev_unlock(s, d);
	}
}

static int bind_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct driver *drv = obj;
	struct dev *d = bus_named(s, drv->bus, text);
	int r;

	if (!d || !matches(drv, d))
		return -ENODEV;
	r = dev_lock(s, d);
	if (r)
		return r;
	r = d->drv ? -EBUSY : driver_probe(s, drv, d);
	dev_unlock(s, d);
	return r;
}

static int unbind_store(struct sim *s, void *obj, const char *text, size_t len)
{
	const struct driver *drv = obj;
	struct dev *d = bus_named(s, drv->bus, text);
	int r;

	if (!d || d->drv != drv)
		return -ENODEV;
	r = dev_lock(s, d);
	if (r)
		return r;
	if (d->drv == drv)
		r = driver_release(s, d);
	dev_unlock(s, d);
	return r;
}

static const struct reaction driver_rows[] = {
	{ .name = "bind", .mode = 0200, .flags = ROW_SHARED, .store = bind_store },
	{ .name = "unbind", .mode = 0200, .flags = ROW_SHARED, .store = unbind_store },
	{ .name = NULL },
};

struct driver *driver_find(const struct bus *bus, const char *name)
{
	struct driver *drv = bus->drivers;

	while (drv && strcmp(drv->name, name))
		drv = drv->next;
	return drv;
}

struct driver *driver_get(struct sim *s, struct bus *bus, const char *name)
{
	const struct driver_kind *k = bus->rules->drivers;
	struct driver *drv = driver_find(bus, name);

	if (drv || !*name || *name == '.' || strchr(name, '/') || strlen(name) > 200)
		return drv;
	drv = calloc(1, sizeof(*drv) + strlen(name) + 1);
	if (!drv)
		return NULL;
	strcpy(drv->name, name);
	while (*k->name && strcmp(k->name, name))
		k++;
	drv->kind = k;
	drv->bus = bus;
	drv->dir = tree_dir(s->tree, tree_walk(s->tree, bus->dir, "drivers"), name);
	if (drv->dir) {
		sim_rows(s, drv->dir, driver_rows, drv);
		sim_rows(s, drv->dir, bus->rules->driver_rows, drv);
		device_modules(s, bus->rules->name, name, drv->dir);
	}
	*bus->drivers_tail = drv;
	bus->drivers_tail = &drv->next;
	return drv;
}

int driver_alias(struct driver *drv, const char *pattern)
{
	char **more;

	for (size_t i = 0; i < drv->n_aliases; i++)
		if (!strcmp(drv->aliases[i], pattern))
			return 0;
	more = reallocarray(drv->aliases, drv->n_aliases + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	drv->aliases = more;
	more[drv->n_aliases] = strdup(pattern);
	if (!more[drv->n_aliases])
		return -ENOMEM;
	drv->n_aliases++;
	return 0;
}
