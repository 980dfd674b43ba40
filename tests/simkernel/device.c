// SPDX-License-Identifier: GPL-2.0-or-later
/* A recorded device in the tree: its attributes, its links, and the links to it. */
#include "device.h"
#include "effects.h"
#include "facts.h"
#include "func.h"
#include "iommu.h"
#include "sim.h"
#include "usb.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* A recording does not distinguish buses from classes: all others are classes. */
static const char *const buses[] = {
	"acpi",	 "clockevents", "clocksource",	"container", "cpu",	 "edac",   "event_source",
	"hid",	 "i2c",		"machinecheck", "mdev",	     "mdio_bus", "memory", "node",
	"nvmem", "pci",		"pci_express",	"platform",  "pnp",	 "scsi",   "serio",
	"usb",	 "virtio",	"wmi",		"workqueue", NULL,
};

/* Modes of writable attributes; a recording has no modes. */
static const struct {
	const char *name;
	mode_t mode;
} modes[] = {
	{ "config", 0644 },	    { "broken_parity_status", 0644 },
	{ "d3cold_allowed", 0644 }, { "msi_bus", 0644 },
	{ "numa_node", 0644 },	    { "reset_method", 0644 },
	{ "control", 0644 },	    { "wakeup", 0644 },
	{ "authorized", 0644 },	    { "mtu", 0644 },
	{ "scheduler", 0644 },	    { "drivers_autoprobe", 0644 },
};

/* Properties added by udev. */
static const char *const udev_keys[] = {
	"ID_*",	     "TAGS",	 "CURRENT_TAGS", "SYSTEMD_*",  "DEVLINKS", "USEC_INITIALIZED",
	"SUBSYSTEM", "DEVPATH",	 "ACTION",	 "SEQNUM",     "DM_*",	   "LVM_*",
	"MD_*",	     "UDISKS_*", "HWDB_*",	 "KEYBOARD_*", "FAKE_*",   "SOUND_*",
	".*",	     NULL,
};

static ssize_t uevent_show(struct sim *s, void *obj, char *page);
static int uevent_store(struct sim *s, void *obj, const char *text, size_t len);

static const struct reaction device_rows[] = {
	{ .name = "uevent", .mode = 0644, .show = uevent_show, .store = uevent_store },
	{ .name = NULL },
};

const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static bool listed(const char *const *list, const char *word)
{
	for (; *list; list++)
		if (!fnmatch(*list, word, 0))
			return true;
	return false;
}

bool device_is_pci(const struct record *r)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");
	uint32_t domain, rid;

	return subsystem && !strcmp(subsystem, "pci") &&
	       func_parse(base_name(r->path), &domain, &rid);
}

/* "KEY=value\n" for each of the kernel's properties. */
static size_t properties(const struct record *r, char *buf, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < r->n && at < size; i++) {
		const struct field *f = &r->fields[i];
		const char *value = f->data;

		if (f->type != 'E' || listed(udev_keys, f->name))
			continue;
		if (!strcmp(f->name, "DEVNAME") && !strncmp(value, "/dev/", 5))
			value += 5; /* udev's is absolute, the kernel's is not */
		at += (size_t)snprintf(buf + at, size - at, "%s=%s\n", f->name, value);
	}
	return at < size ? at : size - 1;
}

static ssize_t uevent_show(struct sim *s, void *obj, char *page)
{
	return (ssize_t)properties(obj, page, PAGE_TEXT);
}

void device_event(struct sim *s, const char *action, const struct record *r)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");
	char env[PAGE_TEXT];
	int n;

	if (s->quiet || !subsystem)
		return;
	n = snprintf(env, sizeof(env), "SUBSYSTEM=%s\n", subsystem);
	properties(r, env + n, sizeof(env) - (size_t)n);
	uevent(s, action, r->path, env);
}

static int uevent_store(struct sim *s, void *obj, const char *text, size_t len)
{
	static const char *const actions[] = {
		"add", "remove", "change", "move", "online", "offline", "bind", "unbind",
	};
	size_t n = strcspn(text, " \n");

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strlen(actions[i]) == n && !strncmp(text, actions[i], n)) {
			device_event(s, actions[i], obj);
			return 0;
		}
	return -EINVAL;
}

