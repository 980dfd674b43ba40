// SPDX-License-Identifier: GPL-2.0-or-later
/* USB devices come and go: their numbers and nodes, their configuration, the ports of hubs. */
#include "bus.h"
#include "dev.h"
#include "device.h"
#include "facts.h"
#include "sim.h"
#include "usb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

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
	snprintf(number, 48, "%u:%u", USB_MAJOR, usb_minor(u));
	snprintf(node, 48, "dev/bus/usb/%03u/%03u", u->busnum, u->devnum);
}

/* With the mode that udev gives it. */
static void make_node(struct sim *s, const struct usb *u)
{
	char number[48], node[48];

	paths_of(u, number, node);
	facts_char(s, node, makedev(USB_MAJOR, usb_minor(u)), 0664);
}

static void give_number(struct sim *s, struct usb *u)
{
	const char *bus = record_text(u->dev.rec, 'A', "busnum"),
		   *devnum = record_text(u->dev.rec, 'A', "devnum");
	char number[48], node[48], text[64];
	struct node *chars = tree_walk(s->tree, s->tree->root, "dev/char");

	if (!u->busnum)
		u->busnum =
			bus ? (unsigned int)atoi(bus)
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
	const char *driver = record_text(r, 'L', "driver"),
		   *alias = record_text(r, 'A', "modalias");
	struct usb *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	dev_init(s, &s->usb, &u->dev, r);
	if (!usb_is_interface(u->dev.name))
		return u;
	if (alias)
		snprintf(u->dev.modalias, sizeof(u->dev.modalias), "%.*s",
			 (int)strcspn(alias, "\n"), alias);
	if (driver && strchr(driver, '/'))
		u->dev.rec_drv = driver_get(s, &s->usb, base_name(driver));
	if (usb_has_subset(&u->dev))
		driver_get(s, &s->usb, "cdc_subset");
	return u;
}

/* ---- what a device has while it is configured */

/* Is it an interface of that device, or else a device on one of its ports? */
static bool is_part(const struct dev *d, const struct dev *of, bool interface)
{
	size_t n = strlen(of->rec->path);

	return !strncmp(d->rec->path, of->rec->path, n) && d->rec->path[n] == '/' &&
	       !strchr(d->rec->path + n + 1, '/') && usb_is_interface(d->name) == interface;
}

static bool is_beside(const struct dev *d, const struct dev *other)
{
	size_t n = strcspn(d->name, ":") + 1;

	return !strncmp(d->name, other->name, n);
}

struct usb *usb_next(struct dev *d)
{
	struct dev *o = d->next;

	while (o && !is_beside(d, o))
		o = o->next;
	return usb_of(o);
}

struct usb *usb_before(struct dev *d)
{
	struct usb *found = NULL;

	for (struct dev *o = d->bus->devs; o != d; o = o->next)
		if (is_beside(d, o))
			found = usb_of(o);
	return found;
}

/* A device that can wake the machine is given that right whenever it is configured. */
static void tell_wakeup(struct sim *s, struct dev *d)
{
	if (strtoul(usb_text(d, 'A', "bmAttributes"), NULL, 16) & 0x20)
		dev_event(s, d, "change");
}

static void come(struct sim *s, struct dev *d);
static void go(struct sim *s, struct dev *d);

int usb_configure(struct sim *s, struct dev *d)
{
	if (!usb_of(d)->authorized)
		return 0;
	tell_wakeup(s, d);
	for (struct dev *o = s->usb.devs; o; o = o->next)
		if (is_part(o, d, true))
			come(s, o);
	return 0;
}

static bool drop_interfaces(struct sim *s, struct dev *d)
{
	bool any = false;

	for (struct dev *o = s->usb.devs; o; o = o->next)
		if (o->dir && is_part(o, d, true)) {
			any = true;
			go(s, o);
		}
	return any;
}

int usb_unconfigure(struct sim *s, struct dev *d)
{
	if (drop_interfaces(s, d))
		tell_wakeup(s, d);
	return 0;
}

/* A hub's interface is called as itself but for a root hub's: 1-0:1.0 below usb1. */
static bool has_ports(struct sim *s, const struct dev *hub)
{
	for (struct dev *o = s->usb.devs; o; o = o->next)
		if (o->drv && is_part(o, hub, true) && !strcmp(o->drv->name, "hub"))
			return true;
	return false;
}

static void see_ports(struct sim *s, struct dev *hub)
{
	if (!has_ports(s, hub))
		return;
	for (struct dev *o = s->usb.devs; o; o = o->next)
		if (!o->unplugged && is_part(o, hub, false))
			come(s, o);
}

void usb_lose_ports(struct sim *s, struct dev *interface)
{
	char path[TREE_PATH_MAX];

	for (struct dev *hub = s->usb.devs; hub; hub = hub->next) {
		snprintf(path, sizeof(path), "%s/%s", hub->rec->path, interface->name);
		if (strcmp(path, interface->rec->path))
			continue;
		for (struct dev *o = hub->next; o; o = o->next)
			if (o->dir && is_part(o, hub, false))
				go(s, o);
	}
}

