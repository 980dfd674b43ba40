/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model: all devices, and the only place that changes them.
 *
 * It is in an arena that the caller provides (memory that outlives the process, or any zeroed
 * memory), so a new process at once serves what the former one knew. Each record is packed and
 * written beside the old one, and swapped in whole.
 *
 * A pointer to a device is valid only under the lock, so no references are counted. To remember a
 * device keep its key, and its birth to distinguish it from a later one at the same address.
 *
 * Reading:  model_lock(); look at `const struct device *`; model_unlock().
 *           No sysfs access, no wait and no callback in between.
 * Changing: model_lock(); d = model_edit(); change fields of *d (not key, birth, generation, nor
 *           what device_derive() sets); model_publish(), which derives, compares, numbers and
 *           queues each device; model_unlock(). Unchanged devices wake nobody.
 *           model_remove() needs no model_publish(): the device is gone and queued at once.
 * Hearing:  observers are called by the thread that runs model_dispatch(), without the lock, in the
 *           order of generations; several changes of one device may be merged into one.
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

#define MODEL_ABI 53
#define MODEL_MAX 131072 /* devices; 70 000 functions are required */

enum change_action { ACTION_ADD, ACTION_CHANGE, ACTION_REMOVE };

struct change {
	struct key key;
	uint64_t birth;
	uint64_t generation;
	enum change_action action;
	change_bits bits;
};

struct observer {
	void (*changed)(void *ctx, const struct change *changes, size_t n);
	void *ctx;
	/* Called after that, when model_sync() no longer waits: for work that the author of a
	 * change need not wait for. May be NULL. */
	void (*told)(void *ctx);
};

/* The layout of the arena; one with another layout is emptied. */
extern const struct region_head model_layout;
/* Address space for an arena, in bytes; pages are touched as devices come. */
size_t model_arena_size(void);

/* *ret_found: the arena has a complete model of this ABI, whose devices are now served; otherwise it
 * is emptied. Changes that no observer had heard are queued again. */
int model_new(void *arena, size_t size, struct model **ret, bool *ret_found, struct err *err);
void model_free(struct model *m); /* the caller keeps the arena, which stays valid */

void model_lock(struct model *m);
void model_unlock(struct model *m);

/* Takes the lock and copies the device's record; false: it is not here. */
bool model_copy(struct model *m, const struct key *key, struct device *ret);

/* Call these with the lock held. Pointers are valid until model_unlock(). */
const struct device *model_find(struct model *m, const struct key *key);
/* In the order of positions: start with *pos 0; stable while devices come and go (a directory
 * cookie). NULL at the end. */
const struct device *model_next(struct model *m, size_t *pos);
/* Likewise; costs less, for the record stays packed. The key is valid until the next edit, publish
 * or removal. */
const struct key *model_next_key(struct model *m, size_t *pos);
/* Members of an IOMMU group in ascending address order. Stores at most max; returns the total. */
size_t model_group(struct model *m, int32_t group, const struct device **ret, size_t max);
#define CLAIM_MEMBERS 1024
/* The devices claimed together with dev, including dev: its IOMMU group without bridges, and
 * without functions behind another one (facts.behind), which go with that one's driver; in
 * ascending address order; dev alone if it has no group. *ret_cut (may be NULL): the group is
 * larger than can be claimed, and some are missing. */
size_t model_claim_members(struct model *m, const struct device *dev,
			   const struct device *ret[static CLAIM_MEMBERS], bool *ret_cut);
/* NULL: it has no parent, or the parent is not here. */
const struct device *model_parent(struct model *m, const struct device *dev);
/* Children of this parent on a bus (BUS_NONE: on any), in ascending order of index, then of key.
 * Stores at most max; returns the total. The VFs of a PF are its children on BUS_PCI. */
size_t model_children(struct model *m, const struct key *parent, enum bus bus,
		      const struct device **ret, size_t max);
