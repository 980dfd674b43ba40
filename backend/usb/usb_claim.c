// SPDX-License-Identifier: GPL-2.0-or-later
/* The claim of USB devices: their interfaces are taken from the host's drivers, so that whoever
 * opens the node can have them. Never by `authorized`, which would keep a VMM out too. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/claim.h"
#include "backend/ops.h"
#include "backend/use.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "usb.h"

static bool fits(const struct device *dev)
{
	return dev->facts.class_code >> 16 != USB_CLASS_HUB;
}

/* ---- refusals */

static int refuse_controller(struct model *m, const struct device *dev, struct err *err)
{
	const struct device *c = model_parent(m, dev);
	char claim[CLAIM_NAME] = "";

	if (c)
		device_claim(c, claim);
	return claim[0]
		       ? fail(err, EBUSY,
			      "%s hangs on %s, which is claimed by %s; write none to its claim first",
			      dev->key.name, c->key.name, claim)
		       : 0;
}

/* A guest could not use it either. */
static int refuse_unauthorized(const struct device *dev, struct err *err)
{
	return dev->facts.unauthorized
		       ? fail(err, EPERM,
			      "the host has not authorized %s; run usbguard allow-device, or write 1 to "
			      "its authorized in sysfs",
			      dev->key.name)
		       : 0;
}

static int refuse_claim(struct model *m, const struct device *dev, const struct request *request,
			struct err *err)
{
	const char *claim = dev->intent.claim, *who = request->value;
	int rc = refuse_doubt("", dev, err);

	rc = rc ? rc : refuse_unauthorized(dev, err);
	rc = rc ? rc : refuse_needed_claim(m, dev, request, err);
	rc = rc ? rc : refuse_controller(m, dev, err);
	if (!rc && !request->restores && strcmp(dev->intended, who))
		rc = refuse_coming("", dev, err);
	if (rc)
		return rc;
	if (claim[0] && strcmp(claim, who))
		return fail(err, EBUSY, "%s is claimed by %s; write none to its claim first",
			    dev->key.name, claim);
	/* A guest that ran while the daemon was away keeps its device, untouched. */
	if (request->restores && dev->facts.use == USE_GUEST)
		return 0;
	/* What a driver took from a pod is taken back for it, unless somebody has it open. */
	if (request->restores && device_is_allocated(dev))
		return refuse_open(dev, err);
	return refuse_used("", dev, err);
}

/* ---- plans */

static int plan_unbind(const struct device *dev, const struct request *request, struct plan *plan,
		       struct err *err)
{
	const char *text = dev->facts.interfaces;
	struct usb_interface u;
	char value[STEP_VALUE];
	int rc = 0;

	while (!rc && usb_interface_next(&text, &u)) {
		snprintf(value, sizeof(value), "%s %s", u.number, u.driver);
		if (u.driver[0])
			rc = plan_step_forced(plan, &usb_unbind, &dev->key, value, request->force,
					      err);
	}
	if (!rc && *text) /* more than the record has room for */
		rc = plan_step_forced(plan, &usb_rest, &dev->key, "", request->force, err);
	return rc;
}

static void former_name(const struct usb_interface *u, char name[static FORMER_NAME])
{
	snprintf(name, FORMER_NAME, "i%.*s", 6, strchr(u->number, '.') + 1);
}

/* Each to the driver that it had. A driver of several interfaces may take only the first of them,
 * which need not be the lowest (cdc-acm), and another driver might take the others; so the kernel
 * chooses for what is left only at the end. */
static int plan_bind(const struct device *dev, struct plan *plan, struct err *err)
{
	const char *text = dev->facts.interfaces;
	char value[STEP_VALUE], name[FORMER_NAME], former[DRIVER_NAME];
	struct usb_interface u;
	bool rest = false;
	int rc = 0;

	while (!rc && usb_interface_next(&text, &u)) {
		if (u.driver[0])
			continue;
		rest = true;
		former_name(&u, name);
		former_get(dev->intent.former, name, former, sizeof(former));
		snprintf(value, sizeof(value), "%s %s", u.number, former);
		rc = former[0] ? plan_step(plan, &usb_bind, &dev->key, value, err) : 0;
	}
	return !rc && (rest || *text) ? plan_step(plan, &usb_probe, &dev->key, "", err) : rc;
}

