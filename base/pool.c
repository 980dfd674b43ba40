// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "pcidevfs/err.h"
#include "pcidevfs/thread.h"

#define IDLE_MS 5000

struct pool_job {
	void (*run)(void *ctx);
	void *ctx;
	struct pool_job *next;
};

/* All guarded by lock. */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work; /* a job came, or stop was set */
	pthread_cond_t ended;
	struct pool_job *first, **last;
	unsigned int max, threads, idle, waiting; /* waiting: jobs in the list */
	unsigned int blocked;
	bool stop;
	_Atomic uint64_t *in_hand; /* set by pool_watch(), or NULL */
	uint64_t jobs;
};

/* Waits for a job, with the lock held. Returns NULL if this thread must end. */
static struct pool_job *next_job(struct pool *p)
{
	struct timespec until = in_ms(IDLE_MS);
	struct pool_job *job;
	int r = 0;

	p->idle++;
	while (!p->first && !p->stop && !(r == ETIMEDOUT && p->threads > 1)) {
		if (p->threads > 1)
			r = pthread_cond_timedwait(&p->work, &p->lock, &until);
		else
			r = pthread_cond_wait(&p->work, &p->lock);
	}
	p->idle--;
	job = p->first;
	if (job) {
		p->first = job->next;
		if (!p->first)
			p->last = &p->first;
		p->waiting--;
	}
	return job;
}

/* With the lock held. */
static void note(struct pool *p, uint64_t job)
{
	if (p->in_hand)
		atomic_store(p->in_hand, job);
}

static void *worker(void *ctx)
{
	struct pool *p = ctx;
	struct pool_job *job;

	pthread_mutex_lock(&p->lock);
	while ((job = next_job(p))) {
		note(p, ++p->jobs);
		pthread_mutex_unlock(&p->lock);
		job->run(job->ctx);
		free(job);
		pthread_mutex_lock(&p->lock);
		note(p, 0);
	}
	p->threads--;
	pthread_cond_broadcast(&p->ended);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_new(unsigned int max, struct pool **ret, struct err *err)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return fail_nomem(err);
	p->max = max ? max : 1;
	p->last = &p->first;
	pthread_mutex_init(&p->lock, NULL);
	cond_init(&p->work);
	cond_init(&p->ended);
	*ret = p;
	return 0;
}

void pool_watch(struct pool *p, _Atomic uint64_t *in_hand)
{
	p->in_hand = in_hand;
}

void pool_goes_on(struct pool *p)
{
	uint64_t job = p->in_hand ? atomic_load(p->in_hand) : 0;

	/* It may end just now. */
	if (job)
		atomic_compare_exchange_strong(p->in_hand, &job, job + (UINT64_C(1) << 32));
}

bool pool_end(struct pool *p)
{
	bool left;

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	while (p->threads > p->blocked)
		pthread_cond_wait(&p->ended, &p->lock);
	left = p->threads;
	pthread_mutex_unlock(&p->lock);
	return !left;
}

void pool_free(struct pool *p)
{
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->ended);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void pool_blocked(struct pool *p, bool blocked)
{
	pthread_mutex_lock(&p->lock);
	p->max += blocked ? 1 : -1u;
	p->blocked += blocked ? 1 : -1u;
	if (blocked && p->waiting > p->idle && p->threads < p->max)
		p->threads += !thread_start(NULL, worker, p);
	pthread_cond_broadcast(&p->ended);
	pthread_mutex_unlock(&p->lock);
}

static int submit(struct pool *p, void (*run)(void *ctx), void *ctx, bool queue)
{
	struct pool_job *job = malloc(sizeof(*job));
	int r = 0;

	if (!job)
		return -ENOMEM;
	*job = (struct pool_job){ .run = run, .ctx = ctx };
	pthread_mutex_lock(&p->lock);
	if (p->stop) {
		r = -ESHUTDOWN;
	} else if (p->waiting + 1 > p->idle && p->threads < p->max) {
		r = thread_start(NULL, worker, p);
		p->threads += !r;
	} else if (p->waiting + 1 > p->idle && !queue) {
		r = -EAGAIN;
	}
	if (r && queue && p->threads > p->blocked && !p->stop)
		r = 0; /* another thread will take it */
	if (!r) {
		*p->last = job;
		p->last = &job->next;
		p->waiting++;
	}
	pthread_mutex_unlock(&p->lock);
	if (r)
		free(job);
	else /* without the lock: the woken thread would wait for it at once */
		pthread_cond_signal(&p->work);
	return r;
}

int pool_submit(struct pool *p, void (*run)(void *ctx), void *ctx)
{
	return submit(p, run, ctx, true);
}

int pool_submit_now(struct pool *p, void (*run)(void *ctx), void *ctx)
{
	return submit(p, run, ctx, false);
}
