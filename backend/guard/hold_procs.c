// SPDX-License-Identifier: GPL-2.0-or-later
/* What a walk asks of processes, and which of them are the daemon's own: these open no device, and
 * have most of the descriptors of a quiet machine. A pid is theirs because the kernel says whose
 * child it is, never by a name. After the walk the skipped ones are compared once more, so that a
 * pid that was given again hides nobody. */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

/* Appends the children of a process, as far as there is room; none where the kernel has no list. */
static size_t add_children(const struct sysfs *s, pid_t parent, pid_t ret[static HOLD_HELPERS],
			   size_t n)
{
	char text[SYSFS_VALUE], *p = text, *end;

	if (sysfs_read(s, ROOT_PROC, text, sizeof(text), "%d/task/%d/children", (int)parent,
		       (int)parent) < 0)
		return n;
	for (; n < HOLD_HELPERS; p = end) {
		long pid = strtol(p, &end, 10);

		if (pid <= 0)
			break;
		ret[n++] = (pid_t)pid;
	}
	return n;
}

/* A question to a GPU's driver opens the GPU for some milliseconds, and is in nobody's way. What else
 * a helper has started, a vendor's program, counts. */
static bool is_question(const struct sysfs *s, pid_t pid)
{
	char comm[32];

	return sysfs_read(s, ROOT_PROC, comm, sizeof(comm), "%d/comm", (int)pid) > 0 &&
	       !strcmp(comm, "pcidevfs-nvml");
}

/* The children of the spawner, which runs nothing but helpers, and the questions that these have
 * started. Those for which there is no room are read like others. */
static size_t read_helpers(const struct sysfs *s, pid_t spawner, pid_t ret[static HOLD_HELPERS])
{
	size_t helpers = add_children(s, spawner, ret, 0), n = helpers;

	for (size_t i = 0; i < helpers; i++) {
		size_t first = n, end = add_children(s, ret[i], ret, n);

		for (size_t k = first; k < end; k++)
			if (is_question(s, ret[k]))
				ret[n++] = ret[k];
	}
	return n;
}

bool hold_has_pid(const pid_t *pids, size_t n, pid_t pid)
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
	if (pid == a->spawner || hold_has_pid(own->helpers, own->n, pid))
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
		if (!hold_has_pid(now.helpers, now.n, own->helpers[i]))
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

/* ---- which descriptor tables were read: each only once, however many processes share it */

/* kcmp() needs our own pids: with a simulated or foreign proc it would compare other processes. */
bool hold_tables_own(const struct sysfs *s)
{
	struct statfs fs;
	char text[32];
	ssize_t n = readlinkat(s->fd[ROOT_PROC], "self", text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return !fstatfs(s->fd[ROOT_PROC], &fs) && fs.f_type == PROC_SUPER_MAGIC &&
	       atoi(text) == getpid();
}

int hold_add_pid(pid_t **pids, size_t *n, size_t *cap, pid_t pid)
{
	pid_t *rows = more_rows(*pids, *n, cap, sizeof(pid));

	if (!rows)
		return -ENOMEM;
	*pids = rows;
	rows[(*n)++] = pid;
	return 0;
}

/* A thread that has ended cannot be compared any more. */
static void forget(struct hold_tables *t, size_t i)
{
	t->n--;
	memmove(t->tids + i, t->tids + i + 1, (t->n - i) * sizeof(*t->tids));
}

/* Finds the place of this thread's table. Returns as hold_tables_has(). */
static int find(struct hold_tables *t, pid_t tid, size_t *ret_at)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int rc = t->compare(t->ctx, tid, t->tids[mid]);

		if (rc == HOLD_LEFT)
			return rc;
		if (!rc)
			return 1;
		if (rc < 0) {
			forget(t, mid);
			high--;
		} else if (rc == 1) {
			high = mid;
		} else {
			low = mid + 1;
		}
	}
	*ret_at = low;
	return 0;
}

int hold_tables_has(struct hold_tables *t, pid_t tid)
{
	int rc = t->compare(t->ctx, tid, tid);
	size_t at = 0;

	/* A table to which access is denied has no place among the others. */
	if (rc)
		return rc == HOLD_LEFT ? rc : 0;
	/* Threads that share a table mostly follow each other. Also, a thread that got another
	 * table since it was entered could mislead the search. */
	rc = t->last ? t->compare(t->ctx, tid, t->last) : -ESRCH;
	if (rc == HOLD_LEFT)
		return rc;
	rc = rc ? find(t, tid, &at) : 1;
	if (rc < 0)
		return rc;
	t->last = tid;
	if (rc)
		return rc;
	rc = hold_add_pid(&t->tids, &t->n, &t->cap, tid);
	if (rc)
		return rc;
	memmove(t->tids + at + 1, t->tids + at, (t->n - 1 - at) * sizeof(tid));
	t->tids[at] = tid;
	return 0;
}
