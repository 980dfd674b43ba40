// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemons.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/internal.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/util.h"

/* Of /proc; more are not looked at. */
#define PROCESSES_MAX 65536

/* "- partly": the processes of a container, or of another namespace, are all that is seen. */
#define PARTLY "partly"

/* As the kernel cuts a process's name, at 15 characters. */
static const char *const names[DAEMONS] = {
	[DAEMON_VGPUD] = "nvidia-vgpud",
	[DAEMON_VGPU_MGR] = "nvidia-vgpu-mgr",
	[DAEMON_FABRIC] = "nv-fabricmanage",
};

/* "Uid:\t0\t0\t0\t0": real, effective, saved and that of its file accesses. */
static bool is_roots(const char *status, uint64_t caps)
{
	const char *uid = strstr(status, "\nUid:"), *has = strstr(status, "\nCapEff:");
	unsigned int u[4];

	return uid && has && sscanf(uid + 5, "%u %u %u %u", u, u + 1, u + 2, u + 3) == 4 &&
	       !(u[0] | u[1] | u[2] | u[3]) && !(caps & ~strtoull(has + 8, NULL, 16));
}

/* One line, that maps all ids to themselves. */
static bool maps_all(const char *map)
{
	unsigned int in, out, n;

	return sscanf(map, "%u %u %u", &in, &out, &n) == 3 && !in && !out && n == UINT32_MAX &&
	       !strchr(map, '\n');
}

/* PROC_USER_INIT_INO of the kernel. A namespace below it may map all ids too, but what its root may
 * counts for nothing outside. A kernel without such namespaces has no such file. */
static bool is_initial(const struct sysfs *at)
{
	char text[64];
	ssize_t n = readlinkat(at->fd[ROOT_PROC], "ns/user", text, sizeof(text) - 1);

	if (n < 0)
		return errno == ENOENT;
	text[n] = '\0';
	return !strcmp(text, "user:[4026531837]");
}

static bool is_privileged(const struct sysfs *at, uint64_t caps)
{
	char text[SYSFS_VALUE];

	if (sysfs_read(at, ROOT_PROC, text, sizeof(text), "status") < 0 || !is_roots(text, caps))
		return false;
	return sysfs_read(at, ROOT_PROC, text, sizeof(text), "uid_map") >= 0 && maps_all(text) &&
	       is_initial(at);
}

/* NVIDIA's fabric manager may be run by another user than root. */
static bool counts(const struct sysfs *at, size_t which, uint64_t caps)
{
	struct stat st;

	if (which != DAEMON_FABRIC && !is_privileged(at, caps))
		return false;
	return !fstatat(at->fd[ROOT_PROC], "exe", &st, 0) && S_ISREG(st.st_mode) && !st.st_uid &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* All that is read is of one process, by its directory: its number may become another one's. */
static bool look_at_process(const struct sysfs *s, const char *pid, size_t n, uint64_t caps,
			    daemon_found *found, void *ctx)
{
	struct sysfs at = *s;
	_close_ int dir = openat(s->fd[ROOT_PROC], pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char comm[64];

	at.fd[ROOT_PROC] = dir;
	if (dir < 0 || sysfs_read(&at, ROOT_PROC, comm, sizeof(comm), "comm") < 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(comm, names[i]))
			return !counts(&at, i, caps) || found(ctx, dir, pid, names[i]);
	return true;
}

/* of: the first so many of names. */
static int each(const struct sysfs *s, size_t of, uint64_t caps, daemon_found *found, void *ctx)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_PROC, ".");
	const struct dirent *e;
	unsigned int n = 0;
	uint64_t pid;

	if (!dir)
		return -errno;
	while (n < PROCESSES_MAX && (e = readdir(dir))) {
		if (parse_u64(e->d_name, INT32_MAX, &pid) || !pid)
			continue;
		n++;
		if (!look_at_process(s, e->d_name, of, caps, found, ctx))
			break;
	}
	return 0;
}

int daemons_each(const struct sysfs *s, uint64_t caps, daemon_found *found, void *ctx)
{
	return each(s, DAEMON_FABRIC, caps, found, ctx);
}

static bool note_name(void *ctx, int dir, const char *pid, const char *name)
{
	struct out *said = ctx;
	unsigned int n = 0;

	if (!strstr(out_text(said), name))
		out_printf(said, "- %s %s\n", name, pid);
	for (size_t i = 0; i < DAEMONS; i++)
		n += strstr(out_text(said), names[i]) != NULL;
	return n < DAEMONS;
}

/* The kernel's own threads are only in its first namespace of processes, from number 2 on (Linux,
 * init/main.c: rest_init()). The links in ns/ would tell it to the privileged alone. */
static bool sees_part(const struct sysfs *s)
{
	char comm[64];

	return sysfs_read(s, ROOT_PROC, comm, sizeof(comm), "1/comm") > 0 &&
	       (sysfs_read(s, ROOT_PROC, comm, sizeof(comm), "2/comm") < 0 ||
		strcmp(comm, "kthreadd") != 0);
}

int daemons_scan(const struct sysfs *s, struct out *ret)
{
	if (sees_part(s))
		out_printf(ret, "- " PARTLY "\n");
	return each(s, DAEMONS, CAP(SYS_ADMIN), note_name, ret);
}

int daemon_told(const struct told *t, enum vendor_daemon which)
{
	const char *pid = told_value(t, names[which]);

	if (pid)
		return atoi(pid);
	return told_value(t, PARTLY) ? DAEMON_UNSEEN : DAEMON_ENDED;
}

bool daemon_runs(const struct sysfs *s, enum vendor_daemon which, int pid)
{
	char comm[64];

	return pid > 0 && sysfs_read(s, ROOT_PROC, comm, sizeof(comm), "%d/comm", pid) > 0 &&
	       !strcmp(comm, names[which]);
}
