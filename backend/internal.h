/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backend as its files see it; what they share by subject: look.h, ask.h, steps.h, listen.h. */
#ifndef PCIDEVFS_BACKEND_INTERNAL_H
#define PCIDEVFS_BACKEND_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "pcidevfs/backend.h"
#include "pcidevfs/key.h"
#include "pcidevfs/sysfs.h"
#include "ask.h"
#include "look.h"
#include "backend/gpu/daemons.h"
#include "backend/gpu/mig_ask.h"
#include "backend/guard/ends.h"
#include "backend/pci/liveness.h"

struct bus_ops;
struct claim_ops;
struct io;
struct known;
struct pool;

#define METHODS_MAX 63
#define VERBS_MAX 127

/* Of `3 pid=1 comm="systemd"`, cut if need be. */
#define UNSEEN_TEXT 128

struct backend {
	const struct bus_ops *const *buses; /* bus.h */
	const struct claim_ops *const *ways; /* claim.h */
	struct sysfs sys;
	struct roots roots; /* absolute: helpers do not depend on the daemon's working directory */
	struct model *model;
	struct io *io;
	/* Those of all rows (ops.h); NULL-terminated. */
	const struct method *methods[METHODS_MAX + 1];
	const struct verb *verbs[VERBS_MAX + 1];
	struct looks looks;
	struct pool *lookers;
	atomic_uint left; /* number of lookers' threads that hang at a device */
	struct asker asker;
	char unseen[UNSEEN_TEXT]; /* asker.lock; of the last line about such, "" none */
	/* Likewise: processes with too many descriptors, or one that hangs */
	unsigned int unknown;
	struct nvml_told nvml;
	struct mig_seen_at *seen; /* likewise */
	size_t n_seen, cap_seen;
	atomic_int daemons[DAEMONS]; /* process ids, or DAEMON_... */
	_Atomic uint64_t daemons_ms; /* when health last had them looked for */
	struct liveness_rows liveness;
	struct ends ends;
	pthread_mutex_t owning; /* serializes changes of node owners: vfio_nodes.c */
	bool real;		/* sysfs is this kernel's own: its modules can be loaded */
	struct known *known; /* NULL: its inodes may come again */
	char *variants;		/* lines of modules.alias about vfio drivers; variant.h */
	int stop_fd;
	bool hears; /* backend_hear() was called */
	void (*group_found)(void *ctx, gid_t gid); /* NULL: nobody asks */
	void *group_ctx;
	struct {
		int mounts, swaps, network; /* descriptors for changes; < 0: none */
	} ears;
	atomic_int log_error;  /* -errno: why the kernel's log is not heard; 0 */
	atomic_int uevent_fd;  /* -errno: why there is none; health reads it beside a scan */
	atomic_uint overflows; /* of the uevent socket; a full scan follows each */
	atomic_bool names_missing[BUS_COUNT]; /* bus_ops.ids were needed and are missing */
};

#endif
