/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the PCI backend share. */
#ifndef PCIDEVFS_BACKEND_INTERNAL_H
#define PCIDEVFS_BACKEND_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "pcidevfs/backend.h"
#include "pcidevfs/key.h"
#include "pcidevfs/sysfs.h"
#include "backend/guard/ends.h"
#include "backend/pci/liveness.h"
#include "backend/pci/serials.h"
#include "views.h"

struct bus_ops;
struct claim_ops;
struct err;
struct io;
struct pool;
struct step;

#define METHODS_MAX 63
#define VERBS_MAX 127

/* A helper's answer about devices, which lands in one field of their facts. */
enum guard { GUARD_CRITICAL, GUARD_HOLDERS, GUARD_COUNT };

/* Which devices it is asked about. More than a few are all: naming them would save nothing. */
#define QUESTION_MAX 64

struct question {
	bool all;
	size_t n;
	struct key devs[QUESTION_MAX];
};

/* Those who ask for an operation. */
struct guard_runs {
	uint64_t started, ended; /* numbers of runs */
	bool running;
	int result;	      /* of the last that ended */
	struct question next; /* what the next one is about */
};

/* What guards_main() is at. */
struct asking {
	uint64_t began_us; /* 0: nothing is asked */
	uint64_t answered; /* began_us of the last that was */
	const struct question *question;
};

struct guards {
	pthread_mutex_t lock;
	pthread_cond_t wake;		     /* something is wanted, or stop */
	pthread_cond_t ended;		     /* a run did */
	struct question wanted[GUARD_COUNT]; /* lock */
	bool serials; /* lock; there are functions whose serial nobody looked for */
	bool at_once; /* lock; some of it was seen to change, not only what it may depend on */
	struct guard_runs runs[GUARD_COUNT]; /* lock */
	struct asking asking[GUARD_COUNT];   /* lock */
	bool stop;			     /* lock */
	struct views views[GUARD_COUNT];
	atomic_int results[GUARD_COUNT]; /* of the last answer, for health */
	atomic_uint unseen;		 /* processes whose open files could not be seen */
	atomic_uint unknown;		 /* which have too many, or one that hangs who looks */
};

struct backend {
	const struct bus_ops *const *buses; /* bus.h */
	const struct claim_ops *const *ways; /* claim.h */
	struct sysfs sys;
	struct roots roots; /* absolute: helpers are started from wherever the daemon stands */
	struct model *model;
	struct io *io;
	struct serials serials;
	/* Of all rows (ops.h); NULL-terminated. */
	const struct method *methods[METHODS_MAX + 1];
	const struct verb *verbs[VERBS_MAX + 1];
	struct views views;
	struct pool *lookers;
	atomic_uint left; /* of them: threads that hang at a device */
	struct guards guards;
	struct ends ends;
	struct probes probes;
	pthread_mutex_t owning; /* of device nodes: see vfio_nodes.c */
	bool real;		/* sysfs is this kernel's own: its modules can be loaded */
	char *variants;		/* what modules.alias says of vfio drivers; variant.h */
	int stop_fd;
	bool hears; /* backend_hear() was called */
	struct {
		int mounts, swaps, network; /* what tells of changes; < 0: cannot be had */
	} ears;
	atomic_int uevent_fd;  /* -errno: there is none, and why; health reads it beside a scan */
	atomic_uint overflows; /* of the uevent socket, each mended by a full scan */
	atomic_bool names_missing; /* pci.ids was asked for and is not there */
};

/* A function to look at again. removed: the number of the uevent by which it went away in between,
 * 0 none: what we find is another one, unless it was first seen after that. */
struct touched {
	struct key key;
	uint64_t removed;
	uint64_t heard; /* views_now() at the last event */
};

/* Looks at these functions (NULL: all there are; what the model has besides is removed), at the PF
 * of each VF, and publishes. A device that does not answer for patience_ms is left out, as is one
 * that somebody else has been waiting for as long: then -ETIMEDOUT. -ENOMEM. */
int look_at(struct backend *b, const struct touched *v, size_t n, unsigned int patience_ms);
/* The same on this thread, however long it takes. */
int scan_some(struct backend *b, struct view *view, const struct touched *v, size_t n,
	      unsigned int patience_ms);
int scan_all(struct backend *b, struct view *view, unsigned int patience_ms);
/* For events: long beyond what the slowest device takes, short for those who wait for another. */
#define PATIENCE_MS 300
/* For operations, which are refused. */
#define ACT_PATIENCE_MS 5000

/* A helper writes text to a file below sysfs, for this step or for its undo. 0 or -errno; after
 * -ETIMEDOUT step->late is what backend_late() waits for. */
int step_write(struct backend *b, const char *path, const char *text, unsigned int ms,
	       struct step *step);
/* The sentence and -errno where rc has nothing to do with what was done (act) to the device: its
 * deadline has passed (slow says what keeps it), there is no helper, the device is gone. 0: rc is
 * the operation's own. */
int step_trouble(struct backend *b, const char *op, const struct key *dev, int rc, unsigned int ms,
		 const char *slow, struct err *err);

bool question_has(const struct question *q, const struct key *key);
/* key NULL: all devices. */
void question_add(struct question *q, const struct key *key);
/* A helper answers, into the model; blocks for at most the guard's deadline. 0 or -errno. */
int guard_ask(struct backend *b, enum guard guard, const struct question *q);
unsigned int guard_deadline(enum guard guard);
/* The same for those who need the answer now: who asks meanwhile shares the next one. devs NULL:
 * all. */
int guard_run(struct backend *b, enum guard guard, const struct key *devs, size_t n);
/* Where guards_main() is at a question about all of these that was begun after `since` (us): blocks
 * until that has ended. True: it was answered. False: ask yourself. */
bool guard_await(struct backend *b, enum guard guard, const struct key *devs, size_t n,
		 uint64_t since);
/* Asks guards_main() for it, soon and not too often. key NULL: about all. */
void guard_want(struct backend *b, enum guard guard, const struct key *key);
/* beyond it everything is looked at */
#define GROUP_MAX 256
/* Somebody opened or closed this node: a group's below dev/vfio, or a function's below
 * dev/vfio/devices. */
void guard_want_node(struct backend *b, const char *name);
/* All guards, of a device that has changed: a little later, for operations that change devices ask
 * themselves. */
void guards_want_again(struct backend *b, const struct key *key);
/* Asks guards_main() for the serials of new functions. */
void serials_want(struct backend *b);
/* From now on they hear of devices that pods let go, and look who still holds these: whoever gives
 * one to the next pod is to know it then. */
void guards_hear(struct backend *b);
/* The guards' thread; arg is the backend. Ends after guards_stop(). */
void *guards_main(void *arg);
void guards_stop(struct backend *b);

/* The kernel's broadcast socket; -errno. */
int listen_open(void);

#endif
