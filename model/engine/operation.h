/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One transaction while it runs: what txn.c (who waits for it), operation.c (what it does) and
 * log.c (what is left of it when the process dies) share. */
#ifndef MODEL_OPERATION_H
#define MODEL_OPERATION_H

#include <pthread.h>
#include <stdatomic.h>

#include "pcidevfs/device.h"
#include "pcidevfs/region.h"
#include "pcidevfs/txn.h"
#include "turns.h"

#define LOG_REQUESTS 4096
#define STAGES 8 /* barriers in a row: MIG mode, VFs, types, claims, and room */

/* LOG_DECIDED: nothing is left to do but to tell the verdict. */
enum log_state { LOG_FREE, LOG_RUNS, LOG_UNDOES, LOG_ENDED, LOG_DECIDED };

/* What was asked of a device before. */
struct snapshot {
	struct key dev;
	uint64_t birth;
	struct key parent;
	struct intent intent;
	/* The parts of it that are put back; all of them while the operation notes what it has
	 * done. */
	_Atomic uint32_t mine;
};

/* What outlives the process. Fields that tell how much of the rest is valid are written last. */
struct op_log {
	_Atomic uint32_t state;
	uint32_t n_requests;
	_Atomic uint32_t n_steps;
	_Atomic uint32_t n_devices;
	_Atomic uint32_t n_snapshots;
	struct actor who;
	struct err err; /* why it is undone; the verdict once decided */
	uint64_t place; /* engine_conf.verdict's */
	/* To a process before this one a step was late: its devices read stuck for that. */
	uint32_t was_late;
	struct request requests[LOG_REQUESTS];
	struct key devices[PLAN_DEVICES]; /* that read busy or stuck for it */
	struct step steps[PLAN_STEPS];
	struct snapshot snapshots[PLAN_DEVICES];
};

#define LOGS_ABI 12

struct logs_head {
	union {
		struct {
			struct region_head region;
			_Atomic uint32_t used; /* slots ever used: the others are not touched */
		};
		char page[4096];
	};
};

struct logs {
	struct op_log *slots;
	size_t n;
	_Atomic uint32_t *used; /* NULL where there is no memory that outlives us */
	pthread_mutex_t lock;
	bool taken[64]; /* lock; by a transaction of this process */
};

static inline uint32_t logs_used(const struct logs *l)
{
	return l->used ? atomic_load(l->used) : 0;
}

void logs_open(struct logs *l, void *region, size_t size);
/* In memory that ends with the process: who waits for a thread has begun nothing. It has no room
 * behind its requests. NULL: there is none. */
struct op_log *logs_new(const struct request *requests, size_t n, const struct actor *who);
/* Into a slot, where there are slots: what comes now must be found by the next process. Else into
 * memory with room for steps. NULL: there is none left, and the log is as it was. */
struct op_log *logs_keep(struct logs *l, struct op_log *log);
/* keep: the verdict stays until the slot is needed, for a request that is sent again. */
void logs_give(struct logs *l, struct op_log *log, bool keep);
/* Did a step take the children of this device away, as writing sriov_numvfs does? Others that are
 * gone were pulled out. */
bool log_removes(const struct op_log *log, const struct key *parent);
bool log_is_for(const struct op_log *log, const struct request *requests, size_t n);
/* A verdict kept for this very request. */
bool logs_verdict(struct logs *l, const struct request *requests, size_t n, const struct actor *who,
		  struct err *ret);

struct waiter {
	txn_done *done;
	void *ctx;
	struct actor who;
	bool interrupted; /* engine->lock */
	struct waiter *next;
};

struct txn {
	struct engine *engine;
	struct op_log *log;
	bool recovered;	     /* begun by a former process */
	struct key *devices; /* that it may alter, and when they came */
	uint64_t *births;
	size_t n_devices;
	bool marked; /* they read busy: there are steps */
	/* When who holds them and what the host needs was asked for the plan: now_ms(). */
	uint64_t guarded_at;
	bool noting; /* between snapshot_begin() and snapshot_end() */
	struct waiter *waiters; /* engine->lock */
	/* engine->lock: list of those queued or running, or of those answered and late */
	struct txn *next;
	const struct step *late; /* engine->lock; what it waits for, which missed its deadline */
	bool late_undo;		 /* engine->lock; ... as it was taken back */
	struct turn *turn;
};

