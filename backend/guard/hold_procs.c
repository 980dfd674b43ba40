// SPDX-License-Identifier: GPL-2.0-or-later
/* What a walk asks of processes, and which of them are the daemon's own: these open no device, and
 * have most of the descriptors of a quiet machine. A pid is theirs because the kernel says whose
 * child it is, never by a name. After the walk the skipped ones are compared once more, so that a
 * pid that was given again hides nobody. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hold.h"
#include "pcidevfs/holders.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

off_t hold_count_files(const struct sysfs *s, pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%d/fd", (int)pid);
	return fstatat(s->fd[ROOT_PROC], path, &st, 0) ? 1 : st.st_size;
}

size_t hold_count_threads(const struct sysfs *s, pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%d/task", (int)pid);
	return fstatat(s->fd[ROOT_PROC], path, &st, 0) || st.st_nlink < 2 ? 1 : st.st_nlink - 2;
}

/* 1: access is denied, which is reported. A vanished process, or one that is not a process or link,
 * holds nothing. Other errors, for example lack of descriptors, leave the holders unknown. */
int hold_is_refused(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return 1;
	case ENOENT:
	case ESRCH:
	case ENOTDIR:
	case EINVAL:
		return 0;
	default:
		return -error;
	}
}

/* PF_KTHREAD, the 9th field: "2 (kthreadd) S 0 0 0 0 -1 2129984 ..." */
bool hold_is_kernel(const struct sysfs *s, pid_t pid)
{
	char text[SYSFS_VALUE];
	const char *p = sysfs_read(s, ROOT_PROC, text, sizeof(text), "%d/stat", (int)pid) < 0
				? NULL
				: strrchr(text, ')');

	for (int field = 2; p && field < 9; field++)
		p = strchr(p + 1, ' ');
	return p && strtoul(p + 1, NULL, 10) & 0x00200000;
}

/* ---- the daemon's own */

/* The children of the spawner, which runs nothing but helpers. Those for which there is no room, or
 * whose kernel has no list, are read like others. */
static size_t read_helpers(const struct sysfs *s, pid_t spawner, pid_t ret[static HOLD_HELPERS])
{
	char text[SYSFS_VALUE], *p = text, *end;
	size_t n = 0;

	if (sysfs_read(s, ROOT_PROC, text, sizeof(text), "%d/task/%d/children", (int)spawner,
		       (int)spawner) < 0)
		return 0;
	for (; n < HOLD_HELPERS; p = end) {
		long pid = strtol(p, &end, 10);

		if (pid <= 0)
			break;
		ret[n++] = (pid_t)pid;
	}
	return n;
}

static bool has(const pid_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

void hold_own_open(struct hold_own *own, const struct sysfs *s, const struct hold_asker *asker)
{
	*own = (struct hold_own){ .asker = *asker };
	own->valid = getppid() == asker->spawner;
	if (own->valid)
		own->n = read_helpers(s, asker->spawner, own->helpers);
}

enum hold_part hold_own_part(const struct hold_own *own, pid_t pid)
{
	const struct hold_asker *a = &own->asker;

	if (!own->valid)
		return HOLD_ALL_OF_IT;
	if (pid == a->spawner || has(own->helpers, own->n, pid))
		return HOLD_NOTHING;
	return pid == a->holder || pid == a->server ? HOLD_OUTPUTS : HOLD_ALL_OF_IT;
}

/* As long as the spawner is our parent its pid is its own, and the holder, with which it ends, is
 * there. If the serving process ends nobody reads our answer. */
void hold_own_check(struct hold_own *own, const struct sysfs *s)
{
	struct hold_own now;
	size_t n = 0;

	if (!own->valid || own->checked)
		return;
	own->checked = true; /* once: the walk may begin anew behind a process that hangs */
	hold_own_open(&now, s, &own->asker);
	for (size_t i = 0; i < own->n; i++)
		if (!has(now.helpers, now.n, own->helpers[i]))
			own->helpers[n++] = own->helpers[i];
	own->n = n;
	if (now.valid)
		return;
	own->helpers[own->n++] = own->asker.spawner;
	own->helpers[own->n++] = own->asker.holder;
	own->helpers[own->n++] = own->asker.server;
}

pid_t hold_own_left(struct hold_own *own)
{
	return own->valid && own->n ? own->helpers[--own->n] : 0;
}
