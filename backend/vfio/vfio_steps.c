// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes that move a function between drivers. Each may wait for a device lock: helpers do them. */
#include "vfio.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "backend/bus.h"
#include "backend/internal.h"
#include "backend/steps.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"
#include "backend/use.h"

#define DRIVERS "bus/pci/drivers"

static int write_driver(struct backend *b, const char *driver, const char *file, struct step *step,
			unsigned int ms)
{
	if (strchr(driver, '/')) /* the name may come from the state file */
		return -ENOENT;
	return step_write(b, step, ms, step->dev.name, DRIVERS "/%s/%s", driver, file);
}

/* A newline alone clears it; an empty write never reaches the kernel. */
static const char *override_text(const char *driver)
{
	return driver[0] ? driver : "\n";
}

int vfio_lift(struct backend *b, const struct key *dev, const char *former, unsigned int ms)
{
	char driver[DRIVER_NAME];

	former_get(former, FORMER_OVERRIDE, driver, sizeof(driver));
	if (driver_is_vfio(driver)) /* it was there before the claim, and stays */
		return 0;
	return step_write(b, NULL, ms, override_text(driver), PCI_DEVICES "/%s/driver_override",
			  dev->name);
}

int vfio_early(const struct sysfs *s, const struct key *dev, const char *with, struct err *err)
{
	int rc = sysfs_write(s, ROOT_SYS, driver_is_vfio(with) ? with : "vfio-pci",
			     PCI_DEVICES "/%s/driver_override", dev->name);

	return rc ? fail(err, -rc, "driver_override of %s: %s", dev->name, strerror(-rc)) : 0;
}

/* Takes no lock. "" if it has no driver or is gone. */
static void driver_now(struct backend *b, const char *name, char ret[static DRIVER_NAME])
{
	if (sysfs_link(&b->sys, ROOT_SYS, ret, DRIVER_NAME, PCI_DEVICES "/%s/driver", name))
		ret[0] = '\0';
}

static bool driver_there(struct backend *b, const char *driver)
{
	return sysfs_exists(&b->sys, ROOT_SYS, DRIVERS "/%s", driver);
}

/* Turns the kernel's errno, if any, into the cause, as far as it can be found. */
static int explain(struct backend *b, const struct step *step, const char *op, int rc,
		   const char *driver, unsigned int ms, struct err *err)
{
	const char *name = step->dev.name;
	int r = rc ? step_trouble(b, op, &step->dev, rc, ms, "the driver is still at work", err)
		   : 0;
	char now[DRIVER_NAME];

	if (r || !rc)
		return r;
	if (driver && !driver_there(b, driver))
		return fail(err, EOPNOTSUPP,
			    "this host has no driver %s; modprobe %s and write again", driver,
			    driver);
	driver_now(b, name, now);
	if (rc == -EBUSY && now[0])
		return fail(err, EBUSY, "%s was taken by %s meanwhile; write again", name, now);
	return fail(err, rc == -EBUSY ? EBUSY : EIO,
		    "%s of %s was refused by %s: %s; dmesg may say why", op, name,
		    driver ? driver : "the kernel", strerror(-rc));
}

static int write_override(struct backend *b, const char *driver, struct step *step,
			  unsigned int ms, struct err *err)
{
	int rc = step_write(b, step, ms, override_text(driver), PCI_DEVICES "/%s/driver_override",
			    step->dev.name);

	return explain(b, step, "driver_override", rc, NULL, ms, err);
}

/* The kernel prints an unset override as "(null)". */
static int read_override(struct backend *b, const char *name, unsigned int ms, struct out *ret)
{
	int rc = step_read(b, ms, ret, PCI_DEVICES "/%s/driver_override", name);

	if (!rc && !strcmp(out_text(ret), "(null)"))
		ret->data[ret->len = 0] = '\0';
	return rc;
}

/* Records the override that a release must restore. Our own, after a crash or on an adopted device,
 * does not count. */
static void remember_override(struct model *m, const struct step *step)
{
	char known[DRIVER_NAME];
	struct device *dev;

	model_lock(m);
	dev = model_edit(m, &step->dev, false);
	STR_COPY(known, step->former);
	if (dev && !dev->intent.claim[0] && !driver_is_vfio(step->former))
		former_set(dev->intent.former, FORMER_OVERRIDE, known);
	model_publish(m);
	model_unlock(m);
}

