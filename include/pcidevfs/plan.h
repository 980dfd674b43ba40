/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From requests to steps: a pure function of the model (DESIGN.md 2).
 *
 * A request is "this file of this device must read so". A method, registered by a backend, knows
 * the steps (step.h) that satisfy one file's requests; the planner only selects, sorts and refuses.
 * Planning touches only memory, so `plan`, `check`, `commit`, undo, restore and the fault sweep all
 * use the same plan.
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

/* A request for a device that does not exist yet also names its parent. A VF is the child of dev
 * with an index. A device whose name is known in advance, for example a mediated device, is dev
 * itself, and parent is set. */
struct request {
	struct key dev;
	/* 0: dev itself; N + 1: the child of dev with index N (virtfn<N>), which may not exist
	 * yet. */
	uint16_t child;
	/* parent of dev, if dev did not exist at the time of the request; else BUS_NONE */
	struct key parent;
	/* The file of parent that was written: this request makes dev. "": it makes nothing
	 * named. */
	char made_by[MADE_BY];
	/* The file that was written instead, if it is another name for this one: "enabled". */
	char as[MADE_BY];
	/* Position among the transaction's requests, from 1: err.line of its refusal. 0: single. */
	uint16_t line;
	char file[REQUEST_FILE];	/* name of the attribute row: "claim" */
	char value[REQUEST_VALUE]; /* as accepted by the row's store; "": none */
	bool force;		/* override host_critical; only by ctl, with CAP_SYS_ADMIN */
	/* a stored intent is applied again: any other request meanwhile is newer */
	bool restores;
};

/* How to satisfy one file's requests. Pure: reads the model (lock held), writes the plan. Requests
 * that take something away (down) come before those that add something. The former go from children
 * to parents, the latter from parents to children. */
struct method {
	const char *file;
	/* The bus of its devices; BUS_NONE: all. At most one method per file and bus. */
	enum bus bus;
	int rank;     /* parents have lower ranks than their children; from 1 */
	bool barrier; /* later requests are planned only when this one is done and observed */
	/* The request is for an operation without a state: satisfied once this step was done.
	 * Nothing is stored, and each request is planned anew. */
	const struct verb *once;
	/* the kernel takes no part: the model alone decides on refusal or success */
	bool noted;
	/* For noted methods: a look at the device's holders counts only if it began after this time
	 * (us); 0: no doubt. NULL: never any doubt. */
	uint64_t (*doubts)(const struct device *dev, const struct request *request);
	/* ask for holders and host_critical before planning */
	bool guarded;
	/* Its drivers are asked for what they alone tell, before planning and behind the steps:
	 * engine_world.ask_drivers. */
	bool told;
	/* The capabilities that its devices have, all of them; can() (may be NULL) decides besides. */
	uint32_t caps;
	bool (*can)(const struct device *dev);
	/* Does this request take something away? NULL: never. */
	bool (*down)(struct model *m, const struct request *request);
	/* Of a request that replaces what the device is: adds the steps that end that, or refuses.
	 * They come with the requests that take something away, so that what is made anew finds
	 * the room that all of them leave; expand() then adds the rest. Nothing to end: no steps.
	 * NULL: nothing is replaced. */
	int (*end)(struct model *m, const struct device *dev, const struct request *request,
		   struct plan *plan, struct err *err);
	/* Adds steps and touched devices, or refuses. No steps means: it holds already. Use
	 * plan_requested() for what other requests of the transaction will have changed by then.
	 * dev: the request's; NULL: made_by, and it does not exist yet. */
	int (*expand)(struct model *m, const struct device *dev, const struct request *request,
		      struct plan *plan, struct err *err);
	/* Will this request make the child of request->dev with index n? NULL: never. A request
	 * with made_by makes its own device: then can() is about the parent, and expand() finds no
	 * device. */
	bool (*brings)(const struct request *request, unsigned int n);
	/* Fills caps and kind of a device that such a request would make, or refuses: parent cannot
	 * have one with that index (-1: it has a name). NULL: makes none. */
	int (*foresee)(const struct device *parent, int32_t index, struct device *ret,
		       struct err *err);
	/* Adds the steps for a device that an earlier request will make of this parent (its name is
	 * such as "0000:02:00.0/virtfn2"), or refuses, as far as can be known. NULL: nothing is
	 * known. */
	int (*predict)(struct model *m, const struct device *parent, const struct request *request,
		       struct plan *plan, struct err *err);
	/* Records in dev, which is from model_edit(), what must be known before the first step;
	 * model locked. May be NULL. */
	int (*prepare)(struct model *m, struct device *dev, const struct request *request,
		       struct err *err);
	/* After all steps, when the devices were observed again, with the model locked: checks that
	 * the kernel holds what was requested (else -EIO, a sentence) and notes it in dev. Of a
	 * method that makes devices by name dev may be NULL: there is none. */
	int (*settle)(struct model *m, struct device *dev, const struct request *request,
		      struct err *err);
};

