/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by model.c (devices) and dispatch.c (observers). */
#ifndef MODEL_STORE_H
#define MODEL_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "index.h"
#include "pcidevfs/model.h"
#include "pcidevfs/region.h"

#define OBSERVERS 8

/* A slot's word: which record is valid, and whether the device exists. One store changes both, so a
 * killed process leaves the old record or the new one. */
enum { WORD_SECOND = 1, WORD_LIVE = 2, WORD_GONE = 4 }; /* GONE: removed, but not yet heard of */

struct slot {
	_Atomic uint32_t word;
	_Atomic change_bits pending; /* changes not passed to observers yet */
	_Atomic change_bits
		/* changes being passed to observers, now or when the process died */
		telling;
	uint64_t heard; /* generation of the record when observers last heard; 0: never */
};

/* A part of a text. The records determine which blocks are in use, so a process killed during a
 * write leaves nothing behind. */
#define BLOCKS 65536
struct block {
	uint32_t next; /* number of a block plus 1, 0: none */
	char data[508];
};

struct arena {
	struct region_head head;
	_Atomic uint32_t used; /* slots ever used: none is above */
	_Atomic uint32_t iommu;
	_Atomic uint64_t generation;
	struct slot slots[MODEL_MAX];
	/* Two arrays, so that devices that never change use no memory for a second record. */
	struct device rec[2][MODEL_MAX];
	struct block blocks[BLOCKS];
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
	bool *taken; /* by block: a record may use it */
	size_t n_taken, sweep_at, next_block;
	uint32_t *edits; /* slots with an unpublished copy */
	size_t n_edits;
	bool *edited;
	bool publishing; /* the copies are in force: slot_seen() */
	const struct claim_rules *rules; /* NULL: nothing forbids a claim */
	uint32_t *unjudged; /* slots whose `refused` may change: judge.c */
	size_t n_unjudged;
	bool *to_judge;
	uint32_t *queue;     /* ring of MODEL_MAX slots with pending changes, in order */
	uint64_t *queued_at; /* by ring place: generation when queued */
	bool *queued;
	size_t q_head, q_len;
	bool grown;	/* and nobody was woken yet: model_unlock() does that */
	uint64_t heard; /* observers know all up to this generation */
	bool stop;
	model_arrives *arrives; /* may be NULL */
	void *arrives_ctx;
	struct observer observers[OBSERVERS];
	size_t n_observers;
	_Atomic uint64_t *in_hand; /* set by model_watch(), or NULL; batches: their number so far */
	uint64_t batches;
};

static inline uint32_t slot_word(const struct model *m, uint32_t slot)
{
	return atomic_load(&m->a->slots[slot].word);
}

static inline bool slot_live(const struct model *m, uint32_t slot)
{
	return slot_word(m, slot) & WORD_LIVE;
}

static inline struct device *slot_current(const struct model *m, uint32_t slot)
{
	return &m->a->rec[slot_word(m, slot) & WORD_SECOND][slot];
}

/* Where the slot's next record is written. */
static inline struct device *slot_spare(const struct model *m, uint32_t slot)
{
	return &m->a->rec[!(slot_word(m, slot) & WORD_SECOND)][slot];
}

/* The present record; while edits are published, the future one. */
static inline struct device *slot_seen(const struct model *m, uint32_t slot)
{
	return m->publishing && m->edited[slot] ? slot_spare(m, slot) : slot_current(m, slot);
}

static inline bool slot_there(const struct model *m, uint32_t slot)
{
	uint32_t word = slot_word(m, slot);

	return word & WORD_LIVE || (m->publishing && m->edited[slot] && !(word & WORD_GONE));
}

/* model.c: the copy of an existing device. */
struct device *edit_slot(struct model *m, uint32_t slot);

/* judge.c: before an edit is published, and before a device leaves its indexes: marks all devices
 * whose `refused` may change. */
void judge_edit(struct model *m, uint32_t slot);
void judge_removal(struct model *m, uint32_t slot);
void judge_all(struct model *m);
/* Updates those that changed, while publishing. */
void judge_marked(struct model *m);

/* spares.c: gives the pages of unread records back to the system. A scan of the whole machine
 * writes each device's other record, which would otherwise double our memory for good. */
void spares_drop(struct model *m);

/* rooms.c: finds the blocks that records use. */
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
