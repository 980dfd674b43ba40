/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that come with a vendor's driver. program.c has a row for each; no other can be run,
 * whoever asks.
 *
 * A program lies below the driver's root directory (struct roots), belongs to root there, and
 * nobody else may write it, nor any directory on the way. It runs with that root as its own, in a
 * pid namespace that ends with it, so that nothing it has started goes on after it, with an empty
 * environment and with no more rights than spawner.c says.
 */
#ifndef PCIDEVFS_BACKEND_PROGRAM_H
#define PCIDEVFS_BACKEND_PROGRAM_H

struct err;
struct helper_id;
struct io;
struct io_late;
struct out;

/* From its start, in ms; --deadline scales it. The helper kills what takes longer. */
#define PROGRAM_MS 120000

/* A program may end this much later before it counts as one that cannot be killed. */
#define PROGRAM_KILL_MS 5000

/* In the daemon: runs the row of that name with an option that the row has ("-e"), about a
 * function. 0: its exit status was 0. -EIO: it was another one, or a signal; -ETIMEDOUT: it took
 * longer than ms; then late (io.h) is NULL where it was killed. -EOPNOTSUPP: the driver's root has
 * no such program; -EPERM: the program may not be believed, or we lack a capability; -EINVAL. The
 * sentence has the last lines of the program's output. */
int program_run(struct io *io, const char *name, const char *option, const char *address,
		unsigned int ms, struct io_late **ret_late, struct helper_id *who, struct err *err);

/* In the helper: the same, of words { name, option, address } that anybody may have sent. The
 * sentence of a failure goes to said. */
int program_exec(const char *driver, char *const *words, unsigned int ms, struct out *said);

#endif