static mode_t attribute_mode(const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(modes[i].name, name))
			return modes[i].mode;
	return 0444;
}

static struct node *place(struct sim *s, struct node *dir, const char **name)
{
	const char *slash = strrchr(*name, '/');
	char path[TREE_PATH_MAX];

	if (!slash)
		return dir;
	snprintf(path, sizeof(path), "%.*s", (int)(slash - *name), *name);
	*name = slash + 1;
	return tree_mkdirs(s->tree, dir, path);
}

static void fill_field(struct sim *s, struct node *dir, const struct field *f)
{
	const char *name = f->name;
	struct node *n;

	dir = place(s, dir, &name);
	if (!dir)
		return;
	if (f->type == 'L') {
		tree_link(s->tree, dir, name, f->data);
		return;
	}
	n = tree_file(s->tree, dir, name, attribute_mode(f->name), f->data, f->len);
	if (n && f->type == 'H')
		n->size = f->len;
}

/* PCI reactions make these files and links; a recorded value is only their initial one. */
static bool is_dynamic(const char *name)
{
	static const char *const own[] = {
		"driver",	   "iommu_group", "virtfn*",	  "physfn",
		"driver_override", "enable",	  "sriov_numvfs", "sriov_drivers_autoprobe",
		"uevent",	   NULL,
	};

	return listed(own, name);
}

void device_fill(struct sim *s, struct node *dir, const struct record *r, bool pci)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];

		if (strchr("AHL", f->type) && !(pci && is_dynamic(f->name)))
			fill_field(s, dir, f);
	}
}

static void link_number(struct sim *s, struct node *dir, const struct record *r, bool block)
{
	const char *dev = record_text(r, 'A', "dev");
	struct node *parent = tree_walk(s->tree, s->tree->root, block ? "dev/block" : "dev/char");
	char name[32];

	if (!dev || !parent || strlen(dev) >= sizeof(name) || strchr(dev, '/'))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(dev, "\n"), dev);
	if (*name)
		tree_link_to(s->tree, parent, name, dir);
}

/* Makes module/NAME, linked with its driver, as far as programs look there. */
void device_modules(struct sim *s, const char *bus, const char *driver, struct node *dir)
{
	char module[256], name[300];
	struct node *m;

	snprintf(module, sizeof(module), "module/%s", driver);
	for (char *p = module + 7; *p; p++)
		if (*p == '-')
			*p = '_';
	m = tree_mkdirs(s->tree, s->tree->root, module);
	if (!m)
		return;
	snprintf(name, sizeof(name), "%s:%s", bus, driver);
	tree_link_to(s->tree, tree_dir(s->tree, m, "drivers"), name, dir);
	tree_link_to(s->tree, dir, "module", m);
	if (!tree_find(s->tree, m, "refcnt"))
		tree_file(s->tree, m, "refcnt", 0444, "0\n", 2);
	if (!tree_find(s->tree, m, "initstate"))
		tree_file(s->tree, m, "initstate", 0444, "live\n", 5);
}

static void link_driver(struct sim *s, struct node *dir, const struct record *r, const char *bus)
{
	const char *target = record_text(r, 'L', "driver");
	char path[600];
	struct node *drv;

	if (!target || !strchr(target, '/'))
		return;
	snprintf(path, sizeof(path), "bus/%s/drivers/%s", bus, base_name(target));
	drv = tree_mkdirs(s->tree, s->tree->root, path);
	tree_link_to(s->tree, drv, dir->name, dir);
	tree_link_to(s->tree, dir, "driver", drv);
}

