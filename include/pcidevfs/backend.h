/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hardware side as main sees it. A vendor, bus or driver family is one row of backend/ops.h. */
#ifndef PCIDEVFS_BACKEND_H
#define PCIDEVFS_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct err;
struct key;
struct method;
struct model;
struct out;
struct step;
struct verb;

struct node_owner {
	uid_t uid;
	gid_t gid;
};

/* Where to find the machine: --sysfs, --dev, --proc, --driver-root. The caller keeps ownership. */
struct roots {
	const char *sysfs;
	const char *dev;
	const char *proc;
	const char *driver; /* root directory of the vendor's driver; NULL, "": where it is found */
	const char *state; /* --state: where a helper may write the state file; NULL: nowhere */
	int spawner; /* socket to the process that starts helpers; 0: none */
	int nvml; /* in the spawner: pcidevfs-nvml (gpu/nvml_ask.h); < 0: none */
	int watch;   /* inotify that outlives the backend; 0: the backend makes one */
	int log;     /* /dev/kmsg, of the caller; 0: nobody listens; < 0: -errno, why there is none */
	struct node_owner usb_owner; /* --usb-owner: of the node of a USB device that a pod has */
};

/* mdevctl's definitions, from the root of sysfs: a simulated machine has them beside that. */
#define MDEVCTL_DIR "../etc/mdevctl.d"

#define SPAWNER_ARG "--spawner"

struct backend;

/* Returns -ENOENT for a sysfs root without bus/pci/devices. Starts nothing. */
int backend_open(const struct roots *roots, struct backend **ret, struct err *err);
/* What is found out goes into this model. Call it once, before all that follows but backend_hear().
 * Apart from backend_open(), which may need rights that a process gives up before it reads a model
 * that others could write. */
void backend_use(struct backend *b, struct model *m);
/* Returns false if a probe hangs at a device: it may continue at any time and then use the backend
 * and the model, so nothing was freed. */
bool backend_free(struct backend *b);

/* Call it before backend_listen(), which calls found with the number of the group pcidevfs each
 * time /etc/group has changed. */
void backend_follow_group(struct backend *b, void (*found)(void *ctx, gid_t gid), void *ctx);
/* Opens the sockets and files of backend_listen() that need privileges, which may be dropped
 * afterwards. Without this call backend_listen() opens them. */
void backend_hear(struct backend *b);
/* Opens the uevent socket, then reads every function and its names, then what guards them
 * (host_critical, holders); publishes all of it. A function that vanishes meanwhile is left out. */
int backend_scan(struct backend *b, struct err *err);
/* Feeds uevents, changes of the mount table and holders into the model until backend_stop(). Call
 * it on a thread of its own. Returns 0, or -errno if it cannot continue. */
int backend_listen(struct backend *b, struct err *err);
void backend_stop(struct backend *b);

/* The members of struct engine_world (txn.h). */
int backend_observe(void *backend, const struct key *devs, size_t n, bool guards, struct err *err);
int backend_guard(void *backend, const struct key *devs, size_t n, struct err *err);
void backend_ask_drivers(void *backend, const struct key *devs, size_t n);
void backend_opened(void *backend, const struct key *dev);
int backend_observe_holders(void *backend, const struct key *devs, size_t n, uint64_t since,
			    struct err *err);
int backend_give_nodes(void *backend, const struct key *dev, struct err *err);
int backend_lift(void *backend, const struct key *dev, const char *former,
		 unsigned int deadline_ms);
int backend_late(void *backend, struct step *step);
int backend_state(void *backend, const char *what, const char *text);
int backend_await(void *backend, const struct step *step, unsigned int deadline_ms);
/* NULL-terminated; valid as long as the backend. */
const struct method *const *backend_methods(const struct backend *b);
const struct verb *const *backend_verbs(const struct backend *b);
/* For docs/FILES.md: which backend serves what. */
void backend_print(FILE *to);

/* pcidevfsd --early: keeps the host's drivers away from a device that a stored intent claims, if
 * its bus supports that. Returns 0 also if there is nothing to do; -EINVAL if id is not an id
 * (key_parse()). */
int backend_early(const struct roots *roots, const char *state_dir, const char *id,
		  struct err *err);

/* The main() of the process that starts helpers (io.h). Its arguments are the program's name,
 * SPAWNER_ARG, the four roots and the state directory. It reads requests from standard input and
 * ends with the last socket that leads there, or with the process that started it. Returns the exit
 * code. */
int backend_spawner(int argc, char **argv);
/* Starts this program with SPAWNER_ARG as a child. The caller keeps sock. Requests that wait in
 * sock are served, so a new spawner can replace a dead one. Returns the pid or -errno. */
pid_t backend_spawn(const struct roots *roots, int sock);
/* Starts a spawner for the caller alone. The caller owns *ret_sock, which is for roots.spawner. */
int backend_open_spawner(const struct roots *roots, int *ret_sock, struct err *err);
/* The capabilities that a spawner needs. */
uint64_t backend_spawner_caps(void);

bool backend_has_iommu(struct backend *b);
/* Appends keyed lines such as "iommu=on", "uevents=ok", with what to do about it, for `health`. */
void backend_health(struct backend *b, struct out *o);
/* Calls tell() for each key and value of these that are worth an alert. */
void backend_metrics(struct backend *b, void (*tell)(struct out *, const char *, const char *),
		     struct out *o);

#endif
