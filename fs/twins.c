// SPDX-License-Identifier: GPL-2.0-or-later
#include "twins.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "objects.h"
#include "pcidevfs/util.h"

struct twin {
	uint64_t node;
	uint32_t slot;
};

struct twins {
	pthread_mutex_t lock; /* guards all but n, which is read without it */
	struct twin *jobs;
	size_t cap;
	_Atomic size_t n;
};

int twins_new(struct twins **ret)
{
	struct twins *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	pthread_mutex_init(&w->lock, NULL);
	*ret = w;
	return 0;
}

void twins_free(struct twins *w)
{
	if (!w)
		return;
	free(w->jobs);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Without memory the file gets no twin, and others wait for this write. Needs the lock. */
static bool add(struct twins *w, uint64_t node, uint32_t slot)
{
	bool first = true;
	struct twin *v;
	size_t n = w->n;

	for (size_t i = 0; i < n; i++) {
		if (w->jobs[i].slot == slot)
			return false;
		first &= w->jobs[i].node != node;
	}
	v = more_rows(w->jobs, n, &w->cap, sizeof(*v));
	if (!v)
		return false;
	w->jobs = v;
	v[n] = (struct twin){ node, slot };
	w->n = n + 1;
	return first;
}

bool twins_begin(struct twins *w, uint64_t node, uint32_t slot)
{
	bool first;

	pthread_mutex_lock(&w->lock);
	first = add(w, node, slot);
	pthread_mutex_unlock(&w->lock);
	return first;
}

void twins_end(struct twins *w, uint32_t slot)
{
	if (!w->n)
		return;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0, n = w->n; i < n; i++) {
		if (w->jobs[i].slot != slot)
			continue;
		w->jobs[i] = w->jobs[n - 1];
		w->n = n - 1;
		break;
	}
	pthread_mutex_unlock(&w->lock);
}

unsigned int twins_free_number(struct twins *w, uint64_t ino)
{
	bool used[TWINS_MAX] = { false };
	unsigned int number = 0;

	if (!w->n)
		return 0;
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->n; i++)
		if (objects_untwinned(w->jobs[i].node) == ino)
			used[objects_twin_number(w->jobs[i].node)] = true;
	pthread_mutex_unlock(&w->lock);
	while (number < TWINS_MAX && used[number])
		number++;
	return number % TWINS_MAX;
}
