/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From wishes to steps: a pure function of the model (DESIGN.md 2).
 *
 * A wish is "this file of this device shall read so". A method, registered by a backend, knows how
 * one file's wishes are met; the planner only picks, sorts and refuses. A step is one verb on one
 * device. Planning touches nothing but memory, so `plan`, `check`, `commit`, undo, restore and the
 * fault sweep all use the same plan.
 */
#ifndef PCIDEVFS_PLAN_H
#define PCIDEVFS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pcidevfs/key.h"

struct device;
struct err;
struct model;
struct out;
struct plan;
struct step;

#define WISH_FILE 32
#define WISH_VALUE 256

struct wish {
	struct key dev;
	char file[WISH_FILE];   /* the attribute row's name: "claim" */
	char value[WISH_VALUE]; /* as the row's store accepted it; "" is none */
	bool force;             /* past host_critical; only uid 0 by ctl */
};

#define STEP_VALUE 96

/* One kind of step. Verbs are rows in backend files. All sysfs work happens in io helpers (io.h). */
struct verb {
	const char *name;         /* as plan prints it: "unbind" */
	const char *file;         /* sysfs file below the device's directory, or NULL */
	unsigned int deadline_ms; /* DESIGN.md 4; scaled by --deadline */
	/* Does it. Returns 0 or -errno with the sentence; may record into step->former first. */
	int (*run)(void *backend, struct step *step, unsigned int deadline_ms, struct err *err);
	/* Takes it back, from what the step recorded. NULL: nothing to take back. */
	int (*undo)(void *backend, struct step *step, unsigned int deadline_ms, struct err *err);
};

struct step {
	const struct verb *verb;
	struct key dev;
	char value[STEP_VALUE];
	char former[STEP_VALUE]; /* recorded by run, for undo */
	bool expected;           /* depends on what earlier steps will bring */
	bool done;
	void *late; /* run timed out: what world.late() waits for */
};

/* How one file's wishes are met. Pure: reads the model (lock held), writes the plan. */
struct method {
	const char *file;
	int rank; /* parent before child on the way up: lower runs first */
	bool (*can)(const struct device *dev);
	/* Adds steps and touched devices, or refuses. Adding none means: holds already. */
	int (*expand)(struct model *m, const struct wish *wish, struct plan *plan, struct err *err);
	/* After all steps are done and the devices were observed again, with the lock held: checks that
	 * what was wished is what the kernel holds (else -EIO and the sentence) and notes it by model_edit(). */
	int (*settle)(struct model *m, const struct wish *wish, struct err *err);
	/* What must be known before the first step, by model_edit(), with the lock held; may be NULL. */
	int (*prepare)(struct model *m, const struct wish *wish, struct err *err);
};

#define PLAN_STEPS 4096
#define PLAN_DEVICES 1024

struct plan {
	struct step *steps;
	size_t n_steps;
	struct key *devices; /* all that the plan may alter: they are busy while it runs */
	size_t n_devices;
};

int plan_step(struct plan *p, const struct verb *verb, const struct key *dev, const char *value,
	      struct err *err);
int plan_touch(struct plan *p, const struct key *dev, struct err *err);
void plan_free(struct plan *p);
/* "1 0000:3b:00.0 driver_override vfio-pci\n" ... ; "nothing to do\n" for an empty plan. */
void plan_print(const struct plan *p, struct out *o);

/* The row that serves a file, or NULL. */
const struct method *method_find(const struct method *const *methods, const char *file);

/* With the model locked. wishes are sorted by rank of their methods. ENODEV, EOPNOTSUPP (no method)
 * and the methods' own refusals come back with a sentence. A device that is busy: EBUSY. */
int plan_make(struct model *m, const struct method *const *methods, const struct wish *wishes, size_t n,
	      struct plan *ret, struct err *err);

#endif
