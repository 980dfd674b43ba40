/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A running transaction, shared by txn.c (who waits for it), operation.c (what it does) and log.c
 * (what is left if the process dies). */
#ifndef MODEL_OPERATION_H
#define MODEL_OPERATION_H

#include <pthread.h>
#include <stdatomic.h>

#include "pcidevfs/device.h"
#include "pcidevfs/quota.h"
#include "pcidevfs/region.h"
#include "pcidevfs/txn.h"

#define LOG_REQUESTS 4096
#define STAGES 8 /* successive barriers: MIG mode, VFs, types, claims, and room */
/* Jobs that wait for an executor, of users without a reserve. */
#define WAITING_OF_USER 512
#define WAITING_OF_ALL 2048

/* LOG_DECIDED: only the verdict must still be told. LOG_STUCK: some of its steps could not be
 * undone; the next daemon tries again. */
enum log_state { LOG_FREE, LOG_RUNS, LOG_UNDOES, LOG_ENDED, LOG_DECIDED, LOG_STUCK };

/* The intents of a device before the operation. */
struct snapshot {
	struct key dev;
	uint64_t birth;
	struct key parent;
	uint64_t ids; /* of the device: no other one in its place is meant */
	struct intent intent;
	struct intent noted; /* likewise right before the first step: what steps and release need */
	/* The parts that an undo puts back; all of them while the operation notes its results. */
	_Atomic uint64_t mine;
};

/* Outlives the process. Fields that tell how much of the rest is valid are written last. */
struct op_log {
	_Atomic uint32_t state;
	uint32_t n_requests;
	_Atomic uint32_t n_steps;
	_Atomic uint32_t n_devices;
	_Atomic uint32_t n_snapshots;
	struct actor who;
	struct err err; /* the reason of the undo; the verdict once decided */
	uint64_t place; /* for engine_conf.verdict */
	/* A step was late in a former process: its devices are stuck because of that. */
	uint32_t was_late;
	/* Its model is gone too, so it is undone. ORPHAN_NEW: the new model has nothing of it. */
	uint32_t orphan;
	struct request requests[LOG_REQUESTS];
	struct key devices[PLAN_DEVICES]; /* those that are busy or stuck because of it */
	struct step steps[PLAN_STEPS];
	struct snapshot snapshots[PLAN_DEVICES];
};

enum { ORPHAN_NOT, ORPHAN_NEW, ORPHAN };

#define LOGS_ABI 15
#define LOGS_OF 96

struct logs_head {
	union {
		struct {
			struct region_head region;
			_Atomic uint32_t used; /* slots ever used: the others are not touched */
			char of[LOGS_OF];
			_Atomic uint64_t connection; /* whose requests the actors' tags name */
		};
		char page[JOURNAL_HEAD];
	};
};

struct logs {
	struct logs_head *head; /* NULL without memory that outlives the process */
	int fd;			/* of the file; 0: none */
	bool anew;		/* nothing of a former process was there, or could be read */
	struct op_log *slots;
	size_t n;
	pthread_mutex_t lock;
	bool taken[64]; /* lock; by a transaction of this process */
};

static inline uint32_t logs_used(const struct logs *l)
{
	return l->head ? atomic_load(&l->head->used) : 0;
}

/* check.c: is all of it what this program could have written? Other operations are lost: their
 * devices are stuck, as far as their names can be read. */
bool log_valid(const struct op_log *log);
/* check.c: a log in use whose numbers fit its arrays. */
bool log_readable(const struct op_log *log);
/* Takes from an invalid one all but those devices. */
void log_spoil(struct op_log *log);
/* Takes up what a former process left in the journal, or begins anew. */
void logs_open(struct logs *l, const struct journal_conf *conf);
/* Reserves this part of a log in its file, before it is first touched: a full tmpfs would end the
 * process. */
int logs_reserve(const struct logs *l, const void *at, size_t size, struct err *err);
/* The device is as its last operation left it: no former one is undone on it. */
void logs_settled(struct logs *l, const struct key *dev);
/* Did some of the steps remain, although it failed? */
bool log_is_stuck(const struct op_log *log);
bool log_has(const struct op_log *log, const struct key *dev);
/* In ordinary memory: a transaction that waits for a thread has begun nothing. Has no room behind
 * the requests. NULL: no memory. */
struct op_log *logs_new(const struct request *requests, size_t n, const struct actor *who);
/* Copies the log into a slot, if there are slots, because the next process must find what follows;
 * else into memory with room for steps. NULL: none is left (err), and the log is unchanged. */
struct op_log *logs_keep(struct logs *l, struct op_log *log, struct err *err);
/* keep: keeps the verdict until the slot is needed, in case the request is sent again. */
void logs_give(struct logs *l, struct op_log *log, bool keep);
/* Did a step remove the children of this device, as a write of sriov_numvfs does? Otherwise missing
 * ones were pulled out. */
bool log_removes(const struct op_log *log, const struct key *parent);
bool log_is_for(const struct op_log *log, const struct request *requests, size_t n);
/* Finds the stored verdict of this very request. */
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
	struct key *devices; /* that it may change; births: when they came */
	uint64_t *births;
	size_t n_devices;
	bool marked; /* they are busy: there are steps */
	/* now_ms() when holders and host_critical were last asked. */
	_Atomic uint64_t guarded_at;
	/* The last step since then whose verb stirs; NULL: none. */
	const struct step *_Atomic stirred;
	bool noting; /* between snapshot_begin() and snapshot_end() */
	struct waiter *waiters; /* engine->lock */
	struct txn *next;	/* engine->lock */
	bool answered;		/* engine->lock; nobody joins any more */
	const struct step *late; /* engine->lock; the late step that it waits for */
	bool late_undo;		 /* engine->lock; the step is being undone */
};

