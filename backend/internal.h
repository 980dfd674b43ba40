/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the backend. */
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
struct device;
struct err;
struct inotify_event;
struct io;
struct known;
struct pool;
struct step;

#define METHODS_MAX 63
#define VERBS_MAX 127

/* A kind of question to a helper about devices; the answer goes to one field of their facts. */
enum guard { GUARD_CRITICAL, GUARD_HOLDERS, GUARD_COUNT };

/* Limit of devices in a question. More become "all": naming them would save nothing. */
#define QUESTION_MAX 64

struct question {
	bool all;
	size_t n;
	struct key devs[QUESTION_MAX];
};

/* The runs that operations ask for. */
struct guard_runs {
	uint64_t started, ended; /* numbers of runs */
	bool running;
	int result;	      /* of the last run that ended */
	struct question next; /* the question of the next run */
};

/* What guards_main() is asking. */
struct asking {
	uint64_t began_us; /* 0: it asks nothing */
	uint64_t answered; /* began_us of the last question that succeeded */
	const struct question *question;
};

struct guards {
	pthread_mutex_t lock;
	pthread_cond_t wake;		     /* something is wanted, or stop */
	pthread_cond_t ended;		     /* a run or a question has ended */
	struct question wanted[GUARD_COUNT]; /* guarded by lock */
	bool serials; /* lock; some functions have no serial yet */
	bool at_once; /* lock; a change was seen, not only something that it may depend on */
	struct guard_runs runs[GUARD_COUNT]; /* lock */
	struct asking asking[GUARD_COUNT];   /* lock */
	bool stop;			     /* lock */
	struct views views[GUARD_COUNT];
	atomic_int results[GUARD_COUNT]; /* of the last answer, for health */
	atomic_uint unseen;		 /* processes whose open files could not be seen */
	/* processes with too many descriptors, or one that hangs */
	atomic_uint unknown;
};

struct backend {
	const struct bus_ops *const *buses; /* bus.h */
	const struct claim_ops *const *ways; /* claim.h */
	struct sysfs sys;
	struct roots roots; /* absolute: helpers do not depend on the daemon's working directory */
	struct model *model;
	struct io *io;
	struct serials serials;
	/* Those of all rows (ops.h); NULL-terminated. */
	const struct method *methods[METHODS_MAX + 1];
	const struct verb *verbs[VERBS_MAX + 1];
	struct views views;
	struct pool *lookers;
	atomic_uint left; /* number of lookers' threads that hang at a device */
	struct guards guards;
	struct ends ends;
	struct probes probes;
	pthread_mutex_t owning; /* serializes changes of node owners: vfio_nodes.c */
	bool real;		/* sysfs is this kernel's own: its modules can be loaded */
	struct known *known; /* NULL: its inodes may come again */
	char *variants;		/* lines of modules.alias about vfio drivers; variant.h */
	int stop_fd;
	bool hears; /* backend_hear() was called */
	struct {
		int mounts, swaps, network; /* descriptors for changes; < 0: none */
	} ears;
	atomic_int uevent_fd;  /* -errno: why there is none; health reads it beside a scan */
	atomic_uint overflows; /* of the uevent socket; a full scan follows each */
	atomic_bool names_missing; /* pci.ids was needed and is missing */
};

/* A function to observe. removed: number of the uevent that removed it in between, 0 none: the
 * function found now is another one, unless it was first seen after that. */
struct touched {
	struct key key;
	uint64_t removed;
	uint64_t heard; /* views_now() at the last event */
	uint64_t heard_ms; /* when the first one was heard; 0: none */
	bool lists; /* read only which vGPU types can be made of it */
	bool unbound; /* its driver was heard to leave it */
};

/* Observes these functions (NULL: all; others are then removed from the model) and the PF of each
 * VF, and publishes. Returns 0; -ETIMEDOUT: a device was left out because it did not answer within
 * patience_ms, or another look has waited that long for it; -ENOMEM. */
int look_at(struct backend *b, const struct touched *v, size_t n, unsigned int patience_ms);
/* Likewise on the calling thread, without a time limit. */
int scan_some(struct backend *b, struct view *view, const struct touched *v, size_t n,
	      unsigned int patience_ms);
int scan_all(struct backend *b, struct view *view, unsigned int patience_ms);
/* For events: far more than the slowest device takes, short for those who wait for another one. */
#define PATIENCE_MS 300
/* For operations, which are refused. */
#define ACT_PATIENCE_MS 5000

/* A helper writes text to a file below sysfs, for this step or its undo. Returns 0 or -errno; after
 * -ETIMEDOUT backend_late() waits for step->late. */
int step_write(struct backend *b, const char *path, const char *text, unsigned int ms,
	       struct step *step);
/* Explains an rc that does not depend on what was done (operation): the deadline passed (slow says
 * why), there is no helper, or the device is gone. Fills err and returns -errno; 0: rc is the
 * operation's own. */
