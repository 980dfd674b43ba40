// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

enum { CAPS_MAX = 64 };

/* Names of the capabilities that we use. */
static const char *const cap_names[CAPS_MAX] = {
	[CAP_CHOWN] = "CAP_CHOWN",
	[CAP_DAC_OVERRIDE] = "CAP_DAC_OVERRIDE",
	[CAP_DAC_READ_SEARCH] = "CAP_DAC_READ_SEARCH",
	[CAP_FOWNER] = "CAP_FOWNER",
	[CAP_SETUID] = "CAP_SETUID",
	[CAP_SETGID] = "CAP_SETGID",
	[CAP_NET_ADMIN] = "CAP_NET_ADMIN",
	[CAP_SYS_MODULE] = "CAP_SYS_MODULE",
	[CAP_SYS_CHROOT] = "CAP_SYS_CHROOT",
	[CAP_SYS_PTRACE] = "CAP_SYS_PTRACE",
	[CAP_SYS_ADMIN] = "CAP_SYS_ADMIN",
	[CAP_MKNOD] = "CAP_MKNOD",
};

const char *confine_name(uint64_t caps)
{
	int first = __builtin_ffsll((long long)caps);

	if (!first)
		return NULL;
	return cap_names[first - 1] ? cap_names[first - 1] : "a capability";
}

void confine_tell(uint64_t lacks, int rc, struct err *err)
{
	const struct err before = err ? *err : (struct err){ 0 };

	if (!err || !lacks || (rc != -EPERM && rc != -EACCES))
		return;
	fail(err, before.code, "%s; %s lacks %s", before.text, say_as, confine_name(lacks));
	err->line = before.line;
}

/* pid 0: this process. */
static int get_caps(pid_t pid, struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, pid };

	return syscall(SYS_capget, &head, data) ? -errno : 0;
}

static uint64_t permitted(const struct __user_cap_data_struct data[2])
{
	return (uint64_t)data[1].permitted << 32 | data[0].permitted;
}

uint64_t confine_lacks(uint64_t keep)
{
	struct __user_cap_data_struct data[2] = { 0 };

	return get_caps(0, data) ? 0 : keep & ~permitted(data);
}

uint64_t confine_effective(pid_t pid)
{
	struct __user_cap_data_struct data[2] = { 0 };

	return pid <= 0 || get_caps(pid, data)
		       ? 0
		       : (uint64_t)data[1].effective << 32 | data[0].effective;
}

int confine_caps(uint64_t keep, uint64_t use, struct err *err)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 }, want[2] = { 0 };
	int r = get_caps(0, data);

	if (r)
		return fail(err, -r, "capabilities cannot be read: %s", strerror(-r));
	for (uint64_t drop = permitted(data) & ~keep; drop; drop &= drop - 1)
		prctl(PR_CAPBSET_DROP, __builtin_ctzll(drop));
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	keep &= permitted(data);
	use &= keep;
	for (int half = 0; half < 2; half++)
		want[half] = (struct __user_cap_data_struct){
			.permitted = (uint32_t)(keep >> 32 * half),
			.effective = (uint32_t)(use >> 32 * half),
		};
	if (!memcmp(data, want, sizeof(data)))
		return 0; /* a filter of a unit may deny the call */
	if (syscall(SYS_capset, &head, want))
		return fail(err, errno, "capabilities cannot be given up: %s", strerror(errno));
	return 0;
}

/* The access rights that ABI 1 to 7 add; a kernel knows those of its ABI and of earlier ones. */
static const uint64_t fs_rights[] = {
	LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
		LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
		LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
		LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
		LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		LANDLOCK_ACCESS_FS_MAKE_SYM,
	1ULL << 13, /* REFER */
	1ULL << 14, /* TRUNCATE */
	0,	    /* network */
	1ULL << 15, /* IOCTL_DEV */
};

enum { ABI_SCOPES = 6 };

#define FOR_FILES                                                                                  \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | 1ULL << 14 /* TRUNCATE */)
#define FOR_WRITERS (FOR_FILES | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)

/* As the kernel has it since 6.12; headers may be older. */
struct ruleset {
	uint64_t fs, net, scoped;
};

static int allow(int rules, const struct confine_path *p, uint64_t handled)
{
	_close_ int fd = open(p->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return 0;
	rule.allowed_access = p->write ? FOR_WRITERS : LANDLOCK_ACCESS_FS_READ_FILE;
	rule.allowed_access &= S_ISDIR(st.st_mode) ? handled : handled & FOR_FILES;
	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? -errno
											   : 0;
}

int confine_paths(const struct confine_path *paths, size_t n, struct err *err)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   1 /* 1: LANDLOCK_CREATE_RULESET_VERSION */);
	struct ruleset set = { 0 };
	_close_ int rules = -1;
	int r = 0;

	if (abi < 1)
		return fail(err, EOPNOTSUPP, "the kernel has no Landlock");
	for (size_t i = 0; i < ARRAY_SIZE(fs_rights) && (long)i < abi; i++)
		set.fs |= fs_rights[i];
	set.scoped = abi >= ABI_SCOPES ? 3 : 0; /* abstract sockets, signals */
	rules = (int)syscall(SYS_landlock_create_ruleset, &set,
			     abi >= ABI_SCOPES ? sizeof(set) : sizeof(set.fs), 0);
	if (rules < 0)
		r = -errno;
	for (size_t i = 0; i < n && !r; i++)
		r = allow(rules, &paths[i], set.fs);
	if (!r && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		   syscall(SYS_landlock_restrict_self, rules, 0)))
		r = -errno;
	return r ? fail(err, -r, "files cannot be confined by Landlock: %s", strerror(-r)) : 0;
}