/* The child with this index: virtfn<n> of a PF. NULL: there is none. */
const struct device *model_child(struct model *m, const struct key *parent, unsigned int n);
uint64_t model_generation(struct model *m);
size_t model_count(struct model *m);
/* How many devices of a former process model_new() did not take over, because they could not be
 * what this program has written. They are gone until they are looked at again. */
size_t model_dropped(const struct model *m);
/* For a model that begins anew where a former one was known: its changes and births get numbers
 * above this one. Call it before the first edit. */
void model_count_from(struct model *m, uint64_t generation);
/* Whoever would begin anew has all that a next process needs: from now on that one takes it over,
 * and before it begins anew as well. */
void model_complete(struct model *m);
/* Was model_count_from() called? Then the devices are those that a former process had, under other
 * births. */
bool model_is_anew(const struct model *m);
bool model_has_iommu(struct model *m);
/* How far the kernel's log has been heard: the sequence number of the next record; 0: not at all.
 * It is kept as long as the devices, which know what was heard. Without the lock. */
uint64_t model_log_heard(const struct model *m);
void model_set_log_heard(struct model *m, uint64_t next);
/* Somebody but restore writes to a file of this device; one that is not here is passed over. */
void model_wrote(struct model *m, const struct key *key);
/* When that last was the case of any device of dev's card, as now_ms(); 0: never. */
uint64_t model_written(struct model *m, const struct device *dev);

/* A writable copy of the device's record; create: makes a missing one. NULL if there is none or
 * MODEL_MAX is reached. A second edit before publishing gives the same copy. */
struct device *model_edit(struct model *m, const struct key *key, bool create);
/* Sets a room of a record from model_edit(); an equal text changes nothing. Returns 0; -E2BIG;
 * -ENOSPC: the rooms are all full. On failure the old text stays. */
int model_set_text(struct model *m, struct room *r, const char *data, size_t len);
#define TEXT_MAX (64 << 10)
bool room_is(const struct room *r, const char *data, size_t len);
/* Appends a room's text. The lock must have been held since the device was found. */
void model_text(struct model *m, const struct room *r, struct out *o);
void model_remove(struct model *m, const struct key *key);
void model_set_iommu(struct model *m, bool present);
/* Ends the edits. Returns their generation. */
uint64_t model_publish(struct model *m);

struct question;

/* An obstacle to a claim: found once for all devices that would be claimed together. refuse NULL:
 * none. Valid until model_unlock(). */
struct obstacle {
	int (*refuse)(const struct question *q, struct err *err);
	const struct device *member; /* the member concerned; NULL: all of them */
	/* the device whose use keeps the other claim from ending, or NULL */
	const struct device *used;
};

/* The rules of a claim, also used by its method. Pure: they read the model, with edits that are
 * being published in force. Both are only asked about devices with CAP_CLAIM. */
struct claim_rules {
	/* For dev, and so for all of its IOMMU group. */
	void (*find)(struct model *m, const struct device *dev, struct obstacle *ret);
	/* Returns the errno and sentence for this device of that group; 0: it can be claimed. The
	 * cost does not depend on the group's size. */
	int (*say)(struct model *m, const struct device *dev, const struct obstacle *o,
		   struct err *err);
};

/* From the next model_publish() on these set devices' `refused`; before, all can be claimed. */
void model_judge(struct model *m, const struct claim_rules *rules);

/* Call these without the lock. */
/* At most 8, before dispatch runs. */
void model_observe(struct model *m, const struct observer *observer);
/* Likewise: stores there the number of the batch that observers are processing; 0: none. */
void model_watch(struct model *m, _Atomic uint64_t *in_hand);
/* Waits for changes and calls the observers. Returns false after model_stop(). */
bool model_dispatch(struct model *m);
void model_stop(struct model *m);
/* Waits until all observers have heard generation; false: ms have passed. */
bool model_sync(struct model *m, uint64_t generation, unsigned int ms);

#endif
