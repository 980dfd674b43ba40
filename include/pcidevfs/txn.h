/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions: the only way to write anything to the kernel.
 *
 * submit -> queue -> an executor thread: observe, plan, mark busy, prepare, run the steps, observe,
 * settle, publish, done(). If a step fails, the done ones are undone in reverse. Devices of steps
 * that cannot be undone become stuck, with the reason. A step over its deadline ends the operation
 * with ETIMEDOUT; its devices are stuck until the kernel finishes the step, then the done steps are
 * undone. An undo over its deadline likewise continues later. Transactions without a common device
 * run side by side; one that meets a busy device, or a VF of a busy PF, is refused (EBUSY).
 */
#ifndef PCIDEVFS_TXN_H
#define PCIDEVFS_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pcidevfs/creds.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"

struct device;
struct engine;
struct region_head;

/* Who made a request, for the log and for rights. */
struct actor {
	uid_t uid;
	struct creds opener; /* of the file: the rights that count */
	pid_t pid;
	/* Who logged in, whatever the uid has become since: loginuid plus 1; 0: unknown. */
	uint32_t login;
	char comm[32];
	/* Of the FUSE request, 0: none. If it is sent again after a crash it gets the same verdict.
	 * One FUSE request may start several operations, which differ above ACTOR_REQUEST. */
	uint64_t tag;
};

#define ACTOR_REQUEST 0xffffffffffffull
#define ACTOR_ACT_SHIFT 48

/* The backend's functions for the engine; filled by main. All may block for as long as their
 * deadlines. Executors call them without any lock. */
struct engine_world {
	void *backend;
	const struct method *const *methods; /* NULL-terminated */
	const struct verb *const *verbs;     /* all verbs of steps, NULL-terminated */
	/* Reads these devices and their groups into the model; with guards (holders, host_critical)
	 * if an operation on them is to be planned. */
	int (*observe)(void *backend, const struct key *devs, size_t n, bool guards,
		       struct err *err);
	/* Waits for the helper that a former process sent for this step. Returns 0: it has ended;
	 * -ETIMEDOUT. May be NULL. */
	int (*await)(void *backend, const struct step *step, unsigned int deadline_ms);
	/* Waits without a deadline for a step or undo that timed out. Returns its result. */
	int (*late)(void *backend, struct step *step);
	/* Asks, right before a step, who holds this device or one of its VFs and whether the host
	 * needs it. May be NULL. */
	int (*guard)(void *backend, const struct key *devs, size_t n, struct err *err);
	/* The owner of this device's claim file (intent.uid) has changed, or its claim could not be
	 * restored: sets the owner of the nodes. May be NULL. */
	int (*give_nodes)(void *backend, const struct key *dev, struct err *err);
	/* Leaves a claimed device, which had `former` before (intent.former), to another owner
	 * after the engine is gone. Returns 0; -ETIMEDOUT: it goes on unobserved; -errno. May be
	 * NULL. */
	int (*lift)(void *backend, const struct key *dev, const char *former,
		    unsigned int deadline_ms);
	/* Asks who holds these devices, NULL: all, by a look that begins after that time (us). */
	int (*observe_holders)(void *backend, const struct key *devs, size_t n, uint64_t since,
			       struct err *err);
	/* Asks the drivers of these devices for facts that sysfs does not have (method.told). May be
	 * NULL. */
	void (*ask_drivers)(void *backend, const struct key *devs, size_t n);
	/* Somebody opens a file with facts of this device's driver: asks it again if they are older
	 * than a change, and waits for that, some seconds at most. May be NULL. */
	void (*opened)(void *backend, const struct key *dev);
	/* One call on the state file by a helper, which may write where the daemon may not: "make"
	 * (the directory), "create" (the new file), "append" text to it, "sync", "rename" it to the
	 * state file, "sync_dir". Waits for the disk. text has no NUL and less than
	 * WORLD_STATE_TEXT bytes. Returns 0 or -errno. May be NULL. */
	int (*state)(void *backend, const char *what, const char *text);
};

#define WORLD_STATE_TEXT 8192

/* Stores intents over a reboot. Called from executors, without any lock; may wait for the disk. */
struct keeper {
	void *ctx;
	/* begins: before the first step; a refusal ends the operation with nothing touched.
	 * Otherwise: all requests hold and are noted in the model; a refusal (disk full) undoes the
	 * operation. */
	int (*keep)(void *ctx, const struct request *requests, size_t n, bool begins,
		    struct err *err);
};

/* The verdict. err->code 0: all requests hold. Called once, from an executor or, if refused at
 * once, from txn_submit()'s caller. By then the model's observers have heard all changes, unless
 * they take longer than two seconds: a writer cannot be killed while a step runs. */
typedef void txn_done(void *ctx, const struct err *err);

