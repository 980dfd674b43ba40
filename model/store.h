/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the model. */
#ifndef MODEL_STORE_H
#define MODEL_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "index.h"
#include "pcidevfs/model.h"
#include "pcidevfs/region.h"
#include "pcidevfs/resource.h"

#define OBSERVERS 8

/* A slot's word: where its packed record is, in which place this process has it unpacked, and
 * whether the device exists. One store changes all, so a killed process leaves the old record or
 * the new one. */
enum { WORD_SECOND = 1, WORD_LIVE = 2, WORD_GONE = 4 }; /* GONE: removed, but not yet heard of */

struct slot {
	_Atomic uint64_t word;
	/* Not passed to observers yet, and being passed to them, now or when the process died.
	 * Written in an order in which a kill between two words loses no bit. */
	volatile change_bits pending, telling;
	uint64_t heard; /* generation of the record when observers last heard; 0: never */
};

/* A part of a text or of a packed record. The slots' words and the records determine which blocks
 * are in use, so a process killed during a write leaves nothing behind. */
struct block {
	uint32_t next; /* number of a block plus 1, 0: none */
	char data[508];
};
#define ROOM_BLOCKS 65536
/* Records find room whatever is in them: a new one is written before the old one goes. */
#define BLOCKS (ROOM_BLOCKS + (MODEL_MAX + 1) * (sizeof(struct device) / 508 + 2))

struct arena {
	struct region_head head;
	_Atomic uint32_t used; /* slots ever used: none is above */
	_Atomic uint32_t iommu;
	_Atomic uint64_t generation;
	_Atomic uint64_t log_heard;
	struct slot slots[MODEL_MAX];
	/* For the present process alone: what it has unpacked, and its edits. */
	struct device rec[2][MODEL_MAX];
	struct block blocks[BLOCKS];
};

/* What this process knows of a slot. */
struct slot_state {
	bool whole;    /* the last sweep found all texts that its record leads to */
	bool unpacked; /* the present record is in its place */
	bool edited;   /* it has an unpublished copy */
	bool to_judge; /* it is among unjudged */
	bool queued;
	uint64_t written; /* of a card: model_written() */
};

enum { BY_KEY, BY_GROUP, BY_PARENT, INDEXES };

/* lock guards all fields but observers and those below, which are constant once dispatch runs, or
 * belong to it. */
struct model {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* the queue grew, or stop */
	pthread_cond_t heard_more;
	struct arena *a;
	struct index by[INDEXES];
	size_t count;
	size_t dropped;	       /* model_dropped() */
	struct slot_state *of; /* by slot */
	size_t n_unpacked;
	bool *taken; /* by block: a record may use it; all below next_block are */
	size_t n_taken, sweep_at, next_block, top_block; /* n_taken: those of texts */
	uint32_t *edits;				 /* slots with an unpublished copy */
	size_t n_edits;
	bool publishing;		 /* the copies are in force: slot_seen() */
	const struct claim_rules *rules; /* NULL: nothing forbids a claim */
	uint32_t *unjudged;		 /* slots whose `refused` may change: judge.c */
	size_t n_unjudged;
	uint32_t *queue;     /* ring of MODEL_MAX slots with pending changes, in order */
	uint64_t *queued_at; /* by ring place: generation when queued */
	size_t q_head, q_len;
	bool grown;	/* and nobody was woken yet: model_unlock() does that */
	uint64_t heard; /* observers know all up to this generation */
	bool anew;	/* model_count_from() was called */
	bool stop;
	struct stored stored; /* its functions may be NULL */
	struct observer observers[OBSERVERS];
	size_t n_observers;
	_Atomic uint64_t *in_hand; /* set by model_watch(), or NULL; batches: their number so far */
	uint64_t batches;
};

static inline uint64_t slot_word(const struct model *m, uint32_t slot)
{
	return atomic_load(&m->a->slots[slot].word);
}

static inline bool slot_live(const struct model *m, uint32_t slot)
{
	return slot_word(m, slot) & WORD_LIVE;
}

