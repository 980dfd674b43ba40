// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes that take interfaces from their drivers and give them back. Each may wait for a device
 * lock: helpers do them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/bus.h"
#include "backend/internal.h"
#include "backend/steps.h"
#include "backend/use.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"
#include "usb.h"

#define BIND_MS 10000
#define UNBIND_MS 30000
#define NAME_SIZE (KEY_NAME + 16)

/* Takes "1.0 usbhid" of this device apart: the interface's name in the kernel, and the driver. */
static int parse(const struct step *step, char name[static NAME_SIZE], char driver[static DRIVER_NAME])
{
	size_t n = strspn(step->value, "0123456789.");
	const char *text = step->value + n + (step->value[n] == ' ');

	if (!n || n > 8 || strchr(text, '/') || !str_copy(driver, DRIVER_NAME, text))
		return -EINVAL;
	/* A root hub's interfaces are not called as itself; but nobody takes those. */
	snprintf(name, NAME_SIZE, "%s:%.*s", step->dev.name, (int)n, step->value);
	return 0;
}

/* Takes no lock. "" if it has no driver or is gone. */
static void driver_now(struct backend *b, const char *name, char ret[static DRIVER_NAME])
{
	if (sysfs_link(&b->sys, ROOT_SYS, ret, DRIVER_NAME, USB_DEVICES "/%s/driver", name))
		ret[0] = '\0';
}

static int explain(struct backend *b, const struct step *step, const char *op, const char *name,
		   const char *driver, int rc, unsigned int ms, struct err *err)
{
	int r = step_trouble(b, op, &step->dev, rc, ms, "the driver is still at work", err);

	return r ? r
		 : fail(err, rc == -EBUSY ? EBUSY : EIO,
			"%s of interface %s was refused by %s: %s; dmesg may say why", op, name,
			driver[0] ? driver : "the kernel", strerror(-rc));
}

static int take(struct backend *b, const char *name, const char *driver, struct step *step,
		unsigned int ms, struct err *err)
{
	int rc = step_write(b, step, ms, name, USB_DRIVERS "/%s/unbind", driver);
	char now[DRIVER_NAME];

	driver_now(b, name, now);
	/* One unbind takes others along (cdc-acm, audio), and somebody may be faster. */
	if (!rc || (rc == -ENODEV && !usb_is_host(now) && bus_shows(b, &step->dev)))
		return 0;
	return explain(b, step, "unbind", name, driver, rc, ms, err);
}

static bool has_driver(struct backend *b, const char *name)
{
	return sysfs_exists(&b->sys, ROOT_SYS, USB_DEVICES "/%s/driver", name);
}

static int give(struct backend *b, const char *name, const char *driver, struct step *step,
		unsigned int ms, struct err *err)
{
	int rc;

	if (has_driver(b, name)) /* another interface's bind took it along, or it was never taken */
		return 0;
	rc = driver[0] ? step_write(b, step, ms, name, USB_DRIVERS "/%s/bind", driver)
		       : step_write(b, step, ms, name, "bus/usb/drivers_probe");
	if (!rc || (rc == -EBUSY && has_driver(b, name)))
		return 0;
	/* That driver was unloaded, or wants another interface of it first. */
	if (driver[0] && (rc == -ENOENT || rc == -ENODEV) && bus_shows(b, &step->dev))
		return 0;
	return explain(b, step, "bind", name, driver, rc, ms, err);
}

static int unbind_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char name[NAME_SIZE], driver[DRIVER_NAME], now[DRIVER_NAME];

	if (parse(step, name, driver))
		return fail(err, EINVAL, "unbind %s: not an interface of %s", step->value, step->dev.name);
	driver_now(b, name, now);
	if (!usb_is_host(now) && bus_shows(b, &step->dev))
		return 0;
	return take(b, name, driver, step, ms, err);
}

static int unbind_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char name[NAME_SIZE], driver[DRIVER_NAME];
	int rc;

	if (parse(step, name, driver))
		return 0;
	rc = give(b, name, driver, step, ms, err);
	/* That driver was unloaded meanwhile: the kernel chooses another. */
	return rc || sysfs_exists(&b->sys, ROOT_SYS, USB_DRIVERS "/%s", driver)
		       ? rc
		       : give(b, name, "", step, ms, err);
}

/* Takes from the host's drivers, or gives back to whichever the kernel chooses, each interface. */
static int each_interface(struct backend *b, bool gives, struct step *step, unsigned int ms,
			  struct err *err)
{
	struct usb_interface v[USB_INTERFACES];
	size_t n = usb_interfaces(&b->sys, step->dev.name, v);
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		char name[NAME_SIZE];

		snprintf(name, sizeof(name), "%.47s:%.7s", step->dev.name, v[i].number);
		if (gives)
			rc = give(b, name, "", step, ms, err);
		else if (v[i].driver[0])
			rc = take(b, name, v[i].driver, step, ms, err);
	}
	return rc;
}

/* Whatever was bound since the plan was made, or did not fit into it. */
static int rest_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return each_interface(b, false, step, ms, err);
}

static int probe_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return each_interface(b, true, step, ms, err);
}

static int bind_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char name[NAME_SIZE], driver[DRIVER_NAME];

	if (parse(step, name, driver))
		return fail(err, EINVAL, "bind %s: not an interface of %s", step->value, step->dev.name);
	return give(b, name, driver, step, ms, err);
}

static int bind_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char name[NAME_SIZE], driver[DRIVER_NAME], now[DRIVER_NAME];
	int rc;

	if (parse(step, name, driver))
		return 0;
	driver_now(b, name, now);
	if (!usb_is_host(now))
		return 0;
	rc = step_refuse_undo(b, step, refuse_step, err);
	return rc ? rc : take(b, name, now, step, ms, err);
}

static int probe_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	int rc = step_refuse_undo(b, step, refuse_step, err);

	return rc ? rc : rest_run(b, step, ms, err);
}

/* Whether a pod may lose it the plan has asked: meanwhile none can get it. */
static int refuse_unbind(struct model *m, const struct step *step, struct err *err)
{
	const struct device *dev = model_find(m, &step->dev);
	int rc = dev ? refuse_needed(dev, step->force || is_forced(m, dev), err) : 0;

	return dev && !rc ? refuse_open(dev, err) : rc;
}

const struct verb usb_unbind = { .of = "usb",
				 .name = "unbind",
				 .deadline_ms = UNBIND_MS,
				 .stirs = true, /* the last but one keyboard */
				 .refuse = refuse_unbind,
				 .run = unbind_run,
				 .undo = unbind_undo };
const struct verb usb_rest = { .of = "usb",
			       .name = "unbind_rest",
			       .deadline_ms = UNBIND_MS,
			       .stirs = true,
			       .refuse = refuse_unbind,
			       .run = rest_run,
			       .undo = probe_run };
const struct verb usb_bind = {
	.of = "usb", .name = "bind", .deadline_ms = BIND_MS, .run = bind_run, .undo = bind_undo
};
const struct verb usb_probe = { .of = "usb",
				.name = "drivers_probe",
				.deadline_ms = BIND_MS,
				.run = probe_run,
				.undo = probe_undo };