#define PLAN_STEPS 4096
#define PLAN_DEVICES 2048

struct plan {
	struct step *steps;
	size_t n_steps;
	struct key *devices; /* all devices that the plan may change: they are busy while it runs */
	uint16_t *lines;     /* for each device, the line that touched it first */
	size_t n_devices;
	uint16_t line;	     /* of the request that is being expanded */
	struct request
		*requests; /* all of the transaction; existing children have their own keys */
	size_t n_requests;
	bool predict; /* also add expected steps for what cannot be planned yet */
	bool more;    /* more must be planned after these steps */
};

/* The transaction's request for this file of this device, under any of its names, or NULL. */
const struct request *plan_requested(const struct plan *p, const struct key *dev, const char *file);
/* Likewise for the child of this parent with index n, which does not exist. */
const struct request *plan_requested_child(const struct plan *p, const struct key *parent,
					   unsigned int n, const char *file);

int plan_step(struct plan *p, const struct verb *verb, const struct key *dev, const char *value,
	      struct err *err);
/* Likewise; the verb must support force. */
int plan_step_forced(struct plan *p, const struct verb *verb, const struct key *dev,
		     const char *value, bool force, struct err *err);
int plan_touch(struct plan *p, const struct key *dev, struct err *err);
void plan_free(struct plan *p);
/* Prints "1 0000:3b:00.0 driver_override vfio-pci\n" ...; "nothing to do\n" for an empty plan. */
void plan_print(const struct plan *p, struct out *o);

/* The method for a request, or NULL. Depends only on file and bus, so it is the same before the
 * device exists, while it does, and afterwards. */
const struct method *method_find(const struct method *const *methods,
				 const struct request *request);
/* Does it serve this device; of a request that makes one, this parent? */
bool method_can(const struct method *method, const struct device *dev);
/* The method that makes children of this parent by index, or NULL. */
const struct method *method_maker(const struct method *const *methods, const struct device *parent);

/* Is the operation that the device is busy with the one that asks? */
typedef bool plan_is_ours(const void *ctx, const struct device *dev);
/* -EBUSY if an operation runs on this device, or on the PF of this VF, which may remove its VFs or
 * undo their creation. is_ours NULL: no operation is ours. */
int plan_refuse_busy_device(struct model *m, const struct key *device, plan_is_ours *is_ours,
			    const void *ctx, struct err *err);
/* Likewise for all devices that the plan may change; and, unless our operation has begun, also for
 * requests that already hold: while another operation runs nobody knows whether they will. */
int plan_refuse_busy(struct model *m, const struct plan *p, plan_is_ours *is_ours, const void *ctx,
		     struct err *err);

/* The parent, if the device did not exist at the time of the request; else NULL. */
const struct key *request_parent(const struct request *request);
/* Makes *ret a request for an existing device. -ENODEV (no sentence, *ret: a copy): none exists. */
int request_resolve(struct model *m, const struct request *request, struct request *ret);
/* For a request (with parent set) about a device that does not exist: fills in what the device will
 * be able to do. One of the n others may be the request that makes it. Returns 0, or -ENODEV,
 * -EOPNOTSUPP, -ERANGE with the sentence. Call it with the model locked. */
int request_foresee(struct model *m, const struct method *const *methods,
		    const struct request *others, size_t n, struct request *request,
		    struct device *ret, struct err *err);

/* Makes the plan; call it with the model locked. -ENODEV, -EOPNOTSUPP (no method), -EINVAL
 * (requests that contradict each other) and the methods' own refusals have a sentence. predict:
 * also plan behind barriers, from the present state. Free ret by plan_free() in any case. */
int plan_make(struct model *m, const struct method *const *methods, const struct request *requests,
	      size_t n, bool predict, struct plan *ret, struct err *err);

/* method.down of files whose "" takes something away. */
bool request_is_none(struct model *m, const struct request *request);
/* The name of the file that was written for it. */
const char *request_written(const struct request *request);
#define LINE_LABEL 128
/* The label of a request in the root's ctl, "0000:02:00.0/virtfn3/claim"; if it makes a device, the
 * file that was written. */
void request_label(const struct request *request, char label[static LINE_LABEL]);

#endif
