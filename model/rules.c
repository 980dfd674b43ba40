// SPDX-License-Identifier: GPL-2.0-or-later
/* Derives from facts: capabilities, kind, state and its sentence. Pure. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static const char *const state_names[STATE_COUNT] = {
	[STATE_STUCK] = "stuck",	 [STATE_BUSY] = "busy", [STATE_UNHEALTHY] = "unhealthy",
	[STATE_ALLOCATED] = "allocated", [STATE_HELD] = "held", [STATE_CLAIMED] = "claimed",
	[STATE_HOST] = "host",		 [STATE_FREE] = "free",
};

const char *state_name(enum state state)
{
	return state < STATE_COUNT ? state_names[state] : "unhealthy";
}

/* No device of its kind can be claimed. */
static void refuse_kind(struct device *dev)
{
	struct err err;

	if (dev->caps & CAP_CLAIM)
		return;
	dev->refused_code = -device_lacks(dev, "claim", &err);
	STR_COPY(dev->refused, err.text);
}

/* True, so that a state's function can end with it. */
__attribute__((format(printf, 2, 3))) static bool because(struct device *dev, const char *fmt, ...)
{
	char text[2 * sizeof(dev->reason)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	STR_FIT(dev->reason, text);
	return true;
}

static bool is_stuck(struct device *dev)
{
	return dev->stuck[0] && because(dev, "%s", dev->stuck);
}

static bool is_busy(struct device *dev)
{
	return dev->busy[0] && because(dev, "%s is running", dev->busy);
}

void device_doubt(const struct device *dev, char buf[static DOUBT_TEXT])
{
	buf[0] = '\0';
	if (dev->facts.garbled[0])
		snprintf(buf, DOUBT_TEXT,
			 "sysfs holds invalid data for %s (%s); pcidevfs does not touch it until "
			 "that is fixed",
			 dev->key.name, dev->facts.garbled);
}

/* The node without which nobody can open it. */
static const char *missing_node(const struct device *dev, char buf[static NODES_TEXT])
{
	if (dev->facts.iommu_group < 0)
		return "its device node";
	snprintf(buf, NODES_TEXT, "/dev/vfio/%d", (int)dev->facts.iommu_group);
	return buf;
}

/* A container's nodes are those that its pod was given. */
static bool is_replugged(const struct device *dev)
{
	return device_is_allocated(dev) && key_is_renumbered(&dev->key) && dev->intent.given[0] &&
	       strcmp(dev->intent.given, dev->facts.nodes);
}

#define BACK_ON_BUS                                                                                \
	"write 1 to its remove and then to bus/pci/rescan in /sys, or switch the host off and on"

/* It may have fallen off the bus, or hangs. */
static bool is_dead(struct device *dev)
{
	const struct facts *f = &dev->facts;

	if ((dev->caps & CAP_PCI) && (!f->vendor || f->vendor == 0xffff))
		return because(dev,
			       "the kernel gives no vendor id for %s; it may have fallen off the "
			       "bus: " BACK_ON_BUS,
			       dev->key.name);
	return f->liveness != LIVENESS_GOOD &&
	       because(dev,
		       f->liveness == LIVENESS_ONES
			       ? "config space of %s reads all ones: it may have fallen off the "
				 "bus, or has no power: " BACK_ON_BUS
				 "; it is reported healthy once it has answered for a few seconds"
			       : "config space of %s cannot be read, the kernel waits for it: a "
				 "reset of it may hang; it is reported healthy once it has "
				 "answered for a few seconds",
		       dev->key.name);
}

/* No guest can use what it was claimed for. */
static bool is_lost(struct device *dev)
{
	const struct facts *f = &dev->facts;
	const char *claim = dev->intent.claim;
	char node[NODES_TEXT];

	if (!claim[0])
		return false;
	if (f->unauthorized)
		return because(
			dev,
			"claimed by %s, but the host has withdrawn its authorization, so no guest can use it; "
			"run usbguard allow-device, or write 1 to its authorized in sysfs",
			claim);
	if ((dev->caps & CAP_VGPU) && !f->profile_id[0])
		return because(
			dev,
			"claimed by %s, but it is not a vGPU any more; write its profile again",
			claim);
	if (f->use != USE_GUEST && (dev->caps & CAP_CLAIM))
		return because(
			dev,
			"claimed by %s, but its driver is %s, so no guest can have it; write the claim again",
			claim, f->driver[0] ? f->driver : "none");
	return !f->nodes[0] && (dev->caps & CAP_CLAIM) &&
	       because(dev,
		       "claimed by %s, but %s is not there, so no guest can open it; check that "
		       "udev or devtmpfs is running",
		       claim, missing_node(dev, node));
}

static bool is_unhealthy(struct device *dev)
{
	char doubt[DOUBT_TEXT], *health = dev->facts.card_health;

	device_doubt(dev, doubt);
	return (doubt[0] && because(dev, "%s", doubt)) || is_dead(dev) ||
	       (health[0] && because(dev, "%s", health)) || is_lost(dev) ||
	       (is_replugged(dev) &&
		because(dev,
			"its pod was given %s, and it was plugged in again as %s, which that pod cannot "
			"open; delete the pod",
			dev->intent.given, dev->facts.nodes));
}

/* A process that has it open already can go on, which the kernel warns of. */
static bool is_spoilt(struct device *dev, const struct peers *peers)
{
	return peers->on_host && dev->intent.claim[0] && (dev->caps & CAP_CLAIM) &&
	       because(dev,
		       "claimed by %s, but %s in its IOMMU group %d is with the host's driver %s, "
		       "so no guest can open it; write the claim again to include it",
		       dev->intent.claim, peers->on_host->key.name, dev->facts.iommu_group,
		       peers->on_host->facts.driver);
}

/* The devices could read each other's memory. kubelet gave both before it named their pods. */
static bool is_shared(struct device *dev, const struct peers *peers)
{
	return peers->with_other && device_is_allocated(dev) &&
	       because(dev,
		       "allocated to %s while %s in the same IOMMU group %d is allocated to %s; "
		       "delete one of the pods",
		       dev->intent.allocated, peers->with_other->key.name, dev->facts.iommu_group,
		       peers->with_other->intent.allocated);
}

/* Shown as busy, like during the operation that follows. */
static bool is_coming(struct device *dev)
{
	if (!device_is_coming(dev))
		return false;
	if (!device_is_known(dev))
		return because(
			dev,
			"stored as claimed by %.160s; the card is not identified yet, since its "
			"serial number has not been read: wait",
			dev->intended);
	if (dev->unmet[0])
		return because(dev, "stored as claimed by %.100s, which waits: %s", dev->intended,
			       dev->unmet);
	return because(dev, "stored as claimed by %.160s, which is being restored", dev->intended);
}

static bool is_allocated(struct device *dev)
{
	if (!device_is_allocated(dev))
		return false;
	return device_with_pod(dev) ? because(dev, "allocated to %s", dev->intent.allocated)
				    : because(dev, "allocated to a pod that is not known yet");
}

static bool is_held(struct device *dev)
{
	const char *line = dev->facts.holder;
	bool sure = strncmp(line, HOLDER_UNSURE, strlen(HOLDER_UNSURE)) != 0;

	return line[0] && dev->facts.use == USE_GUEST &&
	       because(dev, "%sheld open by a process, see holders", sure ? "" : "perhaps ");
}

static bool is_claimed(struct device *dev, const struct peers *peers)
{
	const char *withheld = key_withheld(&dev->key);

	if (!dev->intent.claim[0])
		return false;
	dev->taken = peers->with_pod;
	if (dev->taken)
		return because(
			dev,
			"claimed by %s; IOMMU group %d is allocated to %s, and no other pod can "
			"get a part of it",
			dev->intent.claim, dev->facts.iommu_group,
			peers->with_pod->intent.allocated);
	if (peers->of_other)
		return because(
			dev,
			"claimed by %s; root keeps /dev/vfio/%d, since its claim file belongs to %u:%u and that of "
			"%s to %u:%u; give both to the same user and group with chown",
			dev->intent.claim, dev->facts.iommu_group, dev->intent.uid, dev->intent.gid,
			peers->of_other->key.name, peers->of_other->intent.uid,
			peers->of_other->intent.gid);
	if (dev->facts.mdevctl[0])
		return because(
			dev,
			"claimed by %s, and mdevctl defines it as well, so it is not restored; write none to its claim to "
			"leave it to mdevctl, or run mdevctl undefine",
			dev->intent.claim);
	if (dev->facts.framebuffer[0])
		return because(
			dev,
			"claimed by %s, but %s of the firmware still has a part of its memory (/proc/iomem), "
			"without which it may not work in a guest; boot the host with initcall_blacklist=sysfb_init",
			dev->intent.claim, dev->facts.framebuffer);
	return because(dev, "claimed by %s%s%s", dev->intent.claim,
		       withheld ? "; it is not offered to kubelet: " : "",
		       withheld ? withheld : "");
}

/* Includes devices that cannot be claimed even if their users let go: only EBUSY leaves one
 * free. */
static bool is_of_host(struct device *dev)
{
	const struct facts *f = &dev->facts;

	if (f->critical[0])
		return because(dev, "the host needs it: %s", f->critical);
	if (dev->refused_code == EPERM)
		return because(dev, "%s", dev->refused);
	if (f->use == USE_GUEST && !f->driver[0])
		return false; /* a guest can have it as it is */
	if (f->use == USE_GUEST && !device_is_known(dev))
		return because(
			dev,
			"found on %s; the card is not identified yet, since its serial number "
			"cannot be read: wait",
			f->driver);
	if (f->use == USE_GUEST && f->mdevctl[0])
		return because(
			dev,
			"found as a vGPU, %s, that mdevctl defines (start: %s); to adopt it, run mdevctl undefine, "
			"which does not end it, then write a name to its claim",
			f->profile, f->mdevctl);
	if (f->use == USE_GUEST && f->profile_id[0])
		return because(
			dev,
			"found as a vGPU, %s, that others have made; write its profile, or a name "
			"to its claim, to adopt it",
			f->profile);
	if (f->use == USE_GUEST)
		return because(
			dev,
			"found on %s without a claim; write a name to its claim to adopt it, and then "
			"none to give it back to the kernel",
			f->driver);
	if ((dev->caps & CAP_VGPU) && f->use == USE_NONE)
		return false; /* it can become a vGPU */
	if (strcmp(f->mig_mode, f->mig_pending))
		return because(dev,
			       "MIG mode %s comes with a reset of the GPU or a reboot, which are "
			       "left to you; until then its driver keeps the other one",
			       f->mig_pending);
	if (f->driver[0])
		return because(dev, "used by the host's driver %s", f->driver);
	return dev->refused_code == EOPNOTSUPP && because(dev, "%s", dev->refused);
}

static bool is_host(struct device *dev)
{
	return is_of_host(dev) && (!dev->unmet[0] || because(dev, "%s", dev->unmet));
}

/* It would have been claimed with its group. */
static bool is_left_out(struct device *dev, const struct peers *peers)
{
	return peers->claimed && (dev->caps & CAP_CLAIM) &&
	       because(dev,
		       "%s of its IOMMU group %d is claimed by %s without it; write that claim "
		       "again to include it",
		       peers->claimed->key.name, dev->facts.iommu_group,
		       peers->claimed->intent.claim);
}

static bool is_free(struct device *dev)
{
	return because(dev, "%s", dev->unmet);
}

/* The first that fits; one state has several rows. */
static const struct {
	enum state state;
	/* Either of them; also writes the reason. */
	bool (*fits)(struct device *dev);
	bool (*fits_with)(struct device *dev, const struct peers *peers);
} states[] = {
	{ STATE_STUCK, is_stuck },
	{ STATE_BUSY, is_busy },
	{ STATE_UNHEALTHY, is_unhealthy },
	{ STATE_UNHEALTHY, .fits_with = is_spoilt },
	{ STATE_UNHEALTHY, .fits_with = is_shared },
	{ STATE_BUSY, is_coming },
	{ STATE_ALLOCATED, is_allocated },
	{ STATE_HELD, is_held },
	{ STATE_CLAIMED, .fits_with = is_claimed },
	{ STATE_HOST, is_host },
	{ STATE_UNHEALTHY, .fits_with = is_left_out },
	{ STATE_FREE, is_free },
};

void device_derive(struct device *dev, struct peers peers)
{
	size_t i = 0;

	device_identify(dev);
	refuse_kind(dev);
	dev->taken = false;
	while (!(states[i].fits ? states[i].fits(dev) : states[i].fits_with(dev, &peers)))
		i++;
	dev->state = states[i].state;
}
