/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resource names of their own: made of a device's address once, when one is asked for; from then on
 * the name goes with the device, and no other device has it. */
#ifndef PCIDEVFS_RESOURCE_H
#define PCIDEVFS_RESOURCE_H

#include <stdbool.h>

#include "pcidevfs/device.h"

struct model;

#define RESOURCE_PART 64 /* behind the slash: kubelet takes at most 63 characters */

/* Does a device with this intent have the name? */
typedef bool resource_match(const struct intent *w, const char *name);

/* What is stored, also of devices that are not here. Called with the model locked; the results are
 * valid as long. */
struct stored {
	/* Sets what must be known of a device before anybody sees it. Called by model_publish() for
	 * each new device. pf: the parent of a VF, or of a device that is made by name, if it is
	 * here or comes as well; else NULL. May change the same fields as an edit. */
	void (*arrives)(void *ctx, struct device *dev, const struct device *pf);
	/* The name of its own that is stored for the device; NULL: none. */
	const char *(*own)(void *ctx, const struct device *dev);
	/* Where a device other than `but` was last seen whose stored intent matches; NULL: none. */
	const char *(*find)(void *ctx, const struct device *but, resource_match *match,
			    const char *name);
	void *ctx;
};
/* Call it before there are devices. */
void model_on_stored(struct model *m, const struct stored *stored);

/* Sets intent.own of a record from model_edit(): the stored name, else one made of its address now
 * that no other device has, here or stored: "nvidia.com/0000_08_00_4", or with ".2", ".3" ...
 * behind it. Without a computed name it begins with '/': the domain comes later. */
void resource_give_own(struct model *m, struct device *edit);
/* Where the device is, other than `but`, that has this name as its own; NULL: none. */
const char *resource_owner(struct model *m, const struct device *but, const char *name);

/* Has the intent a name with this part behind the slash? */
bool resource_uses(const struct intent *w, const char *part);
/* The part that an address gives, "0000_08_00_4", or the first one made of it that is not taken. */
void resource_choose(const char *address, bool (*taken)(void *ctx, const char *part), void *ctx,
		     char buf[static RESOURCE_PART]);

#endif
