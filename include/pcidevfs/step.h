/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A step is one verb on one device: what a plan is made of, what the engine runs, journals and
 * takes back.
 */
#ifndef PCIDEVFS_STEP_H
#define PCIDEVFS_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "pcidevfs/key.h"

struct err;
struct model;
struct step;

#define STEP_VALUE 96
#define VERB_NAME 40

/* One kind of step. Verbs are rows in backend files. All sysfs work happens in io helpers
 * (io.h). */
struct verb {
	/* the backend, and as plan prints it: a journal has "vfio/unbind" */
	const char *of, *name;
	unsigned int deadline_ms; /* DESIGN.md 4; scaled by --deadline */
	/* learn, or run before it writes, fills step->former, then sets step->recorded */
	bool records;
	bool remakes; /* undo brings devices back that run took away */
	/* Who holds the device, or the host that needs it, may forbid the step: asked right before
	 * it, with the model locked, of what is known no longer than a moment. NULL: nothing
	 * forbids it. */
	int (*refuse)(struct model *m, const struct step *step, struct err *err);
	/* Reads how it is, before the first of the steps that were planned together runs. Returns 1
	 * where what it has noted in the device (struct intent) must be kept before that, 0, or
	 * -errno with the sentence. May be NULL. */
	int (*learn)(void *backend, struct step *step, unsigned int deadline_ms, struct err *err);
	/* Does it. Returns 0 or -errno with the sentence. */
	int (*run)(void *backend, struct step *step, unsigned int deadline_ms, struct err *err);
	/* Takes it back, from what the step recorded; called again when it was late. NULL: there is
	 * nothing to take back, or no way. */
	int (*undo)(void *backend, struct step *step, unsigned int deadline_ms, struct err *err);
};

/* A helper process: its number, and when it started (/proc/<pid>/stat), which tells it from a later
 * one of that number. pid 0: none. */
struct helper_id {
	int32_t pid;
	uint64_t started;
};

/* Lies in memory that outlives the process while it runs: pointers mean nothing to the next one. */
struct step {
	const struct verb *verb;
	char verb_name[VERB_NAME]; /* finds the verb again: verb_name() */
	struct key dev;
	char value[STEP_VALUE];
	char former[STEP_VALUE]; /* recorded by run before it writes, for undo */
	uint16_t line;		 /* of the request that it is for */
	bool expected;		 /* depends on what earlier steps will bring */
	bool force; /* as the request: past host_critical, or what else its verb says */
	bool begun;
	bool recorded; /* former is valid; a verb that records has written nothing before */
	bool done;
	void *late;		 /* run or undo timed out: what world.late() waits for */
	struct helper_id helper; /* that was sent to do it; it may outlive us */
};

/* "vfio/unbind": two backends may have a verb of one name. */
void verb_name(const struct verb *verb, char ret[static VERB_NAME]);

/* Does run take the children of that device away, for undo or a later step to make them anew? */
static inline bool step_remakes(const struct step *s, const struct key *parent)
{
	return s->verb->remakes && key_eq(&s->dev, parent);
}

#endif
