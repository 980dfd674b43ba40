/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step is one verb on one device. Plans consist of steps; the engine runs, journals and undoes
 * them. */
#ifndef PCIDEVFS_STEP_H
#define PCIDEVFS_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "pcidevfs/key.h"

struct backend;
struct err;
struct model;
struct step;

#define STEP_VALUE 96
#define VERB_NAME 40

/* A kind of step. Verbs are rows in backend files. All sysfs work is done by io helpers (io.h). */
struct verb {
	/* the backend, and the name in plans; a journal has "vfio/unbind" */
	const char *of, *name;
	unsigned int deadline_ms; /* DESIGN.md 4; scaled by --deadline */
	/* learn, or run before it writes, fills step->former, then sets step->recorded */
	bool records;
	/* A run that fails may have done a part: it is undone like one that was done. */
	bool partial;
	bool remakes; /* undo recreates devices that run removed */
	/* Independent of other cards: it may run beside the neighbouring steps of such verbs that
	 * are for another card (the parent of the device, or the device if it has none). */
	bool lanes;
	/* It may change what the host needs of other devices: they are asked about anew. */
	bool stirs;
	/* Refuses if a holder of the device, or the host, forbids the step. Called right before it,
	 * with the model locked and just updated. NULL: nothing forbids it. */
	int (*refuse)(struct model *m, const struct step *step, struct err *err);
	/* Reads the present state, and notes in the device (struct intent) what a release or an
	 * undo must know, before the first of the steps that were planned together runs. Returns 0,
	 * or -errno with the sentence. May be NULL. */
	int (*learn)(struct backend *b, struct step *step, unsigned int deadline_ms, struct err *err);
	/* Does the step. Returns 0, or -errno with the sentence. */
	int (*run)(struct backend *b, struct step *step, unsigned int deadline_ms, struct err *err);
	/* Undoes the step from what it recorded. Called again if it was late. NULL: nothing to
	 * undo, or impossible. */
	int (*undo)(struct backend *b, struct step *step, unsigned int deadline_ms, struct err *err);
};

/* A helper process: its pid, and its start time (/proc/<pid>/stat), which distinguishes it from a
 * later one with that pid. pid 0: none. */
struct helper_id {
	int32_t pid;
	uint64_t started;
};

/* In memory that outlives the process while it runs: pointers are invalid in the next process. */
struct step {
	const struct verb *verb;
	char verb_name[VERB_NAME]; /* finds the verb again: verb_name() */
	struct key dev;
	char value[STEP_VALUE];
	char former[STEP_VALUE]; /* recorded by run before it writes, for undo */
	uint16_t line;		 /* of its request */
	bool expected;		 /* depends on the results of earlier steps */
	bool force; /* as in the request: override host_critical, or what the verb defines */
	bool begun;
	bool recorded; /* former is valid; before that a verb that records has written nothing */
	bool done;
	void *late;		 /* run or undo timed out: the token for world.late() */
	struct helper_id helper; /* the helper that does it; it may outlive the process */
};

/* "vfio/unbind": two backends may have verbs of one name. */
void verb_name(const struct verb *verb, char ret[static VERB_NAME]);

/* Does run remove the children of that device, so that undo or a later step makes new ones? */
static inline bool step_remakes(const struct step *s, const struct key *parent)
{
	return s->verb->remakes && key_eq(&s->dev, parent);
}

#endif
