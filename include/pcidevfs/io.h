/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses that may sleep for ever in the kernel, made by helper processes.
 *
 * A thread that waits for a device lock cannot be killed, nor its process reaped (spec: kernel.md
 * 7). So a helper makes every such access. A helper has no descriptor of ours but its socket, and
 * only the rights of its kind of request. Another process starts it (backend.h) and takes no part
 * in its requests. A helper serves requests one after another and is reused. A helper that misses
 * its deadline is left alone with its request, and io_late() gives its late answer; if the request
 * only reads, the helper ends itself.
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

/* roots must hold all three paths and the spawner's socket, and must stay valid until io_free(). */
int io_new(const struct roots *roots, struct io **ret, struct err *err);
void io_free(struct io *io);

/* Runs one row of the helper's table of requests: argv[0] is its name ("write", "read", "holders",
 * "critical", ...); argv is NULL-terminated and has at most 8 words. Thread-safe; calls run side by
 * side. Returns 0 and appends the answer to answer (may be NULL); the -errno that the helper met
 * (for "program" with its sentence in answer); -ECHILD if no helper could be started; -EIO if the
 * helper died after it had read the request (nobody knows what it did; one that only reads is made
 * twice); or -ETIMEDOUT: then *ret_late (may be NULL) is a token
 * for io_late(), or NULL if the request only reads. who (may be NULL) is set to the helper before
 * the request is sent. */
int io_call(struct io *io, const char *const *argv, unsigned int deadline_ms, struct out *answer,
	    void **ret_late, struct helper_id *who);
/* Waits until a helper, of this or a former process, has ended; deadline_ms -1: without limit.
 * Returns 0 or -ETIMEDOUT. */
int io_await(const struct helper_id *who, int deadline_ms);
/* The capabilities that helpers for this request need and lack, as far as is known. */
uint64_t io_lacks(struct io *io, const char *request);
/* Blocks until the late request has ended and returns its result; frees the token. */
int io_late(struct io *io, void *late, struct out *answer);

#endif
