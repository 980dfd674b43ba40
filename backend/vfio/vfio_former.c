// SPDX-License-Identifier: GPL-2.0-or-later
/* What a function had before its claim, and how it gets that back. Of a device that was on vfio-pci
 * before, who claims it may tell its driver, in the file former_driver. */
#include "vfio.h"

#include <errno.h>
#include <string.h>

#include "backend/claim.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/valid.h"

/* After a crash the device may be driverless or on vfio while its former driver is known. A VF
 * without a driver may never have been probed: then the kernel chooses. */
void vfio_remember(struct device *dev)
{
	struct intent *w = &dev->intent;
	bool host_driver = dev->facts.driver[0] && !vfio_bound(dev);

	if (w->claim[0] || (w->former_known && !host_driver))
		return;
	w->former[0] = '\0';
	former_set(w->former, FORMER_DRIVER, host_driver ? dev->facts.driver : "");
	former_set(w->former, FORMER_OVERRIDE, "");
	if (!dev->facts.serial && dev->facts.host_serial[0])
		former_set(w->former, FORMER_SERIAL, dev->facts.host_serial);
	w->former_known = host_driver || !(vfio_bound(dev) || device_is_vf(dev));
}

bool vfio_was_told(const struct device *dev)
{
	char driver[DRIVER_NAME], told[DRIVER_NAME];

	former_get(dev->intent.former, FORMER_DRIVER, driver, sizeof(driver));
	former_get(dev->intent.former, FORMER_TOLD, told, sizeof(told));
	return !driver[0] && told[0];
}

int vfio_give_back(const struct device *dev, bool force, struct plan *plan, struct err *err)
{
	const struct intent *w = &dev->intent;
	char driver[DRIVER_NAME], override[DRIVER_NAME];
	bool by_override;
	int rc = 0;

	former_driver(w->former, driver, sizeof(driver));
	former_get(w->former, FORMER_OVERRIDE, override, sizeof(override));
	if (!w->former_known)
		return plan_step(plan, &vfio_probe, &dev->key, "", err);
	if (!driver[0])
		return 0;
	/* Without an override, by which a driver takes whatever the device is: the name is only
	 * somebody's word. */
	if (vfio_was_told(dev))
		return plan_step(plan, &vfio_rebind_told, &dev->key, driver, err);
	/* With sriov_drivers_autoprobe 0 the kernel binds a VF only if an override names the
	 * driver. */
	by_override = device_is_vf(dev) && !override[0];
	if (by_override)
		rc = plan_step(plan, &vfio_override, &dev->key, driver, err);
	rc = rc ?: plan_step_forced(plan, &vfio_rebind, &dev->key, driver, force, err);
	return rc || !by_override ? rc : plan_step(plan, &vfio_override, &dev->key, "", err);
}

/* ---- former_driver */

static int refuse_told(struct model *m, const struct device *dev, const struct plan *plan,
		       const char *known, const char *told, struct err *err)
{
	const char *name = dev->key.name;

	if (dev->intent.claim[0] && dev->intent.former_known)
		return fail(err, EBUSY, "%s had %s before its claim, and goes back to that", name,
			    known[0] ? known : "no driver");
	if (driver_is_vfio(told))
		return fail(err, EINVAL,
			    "%s is a driver for guests: a release would leave %s with it", told,
			    name);
	if (!vfio_bound(dev))
		return fail(err, EBUSY,
			    "%s is on %s, and not on vfio-pci: a claim remembers that by itself",
			    name, dev->facts.driver[0] ? dev->facts.driver : "no driver");
	if (!claim_requested(m, plan, dev))
		return fail(
			err, EINVAL,
			"the driver of %s can only be told together with a claim of it, by lines of "
			"one transaction of ctl",
			name);
	return 0;
}

/* What was seen counts more: a claim is not refused for what somebody says besides. */
static int note_told(struct device *dev, const char *driver, struct err *err)
{
	if (dev->intent.former_known || !driver[0])
		return 0;
	if (!former_set(dev->intent.former, FORMER_TOLD, driver))
		return fail(err, E2BIG, "there is no room for the name %s", driver);
	dev->intent.former_known = true;
	return 0;
}

static int told_expand(struct model *m, const struct device *dev, const struct request *request,
		       struct plan *plan, struct err *err)
{
	struct device next = *dev;
	char known[DRIVER_NAME];
	int rc = 0;

	former_driver(dev->intent.former, known, sizeof(known));
	vfio_remember(&next);
	if (strcmp(known, request->value))
		rc = refuse_told(m, dev, plan, known, request->value, err) ?:
			     note_told(&next, request->value, err);
	return rc ? rc : plan_touch(plan, &dev->key, err);
}

static int told_predict(struct model *m, const struct device *parent,
			const struct request *request, struct plan *plan, struct err *err)
{
	return fail(err, EINVAL,
		    "%s is not there yet, so no driver had it; leave former_driver out",
		    request->dev.name);
}

static int told_settle(struct model *m, struct device *dev, const struct request *request,
		       struct err *err)
{
	return note_told(dev, request->value, err);
}

const struct method vfio_former = {
	.file = "former_driver",
	.bus = BUS_PCI,
	.rank = 100,
	.noted = true,
	.caps = CAP_PCI | CAP_CLAIM,
	.expand = told_expand,
	.predict = told_predict,
	.settle = told_settle,
};
