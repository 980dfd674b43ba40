/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by all steps. */
#ifndef BACKEND_STEPS_H
#define BACKEND_STEPS_H

#include "pcidevfs/backend.h"

struct backend;
struct err;
struct key;
struct model;
struct out;
struct step;

/* A helper writes text to a file below sysfs, for this step or its undo. Returns 0 or -errno; after
 * -ETIMEDOUT backend_late() waits for step->late. step NULL: nobody waits then. */
__attribute__((format(printf, 5, 6))) int step_write(struct backend *b, struct step *step,
						     unsigned int ms, const char *text,
						     const char *fmt, ...);
/* A helper reads one. ret: to be freed in any case. */
__attribute__((format(printf, 4, 5))) int step_read(struct backend *b, unsigned int ms,
						    struct out *ret, const char *fmt, ...);
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

/* Gives the node at path, as fchownat() finds it with these flags; name: for the sentence. Returns
 * 0, also if it is gone, or -errno. */
int node_own(int dir, const char *path, int flags, const char *name, struct node_owner to,
	     struct err *err);

#endif