static int override_learn(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	struct out former = { 0 };
	int rc = read_override(b, step->dev.name, ms, &former);

	if (!rc && !STR_COPY(step->former, out_text(&former)))
		rc = -ENAMETOOLONG;
	out_free(&former);
	if (rc)
		return explain(b, step, step->verb->name, rc, NULL, ms, err);
	step->recorded = true;
	if (driver_is_vfio(step->value))
		remember_override(b->model, step);
	return 0;
}

static int override_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	/* Checked first: an override without its driver leaves the device driverless. */
	if (driver_is_vfio(step->value) && !driver_there(b, step->value))
		return explain(b, step, step->verb->name, -ENOENT, step->value, ms, err);
	return write_override(b, step->value, step, ms, err);
}

static int override_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return write_override(b, step->former, step, ms, err);
}

/* An unbind ends only when the holder closes the device. */
static int tell_holder(struct backend *b, const struct step *step, unsigned int ms, struct err *err)
{
	bool known = !ask_now(b, &ask_holders, &step->dev, 1, 0, NULL);
	struct err held = { 0 };
	struct device dev;

	if (known && model_copy(b->model, &step->dev, &dev))
		refuse_used("", &dev, &held);
	return step_trouble(
		b, step->verb->name, &step->dev, -ETIMEDOUT, ms,
		held.code ? held.text
		: known	  ? "its driver is still at work, and no process is seen to hold it"
			  : "a process may hold it",
		err);
}

static int unbind(struct backend *b, struct step *step, const char *driver, unsigned int ms,
		  struct err *err)
{
	int rc = write_driver(b, driver, "unbind", step, ms);
	char now[DRIVER_NAME];

	if (!rc)
		return 0;
	driver_now(b, step->dev.name, now);
	/* The kernel returns ENODEV if the device is not this driver's: somebody was faster. */
	if (rc == -ENODEV && !now[0] &&
	    sysfs_exists(&b->sys, ROOT_SYS, PCI_DEVICES "/%s", step->dev.name))
		return 0;
	return rc == -ETIMEDOUT ? tell_holder(b, step, ms, err)
				: explain(b, step, step->verb->name, rc, driver, ms, err);
}

static int bind_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	int rc = write_driver(b, step->value, "bind", step, ms);

	return explain(b, step, "bind", rc, step->value, ms, err);
}

static int unbind_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	return unbind(b, step, step->value, ms, err);
}

/* Sets the override to the driver first. Otherwise the kernel refuses a device that is bound by a
 * dynamic id, whose override names another driver, or that is a VF of a PF with
 * sriov_drivers_autoprobe 0. The undo of an earlier step, always the override's, then restores the
 * right one. */
static int unbind_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char now[DRIVER_NAME];
	int rc;

	driver_now(b, step->dev.name, now);
	if (!strcmp(now, step->value))
		return 0; /* never taken from it */
	rc = write_override(b, step->value, step, ms, err);
	return rc ? rc : bind_run(b, step, ms, err);
}

/* In an undo: a guest or the host may use the device by now. */
static int take_back(struct backend *b, struct step *step, const char *driver, unsigned int ms,
		     struct err *err)
{
	int rc = step_refuse_undo(b, step, refuse_step, err);

	return rc ? rc : unbind(b, step, driver, ms, err);
}

static int bind_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char now[DRIVER_NAME];

	driver_now(b, step->dev.name, now);
	if (strcmp(now, step->value))
		return 0; /* it never had that driver, or lost it */
	return take_back(b, step, step->value, ms, err);
}

static void note_probed(struct model *m, const struct key *key)
{
	struct device *dev;

	model_lock(m);
	dev = model_edit(m, key, false);
	if (dev)
		dev->intent.unprobed = false;
	model_publish(m);
	model_unlock(m);
}

static int probe_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	int rc = step_write(b, step, ms, step->dev.name, PCI_PROBE);

	note_probed(b->model, &step->dev);
	return explain(b, step, step->verb->name, rc, NULL, ms, err);
}

/* Excludes lack of time, of a helper or of the device, and somebody who was faster. */
static bool is_refusal(struct backend *b, const struct step *step, int rc)
{
	return rc != -ETIMEDOUT && rc != -ECHILD && rc != -EBUSY && bus_shows(b, &step->dev);
}

