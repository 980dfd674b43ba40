/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions: the one way in which anything is written to the kernel.
 *
 * submit -> queue -> an executor thread: observe, plan, mark busy, prepare, run the steps, observe,
 * settle, publish, done(). A failing step undoes the done ones in reverse; what cannot be undone
 * leaves its devices stuck with the reason. A step over its deadline ends the operation with
 * ETIMEDOUT and leaves its devices stuck until the kernel lets go of it; then the done steps are
 * undone. So does an undo, which then goes on. Transactions that share no device run side by side;
 * one that meets a busy device, or a VF of a busy PF, is refused (EBUSY).
 */
#ifndef PCIDEVFS_TXN_H
#define PCIDEVFS_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pcidevfs/creds.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"

struct engine;
struct region_head;

/* Who asks; for the log and for rights. */
struct actor {
	uid_t uid;
	struct creds opener; /* of the file: whose rights count */
	pid_t pid;
	char comm[32];
	/* Of the request, 0 none: sent again after a crash, it gets the verdict it had. One request
	 * may ask for several operations, which differ above ACTOR_REQUEST. */
	uint64_t tag;
};

#define ACTOR_REQUEST 0xffffffffffffull
#define ACTOR_ACT_SHIFT 48

/* What the engine needs of the world below; filled by main from a backend. All may block for as
 * long as their deadlines, and are called from executors without any lock. */
struct world {
	void *backend;
	const struct method *const *methods; /* NULL-terminated */
	const struct verb *const *verbs;     /* all that steps are made of, NULL-terminated */
	/* Reads these devices and their groups again, into the model; with guards (holders,
	 * host_critical) when an operation is about to be planned on them. */
	int (*observe)(void *backend, const struct key *devs, size_t n, bool guards,
		       struct err *err);
	/* Waits for the helper that a former process had sent for this step: 0 it is gone,
	 * -ETIMEDOUT. May be NULL. */
	int (*await)(void *backend, const struct step *step, unsigned int deadline_ms);
	/* Waits, without a deadline, for the end of a step, or of its undo, that timed out; its
	 * result. */
	int (*late)(void *backend, struct step *step);
	/* Only who holds this device, or one of its VFs, and whether the host needs it, right
	 * before a step. May be NULL. */
	int (*guard)(void *backend, const struct key *dev, struct err *err);
	/* The owner of this device's claim file (intent.uid) has changed: the nodes of its claim
	 * get the new one. May be NULL. */
	int (*give_nodes)(void *backend, const struct key *dev, struct err *err);
	/* Leaves a claimed device, which had this before (intent.former), to another owner: the
	 * engine is gone. 0, -ETIMEDOUT (and nobody hears how it ends) or -errno. May be NULL. */
	int (*lift)(void *backend, const struct key *dev, const char *former,
		    unsigned int deadline_ms);
	/* Only who holds these devices, NULL: all, by a look that was begun after that time
	 * (us). */
	int (*observe_holders)(void *backend, const struct key *devs, size_t n, uint64_t since,
			       struct err *err);
};

/* What outlives a reboot. Called from executors, without any lock; may take as long as the disk
 * does. */
struct keeper {
	void *ctx;
	/* pending: before the first step, so that a crash finds what was begun and how it was
	 * before; a refusal ends the operation with nothing touched. Otherwise: all requests hold
	 * and are noted in the model; a refusal (disk full) takes the operation back. */
	int (*keep)(void *ctx, const struct request *requests, size_t n, bool pending,
		    struct err *err);
};

/* The verdict. err->code 0: all requests hold. Called once, from an executor or, when refused at
 * once, from txn_submit's caller; the model's observers have heard all changes by then, unless they
 * take longer than two seconds: a writer cannot be killed while a step runs. */
typedef void txn_done(void *ctx, const struct err *err);

struct engine_conf {
	struct model *model;
	struct world world;
	struct keeper keeper; /* keep may be NULL */
	/* Memory that outlives the process: what runs, step by step. NULL: operations end with the
	 * process. */
	void *journal;
	size_t journal_size;
	double deadline_factor;
	unsigned int threads; /* executors at most; they come and go with the work */
	/* Asked in the stage in which a device is there that was not when it was asked for, or is
	 * made anew, for each request about it but restore's, from executors and without locks: may
	 * who write it? 0, or -EACCES with the sentence, which takes back what was done. May be
	 * NULL. */
	int (*may)(void *ctx, const struct request *request, const struct actor *who,
		   struct err *err);
	/* Every verdict, for log and last_error; from executors, before done(). May be NULL. *place
	 * is the teller's, and outlives the process: 0 until this verdict was told, and what the
	 * former process left there where it died in the middle of telling, so that nothing is told
	 * twice. */
	void (*verdict)(void *ctx, const struct request *requests, size_t n,
			const struct actor *who, const struct err *err, uint64_t *place);
	void *verdict_ctx; /* may()'s too */
};

/* Of the journal: another one is made empty. */
extern const struct region_head engine_layout;
/* Of a journal whose process is gone: was there an operation that had begun, and had not ended? */
bool engine_was_interrupted(const void *journal, size_t size);
/* Likewise: requests are numbered anew, and none that comes is one of those that acts were begun
 * for. */
void engine_forget_requests(void *journal, size_t size);
int engine_new(const struct engine_conf *conf, struct engine **ret, struct err *err);
/* Takes no more, and waits for running transactions, at most their deadlines. What missed its
 * deadline is not waited for: then false, left tells of each in a line (it may be NULL), and the
 * engine with all that it uses stays until the process ends. */
bool engine_end(struct engine *e, struct out *left);
/* After engine_end() was true, once nobody is left who could ask it for anything. */
void engine_free(struct engine *e);
/* Nothing is queued or runs. */
bool engine_idle(struct engine *e);
/* What a former process left unfinished in the journal is carried on, or taken back. Call once,
 * before requests are served. asked_again: the kernel sends its requests again. Where it does not,
 * their writers got EIO, and an operation that had not begun is dropped: it would start after they
 * looked at what became of it. */
void engine_recover(struct engine *e, bool asked_again);
/* A line about what could not be taken up again; nothing where all could. */
void engine_health(struct engine *e, struct out *o);

/* requests are copied. A request that is sent again after a crash finds its transaction, and gets
 * its verdict. */
void txn_submit(struct engine *e, const struct request *requests, size_t n, const struct actor *who,
		txn_done *done, void *ctx);
/* Who sent this request, tag as in struct actor, got a signal: its operation ends with EINTR if
 * none of its steps has begun. A tag of nobody's changes nothing. */
void txn_interrupt(struct engine *e, uint64_t tag);
/* Runs job on an executor, on behalf of who. 0, -EDQUOT: he has too many waiting, or as
 * pool_submit(). */
int engine_defer(struct engine *e, const struct actor *who,
		 void (*job)(struct engine *e, void *ctx), void *ctx);
/* Of such a result. */
void engine_refuse(int r, const struct actor *who, struct err *err);
const struct world *engine_world(const struct engine *e);
struct model *engine_model(const struct engine *e);

/* Plans without doing: prints the steps into o; a refusal comes back with its sentence and leaves o
 * alone. Looks first at what an operation would look at, and may take as long: not on the FUSE
 * thread. */
int txn_check(struct engine *e, const struct request *requests, size_t n, struct out *o,
	      struct err *err);

#endif
