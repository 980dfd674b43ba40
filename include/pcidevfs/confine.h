/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process gives up for good, for itself and for all programs it starts: capabilities, groups
 * of system calls, files. This limits what foreign code in our process can do.
 *
 * All three must be called before there are threads: a thread keeps what it has.
 */
#ifndef PCIDEVFS_CONFINE_H
#define PCIDEVFS_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* User and group nobody, as the kernel has them: who runs as that can be killed only by that, or by
 * CAP_KILL. */
#define NOBODY_ID 65534

#define CAP(name) (UINT64_C(1) << (CAP_##name))

/* Keeps at most the capabilities `keep`, and makes only `use` of them effective; the rest is for
 * programs that are started. Missing ones are not an error. The bounding set loses
 * those that are given up if CAP_SETPCAP allows it; under DENY_EXEC or no_new_privs it has no
 * effect. Returns 0 or -errno. */
int confine_caps(uint64_t keep, uint64_t use, struct err *err);
/* Returns those of `keep` that this process does not have. */
uint64_t confine_lacks(uint64_t keep);
/* Returns those that are effective in another thread or process, without reading text; 0 if it
 * cannot be seen. */
uint64_t confine_effective(pid_t pid);
/* Returns the name of the lowest one, for example "CAP_SYS_ADMIN"; NULL if there is none. */
const char *confine_name(uint64_t caps);
/* rc is the kernel's answer. If it is -EPERM or -EACCES and capabilities are lacking, appends the
 * first one to the sentence in err (may be NULL). */
void confine_tell(uint64_t lacks, int rc, struct err *err);

/* Groups of system calls. */
enum deny {
	DENY_EXEC = 1 << 0,   /* run another program */
	DENY_FORK = 1 << 1,   /* make another process; threads are allowed */
	DENY_DEBUG = 1 << 2,  /* reach memory or files of another process */
	DENY_SIGNAL = 1 << 3, /* signal another process */
	DENY_MODULE = 1 << 4,
	DENY_MOUNT = 1 << 5,
	DENY_CHROOT = 1 << 6,
	DENY_NS = 1 << 7,     /* enter another namespace */
	/* clocks, reboot, kexec, swap, keys, raw I/O, bpf, io_uring, ...: never needed */
	DENY_SYSTEM = 1 << 8,
	DENY_ALL = (1 << 9) - 1,
	DENY_NET = 1 << 9, /* make a socket, of any family */
};

/* These calls fail with EPERM from now on, and so do all calls of another architecture's table. No
 * program gives new privileges any more. Returns 0 or -errno; -EOPNOTSUPP on a processor whose
 * numbers are unknown. A sanitizer build keeps the calls by which it looks for leaks. */
int confine_calls(unsigned int deny, struct err *err);

struct confine_path {
	const char *path; /* and all below it; ignored if it does not exist */
	/* files may also be made, written and removed; else only read */
	bool write;
};

/* From now on landlock(7) refuses to open, make, remove or execute any other file. Directories may
 * be listed; open files stay open. Returns 0 or -errno; -EOPNOTSUPP: the kernel has no Landlock. */
int confine_paths(const struct confine_path *paths, size_t n, struct err *err);

#endif
