// SPDX-License-Identifier: GPL-2.0-or-later
/* USB devices and interfaces. The generic driver "usb" has every device; drivers that tests look at
 * have interfaces. */
#include "usb.h"
#include "bus.h"
#include "dev.h"
#include "device.h"
#include "effects.h"
#include "facts.h"
#include "sim.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define PER_BUS 128
#define USB_MAJOR 189
/* The kernel has 64 buses: numbers from there on never lead to real hardware. */
#define FIRST_MINOR (64 * PER_BUS)

struct usb {
	struct dev dev; /* must be first */
	unsigned int busnum, devnum;
};

static struct usb *usb_of(struct dev *d)
{
	return (struct usb *)d;
}

/* Digits, with single characters of `between` between them. Returns what follows. */
static const char *numbers(const char *p, char between)
{
	for (;;) {
		if (!isdigit((unsigned char)*p))
			return NULL;
		while (isdigit((unsigned char)*p))
			p++;
		if (!between || *p != between)
			return p;
		p++;
	}
}

bool usb_is_name(const char *text)
{
	const char *p = strncmp(text, "usb", 3) ? numbers(text, 0) : numbers(text + 3, 0);

	if (!p || !strncmp(text, "usb", 3))
		return p && !*p;
	if (*p++ != '-')
		return false;
	p = numbers(p, '.');
	return p && (!*p || usb_is_interface(text));
}

bool usb_is_interface(const char *text)
{
	const char *colon = strchr(text, ':'), *p = colon ? numbers(colon + 1, '.') : NULL;

	return p && !*p && isdigit((unsigned char)*text);
}

bool usb_is_record(const struct record *r)
{
	const char *subsystem = record_text(r, 'E', "SUBSYSTEM");

	return subsystem && !strcmp(subsystem, "usb") && usb_is_name(base_name(r->path));
}

static struct usb *find_usb(struct sim *s, const char *name)
{
	for (struct dev *d = s->usb.devs; d; d = d->next)
		if (!strcmp(d->name, name))
			return usb_of(d);
	return NULL;
}

static struct dev *find(struct sim *s, const char *name)
{
	struct usb *u = find_usb(s, name);

	return u ? &u->dev : NULL;
}

static unsigned int minor_of(const struct usb *u)
{
	return FIRST_MINOR + (u->busnum - 1) * PER_BUS + u->devnum - 1;
}

static const char *text_of(const struct dev *d, char type, const char *name)
{
	const char *text = record_text(d->rec, type, name);

	return text ? text : "";
}

static size_t env(struct dev *d, char *buf, size_t size)
{
	struct usb *u = usb_of(d);
	bool interface = usb_is_interface(d->name);
	const char *product = text_of(d, 'E', "PRODUCT"), *type = text_of(d, 'E', "TYPE");

	if (interface)
		return (size_t)snprintf(buf, size,
					"DEVTYPE=usb_interface\nPRODUCT=%s\nTYPE=%s\nINTERFACE=%s\n",
					product, type, text_of(d, 'E', "INTERFACE"));
	return (size_t)snprintf(buf, size,
				"MAJOR=%u\nMINOR=%u\nDEVNAME=bus/usb/%03u/%03u\n"
				"DEVTYPE=usb_device\nPRODUCT=%s\nTYPE=%s\nBUSNUM=%03u\nDEVNUM=%03u\n",
				USB_MAJOR, minor_of(u), u->busnum, u->devnum,
				product, type, u->busnum, u->devnum);
}

static bool has_id(const struct driver *drv, struct dev *d)
{
	return usb_is_interface(d->name) ? drv == d->rec_drv : !strcmp(drv->name, "usb");
}

static bool is_shut(struct dev *d)
{
	(void)d;
	return false;
}

static int probe(struct sim *s, struct dev *d)
{
	if (d->drv == d->rec_drv)
		dev_children_add(s, d, true);
	return 0;
}

static int remove_driver(struct sim *s, struct dev *d)
{
	if (usb_is_interface(d->name) && d->drv == d->rec_drv)
		dev_children_remove(s, d, true);
	return 0;
}

static int probe_device(struct sim *s, struct dev *d)
{
	(void)s, (void)d;
	return 0;
}

