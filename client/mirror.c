// SPDX-License-Identifier: GPL-2.0-or-later
#include "mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

#include "ctl.h"
#include "loop.h"
#include "pcidevfs/say.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"
#include "watch.h"

STAILQ_HEAD(jobs, job);

struct mirror {
	char *path;
	struct loop *loop;
	void (*news)(void *ctx);
	void *ctx;
	bool left; /* guarded by the turn; nobody is left to take verdicts */
	struct source event;
	int stop, says; /* eventfds */
	pthread_t follower, looker, writers[WRITERS_MAX];
	bool following, looking;
	unsigned int writing; /* of the writers */
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t work, look;
	const struct mirror_table *ops;
	bool changed, known, reading, look_wanted, ending;
	bool orphaned;
	uint64_t lost_at;
	char why[ERR_TEXT], saying[ERR_TEXT];
	struct jobs unlooked, urgent, todo; /* unlooked: todo after a look */
	_Alignas(max_align_t) char table[];
};

/* ---- the follower's thread */

static void on_begin(void *ctx)
{
	struct mirror *t = ctx;

	pthread_mutex_lock(&t->lock);
	t->ops->begin(t->table);
	t->reading = true;
	pthread_mutex_unlock(&t->lock);
}

static void on_device(void *ctx, const char *id, char *pairs)
{
	struct mirror *t = ctx;

	pthread_mutex_lock(&t->lock);
	/* A device that cannot be parsed or has no room is not offered. */
	if (t->ops->take(t->table, id, pairs))
		t->ops->drop(t->table, id);
	t->changed = true;
	pthread_mutex_unlock(&t->lock);
}

static void on_removed(void *ctx, const char *id)
{
	struct mirror *t = ctx;

	pthread_mutex_lock(&t->lock);
	t->ops->drop(t->table, id);
	t->changed = true;
	pthread_mutex_unlock(&t->lock);
}

static void on_settled(void *ctx)
{
	struct mirror *t = ctx;

	pthread_mutex_lock(&t->lock);
	if (t->reading) {
		t->ops->settle(t->table);
		t->changed = true;
	}
	t->reading = false;
	t->known = true;
	t->changed |= t->lost_at != 0;
	t->lost_at = 0;
	pthread_mutex_unlock(&t->lock);
	event_ring(t->event.fd);
}

static void on_lost(void *ctx, const char *why)
{
	struct mirror *t = ctx;

	pthread_mutex_lock(&t->lock);
	/* devices that an incomplete inventory did not list stay as they were */
	t->reading = false;
	t->changed |= !t->lost_at;
	if (!t->lost_at)
		t->lost_at = now_ms();
	STR_COPY(t->why, why);
	pthread_mutex_unlock(&t->lock);
	event_ring(t->event.fd);
}

static void on_orphaned(void *ctx)
{
	struct mirror *t = ctx;

	pthread_mutex_lock(&t->lock);
	t->orphaned = t->changed = true;
	pthread_mutex_unlock(&t->lock);
	event_ring(t->event.fd);
}

static void on_saying(void *ctx, char *buf, size_t size)
{
	struct mirror *t = ctx;
	char whole[ERR_TEXT];

	pthread_mutex_lock(&t->lock);
	STR_COPY(whole, t->saying);
	pthread_mutex_unlock(&t->lock);
	str_fit(whole, size);
	str_copy(buf, size, whole);
}

static void *follow(void *ctx)
{
	struct mirror *t = ctx;
	const struct watcher w = {
		.name = t->ops->name,
		.begin = on_begin,
		.device = on_device,
		.removed = on_removed,
		.settled = on_settled,
		.lost = on_lost,
		.orphaned = on_orphaned,
		.saying = on_saying,
		.say_fd = t->says,
		.ctx = t,
	};

	watch_run(t->path, &w, t->stop);
	return NULL;
}

/* ---- the looker's thread */

