/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Node ids that a fresh process gives again: an append-only table, in memory that outlives us, of
 * what has or had a directory. A node is an object's slot, its epoch, a row, and the number of a
 * twin: 0 is the node itself, whose id is also what stat shows; others are further nodes of the
 * same file, for twins.h.
 *
 * Slots are found by { kind, parent, name }. What dies and comes again has another epoch, so a
 * former node id never means the new one. Slots of derived objects are used again as soon as these
 * are dead; of others, when the table is full, that which died first. Not locked: callers hold the
 * tree's lock.
 */
#ifndef FS_OBJECTS_H
#define FS_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "attr.h"

struct err;
struct objects;
struct region_head;

#define NO_SLOT UINT32_MAX

enum object_state { OBJECT_NONE, OBJECT_RESERVED, OBJECT_LIVE, OBJECT_DEAD };

/* As it lies in the stash. */
struct object {
	uint32_t state; /* written last */
	uint32_t kind;
	uint32_t parent; /* slot */
	uint32_t epoch;
	uint64_t birth; /* of the device; 0 for others */
	uint64_t died;	/* order of deaths */
	/* the highest number of a twin that any of its rows was looked up by */
	_Atomic uint32_t twins;
	char name[OBJECT_NAME];
};

extern const struct region_head objects_layout;
/* What objects of this kind are; NULL: the number means nothing. */
typedef const struct obj_type *object_type(unsigned int kind);
/* -ENOMEM, -EPROTO: the region holds what no table has. */
int objects_open(void *region, size_t size, object_type *type, struct objects **ret,
		 struct err *err);
void objects_close(struct objects *o);

/* NO_SLOT when there is none. */
uint32_t objects_find(const struct objects *o, enum obj_kind kind, uint32_t parent,
		      const char *name);
/* Finds or reserves; NO_SLOT when all slots are alive or memory ran out. */
uint32_t objects_slot(struct objects *o, enum obj_kind kind, uint32_t parent, const char *name);
/* NULL beyond the table. */
const struct object *objects_at(const struct objects *o, uint32_t slot);
uint32_t objects_count(const struct objects *o);

void objects_live(struct objects *o, uint32_t slot, uint64_t birth);
void objects_kill(struct objects *o, uint32_t slot);

uint64_t objects_ino(const struct objects *o, uint32_t slot, uint16_t row);
/* Another row of the object that ino is of. Needs no lock. */
uint64_t objects_sibling(uint64_t ino, uint16_t row);
/* Those of twins, of which ino (twin 0) has TWINS_MAX at most. Need no lock. */
#define TWINS_MAX 256
uint64_t objects_twin(uint64_t ino, unsigned int number);
uint64_t objects_untwinned(uint64_t node);
unsigned int objects_twin_number(uint64_t node);
/* The kernel hears of this one, or may have; how far such go. */
void objects_note_twin(struct objects *o, uint64_t node);
unsigned int objects_twins(const struct objects *o, uint64_t ino);
/* False when the id was never given or its object is gone. The row is that of any twin. */
bool objects_node(const struct objects *o, uint64_t ino, uint32_t *ret_slot, uint16_t *ret_row);

/* How often the table was opened, and when first (also the time stamp of all files). */
uint64_t objects_starts(const struct objects *o);
struct timespec objects_since(const struct objects *o);

/* What chmod, chown and utimes left; false when nothing. From any thread, with or
 * without the tree's lock. */
struct owner {
	mode_t mode; /* permission bits */
	uid_t uid;
	gid_t gid;
	uint32_t only_times; /* utimes alone: whose it is, and its mode, are not here */
	struct timespec atime, mtime;
};
bool objects_owner(struct objects *o, uint64_t ino, struct owner *ret);
/* With the lock that guards the table. */
int objects_set_owner(struct objects *o, uint64_t ino, const struct owner *owner); /* -ENOSPC */
void objects_drop_owner(struct objects *o, uint64_t ino);

#endif