static void link_subsystem(struct sim *s, struct node *dir, const struct record *r,
			   const char *name)
{
	bool bus = listed(buses, name), block = !strcmp(name, "block");
	char path[300];
	struct node *home, *list;

	snprintf(path, sizeof(path), "%s/%s", bus ? "bus" : "class", name);
	home = tree_mkdirs(s->tree, s->tree->root, path);
	if (!home)
		return;
	list = bus ? tree_dir(s->tree, home, "devices") : home;
	if (bus) {
		tree_dir(s->tree, home, "drivers");
		link_driver(s, dir, r, name);
	}
	tree_link_to(s->tree, list, dir->name, dir);
	tree_link_to(s->tree, dir, "subsystem", home);
	link_number(s, dir, r, block);
	if (!block)
		return;
	tree_dir(s->tree, dir, "holders");
	if (tree_find(s->tree, dir, "partition"))
		return;
	tree_dir(s->tree, dir, "slaves");
	tree_link_to(s->tree, tree_dir(s->tree, s->tree->root, "block"), dir->name, dir);
}

/* Stacked devices have links in both directions: upper_x and lower_y, holders/x and slaves/y. */
static void link_peer(struct sim *s, struct node *dir, const struct field *f, bool there)
{
	static const char *const ends[][2] = {
		{ "upper_", "lower_" },
		{ "lower_", "upper_" },
		{ "holders/", "slaves/" },
		{ "slaves/", "holders/" },
	};
	char name[300];
	const char *last = name;
	struct node *peer;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (strncmp(f->name, ends[i][0], strlen(ends[i][0])))
			continue;
		peer = tree_walk(s->tree, dir, f->name);
		snprintf(name, sizeof(name), "%s%.255s", ends[i][1], dir->name);
		peer = peer && S_ISDIR(peer->mode) ? place(s, peer, &last) : NULL;
		if (peer && there)
			tree_link_to(s->tree, peer, last, dir);
		else if (peer)
			tree_remove_name(s->tree, peer, last);
		return;
	}
}

static void link_peers(struct sim *s, struct node *dir, const struct record *r, bool there)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->fields[i].type == 'L')
			link_peer(s, dir, &r->fields[i], there);
}

void device_add(struct sim *s, const struct record *r)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");
	struct node *dir;

	if (usb_is_record(r)) {
		usb_add(s, r);
		return;
	}
	dir = tree_mkdirs(s->tree, s->tree->root, r->path);
	if (!dir)
		return;
	device_fill(s, dir, r, false);
	sim_rows(s, dir, device_rows, (void *)r);
	if (subsystem && !strchr(subsystem, '/') && *subsystem && *subsystem != '.')
		link_subsystem(s, dir, r, subsystem);
	group_record(s, r, dir);
	if (s->quiet)
		return;
	link_peers(s, dir, r, true);
	facts_dev(s, r, true);
	device_event(s, "add", r);
}

/* Removes the link at path if it leads to n. */
static void drop_link(struct sim *s, const char *dir, const char *name, const struct node *n)
{
	struct node *d = tree_walk(s->tree, s->tree->root, dir);
	struct node *l = d ? tree_find(s->tree, d, name) : NULL;

	if (l && S_ISLNK(l->mode) && tree_walk(s->tree, d, name) == n)
		tree_remove(s->tree, l);
}

void device_remove(struct sim *s, const struct record *r)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");
	const char *dev = record_text(r, 'A', "dev");
	struct node *n = tree_walk(s->tree, s->tree->root, r->path);
	char path[600], number[32];

	if (n && usb_is_record(r))
		usb_remove(s, r);
	if (!n || usb_is_record(r))
		return;
	if (subsystem) {
		bool bus = listed(buses, subsystem);

		snprintf(path, sizeof(path), bus ? "bus/%.255s/devices" : "class/%.255s",
			 subsystem);
		drop_link(s, path, n->name, n);
		drop_link(s, "block", n->name, n);
	}
	if (dev) {
		snprintf(number, sizeof(number), "%.*s", (int)strcspn(dev, "\n"), dev);
		drop_link(s, "dev/block", number, n);
		drop_link(s, "dev/char", number, n);
	}
	link_peers(s, n, r, false);
	facts_dev(s, r, false);
	device_event(s, "remove", r);
	tree_remove(s->tree, n);
}
