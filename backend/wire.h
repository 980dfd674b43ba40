/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the daemon, the process that starts helpers, and the helpers.
 *
 * The spawner is asked by one record on a seqpacket socket, with the helper's end of a stream
 * socket. It answers nothing: on that stream the helper itself says hello, then takes requests one
 * at a time. Who reads the end before a hello knows that nothing was begun.
 *
 * 	hello:   struct wire_hello; whose it is, the kernel tells (SCM_CREDENTIALS)
 * 	request: struct wire_request, then size bytes: argc words, each ended by a NUL
 * 	answer:  struct wire_answer, then size bytes of text; of a failure some requests give a sentence
 */
#ifndef PCIDEVFS_BACKEND_WIRE_H
#define PCIDEVFS_BACKEND_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WIRE_WORDS 8
#define WIRE_REQUEST 16384
#define WIRE_ANSWER (4 << 20)

struct roots;

/* What a helper may do: spawner.c has a row for each. */
enum helper_kind {
	HELPER_SYSFS,	 /* attributes and links */
	HELPER_CONFIG,	 /* config space */
	HELPER_HOLDERS,	 /* open files of all processes */
	HELPER_CRITICAL, /* what process 1 has mounted, and its network */
	HELPER_MODULE,	 /* loads modules */
	HELPER_PROGRAM,	 /* runs a program of the vendor's driver; program.h */
	HELPER_KINDS
};

#define WIRE_SPAWN 0x70637370 /* of this form of the record */
struct wire_spawn {
	uint32_t magic;
	uint32_t kind;
};

struct wire_hello {
	uint64_t started; /* process_started() of its own */
	uint64_t lacks;	  /* capabilities that its kind has and it does not */
};

struct wire_request {
	uint32_t argc;
	uint32_t size;
	uint32_t deadline_ms; /* one that only reads ends itself then */
};

struct wire_answer {
	int32_t result; /* 0 or -errno */
	uint32_t size;
};

/* The whole of it, on a blocking socket. 0, -errno, or -EPIPE when the other side has ended. Head
 * and body go together: who waits for them is woken once. */
int wire_send(int fd, const void *head, size_t head_size, const void *body, size_t size);
int wire_receive(int fd, void *data, size_t size);

/* helper.c: what a request needs, and whether it only reads, so that a helper may be killed over
 * it. -ENOSYS: there is no such request. */
int request_find(const char *name, enum helper_kind *ret_kind, bool *ret_reads);
/* Says hello and serves requests of its kind from sock until that ends; returns an exit code. enter
 * (which may be NULL) is called once the roots are open, and gives up what the kind does not need;
 * it returns lacks. */
int helper_run(enum helper_kind kind, int sock, const struct roots *roots,
	       uint64_t (*enter)(enum helper_kind kind));

/* io.c: when a process was started, by the kernel's clock; 0: it is gone. */
uint64_t process_started(pid_t pid);

#endif
