// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks that may hang in the kernel. Each runs on its own thread, which is abandoned if a device
 * does not answer. The other devices of its batch are looked at again without that one. The
 * abandoned thread goes no further when it returns, and looks once more, because it missed the
 * events meanwhile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"
#include "look.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/say.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#define HUNG_MAX 8 /* devices that begin to hang during one look */
/* A thread that only waits for a CPU is held by no driver, and gets so many times the patience. */
#define STARVED 10

struct look {
	struct backend *b;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	atomic_int tid;
	bool over, left; /* lock */
	int rc;		 /* lock */
	struct view view;
	unsigned int patience_ms;
	bool all;
	size_t n;
	struct touched v[];
};

static int scan(struct look *l)
{
	return l->all ? scan_all(l->b, &l->view, l->patience_ms)
		      : scan_some(l->b, &l->view, l->v, l->n, l->patience_ms);
}

static void look_free(struct look *l)
{
	pthread_cond_destroy(&l->ended);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static void look_main(void *arg)
{
	struct look *l = arg;
	struct backend *b = l->b;
	bool left;
	int rc;

	atomic_store(&l->tid, gettid());
	rc = scan(l);
	pthread_mutex_lock(&l->lock);
	l->rc = rc;
	l->over = true;
	left = l->left;
	pthread_cond_signal(&l->ended);
	pthread_mutex_unlock(&l->lock);
	if (!left)
		return;
	scan(l);
	look_free(l);
	pool_blocked(b->lookers, false);
	atomic_fetch_sub(&b->left, 1);
}

static bool is_late(const struct look *l, unsigned int ms)
{
	return view_is_late(&l->b->views, &l->view, ms);
}

static bool hangs(struct look *l)
{
	return is_late(l, l->patience_ms) &&
	       (is_late(l, STARVED * l->patience_ms) || !thread_runs(atomic_load(&l->tid)));
}

/* Waits until the look has ended; false if it stays at one device for too long. */
static bool wait_for(struct look *l)
{
	bool over;

	pthread_mutex_lock(&l->lock);
	while (!l->over && !hangs(l)) {
		struct timespec until = in_ms(l->patience_ms);

		pthread_cond_timedwait(&l->ended, &l->lock, &until);
	}
	over = l->over;
	if (!over) {
		l->left = true;
		atomic_fetch_add(&l->b->left, 1);
		pool_blocked(l->b->lookers, true);
		view_leave(&l->b->views, &l->view);
	}
	pthread_mutex_unlock(&l->lock);
	return over;
}

static struct look *look_new(struct backend *b, const struct touched *v, size_t n,
			     unsigned int patience_ms)
{
	struct look *l = calloc(1, sizeof(*l) + (v ? n : 0) * sizeof(*v));

	if (!l)
		return NULL;
	l->b = b;
	l->patience_ms = patience_ms;
	l->all = !v;
	l->n = v ? n : 0;
	if (v)
		memcpy(l->v, v, n * sizeof(*v));
	pthread_mutex_init(&l->lock, NULL);
	cond_init(&l->ended);
	return l;
}

/* Returns -EAGAIN if the look was abandoned. */
static int look_once(struct backend *b, const struct touched *v, size_t n, unsigned int patience_ms)
{
	struct look *l = look_new(b, v, n, patience_ms);
	int rc;

	if (!l)
		return -ENOMEM;
	rc = pool_submit_now(b->lookers, look_main, l);
	if (!rc && !wait_for(l))
		return -EAGAIN;
	/* Without a thread this one looks, however long that takes. */
	rc = rc ? scan(l) : l->rc;
	look_free(l);
	return rc;
}

int look_at(struct backend *b, const struct touched *v, size_t n, unsigned int patience_ms)
{
	uint64_t begun = now_ms();
	int rc = -EAGAIN;

	for (int i = 0; i < HUNG_MAX && rc == -EAGAIN; i++)
		rc = look_once(b, v, n, patience_ms);
	say_debug(SAY_LOOKS, "look at %zu devices: %s after %llu ms", n, err_name(-rc),
		  (unsigned long long)(now_ms() - begun));
	return rc == -EAGAIN ? -ETIMEDOUT : rc;
}
