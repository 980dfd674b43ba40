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

struct usb *usb_find(struct sim *s, const char *name)
{
	for (struct dev *d = s->usb.devs; d; d = d->next)
		if (!strcmp(d->name, name))
			return usb_of(d);
	return NULL;
}

static struct dev *find(struct sim *s, const char *name)
{
	struct usb *u = usb_find(s, name);

	return u ? &u->dev : NULL;
}

const char *usb_text(const struct dev *d, char type, const char *name)
{
	const char *text = record_text(d->rec, type, name);

	return text ? text : "";
}

static size_t env_before(struct dev *d, char *buf, size_t size)
{
	struct usb *u = usb_of(d);

	if (usb_is_interface(d->name))
		return (size_t)snprintf(buf, size, "DEVTYPE=usb_interface\n");
	return (size_t)snprintf(
		buf, size,
		"MAJOR=%u\nMINOR=%u\nDEVNAME=bus/usb/%03u/%03u\nDEVTYPE=usb_device\n",
		USB_MAJOR, usb_minor(u), u->busnum, u->devnum);
}

static size_t env(struct dev *d, char *buf, size_t size)
{
	struct usb *u = usb_of(d);
	const char *product = usb_text(d, 'E', "PRODUCT"), *type = usb_text(d, 'E', "TYPE");
	size_t n = (size_t)snprintf(buf, size, "PRODUCT=%s\nTYPE=%s\n", product, type);

	if (usb_is_interface(d->name))
		return n + (size_t)snprintf(buf + n, size - n, "INTERFACE=%s\n",
					    usb_text(d, 'E', "INTERFACE"));
	return n + (size_t)snprintf(buf + n, size - n, "BUSNUM=%03u\nDEVNUM=%03u\n", u->busnum,
				    u->devnum);
}

/* A driver of the network that wants the data of some gadgets for itself: usb:v0525pA4A2*. */
static bool wants_data(const struct driver *drv, const struct dev *d)
{
	return !strcmp(drv->name, "cdc_subset") && usb_has_subset(d) && usb_is_class(d, "0a");
}

/* A second interface that a driver has taken along matches nothing of its own. */
static bool is_first(const struct dev *d)
{
	return !usb_is_class(d, "0a") &&
	       (!usb_is_class(d, "01") ||
		!strncmp(usb_text(d, 'A', "bInterfaceSubClass"), "01", 2));
}

static bool has_id(const struct driver *drv, struct dev *d)
{
	if (!usb_is_interface(d->name))
		return !strcmp(drv->name, "usb");
	return (drv == d->rec_drv && is_first(d)) || wants_data(drv, d);
}

static bool is_shut(struct dev *d)
{
	return false;
}

bool usb_has_subset(const struct dev *d)
{
	return !strncmp(usb_text(d, 'E', "PRODUCT"), "525/a4a2/", 9);
}

bool usb_is_class(const struct dev *d, const char *class)
{
	return !strncmp(usb_text(d, 'A', "bInterfaceClass"), class, 2);
}

/* ---- drivers of interfaces */

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

/* The driver takes a second interface before it has the first; one that is not there yet comes
 * with it. */
static void take_along(struct sim *s, struct driver *drv, struct usb *other)
{
	if (!other->dev.dir) {
		other->promised = drv;
		return;
	}
	driver_link(s, drv, &other->dev);
	dev_event(s, &other->dev, "bind");
}

/* The driver of the first half of a device has its second half too, and loses both at once. */
static int probe_pair(struct sim *s, struct dev *d)
{
	struct usb *data = usb_next(d);

	if (!data || !usb_is_class(&data->dev, "0a"))
		return -ENODEV;
	if (data->dev.drv)
		return -EBUSY;
	take_along(s, d->drv, data);
	return probe(s, d);
}

/* Of an interface that is losing its driver the link is gone already. */
static bool loses(struct sim *s, struct usb *other, const struct driver *drv)
{
	return other && other->dev.dir && other->dev.drv == drv &&
	       tree_find(s->tree, other->dev.dir, "driver");
}

static int remove_pair(struct sim *s, struct dev *d)
{
	struct usb *other = usb_is_class(d, "02") ? usb_next(d) : usb_before(d);

	if (loses(s, other, d->drv))
		driver_release(s, &other->dev);
	return remove_driver(s, d);
}

/* A sound card's control has whichever streams are free, and each is lost alone. */
static int probe_audio(struct sim *s, struct dev *d)
{
	for (struct usb *u = usb_next(d); u && usb_is_class(&u->dev, "01"); u = usb_next(&u->dev))
		if (!u->dev.drv)
			take_along(s, d->drv, u);
	return probe(s, d);
}

static int remove_hub(struct sim *s, struct dev *d)
{
	usb_lose_ports(s, d);
	return 0;
}

static int probe_hub(struct sim *s, struct dev *d)
{
	(void)s, (void)d;
	return 0;
}

static const struct driver_kind drivers[] = {
	{ .name = "usb", .builtin = true, .probe = usb_configure, .remove = usb_unconfigure },
	{ .name = "hub", .probe = probe_hub, .remove = remove_hub },
	{ .name = "cdc_acm", .probe = probe_pair, .remove = remove_pair },
	{ .name = "cdc_ether", .probe = probe_pair, .remove = remove_pair },
	{ .name = "snd-usb-audio", .probe = probe_audio, .remove = remove_driver },
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
	.env_before = env_before,
	.env = env,
	.has_id = has_id,
	.is_shut = is_shut,
	.own_groups = true,
};