int step_trouble(struct backend *b, const char *op, const struct key *dev, int rc, unsigned int ms,
		 const char *slow, struct err *err);

/* For an undo, which nobody has checked: asks who holds the step's device, and whether the host
 * needs it, and then refuse(), with the model locked. */
int step_refuse_undo(struct backend *b, const struct step *step,
		     int (*refuse)(struct model *m, const struct step *step, struct err *err),
		     struct err *err);

/* Gives the node at path, as fchownat() finds it with these flags; name: for the sentence. -errno;
 * -ENOENT without a sentence: it is gone. */
int node_own(int dir, const char *path, int flags, const char *name, struct node_owner to,
	     struct err *err);

bool question_has(const struct question *q, const struct key *key);
/* Adds a device; key NULL: all devices. */
void question_add(struct question *q, const struct key *key);
/* Asks a helper and stores the answer in the model. Blocks for at most the guard's deadline.
 * Returns 0 or -errno. */
int guard_ask(struct backend *b, enum guard guard, const struct question *q);
unsigned int guard_deadline(enum guard guard);
/* Could an answer differ from what is known? The host needs nothing below a VF for vGPUs. */
bool guard_may_tell(enum guard guard, const struct device *dev);
/* Likewise, for calls that need the answer now: those during a run share the next. devs NULL:
 * all. */
int guard_run(struct backend *b, enum guard guard, const struct key *devs, size_t n);
/* Likewise; refuses in a sentence. */
int guard_or_fail(struct backend *b, enum guard guard, const struct key *devs, size_t n,
		  struct err *err);
/* Likewise, all guards about those of them that an operation could take away. */
int guards_ask(struct backend *b, const struct touched *v, size_t n, struct err *err);
/* If guards_main() is asking about all of these, with a question begun after `since` (us), blocks
 * until that has ended. True: it was answered. False: the caller must ask. */
bool guard_await(struct backend *b, enum guard guard, const struct key *devs, size_t n,
		 uint64_t since);
/* Makes guards_main() ask soon, but not too often. key NULL: about all. */
void guard_want(struct backend *b, enum guard guard, const struct key *key);
/* Likewise GUARD_CRITICAL about a PCI function, and about its USB devices, whose disks hang on
 * both. All are asked about if the function cannot be told (""), or is behind its own root bus (a
 * domain of more than 16 bits) and also concerns the one that carries that bus. */
void guard_want_critical(struct backend *b, const char *function);
/* beyond it everything is looked at */
#define GROUP_MAX 256
/* Somebody opened or closed this node below dev, for example "vfio/14". */
void guard_want_node(struct backend *b, const char *node);
/* Makes all guards ask about a changed device; a little later, since operations ask for
 * themselves. */
void guards_want_again(struct backend *b, const struct key *key);
/* Makes guards_main() read the serials of new functions. */
void serials_want(struct backend *b);
/* From now on the release of a device by a pod makes the guards look for its holders, before it
 * goes to the next pod. */
void guards_hear(struct backend *b);
/* The guards' thread; arg is the backend. Ends after guards_stop(). */
void *guards_main(void *arg);
void guards_stop(struct backend *b);

/* Opens the kernel's broadcast socket; returns it or -errno. */
int listen_open(void);
/* Opens, or takes over, the inotify descriptor for nodes. */
int listen_watch(const struct backend *b);
#define NODE_NAME 64
#define NODE_DIRS 72 /* USB has at most 64 buses */
struct node_dir {
	int wd;
	char name[24];
};
struct node_dirs {
	size_t n;
	struct node_dir v[NODE_DIRS];
	char opened[NODE_NAME]; /* asked about next; "": none */
	unsigned int asked;	/* nodes since the last node_opened_all() */
};
/* Hears by fd of the nodes in the directories of dev that are there and not heard yet. */
void listen_watch_dirs(const struct backend *b, int fd, struct node_dirs *d);
/* Likewise in one whose appearance this event tells, if it does. */
void listen_watch_new(const struct backend *b, int fd, struct node_dirs *d,
		      const struct inotify_event *e);
/* Gets the node below dev that an event is about; false: it is about no node. */
bool listen_node(struct node_dirs *d, const struct inotify_event *e, char ret[static NODE_NAME]);
/* Somebody opened or closed a node. Any user may open a USB device's node at any rate: events in a
 * row for one node are one, and more than NODES_ASKED nodes are all. After the last one call
 * node_opened_all(). */
#define NODES_ASKED 64
void node_opened(struct backend *b, struct node_dirs *d, const char *node);
void node_opened_all(struct backend *b, struct node_dirs *d);
/* Nodes are named below dev. Is it that of a group, and of which one? */
bool node_group(const char *node, int32_t *ret);
/* The device whose facts have it, or NULL. Call it with the model locked. */
const struct device *node_device(struct model *m, const char *node);
/* Its owner or mode was changed: a pod that has the device gets it again, soon. */
void node_keep(struct backend *b, const char *node);

#endif