static bool holders_path(struct mirror *t, size_t i, char *path, size_t size)
{
	char name[512];
	bool there;

	pthread_mutex_lock(&t->lock);
	there = t->ops->holders && t->ops->holders(t->table, i, name, sizeof(name));
	pthread_mutex_unlock(&t->lock);
	if (there)
		snprintf(path, size, "%s/%s", t->path, name);
	return there;
}

/* Reading the holders of one device makes the daemon probe those of all devices. */
static void look(struct mirror *t)
{
	char path[4096], buf[4096];
	_close_ int fd = -1;

	for (size_t i = 0; fd < 0 && holders_path(t, i, path, sizeof(path)); i++)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
		;
}

static void *look_often(void *ctx)
{
	struct mirror *t = ctx;

	pthread_mutex_lock(&t->lock);
	while (!t->ending) {
		struct jobs looked = STAILQ_HEAD_INITIALIZER(looked);

		if (!t->look_wanted) {
			pthread_cond_wait(&t->look, &t->lock);
			continue;
		}
		t->look_wanted = false;
		STAILQ_CONCAT(&looked, &t->unlooked);
		pthread_mutex_unlock(&t->lock);
		look(t);
		pthread_mutex_lock(&t->lock);
		STAILQ_CONCAT(&t->todo, &looked);
		pthread_cond_broadcast(&t->work);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* ---- the writers' threads */

static void *write_jobs(void *ctx)
{
	struct mirror *t = ctx;
	struct open_ctl ctl = { t->path, -1 };

	pthread_mutex_lock(&t->lock);
	while (!t->ending) {
		struct jobs *from = STAILQ_EMPTY(&t->urgent) ? &t->todo : &t->urgent;
		struct job *job = STAILQ_FIRST(from);

		if (!job) {
			pthread_cond_wait(&t->work, &t->lock);
			continue;
		}
		STAILQ_REMOVE_HEAD(from, next);
		if (job->since && t->ops->overtaken &&
		    t->ops->overtaken(t->table, job->lines, job->since))
			fail(&job->err, ECANCELED, "it is out of date");
		pthread_mutex_unlock(&t->lock);
		if (!job->err.code && job->prepare)
			job->prepare(job, t->path, &job->err);
		if (!job->err.code && job->lines)
			ctl_commit(&ctl, job->lines, &job->err);
		loop_enter(t->loop);
		if (!t->left)
			job->done(job, job->err.code ? &job->err : NULL);
		loop_leave(t->loop);
		pthread_mutex_lock(&t->lock);
	}
	pthread_mutex_unlock(&t->lock);
	ctl_close(&ctl);
	return NULL;
}

/* ---- in a turn of the loop */

static void on_event(struct source *s)
{
	struct mirror *t = container_of(s, struct mirror, event);
	bool changed;
	uint64_t n;

	if (read(s->fd, &n, sizeof(n)) < 0)
		return;
	pthread_mutex_lock(&t->lock);
	/* In the middle of an inventory some devices seem to be gone. */
	changed = t->changed && !t->reading;
	t->changed &= t->reading;
	if (changed && t->lost_at)
		say("%s", t->why);
	pthread_mutex_unlock(&t->lock);
	if (changed)
		t->news(t->ctx);
}

int mirror_new(const char *path, struct loop *loop, const struct mirror_table *ops,
	       void (*news)(void *ctx), void *ctx, struct mirror **ret, struct err *err)
{
	struct mirror *t = calloc(1, sizeof(*t) + ops->size);
	int r;

	if (!t || !(t->path = strdup(path))) {
		free(t);
		return fail_nomem(err);
	}
	t->ops = ops;
	t->news = news;
	t->ctx = ctx;
	STAILQ_INIT(&t->unlooked);
	STAILQ_INIT(&t->urgent);
	STAILQ_INIT(&t->todo);
	t->loop = loop;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->work, NULL);
	pthread_cond_init(&t->look, NULL);
	t->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->says = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = loop_watch(loop, &t->event, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), on_event, NULL);
	r = r ?: t->event.fd < 0 || t->stop < 0 || t->says < 0
		    ? -errno
		    : thread_start(&t->follower, follow, t);
	t->following = !r;
	r = r ?: thread_start(&t->looker, look_often, t);
	t->looking = !r;
	do {
		r = r ?: thread_start(&t->writers[t->writing], write_jobs, t);
		t->writing += !r;
	} while (!r && t->writing < ops->writers);
	if (r) {
		mirror_free(t);
		return fail(err, -r, "cannot follow %s: %s", path, strerror(-r));
	}
	*ret = t;
	return 0;
}

