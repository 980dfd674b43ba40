/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The use of a device by others, and what it forbids. Each refuse_ function returns 0, or -errno
 * with a sentence in err; before, if any, is put in front of the sentence and says why this device
 * is asked about. Call all with the model locked. */
#ifndef PCIDEVFS_BACKEND_USE_H
#define PCIDEVFS_BACKEND_USE_H

#include <stdbool.h>

struct device;
struct err;
struct model;
struct plan;
struct step;
struct request;

#define USER_TEXT 512
/* "held by qemu (pid 7)", "allocated to a/b/c". False: nobody uses it, and buf is untouched. */
bool use_text(const struct device *dev, char buf[static USER_TEXT]);

/* -EOPNOTSUPP: an attribute cannot be read (device_doubt()). */
int refuse_doubt(const char *before, const struct device *dev, struct err *err);
/* -EPERM: the host needs it, and force is not set. */
int refuse_needed(const struct device *dev, bool force, struct err *err);
/* The same for a claim: what was forced once, restore may take for the same causes again. */
int refuse_needed_claim(struct model *m, const struct device *dev, const struct request *request,
			struct err *err);
/* Was its claim forced, for all the causes that there are now? */
bool is_forced(struct model *m, const struct device *dev);
/* Before the first step of a claim: notes in its record, of an edit, why the host needs the device
 * that it takes by force. */
void note_forced(struct model *m, struct device *edit, const struct request *request);
/* -EBUSY: a process has it open. */
int refuse_open(const struct device *dev, struct err *err);
/* -EBUSY: a process has it open, or a pod has it. */
int refuse_holder(const char *before, const struct device *dev, struct err *err);
/* -EBUSY: likewise, or it is split into mediated devices or is a vGPU. */
int refuse_used(const char *before, const struct device *dev, struct err *err);
/* -EBUSY: a pod has it, even if its claim could not be restored. */
int refuse_given(const struct device *dev, struct err *err);
/* -EBUSY: a stored claim is about to be restored, and the request differs. */
int refuse_coming(const char *before, const struct device *dev, struct err *err);
/* -EBUSY: it has VFs that the transaction does not remove. */
int refuse_parent(const char *before, const struct device *dev, const struct plan *plan,
		  struct err *err);
/* -EOPNOTSUPP, -EPERM, -EBUSY: any reason not to operate on the device itself. */
int refuse_use(const struct device *dev, const struct request *request, const struct plan *plan,
	       struct err *err);
/* -EPERM, -EBUSY: the host needs it, or it is in use. */
int refuse_taken_away(const struct device *dev, bool force, struct err *err);
/* Likewise for the step's device as it is known by now; for verbs. */
int refuse_step(struct model *m, const struct step *step, struct err *err);
/* Only of its holders: for verbs that end a vGPU, which the host does not need. */
int refuse_step_held(struct model *m, const struct step *step, struct err *err);

#endif