struct engine {
	struct engine_conf conf;
	struct pool *pool;
	struct turns turns; /* ... on it */
	struct logs logs;
	/* Held from when an operation notes what it has done until that is kept, or put back:
	 * nobody else's notes are put back with it. The disk may take its time meanwhile. */
	pthread_mutex_t settling;
	pthread_mutex_t lock;
	struct txn *txns, *lates; /* lock */
	unsigned int
		n_lost; /* lock; operations that nobody could take up again, and the last of them */
	struct err lost;
};

/* Carries it out; err is the verdict. Returns a step that is still in the kernel, or NULL. */
struct step *op_run(struct txn *t, struct err *err);
/* Waits for the late step, and for those that are late while the operation is taken back; frees its
 * devices. */
void op_finish_late(struct txn *t, struct step *late, struct err *verdict);

static inline struct model *model_of(const struct txn *t)
{
	return t->engine->conf.model;
}

/* With the model locked: what the device reads while the operation runs. */
void op_say_busy(const struct op_log *log, struct device *d);
unsigned int op_deadline(const struct engine *e, const struct verb *verb);
/* The device is there, and not another one that came in its place while we were at work? */
bool op_still_there(struct txn *t, const struct key *dev);
/* With the model locked: this very device was taken by the operation. One that came in its place is
 * free for others. */
bool op_holds(const struct txn *t, const struct device *d);

/* With the model locked: it is a VF that the operation may have taken away and brought back. */
bool op_remakes(const struct txn *t, const struct device *d);

/* undo.c: takes the done steps back, as far as that goes; err is the verdict, and tells what stays.
 * Returns a step whose undo is late. */
struct step *op_take_back(struct txn *t, struct err *err);
struct step *op_late_step(struct txn *t);
/* why NULL: they no longer are. */
void op_mark_stuck(struct txn *t, const char *why);
/* With the model locked. stuck: the sentence for devices with steps that stay; NULL: none are left
 * so. */
void op_leave_devices(struct txn *t, const char *stuck);

/* snapshot.c, all with the model locked. Remembers what is asked of the device until now. */
int snapshot_add(struct txn *t, const struct key *dev, struct err *err);
/* Around what notes that the requests hold; that is published by its end. */
void snapshot_begin(struct txn *t);
void snapshot_end(struct txn *t);
/* After snapshot_end(): nothing was done, noted or brought to an end; all was so before. */
bool snapshot_is_idle(const struct txn *t);
/* Of what the operation has noted nothing stays. */
void snapshot_put_back(struct txn *t);
/* Is it known whose the field of struct intent at this offset is? */
bool snapshot_knows(size_t offset);

/* satisfied.c, both with the model locked. What was to be taken from a VF that this operation has
 * removed since, is taken; what was pulled out meanwhile has peers that are not. What is an
 * operation and no state (method.once) was done. */
bool satisfied_by_absence(struct txn *t, const struct request *request);
bool satisfied_once(struct txn *t, const struct request *request);
/* satisfied.c: nothing of the operation looked at what the kernel holds of this device: whatever
 * was left half way still is. */
bool op_noted_only(const struct txn *t, const struct key *dev);
/* satisfied.c: what the keeper is asked to keep of all requests, if there is anything. */
bool op_keeps(const struct txn *t);
int op_keep(struct txn *t, bool pending, struct err *err);
/* recheck.c: looks at every device that is requested something, as far as it is there. guarded_at
 * not NULL: also at what forbids it, and when that was asked for; it is left alone where nothing is
 * to be asked. */
int op_look(struct engine *e, const struct request *requests, size_t n, uint64_t *guarded_at,
	     struct err *err);
/* recheck.c: EBUSY, before the look, when another operation runs on what these requests concern as
 * far as is known. */
int op_refuse_early(struct engine *e, const struct request *requests, size_t n, struct err *err);
/* recheck.c: does what others do with the device forbid the step now? */
int op_recheck(struct txn *t, const struct step *step, struct err *err);
/* txn.c: waits for this one from here on. */
void txn_wait_late(struct txn *t, const struct step *late);
/* txn.c: is nobody left who wants it? */
bool txn_forsaken(struct txn *t);
/* recover.c: nobody carries this operation of a former process on. Its devices, the log and health
 * say so. */
void op_lose(struct engine *e, struct op_log *log, const char *cause);
/* txn.c, for recovery: runs what a former process left in this log. */
void txn_resume(struct engine *e, struct op_log *log);

#endif
