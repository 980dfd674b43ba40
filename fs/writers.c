// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 312
#include "writers.h"

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "internal.h"
#include "journal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"
#include "sigmasks.h"

enum {
	LOOK_MS = 100,
	LOOKS = 256, /* at most so many in LOOK_MS, besides those that were just told of */
};

enum writer_state { WRITER_WAITS, WRITER_TOLD, WRITER_WATCHED, WRITER_WITHDRAWN };

struct writers {
	void (*withdraw)(struct tree *t, uint64_t tag);
	struct tree *tree;
	struct pool *pool;
	pthread_mutex_t lock; /* all below */
	pthread_cond_t come;
	struct writer {
		uint64_t tag;		     /* 0: nobody */
		uint64_t node;		     /* written to by another thread; 0: none */
		struct writer *_Atomic next; /* among these */
		pid_t tid;
		enum writer_state state;
	} at[JOURNAL_SLOTS];
	struct writer *_Atomic left; /* the first of these; also read without the lock */
	unsigned int told, watched;  /* in these states */
	uint32_t next;		     /* the first to be looked at in the next round */
	bool runs, stop;
};

int writers_new(struct tree *t, void (*withdraw)(struct tree *t, uint64_t tag),
		struct writers **ret, struct err *err)
{
	struct writers *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return fail_nomem(err);
	r = pool_new(1, &w->pool, err);
	if (r) {
		free(w);
		return r;
	}
	w->tree = t;
	w->withdraw = withdraw;
	pthread_mutex_init(&w->lock, NULL);
	cond_init(&w->come);
	*ret = w;
	return 0;
}

void writers_stop(struct writers *w)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->come);
	pthread_mutex_unlock(&w->lock);
	pool_end(w->pool);
}

void writers_free(struct writers *w)
{
	if (!w)
		return;
	writers_stop(w);
	pool_free(w->pool);
	pthread_cond_destroy(&w->come);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* With the lock held. */
static void turn(struct writers *w, struct writer *who, enum writer_state state)
{
	w->told -= who->state == WRITER_TOLD;
	w->watched -= who->state == WRITER_WATCHED;
	who->state = state;
	w->told += state == WRITER_TOLD;
	w->watched += state == WRITER_WATCHED;
}

/* With the lock held, which it gives up meanwhile. */
static void look(struct writers *w, struct writer *who)
{
	const struct writer was = *who;
	bool ends;

	turn(w, who, WRITER_WATCHED);
	pthread_mutex_unlock(&w->lock);
	ends = sigmasks_end_thread(was.tid);
	pthread_mutex_lock(&w->lock);
	if (!ends || who->tag != was.tag || who->state != WRITER_WATCHED)
		return;
	turn(w, who, WRITER_WITHDRAWN);
	pthread_mutex_unlock(&w->lock);
	w->withdraw(w->tree, was.tag);
	pthread_mutex_lock(&w->lock);
}

static void look_at_told(struct writers *w)
{
	for (uint32_t i = 0; i < JOURNAL_SLOTS && w->told; i++)
		if (w->at[i].state == WRITER_TOLD)
			look(w, &w->at[i]);
}

/* In turns, as they may be more than LOOKS. */
static void look_at_watched(struct writers *w)
{
	unsigned int left = LOOKS;

	for (uint32_t i = 0; i < JOURNAL_SLOTS && w->watched && left; i++) {
		struct writer *who = &w->at[w->next];

		w->next = (w->next + 1) % JOURNAL_SLOTS;
		if (who->state != WRITER_WATCHED)
			continue;
		look(w, who);
		left--;
	}
}

static void watch(void *ctx)
{
	struct writers *w = ctx;
	uint64_t due = 0;

	pthread_mutex_lock(&w->lock);
	while (!w->stop && (w->told || w->watched)) {
		struct timespec until = in_ms(LOOK_MS);

		if (now_ms() >= due) {
			look_at_watched(w);
			due = now_ms() + LOOK_MS;
		}
		look_at_told(w);
		if (!w->stop && !w->told && w->watched)
			pthread_cond_timedwait(&w->come, &w->lock, &until);
	}
	w->runs = false;
	pthread_mutex_unlock(&w->lock);
}

/* It got a signal. Waits for nobody. */
static void interrupted(fuse_req_t req, void *ctx)
{
	struct writers *w = ((struct tree *)fuse_req_userdata(req))->writers;
	struct writer *who = ctx;

	pthread_mutex_lock(&w->lock);
	if (who->tag && who->state == WRITER_WAITS) {
		turn(w, who, WRITER_TOLD);
		if (!w->runs)
			w->runs = !pool_submit(w->pool, watch, w);
		pthread_cond_signal(&w->come);
	}
	pthread_mutex_unlock(&w->lock);
}

void writers_begin(struct writers *w, fuse_req_t req, uint32_t slot, uint64_t tag)
{
	struct writer *who = &w->at[slot];

	pthread_mutex_lock(&w->lock);
	turn(w, who, WRITER_WAITS);
	who->tag = tag;
	who->tid = fuse_req_ctx(req)->pid;
	pthread_mutex_unlock(&w->lock);
	fuse_req_interrupt_func(req, interrupted, who);
}

void writers_end(struct writers *w, uint32_t slot)
{
	struct writer *_Atomic *at;
	struct writer *who = &w->at[slot];

	pthread_mutex_lock(&w->lock);
	turn(w, who, WRITER_WAITS);
	for (at = &w->left; *at && *at != who; at = &(*at)->next)
		;
	if (*at)
		*at = who->next;
	who->tag = who->node = 0;
	pthread_mutex_unlock(&w->lock);
}

bool writers_leave(struct writers *w, uint32_t slot, uint64_t node)
{
	struct writer *who = &w->at[slot];
	bool first;

	pthread_mutex_lock(&w->lock);
	first = !who->node;
	for (const struct writer *other = w->left; other; other = other->next)
		first &= other->node != node;
	if (!who->node) {
		who->node = node;
		who->next = w->left;
		w->left = who;
	}
	pthread_mutex_unlock(&w->lock);
	return first;
}

unsigned int writers_free_twin(struct writers *w, uint64_t ino)
{
	bool used[TWINS_MAX] = { false };
	unsigned int number = 0;

	if (!w->left)
		return 0;
	pthread_mutex_lock(&w->lock);
	for (const struct writer *who = w->left; who; who = who->next)
		if (objects_untwinned(who->node) == ino)
			used[objects_twin_number(who->node)] = true;
	pthread_mutex_unlock(&w->lock);
	while (number < TWINS_MAX && used[number])
		number++;
	return number % TWINS_MAX;
}

bool writers_withdrew(struct writers *w, uint32_t slot, uint64_t tag)
{
	const struct writer *who = &w->at[slot];
	bool withdrew;

	pthread_mutex_lock(&w->lock);
	withdrew = who->tag == tag && who->state == WRITER_WITHDRAWN;
	pthread_mutex_unlock(&w->lock);
	return withdrew;
}