/* ---- by a write to its files */

static ssize_t configuration_show(struct sim *s, void *obj, char *page)
{
	for (struct dev *o = s->usb.devs; o; o = o->next)
		if (o->dir && is_part(o, obj, true))
			return snprintf(page, PAGE_TEXT, "%s",
					usb_text(obj, 'A', "bConfigurationValue"));
	return 0;
}

static int set_configuration(struct sim *s, struct dev *d, bool on)
{
	int r = dev_lock(s, d);

	if (r)
		return r;
	usb_unconfigure(s, d);
	if (on)
		usb_configure(s, d);
	dev_unlock(s, d);
	if (on)
		see_ports(s, d);
	return 0;
}

static int configuration_store(struct sim *s, void *obj, const char *text, size_t len)
{
	long value, recorded = atol(usb_text(obj, 'A', "bConfigurationValue"));
	char *end;

	value = strtol(text, &end, 10);
	if (end == text || (value && value != recorded))
		return -EINVAL;
	return set_configuration(s, obj, value);
}

static ssize_t authorized_show(struct sim *s, void *obj, char *page)
{
	return snprintf(page, PAGE_TEXT, "%d\n", usb_of(obj)->authorized);
}

static int authorized_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct usb *u = obj;
	bool on = *text == '1';

	if (*text != '0' && !on)
		return -EINVAL;
	if (u->authorized == on)
		return 0;
	u->authorized = on;
	return set_configuration(s, &u->dev, on);
}

static int remove_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct dev *d = obj;

	(void)text, (void)len;
	return usb_unplug(s, d->name);
}

static const struct reaction rows[] = {
	{ .name = "bConfigurationValue",
	  .mode = 0644,
	  .show = configuration_show,
	  .store = configuration_store },
	{ .name = "authorized", .mode = 0644, .show = authorized_show, .store = authorized_store },
	{ .name = "remove", .mode = 0200, .store = remove_store },
	{ .name = NULL },
};

/* ---- coming and going */

static void come_interface(struct sim *s, struct usb *u)
{
	struct driver *promised = u->promised;

	u->promised = NULL;
	if (promised)
		driver_link(s, promised, &u->dev);
	dev_event(s, &u->dev, "add");
	if (promised)
		dev_event(s, &u->dev, "bind");
	else
		bus_offer(s, &u->dev);
}

static void come(struct sim *s, struct dev *d)
{
	bool interface = usb_is_interface(d->name);
	struct driver *drv = d->rec_drv;

	if (d->dir || dev_appear(s, d))
		return;
	if (!interface) {
		sim_rows(s, d->dir, rows, d);
		give_number(s, usb_of(d));
		usb_of(d)->authorized = *usb_text(d, 'A', "authorized") != '0';
		drv = driver_get(s, &s->usb, "usb");
	}
	if (s->quiet) {
		if (drv)
			driver_link(s, drv, d);
		return;
	}
	if (interface) {
		come_interface(s, usb_of(d));
		return;
	}
	dev_event(s, d, "add");
	bus_offer(s, d);
	see_ports(s, d);
}

static void go(struct sim *s, struct dev *d)
{
	struct node *chars = tree_walk(s->tree, s->tree->root, "dev/char");
	char number[48], node[48];

	if (dev_lock(s, d))
		return;
	if (!usb_is_interface(d->name))
		drop_interfaces(s, d);
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
	struct usb *u = usb_find(s, base_name(r->path));

	u = u ? u : usb_new(s, r);
	if (u && !u->dev.unplugged)
		come(s, &u->dev);
}

void usb_remove(struct sim *s, const struct record *r)
{
	struct usb *u = usb_find(s, base_name(r->path));

	if (u && u->dev.dir)
		go(s, &u->dev);
}

/* ---- by command */

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
	on = usb_find(s, hub);
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

/* Or it comes with its hub. */
static bool hub_is_there(struct sim *s, const struct dev *d)
{
	char path[TREE_PATH_MAX];

	snprintf(path, sizeof(path), "%.*s", (int)(d->name - d->rec->path - 1), d->rec->path);
	return tree_walk(s->tree, s->tree->root, path);
}

int usb_plug(struct sim *s, const char *name, const char *from)
{
	struct usb *u = usb_find(s, name), *model = from ? usb_find(s, from) : NULL;
	int r = !u && from ? (model ? copy(s, name, model) : -ENODEV) : 0;

	u = r ? NULL : usb_find(s, name);
	if (!u)
		return r ? r : -ENODEV;
	if (u->dev.dir)
		return -EEXIST;
	u->dev.unplugged = false;
	if (hub_is_there(s, &u->dev))
		come(s, &u->dev);
	return 0;
}

int usb_unplug(struct sim *s, const char *name)
{
	struct usb *u = usb_find(s, name);

	if (!u || u->dev.unplugged)
		return -ENODEV;
	u->dev.unplugged = true;
	if (u->dev.dir)
		go(s, &u->dev);
	return 0;
}
