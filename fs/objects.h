/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Node ids that stay the same over processes: an append-only table, in memory that outlives the
 * process, of all objects that have or had a directory. A node is an object's slot, its epoch, a
 * row, and the number of a twin. Twin 0 is the node itself, whose id stat shows; the others are
 * further nodes of the same file, for writers.h.
 *
 * Slots are found by { kind, parent, name }. An object that dies and comes again gets another
 * epoch, so an old node id never means the new one. Slots of dead derived objects are reused at
 * once; others only if the table is full, those that died first. Not locked: callers hold the
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

/* As in the stash. */
struct object {
	uint32_t state; /* written last */
	uint32_t kind;
	uint32_t parent; /* slot */
	uint32_t epoch;
	uint64_t birth; /* of the device; 0 for others */
	uint64_t died;	/* order of deaths */
	/* highest number of a twin by which any of its rows was looked up */
	_Atomic uint32_t twins;
	_Atomic uint64_t known[ROW_MAX / 64]; /* bits of the rows that were looked up */
	char name[OBJECT_NAME];
};

extern const struct region_head objects_layout;
/* The type of objects of this kind; NULL: unknown number. */
typedef const struct obj_type *object_type(unsigned int kind);
/* Returns 0; -ENOMEM; -EPROTO: the region has invalid content. */
int objects_open(void *region, size_t size, object_type *type, struct objects **ret,
		 struct err *err);
void objects_close(struct objects *o);

/* NO_SLOT if there is none. */
uint32_t objects_find(const struct objects *o, enum obj_kind kind, uint32_t parent,
		      const char *name);
/* Finds or reserves a slot; NO_SLOT if all slots are alive or memory ran out. */
uint32_t objects_slot(struct objects *o, enum obj_kind kind, uint32_t parent, const char *name);
/* NULL beyond the table. */
const struct object *objects_at(const struct objects *o, uint32_t slot);
uint32_t objects_count(const struct objects *o);

void objects_live(struct objects *o, uint32_t slot, uint64_t birth);
/* What lives there is the same under another birth: its node ids stay. */
void objects_stay(struct objects *o, uint32_t slot, uint64_t birth);
void objects_kill(struct objects *o, uint32_t slot);

uint64_t objects_ino(const struct objects *o, uint32_t slot, uint16_t row);
/* Another row of ino's object. Needs no lock. */
uint64_t objects_sibling(uint64_t ino, uint16_t row);
/* Twins of a node: ino (twin 0) and its twins are TWINS_MAX at most. Need no lock. */
#define TWINS_MAX 256
uint64_t objects_twin(uint64_t ino, unsigned int number);
uint64_t objects_untwinned(uint64_t node);
unsigned int objects_twin_number(uint64_t node);
/* Records that the kernel may know this node from now on. */
void objects_note_known(struct objects *o, uint64_t node);
/* How many nodes of ino the kernel may know, ino's own (twin 0) first; 0: none, so nothing of it is
 * cached. */
unsigned int objects_known(const struct objects *o, uint64_t ino);
/* False if the id was never given out or its object is gone. All twins have the same row. */
bool objects_node(const struct objects *o, uint64_t ino, uint32_t *ret_slot, uint16_t *ret_row);

/* How often the table was opened, and when first, which is also the time stamp of all files. */
uint64_t objects_starts(const struct objects *o);
struct timespec objects_since(const struct objects *o);

/* What chmod, chown and utimes have set; false: nothing. Any thread, with or without the lock. */
struct owner {
	mode_t mode; /* permission bits */
	uid_t uid;
	gid_t gid;
	uint32_t only_times; /* set by utimes alone: mode, uid and gid are not valid */
	struct timespec atime, mtime;
};
bool objects_owner(struct objects *o, uint64_t ino, struct owner *ret);
/* Call these with the tree's lock held. */
int objects_set_owner(struct objects *o, uint64_t ino, const struct owner *owner); /* -ENOSPC */
void objects_drop_owner(struct objects *o, uint64_t ino);

#endif
