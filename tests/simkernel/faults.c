// SPDX-License-Identifier: GPL-2.0-or-later
/* Refusals, slowness and hangs, set by path: fnmatch(3) on the path below sys/ with links resolved;
 * or by number: the n-th write from now on, so that a test can break each step in turn. */
#include "sim.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct fault {
	struct fault *next;
	int err;    /* refuse with this errno, */
	long count; /* this often; below 0: always */
	long ms;    /* wait this long first, */
	bool hang;  /* or until told */
	int inside; /* number of reads and writes that wait now */
	char path[];
};

static struct fault *find(struct sim *s, const char *path)
{
	struct fault *f = s->faults;

	while (f && fnmatch(f->path, path, 0))
		f = f->next;
	return f;
}

static struct fault *of_node(struct sim *s, const struct node *n)
{
	char path[TREE_PATH_MAX];

	if (!s->faults)
		return NULL;
	node_path(n, path, sizeof(path));
	return find(s, path);
}

bool fault_matches(struct sim *s, const struct node *n)
{
	return of_node(s, n) != NULL;
}

/* A rule about a link applies to its target. */
static void canonical(struct sim *s, const char *path, char *buf, size_t size)
{
	const struct node *n = tree_walk(s->tree, s->tree->root, path);

	if (n)
		node_path(n, buf, size);
	else
		snprintf(buf, size, "%s", path + (*path == '/'));
}

static struct fault *get(struct sim *s, const char *path)
{
	char full[TREE_PATH_MAX];
	struct fault *f;

	canonical(s, path, full, sizeof(full));
	for (f = s->faults; f; f = f->next)
		if (!strcmp(f->path, full))
			return f;
	f = calloc(1, sizeof(*f) + strlen(full) + 1);
	if (!f)
		return NULL;
	strcpy(f->path, full);
	f->next = s->faults;
	s->faults = f;
	return f;
}

/* Removes rules without an effect, unless somebody is still inside. */
static void tidy(struct sim *s)
{
	for (struct fault **at = &s->faults; *at;) {
		struct fault *f = *at;

		if (f->count || f->ms || f->hang || f->inside) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		free(f);
	}
}

int fault_meet(struct sim *s, const struct node *n)
{
	struct fault *f = of_node(s, n);
	int r = 0;

	if (f && f->ms) {
		f->inside++;
		sim_sleep(s, f->ms);
		f->inside--;
		tidy(s);
	}
	while ((f = of_node(s, n)) && f->hang) {
		f->inside++;
		r = sim_wait(s);
		f->inside--;
		tidy(s);
		if (r)
			return r;
	}
	if (f && f->count) {
		r = -f->err;
		f->count -= f->count > 0;
		tidy(s);
	}
	return r;
}

int fault_fail(struct sim *s, const char *path, int err, long count)
{
	struct fault *f = get(s, path);

	if (!f)
		return -ENOMEM;
	f->err = err;
	f->count = count;
	tidy(s);
	return 0;
}

int fault_slow(struct sim *s, const char *path, long ms)
{
	struct fault *f = get(s, path);

	if (!f)
		return -ENOMEM;
	f->ms = ms;
	tidy(s);
	return 0;
}

int fault_hang(struct sim *s, const char *path)
{
	struct fault *f = get(s, path);

	if (!f)
		return -ENOMEM;
	f->hang = true;
	return 0;
}

int fault_unhang(struct sim *s, const char *path)
{
	struct fault *f = get(s, path);
	bool was = f && f->hang;

	if (f)
		f->hang = false;
	tidy(s);
	pthread_cond_broadcast(&s->changed);
	return was ? 0 : -ENOENT;
}

bool fault_inside(struct sim *s, const char *path)
{
	const struct fault *f = get(s, path);
	bool inside = f && f->inside;

	tidy(s);
	return inside;
}

void nth_set(struct sim *s, long n, enum nth_how how, int err)
{
	s->nth = (struct nth){ .left = n, .how = how, .err = err };
	pthread_cond_broadcast(&s->changed);
}

bool nth_met(const struct sim *s)
{
	return s->nth.met;
}

/* Waits until the next nth_set(). */
static int nth_wait(struct sim *s)
{
	while (s->nth.met)
		if (sim_wait(s))
			return -EINTR;
	return 0;
}

int nth_before(struct sim *s, bool *ret_mine)
{
	*ret_mine = s->nth.left > 0 && !--s->nth.left;
	s->nth.met |= *ret_mine;
	if (s->nth.how == NTH_FROM && s->nth.met)
		return -s->nth.err;
	if (!*ret_mine)
		return 0;
	if (s->nth.how == NTH_FAIL)
		return -s->nth.err;
	return s->nth.how == NTH_BEFORE ? nth_wait(s) : 0;
}

int nth_after(struct sim *s)
{
	return s->nth.how == NTH_AFTER ? nth_wait(s) : 0;
}
