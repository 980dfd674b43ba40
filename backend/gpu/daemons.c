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
#include "backend/look.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "types.h"

/* Of /proc; more are not looked at. */
#define PROCESSES_MAX 65536

/* As the kernel cuts a process's name, at 15 characters. */
static const char *const names[] = { "nvidia-vgpud", "nvidia-vgpu-mgr" };

/* ---- in a helper */

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

static bool counts(const struct sysfs *at, uint64_t caps)
{
	char text[SYSFS_VALUE];
	struct stat st;

	if (sysfs_read(at, ROOT_PROC, text, sizeof(text), "status") < 0 || !is_roots(text, caps))
		return false;
	if (sysfs_read(at, ROOT_PROC, text, sizeof(text), "uid_map") < 0 || !maps_all(text) ||
	    !is_initial(at))
		return false;
	return !fstatat(at->fd[ROOT_PROC], "exe", &st, 0) && S_ISREG(st.st_mode) && !st.st_uid &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* All that is read is of one process, by its directory: its number may become another one's. */
static bool look_at_process(const struct sysfs *s, const char *pid, uint64_t caps,
			    daemon_found *found, void *ctx)
{
	struct sysfs at = *s;
	_close_ int dir = openat(s->fd[ROOT_PROC], pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char comm[64];

	at.fd[ROOT_PROC] = dir;
	if (dir < 0 || sysfs_read(&at, ROOT_PROC, comm, sizeof(comm), "comm") < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(comm, names[i]))
			return !counts(&at, caps) || found(ctx, dir, pid, names[i]);
	return true;
}

int daemons_each(const struct sysfs *s, uint64_t caps, daemon_found *found, void *ctx)
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
		if (!look_at_process(s, e->d_name, caps, found, ctx))
			break;
	}
	return 0;
}

static bool note_name(void *ctx, int dir, const char *pid, const char *name)
{
	struct out *said = ctx;
	unsigned int n = 0;

	if (!strstr(out_text(said), name))
		out_printf(said, "- %s\n", name);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		n += strstr(out_text(said), names[i]) != NULL;
	return n < ARRAY_SIZE(names);
}

int daemons_scan(const struct sysfs *s, struct out *ret)
{
	return daemons_each(s, CAP(SYS_ADMIN), note_name, ret);
}

/* ---- in the daemon */

/* It has VFs with its driver, none is a vGPU, and none can become one. Call it with the model
 * locked. */
static bool is_idle(struct model *m, const struct device *gpu)
{
	const struct device *vfs[INTENT_VFS];
	bool any = false;
	size_t n;

	if (!(gpu->caps & CAP_VGPU_HOST) || gpu->facts.vgpu_lack[0] || gpu->facts.num_vfs <= 0)
		return false;
	n = model_children(m, &gpu->key, BUS_PCI, vfs, INTENT_VFS);
	for (size_t i = 0; i < n && i < INTENT_VFS; i++) {
		if (vfs[i]->facts.profile_id[0])
			return false;
		any |= vfs[i]->caps & CAP_VGPU && !strcmp(vfs[i]->facts.driver, gpu->facts.driver);
	}
	return any && !types_any(m, gpu);
}

static void sentence(const struct told *run, char buf[static VGPU_LACK])
{
	bool has[ARRAY_SIZE(names)];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		has[i] = told_value(run, names[i]);
	if (has[0] && has[1])
		snprintf(buf, VGPU_LACK,
			 "no: its VFs list no vGPU types, although %s and %s run; either the driver "
			 "is not NVIDIA's vGPU host driver, or MIG is on without GPU instances",
			 names[0], names[1]);
	else if (has[0] || has[1])
		snprintf(buf, VGPU_LACK,
			 "no: its VFs list no vGPU types, and %s is not running; start it",
			 names[has[0]]);
	else
		snprintf(buf, VGPU_LACK,
			 "no: its VFs list no vGPU types, and %s and %s are not running; start them",
			 names[0], names[1]);
}

static enum ask_which which_idle(struct backend *b, const struct device *dev)
{
	return dev->facts.vgpu_idle[0] || is_idle(b->model, dev) ? ASK_IT : ASK_NOT;
}

static int apply_idle(struct backend *b, const struct device *dev, const struct told *t)
{
	char text[VGPU_LACK] = "";

	if (is_idle(b->model, dev))
		sentence(t, text);
	if (strcmp(dev->facts.vgpu_idle, text) != 0)
		STR_COPY(model_edit(b->model, &dev->key, false)->facts.vgpu_idle, text);
	return 0;
}

const struct ask_row ask_daemons = { "daemons", "whether the vGPU daemons run",
				     .deadline_ms = 2000, .follows = true,
				     .which = which_idle, .apply = apply_idle };

/* ---- vGPUs that others make: a write to current_vgpu_type makes no event (spec/kernel.md 6), nor
 * does a driver that begins to list types, so VFs that could be vGPUs are looked at again from time
 * to time. */

static enum ask_which which_vgpu(struct backend *b, const struct device *dev)
{
	return dev->caps & CAP_VGPU && dev->facts.driver[0] ? ASK_IT : ASK_NOT;
}

/* What is stored of it waits, perhaps for NVIDIA's daemons, which come after the driver. */
static enum ask_which which_awaited(struct backend *b, const struct device *dev)
{
	return which_vgpu(b, dev) && dev->unmet[0] && !dev->facts.profile_id[0] &&
			       !types_any(b->model, dev)
		       ? ASK_IT
		       : ASK_NOT;
}

static void vgpus_seen(struct backend *b)
{
	ask_soon(b, ASK_DAEMONS, NULL, 0);
}

const struct ask_row ask_awaited = { .what = "the types of awaited vGPUs", .batch = 1,
				     .look = look_at, .thread = ASKER_WATCH, .period_ms = 2000,
				     .which = which_awaited };

const struct ask_row ask_vgpus = { .what = "the vGPUs that others make", .batch = 1,
				   .look = look_at, .thread = ASKER_WATCH, .period_ms = 16000,
				   .which = which_vgpu, .after = vgpus_seen };
