/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From requests to steps: a pure function of the model (DESIGN.md 2).
 *
 * A request is "this file of this device shall read so". A method, registered by a backend, knows
 * how one file's requests are met, by steps (step.h); the planner only picks, sorts and refuses.
 * Planning touches nothing but memory, so `plan`, `check`, `commit`, undo, restore and the fault
 * sweep all use the same plan.
 */
#ifndef PCIDEVFS_PLAN_H
#define PCIDEVFS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pcidevfs/key.h"
#include "pcidevfs/step.h"

struct device;
struct err;
struct model;
struct out;
struct plan;

#define REQUEST_FILE 32
#define REQUEST_VALUE 384 /* device.h: ALLOCATED_NAME is the longest */

#define MADE_BY 16

/*
 * What is asked for of a device that is not there yet names its parent besides: a VF is the child
 * of dev with an index; what has a name before it is there, as a mediated device, is dev itself,
 * and parent is set.
 */
struct request {
	struct key dev;
	/* 0: dev itself; N + 1: the child of dev with index N (virtfn<N>), which another request
	 * may yet make. */
	uint16_t child;
	/* of dev, which was not there when this was asked for; BUS_NONE: it was */
	struct key parent;
	/* The file of parent that this was written to: this request makes dev. "": it makes nothing
	 * that has a name. */
	char made_by[MADE_BY];
	/* Its place among the requests of the request, from 1: err.line of a refusal that is its
	 * own. 0: of one request. */
	uint16_t line;
	char file[REQUEST_FILE];	/* the attribute row's name: "claim" */
	char value[REQUEST_VALUE]; /* as the row's store accepted it; "" is none */
	bool force;		/* past host_critical; only by ctl, for CAP_SYS_ADMIN */
	/* what is stored, applied again: whatever else is asked meanwhile is newer */
	bool restores;
};

/*
 * How one file's requests are met. Pure: reads the model (lock held), writes the plan. Requests
 * that take something away (down) come before those that bring something, children before parents;
 * the others parents before children.
 */
struct method {
	const char *file;
	/* Whose devices it serves; BUS_NONE: those of all. There is one for each file and bus. */
	enum bus bus;
	int rank;     /* a parent's is lower than its children's; from 1 */
	bool barrier; /* what comes after is planned only when this is done and observed */
	/* The request is for an operation and not for a state: it is met once this step was done,
	 * nothing of it is kept, and it is planned anew however often it was done before. */
	const struct verb *once;
	/* the kernel has no part in it: it is refused, or met, by what the model holds */
	bool noted;
	/* ... unless that may be wrong about who holds the device: when (us) a look must have begun
	 * after, to be believed; 0: there is no doubt. NULL: never. */
	uint64_t (*doubts)(const struct device *dev, const struct request *request);
	/* who holds the device and whether the host needs it is asked before planning */
	bool guarded;
	bool (*can)(const struct device *dev);
	/* Does this request take something away? NULL: never. */
	bool (*down)(struct model *m, const struct request *request);
	/* Adds steps and touched devices, or refuses. Adding none means: holds already. What other
	 * requests of the same transaction will have changed by then is asked by
	 * plan_requested(). */
	int (*expand)(struct model *m, const struct request *request, struct plan *plan,
		      struct err *err);
	/* Will this request make the child of request->dev with index n? NULL: never. One that
	 * tells made_by makes its own device; can() is asked of the parent then, and expand() finds
	 * no device. */
	bool (*brings)(const struct request *request, unsigned int n);
	/* The caps and the kind that a device will have which such a request makes, or why parent
	 * can have none with that index (-1: it has a name). NULL: it makes none. */
	int (*foresee)(const struct device *parent, int32_t index, struct device *ret,
		       struct err *err);
	/* The steps for a device that an earlier request will bring: dev.name is
	 * "0000:02:00.0/virtfn2"; or a refusal, as far as it can be known by then. NULL: nothing
	 * can be told. */
	int (*predict)(struct model *m, const struct request *request, struct plan *plan,
		       struct err *err);
	/* What must be known before the first step, by model_edit(), with the lock held; may be
	 * NULL. */
	int (*prepare)(struct model *m, const struct request *request, struct err *err);
	/* After all steps are done and the devices were observed again, with the lock held: checks
	 * that what was requested is what the kernel holds (else -EIO and the sentence) and notes
	 * it by model_edit(). */
	int (*settle)(struct model *m, const struct request *request, struct err *err);
};