static int rebind_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	int rc = write_driver(b, step->value, "bind", step, ms);
	bool refused;

	/* The driver was unloaded or does not take the device any more: another one may. */
	if (rc == -ENOENT || rc == -ENODEV)
		return probe_run(b, step, ms, err);
	refused = rc && is_refusal(b, step, rc);
	if (!rc || (refused && step->force))
		return 0; /* or without a driver, as requested */
	rc = explain(b, step, step->verb->name, rc, step->value, ms, err);
	return refused ? fail(err, -rc, "%s; force in ctl releases it without a driver", err->text)
		       : rc;
}

static int rebind_told_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	int rc = write_driver(b, step->value, "bind", step, ms);

	if (rc && is_refusal(b, step, rc))
		return probe_run(b, step, ms, err);
	return explain(b, step, "bind", rc, step->value, ms, err);
}

/* Takes it from whichever driver took it. */
static int probe_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	char now[DRIVER_NAME];

	driver_now(b, step->dev.name, now);
	return now[0] ? take_back(b, step, now, ms, err) : 0;
}

static int node_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	const char *group = strrchr(step->value, '/') + 1;
	uint64_t until = now_ms() + ms;
	char now[DRIVER_NAME];

	while (!sysfs_exists(&b->sys, ROOT_DEV, "vfio/%s", group)) {
		/* Another device may be in its place, waiting for us. */
		driver_now(b, step->dev.name, now);
		if (!bus_shows(b, &step->dev))
			return fail(err, ENODEV, "%s is gone", step->dev.name);
		if (!driver_is_vfio(now))
			return fail(err, EBUSY,
				    "%s has lost its vfio driver before %s appeared: it was pulled "
				    "and put back, or unbound; write again",
				    step->dev.name, step->value);
		if (now_ms() >= until)
			return fail(err, EIO,
				    "%s is on its vfio driver, but %s did not appear; check that "
				    "udev or devtmpfs is running",
				    step->dev.name, step->value);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int modprobe_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	const char *const argv[] = { "modprobe", step->value, NULL };
	int rc;

	if (driver_there(b, step->value))
		return 0;
	if (!b->real) /* the loadable modules belong to another machine */
		return explain(b, step, step->verb->name, -ENOENT, step->value, ms, err);
	rc = io_call(b->io, argv, ms, NULL, &step->late, &step->helper);
	if (rc == -ETIMEDOUT)
		return explain(b, step, step->verb->name, rc, NULL, ms, err);
	if (!rc && driver_there(b, step->value))
		return 0;
	fail(err, EOPNOTSUPP, "this host has no driver %s, and its module cannot be loaded: %s",
	     step->value, rc ? strerror(-rc) : "it registers no driver of that name");
	confine_tell(io_lacks(b->io, argv[0]), rc, err);
	return -EOPNOTSUPP;
}

#define BIND_MS 10000
#define UNBIND_MS 30000
#define MODPROBE_MS 30000

const struct verb vfio_modprobe = { .of = "vfio", .name = "modprobe",
				    .deadline_ms = MODPROBE_MS,
				    .run = modprobe_run };
const struct verb vfio_override = { .of = "vfio", .name = "driver_override",
				    .deadline_ms = BIND_MS,
				    .records = true,
				    .learn = override_learn,
				    .run = override_run,
				    .undo = override_undo };
const struct verb vfio_unbind = { .of = "vfio", .name = "unbind",
				  .deadline_ms = UNBIND_MS,
				  .refuse = refuse_step,
				  .run = unbind_run,
				  .undo = unbind_undo };
const struct verb vfio_bind = {
	.of = "vfio", .name = "bind", .deadline_ms = BIND_MS, .run = bind_run, .undo = bind_undo
};
const struct verb vfio_bind_idle = { .of = "vfio", .name = "bind",
				     .deadline_ms = BIND_MS,
				     .refuse = refuse_step,
				     .run = bind_run,
				     .undo = bind_undo };
const struct verb vfio_rebind = { .of = "vfio",
				  .name = "rebind",
				  .deadline_ms = BIND_MS,
				  .run = rebind_run,
				  .undo = probe_undo };
const struct verb vfio_rebind_told = { .of = "vfio",
				       .name = "rebind_told",
				       .deadline_ms = BIND_MS,
				       .run = rebind_told_run,
				       .undo = probe_undo };
const struct verb vfio_probe = { .of = "vfio",
				 .name = "drivers_probe",
				 .deadline_ms = BIND_MS,
				 .run = probe_run,
				 .undo = probe_undo };
const struct verb vfio_node = {
	.of = "vfio", .name = "node", .deadline_ms = BIND_MS, .run = node_run
};