struct engine {
	struct engine_conf conf;
	/* Of jobs for who has a reserve; of those for all others, which run in the order in which
	 * they came. How many of the latter may wait is bounded. */
	struct pool *pool, *others;
	pthread_key_t here;   /* the turn that a thread of theirs has */
	struct quota waiting; /* lock */
	struct logs logs;
	/* Held from when an operation notes its results until they are stored or undone, so that an
	 * undo never reverts others' notes. The disk may take long meanwhile. */
	pthread_mutex_t settling;
	pthread_mutex_t lock;
	struct txn *txns; /* lock; those queued, running, or answered and late */
	_Atomic uint64_t *running; /* for others: how many have begun; may be NULL */
	unsigned int
		n_lost; /* lock; operations that could not be resumed; lost: the last of them */
	struct err lost;
};

/* Runs the operation; err is the verdict. Returns a step that is still in the kernel, or NULL. */
struct step *op_run(struct txn *t, struct err *err);
/* Waits for the late step, and for late ones of the undo; then releases the devices. */
void op_finish_late(struct txn *t, struct step *late, struct err *verdict);

static inline struct model *model_of(const struct txn *t)
{
	return t->engine->conf.model;
}

/* Sets the device's `busy` for the operation. Call it with the model locked. */
void op_say_busy(const struct op_log *log, struct device *d);
unsigned int op_deadline(const struct engine *e, const struct verb *verb);
/* Is the device still here, and not another one in its place? */
bool op_still_there(struct txn *t, const struct key *dev);
/* Was this very device taken by the operation? Another one in its place is free for others. Call it
 * with the model locked. */
bool op_holds(const struct txn *t, const struct device *d);

/* Is it a VF that the operation may have removed and made again? Call it with the model locked. */
bool op_remakes(const struct txn *t, const struct device *d);

/* undo.c: undoes the done steps, as far as possible; err is the verdict, and tells what stays.
 * Returns a step whose undo is late. */
struct step *op_take_back(struct txn *t, struct err *err);
struct step *op_late_step(struct txn *t);
/* why NULL: they are no longer stuck. */
void op_mark_stuck(struct txn *t, const char *why);
/* stuck: the sentence for devices with steps that stay; NULL: there are none. Call it with the
 * model locked. */
void op_leave_devices(struct txn *t, const char *stuck);

/* snapshot.c; call all with the model locked. Stores the device's present intents. */
int snapshot_add(struct txn *t, const struct key *dev, struct err *err);
/* These bracket the notes of results; they must be published before the end. */
void snapshot_begin(struct txn *t);
void snapshot_end(struct txn *t);
/* Stores what is noted before the first step. */
void snapshot_note(struct txn *t);
/* Of an orphan: the model, which is new, gets what the operation had noted, for its undo. */
void snapshot_adopt(struct txn *t);
/* After snapshot_end(): was everything so before, with nothing done, noted or ended? */
bool snapshot_is_idle(const struct txn *t);
/* Undoes all that the operation has noted. */
void snapshot_put_back(struct txn *t);
/* Is the owner of the field of struct intent at this offset known? */
bool snapshot_knows(size_t offset);

/* satisfied.c, both with the model locked. A request to take something from a VF that this
 * operation has removed is satisfied; not if the VF was pulled out, because its peers remain. A
 * request for an operation without a state (method.once) is satisfied once it was done. */
bool satisfied_by_absence(struct txn *t, const struct request *request);
bool satisfied_once(struct txn *t, const struct request *request);
/* satisfied.c: true if the operation only noted something about this device, so that a half-done
 * state of it remains. */
bool op_noted_only(const struct txn *t, const struct key *dev);
/* satisfied.c: has the keeper anything to store for these requests? op_keep() makes it do so. */
bool op_keeps(const struct txn *t);
int op_keep(struct txn *t, bool begins, struct err *err);
/* recheck.c: observes the devices of the requests, as far as they exist. guarded_at not NULL: also
 * asks what forbids the operation, and sets the time of that, unless nothing is to be asked. */
int op_look(struct engine *e, const struct request *requests, size_t n,
	    _Atomic uint64_t *guarded_at, struct err *err);
/* recheck.c: -EBUSY, before the observation, if another operation runs on the devices of these
 * requests, as far as is known. */
int op_refuse_early(struct engine *e, const struct request *requests, size_t n, struct err *err);
/* lanes.c: runs the steps from this index on. */
int op_run_steps(struct txn *t, uint32_t from, struct err *err);
/* recheck.c: do other users of the device forbid the step now? */
int op_recheck(struct txn *t, const struct step *step, struct err *err);
/* txn.c: t waits for this step from now on; NULL: for none. */
void txn_wait_late(struct txn *t, const struct step *late);
/* txn.c: has everybody who wanted it gone? */
bool txn_forsaken(struct txn *t);
/* recover.c: nobody resumes this operation of a former process. Its devices, the log and health say
 * so. */
void op_lose(struct engine *e, struct op_log *log, const char *cause);
/* txn.c, for recovery: runs what a former process left in this log. */
void txn_resume(struct engine *e, struct op_log *log);

#endif
