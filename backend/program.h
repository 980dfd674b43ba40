/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that come with a vendor's driver. program.c has a row for each; no other can be run.
 *
 * A program lies below the driver's root directory (struct roots) and belongs to root there. Nobody
 * else may write it, nor any directory on the way. It runs with that root, in a pid namespace that
 * ends with it, so that none of its children survives it, with an empty environment and no more
 * rights than spawner.c says.
 */
#ifndef PCIDEVFS_BACKEND_PROGRAM_H
#define PCIDEVFS_BACKEND_PROGRAM_H

struct err;
struct helper_id;
struct io;
struct out;
struct sysfs;

/* Time limit in ms, scaled by --deadline. The helper then kills the program. */
#define PROGRAM_MS 120000

/* A killed program may take this much longer before it counts as unkillable. */
#define PROGRAM_KILL_MS 5000

/* Where a driver's root is looked for: the host's own, and where NVIDIA's GPU operator has that of its
 * driver container. NULL-terminated. */
extern const char *const driver_roots[];

/* In the daemon: runs the row of that name on a function, with an option that the row has ("-e").
 * Returns 0: its exit status was 0; -EIO: another status, or a signal; -ETIMEDOUT: it took longer
 * than ms, and *ret_late (io.h) is NULL if it was killed; -EOPNOTSUPP: the driver's root has no
 * such program; -EPERM: the program cannot be trusted, or we lack a capability; -EINVAL. The
 * sentence has the last lines of the program's output. */
int program_run(struct io *io, const char *name, const char *option, const char *address,
		unsigned int ms, void **ret_late, struct helper_id *who, struct err *err);

/* In the helper: likewise, for untrusted words { name, option, address }. driver "": the driver's
 * root is looked for. The sentence goes to said. */
int program_exec(const struct sysfs *s, const char *driver, char *const *words, unsigned int ms,
		 struct out *said);

#endif
