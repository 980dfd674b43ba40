// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups of system calls as a filter of seccomp(2). */
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZERS (DENY_DEBUG | DENY_FORK) /* LeakSanitizer traces its own threads from a clone */
#else
#define SANITIZERS 0
#endif

/* Calls that headers of the time of Linux 5.10 lack. All architectures have the same numbers. */
#define NR_process_mrelease 448
#define NR_quotactl_fd 443
#define NR_mount_setattr 442
#define NR_open_tree_attr 467
#define X32 0x40000000u

enum how {
	ALWAYS,
	FOREIGN, /* unless the argument is our own pid */
	EQUAL,	 /* the argument is the value */
	WITHOUT, /* the argument has none of the value's bits */
	ABSENT,	 /* ENOSYS: libc does without */
};

static const struct call_rule {
	int nr;
	unsigned int deny;
	enum how how;
	unsigned int arg;
	uint32_t value;
} calls[] = {
	{ SYS_execve, DENY_EXEC },
	{ SYS_execveat, DENY_EXEC },
#ifdef SYS_fork
	{ SYS_fork, DENY_FORK },
	{ SYS_vfork, DENY_FORK },
#endif
	{ SYS_clone, DENY_FORK, WITHOUT, 0, CLONE_THREAD },
	{ SYS_clone3, DENY_FORK, ABSENT }, /* a filter cannot read its flags, which are in memory */

	/* kcmp is allowed: it only tells who shares a table of open files. */
	{ SYS_ptrace, DENY_DEBUG },
	{ SYS_process_vm_readv, DENY_DEBUG },
	{ SYS_process_vm_writev, DENY_DEBUG },
	{ SYS_process_madvise, DENY_DEBUG },
	{ SYS_pidfd_getfd, DENY_DEBUG },

	{ SYS_kill, DENY_SIGNAL, FOREIGN, 0 },
	{ SYS_tkill, DENY_SIGNAL },
	{ SYS_tgkill, DENY_SIGNAL, FOREIGN, 0 },
	{ SYS_rt_sigqueueinfo, DENY_SIGNAL, FOREIGN, 0 },
	{ SYS_rt_tgsigqueueinfo, DENY_SIGNAL, FOREIGN, 0 },
	{ SYS_pidfd_send_signal, DENY_SIGNAL },
	{ NR_process_mrelease, DENY_SIGNAL },
	/* A ready file may send any signal to the process that is set as its owner. */
	{ SYS_fcntl, DENY_SIGNAL, EQUAL, 1, F_SETOWN },
	{ SYS_fcntl, DENY_SIGNAL, EQUAL, 1, F_SETOWN_EX },
	{ SYS_fcntl, DENY_SIGNAL, EQUAL, 1, F_SETSIG },
	{ SYS_ioctl, DENY_SIGNAL, EQUAL, 1, 0x8901 /* FIOSETOWN */ },
	{ SYS_ioctl, DENY_SIGNAL, EQUAL, 1, 0x8902 /* SIOCSPGRP */ },

	{ SYS_init_module, DENY_MODULE },
	{ SYS_finit_module, DENY_MODULE },
	{ SYS_delete_module, DENY_MODULE },

	{ SYS_mount, DENY_MOUNT },
	{ SYS_umount2, DENY_MOUNT },
	{ SYS_move_mount, DENY_MOUNT },
	{ SYS_open_tree, DENY_MOUNT },
	{ NR_open_tree_attr, DENY_MOUNT },
	{ NR_mount_setattr, DENY_MOUNT },
	{ SYS_fsopen, DENY_MOUNT },
	{ SYS_fsconfig, DENY_MOUNT },
	{ SYS_fsmount, DENY_MOUNT },
	{ SYS_fspick, DENY_MOUNT },
	{ SYS_pivot_root, DENY_MOUNT },
	{ SYS_chroot, DENY_CHROOT },
	{ SYS_socket, DENY_NET },
	{ SYS_setns, DENY_NS },
	{ SYS_unshare, DENY_NS },

	{ SYS_settimeofday, DENY_SYSTEM },
	{ SYS_clock_settime, DENY_SYSTEM },
	{ SYS_adjtimex, DENY_SYSTEM },
	{ SYS_clock_adjtime, DENY_SYSTEM },
	{ SYS_reboot, DENY_SYSTEM },
	{ SYS_kexec_load, DENY_SYSTEM },
	{ SYS_kexec_file_load, DENY_SYSTEM },
	{ SYS_swapon, DENY_SYSTEM },
	{ SYS_swapoff, DENY_SYSTEM },
	{ SYS_acct, DENY_SYSTEM },
	{ SYS_quotactl, DENY_SYSTEM },
	{ NR_quotactl_fd, DENY_SYSTEM },
	{ SYS_add_key, DENY_SYSTEM },
	{ SYS_request_key, DENY_SYSTEM },
	{ SYS_keyctl, DENY_SYSTEM },
	{ SYS_bpf, DENY_SYSTEM },
	{ SYS_perf_event_open, DENY_SYSTEM },
	{ SYS_userfaultfd, DENY_SYSTEM },
	{ SYS_io_uring_setup, DENY_SYSTEM },
	{ SYS_io_uring_enter, DENY_SYSTEM },
	{ SYS_io_uring_register, DENY_SYSTEM },
	{ SYS_open_by_handle_at, DENY_SYSTEM },
	{ SYS_syslog, DENY_SYSTEM },
	{ SYS_vhangup, DENY_SYSTEM },
	{ SYS_sethostname, DENY_SYSTEM },
	{ SYS_setdomainname, DENY_SYSTEM },
	{ SYS_lookup_dcookie, DENY_SYSTEM },
	{ SYS_nfsservctl, DENY_SYSTEM },
	{ SYS_move_pages, DENY_SYSTEM },
	{ SYS_migrate_pages, DENY_SYSTEM },
	/* These type on the terminal that stderr may be. */
	{ SYS_ioctl, DENY_SYSTEM, EQUAL, 1, TIOCSTI },
	{ SYS_ioctl, DENY_SYSTEM, EQUAL, 1, 0x541c /* TIOCLINUX */ },
#ifdef SYS_iopl
	{ SYS_iopl, DENY_SYSTEM },
	{ SYS_ioperm, DENY_SYSTEM },
	{ SYS_modify_ldt, DENY_SYSTEM },
	{ SYS_create_module, DENY_MODULE },
	{ SYS__sysctl, DENY_SYSTEM },
	{ SYS_uselib, DENY_SYSTEM },
	{ SYS_ustat, DENY_SYSTEM },
	{ SYS_sysfs, DENY_SYSTEM },
#endif
};

