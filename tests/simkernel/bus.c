// SPDX-License-Identifier: GPL-2.0-or-later
/* A bus, and the files that every bus has. */
#include "bus.h"
#include "dev.h"
#include "sim.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

struct dev *bus_named(struct sim *s, struct bus *bus, const char *text)
{
	char name[NAME_MAX + 1];
	struct dev *d;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "\n"), text);
	d = bus->rules->find(s, name);
	return d && d->dir ? d : NULL;
}

void bus_offer(struct sim *s, struct dev *d)
{
	d->added = true;
	if (!d->bus->autoprobe || dev_lock(s, d))
		return;
	if (!d->drv)
		driver_probe_all(s, d);
	dev_unlock(s, d);
}

/* Always succeeds: the result of a driver's probe is lost, and no match is not an error. */
static int drivers_probe_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct dev *d = bus_named(s, obj, text);
	int r;

	if (!d)
		return -ENODEV;
	r = dev_lock(s, d);
	if (r)
		return r;
	driver_probe_all(s, d);
	dev_unlock(s, d);
	return 0;
}

static ssize_t drivers_autoprobe_show(struct sim *s, void *obj, char *page)
{
	return snprintf(page, PAGE_TEXT, "%d\n", ((struct bus *)obj)->autoprobe);
}

static int drivers_autoprobe_store(struct sim *s, void *obj, const char *text, size_t len)
{
	(void)s, (void)len;
	((struct bus *)obj)->autoprobe = *text != '0';
	return 0;
}

static const struct reaction bus_rows[] = {
	{ .name = "drivers_probe",
	  .mode = 0200,
	  .flags = ROW_SHARED,
	  .store = drivers_probe_store },
	{ .name = "drivers_autoprobe",
	  .mode = 0644,
	  .show = drivers_autoprobe_show,
	  .store = drivers_autoprobe_store },
	{ .name = NULL },
};

int bus_build(struct sim *s, struct bus *bus, const struct bus_rules *rules)
{
	char path[64];

	*bus = (struct bus){ .rules = rules, .autoprobe = true };
	bus->devs_tail = &bus->devs;
	bus->drivers_tail = &bus->drivers;
	snprintf(path, sizeof(path), "bus/%s/drivers", rules->name);
	tree_mkdirs(s->tree, s->tree->root, path);
	snprintf(path, sizeof(path), "bus/%s/devices", rules->name);
	bus->devices = tree_mkdirs(s->tree, s->tree->root, path);
	if (!bus->devices)
		return -ENOMEM;
	bus->dir = bus->devices->parent;
	sim_rows(s, bus->dir, bus_rows, bus);
	sim_rows(s, bus->dir, rules->rows, bus);
	for (const struct driver_kind *k = rules->drivers; *k->name; k++)
		if (k->builtin)
			driver_get(s, bus, k->name);
	return 0;
}