#define PLAN_STEPS 4096
#define PLAN_DEVICES 2048

struct plan {
	struct step *steps;
	size_t n_steps;
	struct key *devices; /* all that the plan may alter: they are busy while it runs */
	uint16_t *lines;     /* of each, the line that it was first touched for */
	size_t n_devices;
	uint16_t line;	     /* of the request that is being expanded */
	struct request
		*requests; /* all of the transaction: children that are there go by their own key */
	size_t n_requests;
	bool predict; /* tell also what cannot be planned yet, as expected steps */
	bool more;    /* there is something left to plan once these steps are done */
};

/* The transaction's request for this file of this device, by whichever name it was written, or
 * NULL. */
const struct request *plan_requested(const struct plan *p, const struct key *dev, const char *file);
/* ... of the child of this parent with index n, which is not there. */
const struct request *plan_requested_child(const struct plan *p, const struct key *parent,
					   unsigned int n, const char *file);

int plan_step(struct plan *p, const struct verb *verb, const struct key *dev, const char *value,
	      struct err *err);
/* One whose verb lets force past what refuses it. */
int plan_step_forced(struct plan *p, const struct verb *verb, const struct key *dev,
		     const char *value, bool force, struct err *err);
int plan_touch(struct plan *p, const struct key *dev, struct err *err);
void plan_free(struct plan *p);
/* "1 0000:3b:00.0 driver_override vfio-pci\n" ... ; "nothing to do\n" for an empty plan. */
void plan_print(const struct plan *p, struct out *o);

/* The row that serves what is requested, or NULL. By file and bus alone, which are the same before
 * the device is there, while it is, and when it is gone. */
const struct method *method_find(const struct method *const *methods,
				 const struct request *request);
/* The row that makes children of this parent by index, or NULL. */
const struct method *method_maker(const struct method *const *methods, const struct device *parent);

/* Whether the operation that the device is busy with is the one that asks. */
typedef bool plan_is_ours(const void *ctx, const struct device *dev);
/* EBUSY when an operation runs on this device, or on the PF of which it is a VF: that may take its
 * VFs away, or take back that it made them. is_ours may be NULL: none is. */
int plan_refuse_busy_device(struct model *m, const struct key *device, plan_is_ours *is_ours,
			    const void *ctx, struct err *err);
/* The same of all that the plan may alter; and, unless an operation of ours has begun, of what was
 * asked where it holds already: as long as another operation runs nobody knows whether it will. */
int plan_refuse_busy(struct model *m, const struct plan *p, plan_is_ours *is_ours, const void *ctx,
		     struct err *err);

/* Of a device that was not there when this was asked for; else NULL. */
const struct key *request_parent(const struct request *request);
/* The request as one of a device that is there: -ENODEV (no sentence, ret is as request) while it
 * is not. */
int request_resolve(struct model *m, const struct request *request, struct request *ret);
/* request is about a device that is not there: what will it be able to do, by what makes it? That
 * may be asked for in one of the n others. parent is set in request. 0, or -ENODEV, -EOPNOTSUPP,
 * -ERANGE with the sentence. With the model locked. */
int request_foresee(struct model *m, const struct method *const *methods,
		    const struct request *others, size_t n, struct request *request,
		    struct device *ret, struct err *err);

/* With the model locked. ENODEV, EOPNOTSUPP (no method), EINVAL (requests that contradict each
 * other) and the methods' own refusals come back with a sentence. predict: also of what comes
 * behind a barrier, as it looks now. ret is freed by plan_free() in any case. */
int plan_make(struct model *m, const struct method *const *methods, const struct request *requests,
	      size_t n, bool predict, struct plan *ret, struct err *err);

#define LINE_LABEL 128
/* The file of a request as a line of the root's ctl names it: "0000:02:00.0/virtfn3/claim"; of one
 * that makes a device the file that it was written to. */
void request_label(const struct request *request, char label[static LINE_LABEL]);

#endif
