// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/thread.h"

struct job {
	struct job *next;
	void (*run)(void *ctx);
	void *ctx;
};

struct worker {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *first, **last; /* lock */
	bool stop;		   /* lock */
	pthread_t thread;
};

static struct job *next_job(struct worker *w)
{
	struct job *job;

	pthread_mutex_lock(&w->lock);
	while (!w->first && !w->stop)
		pthread_cond_wait(&w->more, &w->lock);
	job = w->stop ? NULL : w->first;
	if (job) {
		w->first = job->next;
		if (!w->first)
			w->last = &w->first;
	}
	pthread_mutex_unlock(&w->lock);
	return job;
}

static void *worker_run(void *ctx)
{
	struct worker *w = ctx;
	struct job *job;

	while ((job = next_job(w))) {
		job->run(job->ctx);
		free(job);
	}
	return NULL;
}

int worker_new(struct worker **ret, struct err *err)
{
	struct worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return fail(err, ENOMEM, "no memory for a thread");
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	r = thread_start(&w->thread, worker_run, w);
	if (r) {
		free(w);
		return fail(err, -r, "no thread for reading can be had: %s", strerror(-r));
	}
	*ret = w;
	return 0;
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	while (w->first) {
		struct job *job = w->first;

		w->first = job->next;
		free(job);
	}
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int worker_do(struct worker *w, void (*run)(void *ctx), void *ctx)
{
	struct job *job = malloc(sizeof(*job));

	if (!job)
		return -ENOMEM;
	*job = (struct job){ .run = run, .ctx = ctx };
	pthread_mutex_lock(&w->lock);
	*w->last = job;
	w->last = &job->next;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	return 0;
}