/* Memory that outlives the process, and the daemon: running operations, step by step. */
#define JOURNAL_HEAD 4096
struct journal_conf {
	/* Of it JOURNAL_HEAD bytes are allocated. NULL: operations end with the process; why: the
	 * reason, for health. */
	void *at;
	size_t size;
	int fd;		/* of the file; 0: there is room for all of it */
	const char *of; /* the boot and the state directory: of others nothing is taken up */
	bool distrust;	/* former processes may have died of it: only the devices are read */
	struct err why;
};

struct engine_conf {
	struct model *model;
	struct engine_world world;
	struct keeper keeper; /* keep may be NULL */
	struct journal_conf journal;
	double deadline_factor;
	/* Maximum number of executors, three quarters of them for those who have a reserve (root,
	 * the plugin, sync); they come and go with the work. */
	unsigned int threads;
	/* May the actor write this request? Asked in the stage in which a device exists that did
	 * not at the time of the request, or is made anew; for each request about it but restore's;
	 * from executors, without locks. Returns 0; or -EACCES with the sentence: the operation is
	 * undone. May be NULL. */
	int (*may)(void *ctx, const struct request *request, const struct actor *who,
		   struct err *err);
	/* Gets every verdict, for log and last_error; from executors, before done(). May be NULL.
	 * *place belongs to the callee and outlives the process: 0 until this verdict was
	 * delivered; if a process dies meanwhile, the next one finds its value there, so that
	 * nothing is logged twice. */
	void (*verdict)(void *ctx, const struct request *requests, size_t n,
			const struct actor *who, const struct err *err, uint64_t *place);
	void *verdict_ctx; /* for may() too */
};

/* The layout of the journal; a region with another one is emptied. */
extern const struct region_head engine_layout;
int engine_new(const struct engine_conf *conf, struct engine **ret, struct err *err);
/* Takes no more transactions, and waits for running ones, at most their deadlines. Returns false if
 * some missed their deadlines: left (may be NULL) gets a line for each, and the engine with all
 * that it uses must stay until the process ends. */
bool engine_end(struct engine *e, struct out *left);
/* After engine_end() returned true, when nobody uses it any more. Returns whether the journal has
 * anything that the next daemon must know. */
bool engine_free(struct engine *e);
/* Returns true if nothing is queued or running. */
bool engine_idle(struct engine *e);
/* In stuck of a device whose operation nobody can resume. */
#define ENDED_DURING                                                                               \
	"pcidevfsd ended during an operation on %s, which may be half done; check it and write "   \
	"again"

struct former {
	/* The kernel resends its requests. If not, their writers got EIO, and operations that had
	 * not begun are dropped: they would start after the writers looked. */
	bool asked_again;
	bool model_found; /* the model is the former process's */
	uint64_t connection; /* no other one has this number; each numbers requests anew */
	_Atomic uint64_t *running; /* gets the number of operations that have begun; may be NULL */
};
/* Continues what a former process left in the journal; undoes it if model and connection are new,
 * because all have died. Call it once, before requests are served. */
void engine_recover(struct engine *e, const struct former *former);
/* Does an operation that is not restore's run on the device? Call it with the model locked. */
bool engine_acts(struct engine *e, const struct device *dev);
/* Is nothing of the file left once it reads so? As method.down; "" is such a value where that says
 * nothing. Call it with the model locked. */
bool engine_takes_away(const struct engine *e, const struct request *request);
/* Appends a line about operations that could not be resumed, if any. */
void engine_health(struct engine *e, struct out *o);

/* Submits a transaction; requests are copied. A request that is sent again after a crash finds its
 * transaction and gets its verdict. n 0: its requests are lost; -ECONNRESET if it is unknown. */
void txn_submit(struct engine *e, const struct request *requests, size_t n, const struct actor *who,
		txn_done *done, void *ctx);
/* The sender of this request (tag as in struct actor) got a signal: its operation ends with EINTR
 * if none of its steps has begun. Unknown tags are ignored. */
void txn_interrupt(struct engine *e, uint64_t tag);
/* Calls run on an executor on behalf of `who`. Returns 0; -EDQUOT: this user has too many waiting;
 * or as pool_submit(). Jobs of users without a reserve begin in the order in which they came; the
 * first operation that such a job submits begins when it returns, which it must not wait for. */
int engine_defer(struct engine *e, const struct actor *who, void (*run)(void *ctx), void *ctx);
/* Fills err for such a result. */
void engine_refuse(int r, const struct actor *who, struct err *err);
const struct engine_world *engine_world(const struct engine *e);

/* Plans without doing: prints the steps into o; a refusal has its sentence and leaves o alone.
 * Observes first what an operation would, and may take as long: not for the FUSE thread. */
int txn_check(struct engine *e, const struct request *requests, size_t n, struct out *o,
	      struct err *err);

#endif
