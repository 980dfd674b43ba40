// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of what the driver's library sets: MIG mode and layout, mixed sizes, scheduler. */
#include <stdio.h>
#include <string.h>

#include "pcidevfs/scheduler.h"
#include "persist.h"

static bool is_known(const struct device *dev)
{
	return dev->facts.mig_mode[0] && dev->facts.mig_unbinds == dev->unbinds;
}

static bool mode_is_there(const struct device *dev)
{
	return is_known(dev) && (dev->facts.mig_mode[0] == '1' || dev->facts.mig_pending[0] == '1');
}

static const char *mode_wait(const struct device *dev)
{
	return is_known(dev) ? NULL : "its driver has not told of its settings yet";
}

/* Some cards keep the mode without their driver, and none keeps instances; they show what is left
 * once the driver is asked again. */
static bool mig_is_lost(const struct device *dev, bool gone)
{
	return gone;
}

static bool mode_drifted(const struct persist *k, const struct record *r, const struct device *dev,
			 char *ret, size_t size)
{
	if (!is_known(dev) || mode_is_there(dev))
		return false;
	snprintf(ret, size, "its MIG mode is off although 1 is stored; write its mig/mode again");
	return true;
}

const struct persist persist_mig_mode = {
	.file = "mig/mode",
	.keys = { PERSIST_KEY("mig_mode", KEY_TEXT, false, intent.mig_mode) },
	.fields = { PERSIST_TEXT(mig_mode) },
	.rests_claimed = true,
	.none = "0",
	.is_there = mode_is_there,
	.waits = mode_wait,
	.lost = mig_is_lost,
	.drifted = mode_drifted,
};

static bool layout_is_there(const struct device *dev)
{
	return is_known(dev) && strcmp(dev->facts.mig_layout, "none");
}

static const char *layout_wait(const struct device *dev)
{
	return mode_wait(dev)
		       ?: (dev->facts.mig_mode[0] == '1' ? NULL : "its MIG mode is not on yet");
}

static bool layout_drifted(const struct persist *k, const struct record *r,
			   const struct device *dev, char *ret, size_t size)
{
	if (!is_known(dev) || !strcmp(dev->facts.mig_layout, r->intent.mig_layout))
		return false;
	snprintf(ret, size,
		 "its MIG instances are %s although %s is stored; write its mig/layout again",
		 dev->facts.mig_layout, r->intent.mig_layout);
	return true;
}

/* Behind the VFs, since making those takes the instances along. */
const struct persist persist_mig_layout = {
	.file = "mig/layout",
	.keys = { PERSIST_KEY("mig_layout", KEY_TEXT, false, intent.mig_layout) },
	.fields = { PERSIST_TEXT(mig_layout) },
	.rests_claimed = true,
	.none = "none",
	.is_there = layout_is_there,
	.waits = layout_wait,
	.lost = mig_is_lost,
	.drifted = layout_drifted,
};

/* ---- settings of a card whose vGPUs share it; making its VFs ends them */

static const char *setting_wait(const struct device *dev)
{
	return mode_wait(dev)
		       ?: (dev->facts.num_vfs <= 0 ? "its VFs are not enabled yet" : NULL);
}

static bool tell_drift(const struct persist *k, const struct device *dev, const char *now,
		       const char *stored, char *ret, size_t size)
{
	if (!is_known(dev) || dev->facts.num_vfs <= 0)
		return false;
	snprintf(ret, size, "its %s is %s although %s is stored; write its %s again", k->file,
		 now[0] ? now : "none", stored, k->file);
	return true;
}

static bool mixed_is_there(const struct device *dev)
{
	return is_known(dev) && dev->facts.mixed_sizes[0] == '1';
}

static bool mixed_drifted(const struct persist *k, const struct record *r, const struct device *dev,
			  char *ret, size_t size)
{
	return !mixed_is_there(dev) &&
	       tell_drift(k, dev, dev->facts.mixed_sizes, r->intent.mixed_sizes, ret, size);
}

const struct persist persist_mixed_sizes = {
	.file = "mixed_sizes",
	.keys = { PERSIST_KEY("mixed_sizes", KEY_TEXT, false, intent.mixed_sizes) },
	.fields = { PERSIST_TEXT(mixed_sizes) },
	.rests_claimed = true,
	.none = "0",
	.is_there = mixed_is_there,
	.waits = setting_wait,
	.lost = mig_is_lost,
	.drifted = mixed_drifted,
};

static bool scheduler_is_there(const struct device *dev)
{
	return is_known(dev) && dev->facts.scheduler[0] &&
	       strcmp(dev->facts.scheduler, SCHEDULER_INITIAL);
}

static bool scheduler_drifted(const struct persist *k, const struct record *r,
			      const struct device *dev, char *ret, size_t size)
{
	return !scheduler_fits(dev->facts.scheduler, r->intent.scheduler) &&
	       tell_drift(k, dev, dev->facts.scheduler, r->intent.scheduler, ret, size);
}

const struct persist persist_scheduler = {
	.file = "scheduler",
	.keys = { PERSIST_KEY("scheduler", KEY_TEXT, false, intent.scheduler) },
	.fields = { PERSIST_TEXT(scheduler) },
	.rests_claimed = true,
	.none = SCHEDULER_INITIAL,
	.is_there = scheduler_is_there,
	.waits = setting_wait,
	.lost = mig_is_lost,
	.drifted = scheduler_drifted,
};
