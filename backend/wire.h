/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the daemon and its helpers, on a stream socket: a request and its answer, one at a time.
 *
 *	request: struct wire_request, then size bytes: argc words, each ended by a NUL
 *	answer:  struct wire_answer, then size bytes of text
 */
#ifndef PCIDEVFS_BACKEND_WIRE_H
#define PCIDEVFS_BACKEND_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_WORDS 8
#define WIRE_REQUEST 16384
#define WIRE_ANSWER (4 << 20)

struct wire_request {
	uint32_t argc;
	uint32_t size;
};

struct wire_answer {
	int32_t result; /* 0 or -errno */
	uint32_t size;
};

/* The whole of it, on a blocking socket. 0, -errno, or -EPIPE when the other side has ended. Head and body go
 * together: who waits for them is woken once. */
int wire_send(int fd, const void *head, size_t head_size, const void *body, size_t size);
int wire_receive(int fd, void *data, size_t size);

/* helper.c: does this request only read, so that a helper may be killed over it? */
bool request_reads(const char *name);

#endif