static void drop_jobs(struct jobs *j)
{
	const struct err gone = { .code = ECANCELED, .text = "this program ends" };

	for (struct job *job; (job = STAILQ_FIRST(j));) {
		STAILQ_REMOVE_HEAD(j, next);
		job->done(job, job->err.code ? &job->err : &gone);
	}
}

/* Leaves the turn meanwhile: the threads' jobs end in turns. Returns whether all ended. */
static bool end_threads(struct mirror *t)
{
	struct timespec until;
	bool ended;

	pthread_mutex_lock(&t->lock);
	t->ending = true;
	pthread_cond_broadcast(&t->work);
	pthread_cond_broadcast(&t->look);
	pthread_mutex_unlock(&t->lock);
	event_ring(t->stop);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	loop_leave(t->loop);
	ended = !(t->following && pthread_timedjoin_np(t->follower, NULL, &until)) &&
		!(t->looking && pthread_timedjoin_np(t->looker, NULL, &until));
	for (unsigned int i = 0; ended && i < t->writing; i++)
		ended = !pthread_timedjoin_np(t->writers[i], NULL, &until);
	loop_enter(t->loop);
	return ended;
}

void mirror_free(struct mirror *t)
{
	if (!t)
		return;
	/* A thread that waits for a tree that does not answer ends with the process. */
	t->left = !end_threads(t);
	if (t->left)
		return;
	loop_remove(t->loop, &t->event);
	drop_jobs(&t->unlooked);
	drop_jobs(&t->urgent);
	drop_jobs(&t->todo);
	t->ops->clear(t->table);
	pthread_cond_destroy(&t->work);
	pthread_cond_destroy(&t->look);
	pthread_mutex_destroy(&t->lock);
	closep(&t->event.fd);
	closep(&t->stop);
	closep(&t->says);
	free(t->path);
	free(t);
}

void mirror_say(struct mirror *t, const char *sentence)
{
	pthread_mutex_lock(&t->lock);
	STR_COPY(t->saying, sentence);
	pthread_mutex_unlock(&t->lock);
	event_ring(t->says);
}

void *mirror_lock(struct mirror *t)
{
	pthread_mutex_lock(&t->lock);
	return t->table;
}

void mirror_unlock(struct mirror *t)
{
	pthread_mutex_unlock(&t->lock);
}

uint64_t mirror_lost(const struct mirror *t, const char **ret_why)
{
	*ret_why = t->why;
	return t->lost_at;
}

bool mirror_orphaned(struct mirror *t)
{
	bool orphaned;

	pthread_mutex_lock(&t->lock);
	orphaned = t->orphaned;
	pthread_mutex_unlock(&t->lock);
	return orphaned;
}

bool mirror_known(struct mirror *t)
{
	bool known;

	pthread_mutex_lock(&t->lock);
	known = t->known;
	pthread_mutex_unlock(&t->lock);
	return known;
}

void mirror_commit(struct mirror *t, struct job *job)
{
	struct jobs *to = job->look ? &t->unlooked : job->urgent ? &t->urgent : &t->todo;
	pthread_cond_t *work = job->look ? &t->look : &t->work;

	pthread_mutex_lock(&t->lock);
	STAILQ_INSERT_TAIL(to, job, next);
	t->look_wanted |= job->look;
	pthread_mutex_unlock(&t->lock);
	pthread_cond_signal(work);
}

void mirror_look(struct mirror *t)
{
	pthread_mutex_lock(&t->lock);
	t->look_wanted = true;
	pthread_mutex_unlock(&t->lock);
	pthread_cond_signal(&t->look);
}
