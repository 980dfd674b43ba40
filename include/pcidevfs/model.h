/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model: all devices, and the one place that changes them.
 *
 * It lies in an arena that the caller gives (memory that outlives the process, or any zeroed
 * memory), so that a fresh process serves at once what the former one knew. Each record is written
 * beside the old one and swapped in whole.
 *
 * No pointer to a device outlives the lock, so there are no references to count: who needs a device
 * for longer keeps its key, and its birth to tell it from a later one at the same address.
 *
 * Reading:  model_lock(); look at `const struct device *`; model_unlock().
 *           No sysfs access, no wait and no callback in between.
 * Changing: model_lock(); d = model_edit(); change fields of *d (not key, birth, generation, nor
 *           what device_derive() sets); model_publish() — which derives, compares, numbers and queues
 *           each device by itself — model_unlock(). What did not change wakes nobody.
 *           model_remove() waits for no model_publish(): the device is gone and queued at once.
 * Hearing:  observers are called by the thread that runs model_dispatch(), without the lock, in the
 *           order of generations; several changes of one device may have become one.
 */
#ifndef PCIDEVFS_MODEL_H
#define PCIDEVFS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/device.h"

struct err;
struct out;
struct model;
struct region_head;

#define MODEL_ABI 20
#define MODEL_MAX 131072 /* devices; 70 000 functions are asked for */

enum action { ACTION_ADD, ACTION_CHANGE, ACTION_REMOVE };

struct change {
	struct key key;
	uint64_t birth;
	uint64_t generation;
	enum action action;
	change_bits bits;
};

struct observer {
	void (*changed)(void *ctx, const struct change *changes, size_t n);
	void *ctx;
	/* Behind that, once model_sync() waits no longer: what whoever made the changes need not
	 * wait for. May be NULL. */
	void (*told)(void *ctx);
};

/* Of the arena: another one is made empty. */
extern const struct region_head model_layout;
/* Bytes of address space an arena needs; pages are touched as devices come. */
size_t model_arena_size(void);

/* *ret_found: the arena held a valid model of this ABI, whose devices are served from now on;
 * otherwise it is made empty. Changes that no observer had heard are queued again. */
int model_new(void *arena, size_t size, struct model **ret, bool *ret_found, struct err *err);
void model_free(struct model *m); /* the arena is the caller's and stays valid */

void model_lock(struct model *m);
void model_unlock(struct model *m);

/* All with the lock held. Pointers are good until model_unlock(). */
const struct device *model_find(struct model *m, const struct key *key);
/* In the order of positions: *pos is 0 at first, then what the call left there; stable while
 * devices come and go (a directory cookie). NULL at the end. */
const struct device *model_next(struct model *m, size_t *pos);
/* Members of an IOMMU group in ascending address order; at most max are stored; returns how many
 * there are. */
size_t model_group(struct model *m, int32_t group, const struct device **ret, size_t max);
#define CLAIM_MEMBERS 1024
/* Who goes along with a claim of dev, itself among them: its IOMMU group without bridges, in
 * ascending address order; dev alone where it is in none. *ret_cut (may be NULL): the group is
 * larger than can be claimed, and some are missing. */
size_t model_claim_members(struct model *m, const struct device *dev,
			   const struct device *ret[static CLAIM_MEMBERS], bool *ret_cut);
/* NULL: it has no parent, or that is not here. */
const struct device *model_parent(struct model *m, const struct device *dev);
/* Whose parent this is and that are on this bus (BUS_NONE: on any), in ascending order of index,
 * then of key; at most max are stored; returns how many there are. The VFs of a PF are its children
 * on BUS_PCI. */
size_t model_children(struct model *m, const struct key *parent, enum bus bus,
		      const struct device **ret, size_t max);
/* The one with this index: virtfn<n> of a PF. NULL: there is none. */
const struct device *model_child(struct model *m, const struct key *parent, unsigned int n);
uint64_t model_generation(struct model *m);
size_t model_count(struct model *m);
bool model_has_iommu(struct model *m);

/* A writable copy of the device's record, made if there is none and create is set; NULL when there
 * is none or MODEL_MAX is reached. Editing one device twice before publishing gives the same
 * copy. */
struct device *model_edit(struct model *m, const struct key *key, bool create);
/* Into a room of a record that model_edit() gave: what that says is as it was where it is the same text. 0, -E2BIG,
 * -ENOSPC: all rooms together are full; the text is as it was then. */
int model_set_text(struct model *m, struct room *r, const char *data, size_t len);
#define TEXT_MAX (64 << 10)
bool room_is(const struct room *r, const char *data, size_t len);
/* Appends what a room says, of a device that was found with the lock still held. */
void model_text(struct model *m, const struct room *r, struct out *o);
void model_remove(struct model *m, const struct key *key);
void model_set_iommu(struct model *m, bool present);
/* Ends the edits: returns the generation that holds them. */
uint64_t model_publish(struct model *m);

/*
 * What must be known of a device before anybody sees it: called by model_publish(), with the lock
 * held, for each device that comes. pf: the parent of a VF, or of what is
 * made by name, where it is there or comes as well, else NULL. May change what model_edit() may.
 */
typedef void model_arrives(void *ctx, struct device *dev, const struct device *pf);

struct question;

/* What stands in the way of a claim: found once for all that would go along with it. refuse NULL:
 * nothing does. Good until model_unlock(). */
struct obstacle {
	int (*refuse)(const struct question *q, struct err *err);
	const struct device *member; /* on whose behalf; NULL where it is of the whole */
	const struct device *used;   /* who is in use by the claim that is in the way, or NULL */
};

/* The rules of a claim, which its method goes by as well. Pure: they read the model, in which edits
 * that are being published are in force. Both are asked only about devices with CAP_CLAIM. */
struct claim_rules {
	/* Of dev, and so of all in its IOMMU group. */
	void (*find)(struct model *m, const struct device *dev, struct obstacle *ret);
	/* The errno and sentence for this device of that group; 0: it can be claimed. Does not
	 * depend on the group's size. */
	int (*say)(struct model *m, const struct device *dev, const struct obstacle *o,
		   struct err *err);
};

/* From now on each device's refused is what these say of it, as of the next model_publish();
 * before, nothing forbids its claim. */
void model_judge(struct model *m, const struct claim_rules *rules);

/* Without the lock. */
/* Before there are devices. */
void model_on_arrival(struct model *m, model_arrives *arrives, void *ctx);
/* At most 8, before dispatch runs. */
void model_observe(struct model *m, const struct observer *observer);
/* Likewise: notes there the number of the batch that observers are told; 0 none. */
void model_watch(struct model *m, _Atomic uint64_t *in_hand);
/* Waits for changes and tells the observers; returns false after model_stop(). */
bool model_dispatch(struct model *m);
void model_stop(struct model *m);
/* Returns once all observers have heard generation (or ms have passed: false). */
bool model_sync(struct model *m, uint64_t generation, unsigned int ms);

#endif
