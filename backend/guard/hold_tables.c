// SPDX-License-Identifier: GPL-2.0-or-later
/* Which descriptor tables were read: each only once, however many processes share it. */
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "hold.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

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
