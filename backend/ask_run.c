// SPDX-License-Identifier: GPL-2.0-or-later
/* One question: names devices to helpers and applies their lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "internal.h"
#include "look.h"
#include "pcidevfs/device.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#define SIDE_BY_SIDE 16 /* besides the thread that asks */

/* Another device may come to the address before the answer does. */
struct asked {
	struct key key;
	uint64_t birth;
	bool waking, hung;
};

/* Keeps the order of a device's lines, which lie in one buffer. */
static int by_id(const void *a, const void *b)
{
	const struct told_line *x = a, *y = b;

	return strcmp(x->id, y->id) ?: (x->text > y->text) - (x->text < y->text);
}

/* Cuts the text in place. */
static int cut_lines(char *text, struct told *t)
{
	size_t cap = 0;

	for (char *p = text, *end; p && (end = strchr(p, '\n')); p = end + 1) {
		char *blank = memchr(p, ' ', (size_t)(end - p));
		struct told_line *rows;

		*end = '\0';
		if (!blank)
			continue;
		*blank = '\0';
		rows = more_rows(t->v, t->n, &cap, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		t->v = rows;
		rows[t->n++] = (struct told_line){ p, blank + 1 };
	}
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_id);
	return 0;
}

/* Finds the lines of this id, which follow each other. */
static void find_lines(struct told *t, const char *id)
{
	const struct told_line first = { id, NULL };
	size_t at = rows_first(t->v, t->n, sizeof(first), &first, by_id), n = 0;

	while (at + n < t->n && !strcmp(t->v[at + n].id, id))
		n++;
	t->line = n ? &t->v[at] : NULL;
	t->lines = n;
}

const char *told_value(const struct told *t, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->v[i].id, "-") && !strncmp(t->v[i].text, word, len))
			return t->v[i].text + len;
	return NULL;
}

static void add(struct asking *a, const struct device *dev)
{
	enum ask_which which = dev ? a->row->which(a->b, dev) : ASK_NOT;

	a->any |= which != ASK_NOT;
	if (which == ASK_NOT || which == ASK_LATER)
		return;
	/* An operation asks for itself and reports its steps; its devices are asked about
	 * afterwards. A stuck device may stay so for days. */
	if (a->own && (!a->all || a->row->calm) && dev->busy[0] && !dev->stuck[0]) {
		a->put_off = true;
		ask_soon(a->b, a->row, &dev->key, 0);
	} else if (!a->n || !key_eq(&a->v[a->n - 1].key, &dev->key))
		a->v[a->n++] = (struct asked){ dev->key, dev->birth, which == ASK_WAKING, false };
}

static void collect(struct asking *a, const struct key *devs, size_t n)
{
	struct model *m = a->b->model;
	const struct device *dev;
	size_t pos = 0;

	model_lock(m);
	a->v = calloc((devs ? n : model_count(m)) + 1, sizeof(*a->v));
	for (size_t i = 0; i < n && devs && a->v; i++) {
		dev = model_find(m, &devs[i]);
		add(a, dev && a->row->teller ? a->row->teller(m, dev) : dev);
	}
	while (!devs && a->v && (dev = model_next(m, &pos)))
		add(a, dev);
	model_publish(m);
	model_unlock(m);
}

/* Of the last helper that hung at it. Call it with the lock held. */
static struct ask_hung *find_hung(struct asking *a, const struct asked *v)
{
	struct ask_hung *h = a->b->asker.hung, *end = h + a->b->asker.n_hung;

	while (h < end && (h->row != a->row || h->birth != v->birth || !key_eq(&h->key, &v->key)))
		h++;
	return h < end ? h : NULL;
}

/* Another helper would only hang beside the first. An operation gives it a chance: it may just be
 * coming to its end. */
static bool is_hung(struct asking *a, const struct asked *v)
{
	struct helper_id who = { 0 };
	struct ask_hung *h;

	pthread_mutex_lock(&a->b->asker.lock);
	h = a->b->asker.n_hung ? find_hung(a, v) : NULL;
	if (h)
		who = h->who;
	pthread_mutex_unlock(&a->b->asker.lock);
	if (io_await(&who, a->own || a->waited ? 0 : (int)a->row->deadline_ms)) {
		a->waited = true;
		return true;
	}
	pthread_mutex_lock(&a->b->asker.lock);
	h = who.pid ? find_hung(a, v) : NULL;
	if (h && h->who.pid == who.pid && h->who.started == who.started)
		*h = a->b->asker.hung[--a->b->asker.n_hung];
	pthread_mutex_unlock(&a->b->asker.lock);
	return false;
}

static void note_hung(struct asking *a, const struct asked *v, const struct helper_id *who)
{
	struct asker *asker = &a->b->asker;
	struct ask_hung *h, *rows;

	pthread_mutex_lock(&asker->lock);
	h = find_hung(a, v);
	rows = h ? NULL
		 : more_rows(asker->hung, asker->n_hung, &asker->cap_hung, sizeof(*rows));
	if (rows) {
		asker->hung = rows;
		h = &rows[asker->n_hung++];
	}
	if (h)
		*h = (struct ask_hung){ a->row, v->key, v->birth, *who };
	pthread_mutex_unlock(&asker->lock);
}

static void note_rc(struct asking *a, int rc)
{
	int none = 0;

	if (rc)
		atomic_compare_exchange_strong(&a->rc, &none, rc);
}

