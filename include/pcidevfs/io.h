/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses that may sleep for ever in the kernel, made by helper processes.
 *
 * A thread that waits for a device lock cannot be killed, nor its process reaped (spec: kernel.md
 * 7), so every such access is made by a helper which has no descriptor of ours but its socket, and
 * no right but those of its kind of request. Another process starts it (backend.h) and is no part
 * of what is asked of it afterwards. A helper serves requests one after the other and is kept for
 * the next; one that misses its deadline is left alone with its request, and its late answer is
 * told by io_late(); over a request that only reads it ends itself.
 */
#ifndef PCIDEVFS_IO_H
#define PCIDEVFS_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct helper_id;
struct io;
struct out;
struct roots;

/* roots must hold all three paths and the spawner's socket, and stay until io_free(). */
int io_new(const struct roots *roots, struct io **ret, struct err *err);
void io_free(struct io *io);

/* Runs one row of the helper's table of requests: argv[0] is its name ("write", "read", "holders",
 * "critical", ...), argv NULL-terminated, at most 8 words. Thread-safe; calls run side by side.
 * Returns 0 with the answer appended to answer (may be NULL), -errno as the helper met it (of
 * "program" with its sentence in answer), -ECHILD when no helper could be started, -EIO when it
 * died over the request (nobody knows what it did), or -ETIMEDOUT; then *ret_late (may be NULL) is
 * a token for io_late(), or NULL where the request only reads. who (may be NULL) is told the helper
 * before it is sent out. */
struct io_late;
int io_call(struct io *io, const char *const *argv, unsigned int deadline_ms, struct out *answer,
	    struct io_late **ret_late, struct helper_id *who);
/* Waits for the end of a helper, of this process or a former one; deadline_ms -1: as long as it
 * takes. 0 it is gone, -ETIMEDOUT. */
int io_await(const struct helper_id *who, int deadline_ms);
/* The capabilities that helpers for this request should have and do not, as far as is known. */
uint64_t io_lacks(struct io *io, const char *request);
/* Blocks until the late request has ended and gives its result; frees the token. */
int io_late(struct io *io, struct io_late *late, struct out *answer);

#endif