static const struct driver_kind drivers[] = {
	{ .name = "usb", .builtin = true, .probe = probe_device, .remove = probe_device },
	{ .name = "", .probe = probe, .remove = remove_driver },
};

static const struct reaction none[] = { { .name = NULL } };

const struct bus_rules usb_rules = {
	.name = "usb",
	.rows = none,
	.driver_rows = none,
	.drivers = drivers,
	.is_name = usb_is_name,
	.find = find,
	.env = env,
	.has_id = has_id,
	.is_shut = is_shut,
	.own_groups = true,
};

/* ---- coming and going */

static void set(struct sim *s, struct dev *d, const char *name, const char *text)
{
	struct node *n = tree_find(s->tree, d->dir, name);

	if (!n)
		n = tree_file(s->tree, d->dir, name, 0444, "", 0);
	if (n)
		node_set(n, text, strlen(text));
}

/* The kernel counts up, and begins anew after 127. */
static unsigned int next_number(struct sim *s, unsigned int bus)
{
	unsigned int max = 0;

	for (struct dev *d = s->usb.devs; d; d = d->next)
		if (usb_of(d)->busnum == bus && usb_of(d)->devnum > max)
			max = usb_of(d)->devnum;
	return max % (PER_BUS - 1) + 1;
}

static void paths_of(const struct usb *u, char number[static 48], char node[static 48])
{
	snprintf(number, 48, "%u:%u", USB_MAJOR, minor_of(u));
	snprintf(node, 48, "dev/bus/usb/%03u/%03u", u->busnum, u->devnum);
}

/* With the mode that udev gives it. */
static void make_node(struct sim *s, const struct usb *u)
{
	char number[48], node[48];

	paths_of(u, number, node);
	facts_char(s, node, makedev(USB_MAJOR, minor_of(u)), 0664);
}

static void give_number(struct sim *s, struct usb *u)
{
	const char *bus = record_text(u->dev.rec, 'A', "busnum"),
		   *devnum = record_text(u->dev.rec, 'A', "devnum");
	char number[48], node[48], text[64];
	struct node *chars = tree_walk(s->tree, s->tree->root, "dev/char");

	if (!u->busnum)
		u->busnum = bus ? (unsigned int)atoi(bus)
				: (unsigned int)atoi(u->dev.name + strcspn(u->dev.name, "0123456789"));
	u->busnum = u->busnum ? u->busnum : 1;
	u->devnum = s->quiet && devnum ? (unsigned int)atoi(devnum) : next_number(s, u->busnum);
	paths_of(u, number, node);
	snprintf(text, sizeof(text), "%u\n", u->busnum);
	set(s, &u->dev, "busnum", text);
	snprintf(text, sizeof(text), "%u\n", u->devnum);
	set(s, &u->dev, "devnum", text);
	snprintf(text, sizeof(text), "%s\n", number);
	set(s, &u->dev, "dev", text);
	if (chars)
		tree_link_to(s->tree, chars, number, u->dev.dir);
	if (!s->quiet)
		make_node(s, u);
}

void usb_nodes(struct sim *s)
{
	for (struct dev *d = s->usb.devs; d; d = d->next)
		if (d->dir && !usb_is_interface(d->name))
			make_node(s, usb_of(d));
}

static struct usb *usb_new(struct sim *s, const struct record *r)
{
	const char *driver = record_text(r, 'L', "driver"), *alias = record_text(r, 'A', "modalias");
	struct usb *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	dev_init(s, &s->usb, &u->dev, r);
	if (!usb_is_interface(u->dev.name))
		return u;
	if (alias)
		snprintf(u->dev.modalias, sizeof(u->dev.modalias), "%.*s", (int)strcspn(alias, "\n"),
			 alias);
	if (driver && strchr(driver, '/'))
		u->dev.rec_drv = driver_get(s, &s->usb, base_name(driver));
	if (u->dev.rec_drv && alias)
		driver_alias(u->dev.rec_drv, u->dev.modalias);
	return u;
}

static void come(struct sim *s, struct dev *d)
{
	struct driver *drv = d->rec_drv;

	if (d->dir || dev_appear(s, d))
		return;
	if (!usb_is_interface(d->name)) {
		give_number(s, usb_of(d));
		drv = driver_get(s, &s->usb, "usb");
	}
	if (s->quiet) {
		if (drv)
			driver_link(s, drv, d);
		return;
	}
	dev_event(s, d, "add");
	bus_offer(s, d);
}

