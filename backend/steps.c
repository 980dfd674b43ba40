// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by all steps: the write by a helper, failures that any step can have, and the change of a
 * node's owner. */
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bus.h"
#include "internal.h"
#include "steps.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/util.h"

#define PATH_SIZE 256 /* of the longest path that a step has, with room */

int step_write(struct backend *b, struct step *step, unsigned int ms, const char *text,
	       const char *fmt, ...)
{
	char path[PATH_SIZE];
	const char *const argv[] = { "write", path, text, NULL };
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n >= PATH_SIZE)
		return -ENAMETOOLONG;
	return io_call(b->io, argv, ms, NULL, step ? &step->late : NULL,
		       step ? &step->helper : NULL);
}

int step_read(struct backend *b, unsigned int ms, struct out *ret, const char *fmt, ...)
{
	char path[PATH_SIZE];
	const char *const argv[] = { "read", path, NULL };
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = vsnprintf(path, sizeof(path), fmt, ap) < PATH_SIZE ? 0 : -ENAMETOOLONG;
	va_end(ap);
	rc = rc ? rc : io_call(b->io, argv, ms, ret, NULL, NULL);
	return !rc && ret->failed ? -ENOMEM : rc;
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

	if (!rc || rc == -ENOENT) /* it went away with its driver */
		return 0;
	fail(err, -rc, "/dev/%s cannot be given to user %u: %s", name, (unsigned int)to.uid,
	     strerror(-rc));
	confine_tell(confine_lacks(CAP(CHOWN)), rc, err);
	return rc;
}
