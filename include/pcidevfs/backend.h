/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What main sees of the hardware side. Behind it a vendor, a bus or a driver family is one row
 * (backend/ops.h). */
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

/* Where the machine lies; --sysfs, --dev, --proc, --driver-root. Ownership stays with the
 * caller. */
struct roots {
	const char *sysfs;
	const char *dev;
	const char *proc;
	const char *driver; /* the root directory of the vendor's driver; NULL: that of the host */
	int spawner; /* a socket to the process that starts helpers; 0: there is none */
	int watch;   /* an inotify that outlives the backend; 0: it makes one of its own */
};

#define SPAWNER_ARG "--spawner"

struct backend;

/* Refuses (-ENOENT) a sysfs root without bus/pci/devices. Starts nothing. */
int backend_open(const struct roots *roots, struct model *m, struct backend **ret, struct err *err);
/* False: a look hangs at a device and may go on at any moment, with this and the model; nothing was
 * freed. */
bool backend_free(struct backend *b);

/* Opens what backend_listen() hears and needs rights for, which may be given up behind it; else
 * backend_listen() does so. */
void backend_hear(struct backend *b);
/* Opens the uevent socket, then reads every function and its names, then what guards them
 * (host_critical, holders); publishes. A function that vanishes meanwhile is left out. */
int backend_scan(struct backend *b, struct err *err);
/* Until backend_stop(): uevents, mount table, holders; each into the model. On its own thread.
 * Returns 0, or -errno when it cannot go on. */
int backend_listen(struct backend *b, struct err *err);
void backend_stop(struct backend *b);

/* As struct world (txn.h) wants them. */
int backend_observe(void *backend, const struct key *devs, size_t n, bool guards, struct err *err);
int backend_guard(void *backend, const struct key *dev, struct err *err);
int backend_observe_holders(void *backend, const struct key *devs, size_t n, uint64_t since,
			    struct err *err);
int backend_give_nodes(void *backend, const struct key *dev, struct err *err);
int backend_lift(void *backend, const struct key *dev, const char *former,
		 unsigned int deadline_ms);
int backend_late(void *backend, struct step *step);
int backend_await(void *backend, const struct step *step, unsigned int deadline_ms);
/* All there are, NULL-terminated; good as long as the backend. */
const struct method *const *backend_methods(const struct backend *b);
const struct verb *const *backend_verbs(const struct backend *b);
/* For docs/FILES.md: who serves what. */
void backend_print(FILE *to);

/* pcidevfsd --early: keeps the host's drivers from a device that a stored request claims, where its
 * bus has a way to. Also 0 when nothing is to be done; -EINVAL for what is not an id
 * (key_parse()). */
int backend_early(const struct roots *roots, const char *state_dir, const char *id,
		  struct err *err);

/*
 * The process that starts helpers (io.h), a program's own: its main(), with main's arguments.
 * SPAWNER_ARG and the four roots follow the program's name. Requests come from standard input; it
 * ends with the last socket that leads there, and with the process that has started it. Returns the
 * exit code.
 */
int backend_spawner(int argc, char **argv);
/* Starts it as a child of ours: this very program with SPAWNER_ARG. sock stays the caller's;
 * whatever waits in it is served, so that another one may take the place of one that has died.
 * Returns its pid or -errno. */
pid_t backend_spawn(const struct roots *roots, int sock);
/* The same for who needs one for itself: *ret_sock is the caller's, for roots.spawner. */
int backend_open_spawner(const struct roots *roots, int *ret_sock, struct err *err);
/* What it needs. */
uint64_t backend_spawner_caps(void);

/* "iommu=on", "uevents=ok", ... one keyed line each, with what to do, for `health`. */
void backend_health(struct backend *b, struct out *o);

#endif