enum { HEAD = 5, ROW_MAX = 5 };

struct call_filter {
	struct sock_filter code[HEAD + ROW_MAX * ARRAY_SIZE(calls) + 1];
	unsigned short n;
};

static void add(struct call_filter *p, struct sock_filter insn)
{
	p->code[p->n++] = insn;
}

#define LOAD(field)                                                                                \
	(struct sock_filter)                                                                       \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define JUMP(test, value, yes, no)                                                                 \
	(struct sock_filter) BPF_JUMP(BPF_JMP | (test) | BPF_K, value, yes, no)
#define REFUSE(code)                                                                               \
	(struct sock_filter) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (code))

/* Tests the argument's lower half, which comes first in memory: the kernel uses no more of it. */
static void add_looked_at(struct call_filter *p, const struct call_rule *c)
{
	bool equal = c->how != WITHOUT;

	add(p, JUMP(BPF_JEQ, (uint32_t)c->nr, 0, 4));
	add(p, LOAD(args[c->arg]));
	add(p, JUMP(equal ? BPF_JEQ : BPF_JSET, c->how == FOREIGN ? (uint32_t)getpid() : c->value,
		    c->how == EQUAL ? 0 : 1, c->how == EQUAL ? 1 : 0));
	add(p, REFUSE(EPERM));
	add(p, LOAD(nr));
}

static void add_call(struct call_filter *p, const struct call_rule *c)
{
	if (c->how != ALWAYS && c->how != ABSENT) {
		add_looked_at(p, c);
		return;
	}
	add(p, JUMP(BPF_JEQ, (uint32_t)c->nr, 0, 1));
	add(p, REFUSE(c->how == ABSENT ? ENOSYS : EPERM));
}

static void build(struct call_filter *p, unsigned int deny)
{
	p->n = 0;
	add(p, LOAD(arch));
	add(p, JUMP(BPF_JEQ, ARCH, 0, 2));
	add(p, LOAD(nr));
	add(p, JUMP(BPF_JGE, X32, 0, 1)); /* x86's other table; elsewhere no such number exists */
	add(p, REFUSE(EPERM));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].deny & deny)
			add_call(p, &calls[i]);
	add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

int confine_calls(unsigned int deny, struct err *err)
{
	/* Without SPEC_ALLOW kernels before 5.16 slow the whole process down. */
	const unsigned int flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	struct call_filter p;
	struct sock_fprog prog = { .filter = p.code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return fail(err, errno, "new privileges cannot be given up: %s", strerror(errno));
	if (!ARCH)
		return fail(err, EOPNOTSUPP, "system calls are not filtered on this processor");
	build(&p, deny & ~(unsigned int)SANITIZERS);
	prog.len = p.n;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog))
		return fail(err, errno, "system calls cannot be filtered: %s", strerror(errno));
	return 0;
}