static void go(struct sim *s, struct dev *d)
{
	struct node *chars = tree_walk(s->tree, s->tree->root, "dev/char");
	char number[48], node[48];

	if (dev_lock(s, d))
		return;
	driver_release(s, d);
	if (!usb_is_interface(d->name)) {
		paths_of(usb_of(d), number, node);
		if (chars)
			tree_remove_name(s->tree, chars, number);
		facts_remove(s, node);
	}
	dev_vanish(s, d);
	dev_unlock(s, d);
}

void usb_add(struct sim *s, const struct record *r)
{
	struct usb *u = find_usb(s, base_name(r->path));

	u = u ? u : usb_new(s, r);
	if (u)
		come(s, &u->dev);
}

void usb_remove(struct sim *s, const struct record *r)
{
	struct usb *u = find_usb(s, base_name(r->path));

	if (u && u->dev.dir)
		go(s, &u->dev);
}

/* ---- by command */

static bool is_below(const struct dev *d, const char *path)
{
	size_t n = strlen(path);

	return !strncmp(d->rec->path, path, n) && (!d->rec->path[n] || d->rec->path[n] == '/');
}

static int copy_one(struct sim *s, const struct record *model, const char *path)
{
	struct record *r = machine_record_new(path);

	if (!r)
		return -ENOMEM;
	for (size_t i = 0; i < model->n; i++) {
		const struct field *f = &model->fields[i];

		if ((f->type == 'A' || f->type == 'E' ||
		     (f->type == 'L' && !strcmp(f->name, "driver"))) &&
		    !strchr(f->name, '/'))
			record_add(r, f->type, f->name, "%s", f->data);
	}
	return usb_new(s, r) ? 0 : -ENOMEM;
}

/* The hub is told by the name: "1-1" for 1-1.4, "usb1" for 1-3. */
static int copy(struct sim *s, const char *name, const struct usb *from)
{
	char hub[64], path[TREE_PATH_MAX];
	const char *dot = strrchr(name, '.');
	const struct usb *on;
	size_t len = strlen(from->dev.rec->path);
	int r = 0;

	if (dot)
		snprintf(hub, sizeof(hub), "%.*s", (int)(dot - name), name);
	else
		snprintf(hub, sizeof(hub), "usb%.*s", (int)strcspn(name, "-"), name);
	on = find_usb(s, hub);
	if (!on || usb_is_interface(name))
		return -ENODEV;
	snprintf(path, sizeof(path), "%s/%s", on->dev.rec->path, name);
	r = copy_one(s, from->dev.rec, path);
	for (struct dev *d = s->usb.devs; d && !r; d = d->next) {
		if (strncmp(d->rec->path, from->dev.rec->path, len) || d->rec->path[len] != '/' ||
		    strchr(d->rec->path + len + 1, '/') || !usb_is_interface(d->name))
			continue;
		snprintf(path, sizeof(path), "%s/%s/%s%s", on->dev.rec->path, name, name,
			 strchr(d->name, ':'));
		r = copy_one(s, d->rec, path);
	}
	return r;
}

int usb_plug(struct sim *s, const char *name, const char *from)
{
	struct usb *u = find_usb(s, name), *model = from ? find_usb(s, from) : NULL;
	int r = !u && from ? (model ? copy(s, name, model) : -ENODEV) : 0;

	u = r ? NULL : find_usb(s, name);
	if (!u)
		return r ? r : -ENODEV;
	if (u->dev.dir)
		return -EEXIST;
	for (struct dev *d = s->usb.devs; d; d = d->next)
		if (is_below(d, u->dev.rec->path))
			come(s, d);
	return 0;
}

/* The last one first: the list has parents before children. */
static void go_below(struct sim *s, struct dev *d, const char *path)
{
	if (!d)
		return;
	go_below(s, d->next, path);
	if (d->dir && is_below(d, path))
		go(s, d);
}

int usb_unplug(struct sim *s, const char *name)
{
	struct usb *u = find_usb(s, name);

	if (!u || !u->dev.dir)
		return -ENODEV;
	go_below(s, s->usb.devs, u->dev.rec->path);
	return 0;
}
