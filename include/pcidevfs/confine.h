/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process gives up for good, for itself and for whatever it starts: capabilities, groups of
 * system calls, files. Each is a promise about code that we did not write and that runs in our
 * process after all.
 *
 * All three are to be called before there are threads: a thread keeps what it has.
 */
#ifndef PCIDEVFS_CONFINE_H
#define PCIDEVFS_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define CAP(name) (UINT64_C(1) << (CAP_##name))

/* Keeps no more than these, and uses no more than `use` of them: the rest is given to programs that
 * are started. Those that we do not have are no failure. The bounding set follows where CAP_SETPCAP
 * lets it: behind DENY_EXEC, or with no new privileges, it gives nothing. 0 or -errno. */
int confine_caps(uint64_t keep, uint64_t use, struct err *err);
/* Of keep, what this process does not have. */
uint64_t confine_lacks(uint64_t keep);
/* "CAP_SYS_ADMIN": the first of them; NULL: none. */
const char *confine_name(uint64_t caps);
/* rc is the kernel's answer. Where it is -EPERM or -EACCES and one of these capabilities is
 * lacking, the sentence that err (may be NULL) has says so at its end. */
void confine_tell(uint64_t lacks, int rc, struct err *err);

/* Groups of system calls. */
enum deny {
	DENY_EXEC = 1 << 0,   /* another program */
	DENY_FORK = 1 << 1,   /* another process; threads are none */
	DENY_DEBUG = 1 << 2,  /* into the memory and the files of another process */
	DENY_SIGNAL = 1 << 3, /* to another process */
	DENY_MODULE = 1 << 4,
	DENY_MOUNT = 1 << 5,
	DENY_CHROOT = 1 << 6,
	DENY_NS = 1 << 7,     /* another namespace */
	/* clocks, reboot, kexec, swap, keys, raw I/O, bpf, io_uring, ...: nobody needs them */
	DENY_SYSTEM = 1 << 8,
	DENY_ALL = (1 << 9) - 1
};

/* They fail with EPERM from now on, and so do all calls of another architecture's table; no program
 * gives new privileges. 0 or -errno: -EOPNOTSUPP on a processor whose numbers are not known. A
 * build with a sanitizer keeps those calls by which it looks for leaks. */
int confine_calls(unsigned int deny, struct err *err);

struct confine_path {
	const char *path; /* and all below it; what is not there is left out */
	/* files may be made, written and removed as well; else they may be read */
	bool write;
};

/* No other file is opened, made, removed or executed from now on, by landlock(7); directories may
 * be listed, and what is open stays. 0 or -errno, -EOPNOTSUPP: the kernel has no Landlock. */
int confine_paths(const struct confine_path *paths, size_t n, struct err *err);

#endif