static void apply(struct asking *a, const struct asked *v, size_t n, struct told *t)
{
	const struct told late = { .rc = -ETIMEDOUT };
	struct model *m = a->b->model;
	char id[KEY_NAME + 8];

	model_lock(m);
	for (size_t i = 0; i < n; i++) {
		const struct device *dev = model_find(m, &v[i].key);
		int takes = dev && dev->birth == v[i].birth ? ask_takes(a, &dev->key) : 0;

		if (takes < 0)
			note_rc(a, takes);
		if (takes <= 0)
			continue;
		find_lines(t, key_id(&dev->key, id));
		note_rc(a, a->row->apply(a->b, dev, v[i].hung ? &late : t));
	}
	model_publish(m);
	model_unlock(m);
}

/* A failure does not mean "nothing": the old facts stay. */
static int hear(struct asking *a, const struct asked *v, size_t n, struct out *text)
{
	struct told t = { .began_us = a->began_us };
	int rc = text->failed ? -ENOMEM : cut_lines(text->data, &t);

	if (!rc) {
		apply(a, v, n, &t);
		note_rc(a, -atoi(told_value(&t, "failed=") ?: "0"));
		if (a->row->heard)
			a->row->heard(a->b, a->all, &t);
	}
	free(t.v);
	return rc;
}

static int call(struct asking *a, struct asked *v, size_t n, unsigned int ms,
		struct helper_id *who)
{
	bool whole = a->all && !a->row->batch;
	struct out words = { 0 }, text = { 0 };
	char id[KEY_NAME + 8];
	int rc;

	for (size_t i = 0; i < n && !whole; i++)
		if (!(v[i].hung = a->row->each_ms && is_hung(a, &v[i])))
			out_printf(&words, "%s%s%s", words.len ? " " : "", v[i].waking ? "!" : "",
				   key_id(&v[i].key, id));
	rc = words.failed ? -ENOMEM : 0;
	if (!rc && (whole || words.len))
		rc = io_call(a->b->io,
			     (const char *const[]){ a->row->request, out_text(&words), NULL }, ms,
			     &text, NULL, who);
	rc = rc ? rc : hear(a, v, n, &text);
	out_free(&words);
	out_free(&text);
	return rc;
}

static bool is_stopped(const struct asking *a)
{
	return a->own && a->b->asker.stop;
}

static void *ask_alone(void *ctx)
{
	struct asking *a = ctx;
	size_t i;

	while ((i = atomic_fetch_add(&a->next, 1)) < a->end && !is_stopped(a)) {
		struct helper_id who = { 0 };
		int rc = call(a, &a->v[i], 1, a->row->each_ms, &who);

		if (rc == -ETIMEDOUT)
			note_hung(a, &a->v[i], &who);
		if (rc == -ETIMEDOUT || rc == -EIO)
			apply(a, &a->v[i], 1, &(struct told){ .rc = rc });
		else
			note_rc(a, rc);
	}
	return NULL;
}

/* A device may be slow, and so may be all of them. */
static void ask_each(struct asking *a, size_t at, size_t n)
{
	pthread_t threads[SIDE_BY_SIDE];
	size_t started = 0;

	atomic_store(&a->next, at);
	a->end = at + n;
	while (started < SIDE_BY_SIDE && started + 1 < n &&
	       !thread_start(&threads[started], ask_alone, a))
		started++;
	ask_alone(a);
	while (started)
		pthread_join(threads[--started], NULL);
}

/* Asks for all at once, which is fastest if none is slow. */
static int ask_batch(struct asking *a, size_t at, size_t n)
{
	bool each = a->row->each_ms;
	int rc = each && n == 1 ? -ETIMEDOUT : call(a, a->v + at, n, a->row->deadline_ms, NULL);

	each &= rc == -ETIMEDOUT || rc == -EIO;
	if (each)
		ask_each(a, at, n);
	else
		note_rc(a, rc);
	return each ? 0 : rc;
}

static int ask_all(struct asking *a)
{
	size_t step = a->row->batch && a->row->batch < a->n ? a->row->batch : a->n;
	bool apart = a->row->batch == 1 && a->row->each_ms;
	int rc = 0;

	if (apart)
		ask_each(a, 0, a->n);
	for (size_t at = 0; at < a->n && !apart && !rc && !is_stopped(a); at += step)
		rc = ask_batch(a, at, a->n - at < step ? a->n - at : step);
	if (a->n)
		atomic_store(&ask_state(a->b, a->row)->result, atomic_load(&a->rc));
	return rc;
}

static int look_again(struct asking *a)
{
	_free_ struct touched *v = calloc(a->n + 1, sizeof(*v));

	for (size_t i = 0; i < a->n && v; i++)
		v[i].key = a->v[i].key;
	return !v ? -ENOMEM : a->n ? a->row->look(a->b, v, a->n, PATIENCE_MS) : 0;
}

int ask_run(struct asking *a, const struct key *devs, size_t n)
{
	a->all = !devs;
	a->began_us = now_us();
	collect(a, devs, n);
	note_rc(a, !a->v ? -ENOMEM : a->row->look ? look_again(a) : ask_all(a));
	if (a->row->after)
		a->row->after(a->b);
	if (a->row->again)
		a->any = a->own && a->row->again(a->b->model);
	free(a->v);
	return atomic_load(&a->rc);
}