static bool is_ours(const struct device *dev)
{
	return dev->intent.claim[0] || dev->intended[0] || device_is_astray(dev) || dev->stuck[0];
}

static int plan_release(const struct device *dev, const struct request *request, struct plan *plan,
			struct err *err)
{
	int rc = request->restores ? 0 : refuse_coming("", dev, err);

	if (!rc && dev->facts.use == USE_GUEST && is_ours(dev))
		rc = refuse_holder("", dev, err);
	rc = rc ? rc : refuse_given(dev, err);
	if (rc || !is_ours(dev))
		return rc;
	if (usb_node_was_given(&dev->intent))
		rc = plan_step(plan, &usb_own, &dev->key, USB_NODE_BACK, err);
	return rc ? rc : plan_bind(dev, plan, err);
}

static int expand(struct model *m, const struct device *dev, const struct request *request,
		  struct plan *plan, struct err *err)
{
	int rc = plan_touch(plan, &dev->key, err);
	bool held;

	if (rc)
		return rc;
	if (!request->value[0])
		return plan_release(dev, request, plan, err);
	held = !strcmp(dev->intent.claim, request->value) && dev->facts.use == USE_GUEST;
	rc = held ? 0 : refuse_claim(m, dev, request, err);
	rc = rc || held ? rc : plan_unbind(dev, request, plan, err);
	if (rc || (held && !dev->stuck[0]) || !usb_node_was_given(&dev->intent))
		return rc;
	return plan_step(plan, &usb_own, &dev->key,
			 usb_node_goes_to(&dev->intent, dev->facts.nodes), err);
}

/* kubelet's pods open the node as the user of VMs. */
static int allocate(const struct device *dev, const struct request *request, struct plan *plan,
		    struct err *err)
{
	struct intent next = dev->intent;

	if (!strcmp(request->value, "pending"))
		STR_COPY(next.given, dev->facts.nodes);
	else if (!next.allocated[0] == !request->value[0])
		return 0;
	STR_COPY(next.allocated, request->value);
	return plan_step(plan, &usb_own, &dev->key, usb_node_goes_to(&next, dev->facts.nodes), err);
}

/* Notes which driver had each interface. What does not fit is given to the kernel's choice. */
static int prepare(struct model *m, struct device *dev, const struct request *request,
		   struct err *err)
{
	struct intent *w = &dev->intent;
	char name[FORMER_NAME], known[DRIVER_NAME];
	struct usb_interface u;
	const char *text;

	if (!request->value[0])
		return 0;
	note_forced(m, dev, request);
	if (!w->former_known)
		w->former[0] = '\0';
	for (text = dev->facts.interfaces; usb_interface_next(&text, &u);) {
		former_name(&u, name);
		former_get(w->former, name, known, sizeof(known));
		if (u.driver[0] && !known[0])
			former_set(w->former, name, u.driver);
	}
	w->former_known = true;
	return 0;
}

static int settle(struct model *m, struct device *dev, const struct request *request,
		  struct err *err)
{
	if (request->value[0] && dev->facts.use != USE_GUEST)
		return fail(err, EIO,
			    "an interface of %s is with %s again although the kernel reported "
			    "success; write again",
			    dev->key.name, dev->facts.driver);
	if (request->value[0] && !dev->facts.nodes[0])
		return fail(err, EIO,
			    "%s has no node /dev/bus/usb/%03u/%03u; check that udev or devtmpfs is "
			    "running",
			    dev->key.name, dev->facts.busnum, dev->facts.devnum);
	claim_note(dev, request->value);
	return 0;
}

/* Somebody who claims nothing yet. */
static int refuse(struct model *m, const struct device *dev, struct err *err)
{
	static const struct request anybody = { .file = "claim", .value = "?" };

	return refuse_claim(m, dev, &anybody, err);
}

const struct claim_ops usb_claim = {
	.bus = BUS_USB,
	.fits = fits,
	.expand = expand,
	.prepare = prepare,
	.settle = settle,
	.allocate = allocate,
	.refuse = refuse,
	.give_nodes = usb_give_nodes,
	.keep_nodes = usb_keep_nodes,
};

static const struct verb *const verbs[] = { &usb_unbind, &usb_rest, &usb_bind,
					    &usb_probe,	 &usb_own,  NULL };

const struct backend_ops usb_ops = {
	.name = "usb",
	.help = "claims of USB devices: their interfaces are taken from the host's drivers",
	.verbs = verbs,
};