/* records.c: the present record. It stays, also after a new one was published, until the lock is
 * left. */
struct device *slot_current(struct model *m, uint32_t slot);
/* Likewise of a live one, whose record may stay packed. */
const struct key *slot_key(const struct model *m, uint32_t slot);
void slot_copy(struct model *m, uint32_t slot, struct device *ret);

/* Where the slot's next record is written. */
static inline struct device *slot_spare(const struct model *m, uint32_t slot)
{
	return &m->a->rec[!(slot_word(m, slot) & WORD_SECOND)][slot];
}

/* The present record; while edits are published, the future one. */
static inline struct device *slot_seen(struct model *m, uint32_t slot)
{
	return m->publishing && m->of[slot].edited ? slot_spare(m, slot) : slot_current(m, slot);
}

static inline bool slot_there(const struct model *m, uint32_t slot)
{
	uint64_t word = slot_word(m, slot);

	return word & WORD_LIVE || (m->publishing && m->of[slot].edited && !(word & WORD_GONE));
}

/* model.c: enters the slot's device into the indexes. */
void slot_link(struct model *m, uint32_t slot);
/* model.c; fresh: finds a device that model_edit() made and that is not published; else a published
 * one. INDEX_NONE. */
uint32_t slot_find(struct model *m, const struct key *key, bool fresh);

/* records.c: takes over a former process's devices, and the changes that nobody had heard of. */
void slots_adopt(struct model *m);
/* Above it, only a model that nobody could have made counts its changes. */
#define GENERATION_MAX (UINT64_MAX / 2)

/* model.c: the copy of an existing device. */
struct device *edit_slot(struct model *m, uint32_t slot);

/* judge.c: before an edit is published, and before a device leaves its indexes: marks all devices
 * whose `refused` may change. */
void judge_edit(struct model *m, uint32_t slot);
void judge_removal(struct model *m, uint32_t slot);
void judge_all(struct model *m);
/* Updates those that changed, while publishing. */
void judge_marked(struct model *m);

/* records.c */
/* Makes d, which is or becomes the slot's present record, what outlives us; flags: of the word. */
void record_write(struct model *m, uint32_t slot, const struct device *d, unsigned int flags);
/* The slot is free. */
void record_drop(struct model *m, uint32_t slot);
/* Takes the blocks of the slot's record, and of its texts. False: it has none, or another one has
 * them. */
bool record_mark(struct model *m, uint32_t slot);
/* Likewise the rooms that it leads to. False: not all are there, or one is taken already. */
bool record_mark_rooms(struct model *m, uint32_t slot);
/* Gives the memory of unpacked records back. No edit may be there. */
void records_begin(struct model *m);
#define RECORDS_KEPT 64 /* so many unpacked ones may stay */

/* rooms.c: does a record that a former process wrote lead to texts that are as it says? */
bool rooms_valid(const struct model *m, const struct device *dev);
/* Takes the blocks of its texts. */
bool rooms_mark(struct model *m, const struct device *d);
/* Stores data and returns its first block's number plus 1. There must be blocks. */
uint32_t chain_put(struct model *m, const char *data, size_t len);
size_t chain_blocks(size_t len);
/* Copies a chain's data; false: it leads nowhere before its end. */
bool chain_get(const struct model *m, uint32_t at, size_t len, char *buf);
/* Takes the blocks of a chain; false: it has fewer, or one of them is taken. */
bool chain_mark(struct model *m, uint32_t at, size_t len);
/* Finds the blocks that records use; drops records that are not there. */
void rooms_sweep(struct model *m);

/* Queues the slot's pending changes for observers. Call it with the lock held. */
void dispatch_enqueue(struct model *m, uint32_t slot, uint64_t generation);

/* groups.c: the hash of a group in its index. */
uint32_t group_hash(int32_t group);
/* Walks the slots of a group; from and to INDEX_NONE. */
uint32_t next_in_group(struct model *m, int32_t group, uint32_t i);
/* Likewise for a device's children. */
uint32_t next_child(struct model *m, const struct key *parent, uint32_t i);

#endif
