/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the daemon, the process that starts helpers (the spawner), and the helpers.
 *
 * The daemon asks the spawner by one record on a seqpacket socket, with the helper's end of a
 * stream socket. The spawner does not answer. On that stream the helper says hello, then takes
 * requests one at a time. If the stream ends before a hello, nothing was begun.
 *
 * hello:   struct wire_hello; the kernel names the sender (SCM_CREDENTIALS)
 * request: struct wire_request, then size bytes: argc words, each ended by a NUL
 * answer:  struct wire_answer, then size bytes of text; for a failure some requests give a sentence
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

struct hold_asker;
struct roots;

/* The rights of a helper: spawner.c has a row for each. */
enum helper_kind {
	HELPER_SYSFS,	 /* attributes and links */
	HELPER_CONFIG,	 /* config space */
	HELPER_HOLDERS,	 /* open files of all processes */
	HELPER_CRITICAL, /* what process 1 has mounted, and its network */
	HELPER_MODULE,	 /* loads modules */
	HELPER_PROGRAM,	 /* runs a program of the vendor's driver; program.h */
	HELPER_STATE,	 /* writes the state file, where landlock(7) keeps the daemon out */
	HELPER_VFCONF,	 /* settings of VFs, in the network of process 1 */
	HELPER_NVML,	 /* asks NVIDIA's library; gpu/nvml_ask.h */
	HELPER_NVML_SET, /* has it set something */
	HELPER_KINDS
};

/* How long a program that a helper of this kind runs may take to die, before the helper counts as
 * late. */
unsigned int helper_grace(enum helper_kind kind);

#define WIRE_SPAWN 0x70637370 /* identifies this version of the record */
struct wire_spawn {
	uint32_t magic;
	uint32_t kind;
};

struct wire_hello {
	uint64_t started; /* its own process_started() */
	uint64_t lacks;	  /* capabilities of its kind that it lacks */
};

struct wire_request {
	uint32_t argc;
	uint32_t size;
	uint32_t deadline_ms; /* a request that only reads ends itself then */
};

struct wire_answer {
	int32_t result; /* 0 or -errno */
	uint32_t size;
};

/* Send or receive the whole, on a blocking socket. Return 0; -errno; -EPIPE: the other side has
 * ended. Head and body go together, so the receiver is woken once. */
int wire_send(int fd, const void *head, size_t head_size, const void *body, size_t size);
int wire_receive(int fd, void *data, size_t size);

/* Of a row of requests.def the kind that it needs, and whether it only reads, so that its helper
 * may be killed. -ENOSYS: there is no such request. */
int request_find(const char *name, enum helper_kind *ret_kind, bool *ret_reads);
/* Says hello and serves requests of its kind from sock until that ends; returns an exit code.
 * family: its parent, the spawner, and that one's. enter (may be NULL) is called once the roots are
 * open; it drops the rights that the kind does not need, and returns those it lacks. */
int helper_run(enum helper_kind kind, int sock, const struct roots *roots,
	       const struct hold_asker *family, uint64_t (*enter)(enum helper_kind kind));

/* spawner.c: those that were started. Each of 4096 functions may keep one in the kernel while all
 * others are at work. */
#define HELPERS_MAX (4096 + 512)
struct helpers {
	pid_t pids[HELPERS_MAX];
	size_t n;
};
/* Drops those that have ended, if need be. False: there is no place for another one. */
bool helpers_fit(struct helpers *h);

/* io.c: when a process was started, by the kernel's clock; 0: it is gone. */
uint64_t process_started(pid_t pid);

#endif
