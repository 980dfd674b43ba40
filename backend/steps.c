// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by all steps: the write by a helper, failures that any step can have, and the change of a
 * node's owner. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "bus.h"
#include "internal.h"
#include "steps.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"

int step_write(struct backend *b, const char *path, const char *text, unsigned int ms,
	       struct step *step)
{
	const char *const argv[] = { "write", path, text, NULL };

	return io_call(b->io, argv, ms, NULL, (struct io_late **)&step->late, &step->helper);
}

int step_trouble(struct backend *b, const char *op, const struct key *dev, int rc, unsigned int ms,
		 const char *slow, struct err *err)
{
	const char *name = dev->name;

	if (rc == -ETIMEDOUT)
		return fail(err, ETIMEDOUT, "%s of %s did not end within %u ms: %s", op, name, ms,
			    slow);
	if (rc == -ECHILD)
		return fail(err, EIO, "%s of %s: no helper process could be started", op, name);
	if (!bus_shows(b, dev))
		return fail(err, ENODEV, "%s is gone", name);
	return 0;
}

int node_own(int dir, const char *path, int flags, const char *name, struct node_owner to,
	     struct err *err)
{
	int rc = fchownat(dir, path, to.uid, to.gid, flags) ? -errno : 0;

	if (!rc || rc == -ENOENT)
		return rc;
	fail(err, -rc, "/dev/%s cannot be given to user %u: %s", name, (unsigned int)to.uid,
	     strerror(-rc));
	confine_tell(confine_lacks(CAP(CHOWN)), rc, err);
	return rc;
}
