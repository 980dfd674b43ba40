// SPDX-License-Identifier: GPL-2.0-or-later
/* Why the host needs a device, and who holds it: found by helpers, for all devices at once. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "serials.h"

/* A burst of events is one question; a helper walks /proc or the whole block layer for it. */
#define PAUSE_MS 100
/* Who lets go of a node that cannot be watched (no inotify, a process killed) is found by this. */
#define SLOW_MS 30000

static const struct {
	const char *request;
	unsigned int deadline_ms;
	size_t offset, size; /* of the field in struct facts */
	size_t lines;	     /* of one device, at most: the rest says the same again */
} rows[GUARD_COUNT] = {
	[GUARD_CRITICAL] = { "critical", 5000, offsetof(struct facts, critical),
			     sizeof(((struct facts *)0)->critical), 1 },
	[GUARD_HOLDERS] = { "holders-all", 5000, offsetof(struct facts, holders),
			    sizeof(((struct facts *)0)->holders), SIZE_MAX },
};

/* A line of the answer, cut in place. */
struct line {
	const char *name;
	const char *text;
};

static int by_name(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	/* Lines of one device keep their order: they lie in one buffer. */
	return c ? c : (x->text > y->text) - (x->text < y->text);
}

static struct line *cut_lines(char *text, size_t *ret_n)
{
	struct line *v;
	size_t n = 0;
	char *save;

	for (const char *p = text; (p = strchr(p, '\n')); p++)
		n++;
	v = calloc(n + 1, sizeof(*v));
	*ret_n = 0;
	if (!v)
		return NULL;
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save)) {
		char *blank = strchr(p, ' ');

		if (!blank)
			continue;
		*blank = '\0';
		v[(*ret_n)++] = (struct line){ p, blank + 1 };
	}
	qsort(v, *ret_n, sizeof(*v), by_name);
	return v;
}

/* Where the lines of name begin, or would. */
static size_t lower_bound(const struct line *v, size_t n, const char *name)
{
	size_t low = 0;

	while (low < n) {
		size_t mid = low + (n - low) / 2;

		if (strcmp(v[mid].name, name) < 0)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/* One line each; those for which there is no room are counted, and room for the count is kept. */
static void join(char *buf, size_t size, const struct line *v, size_t n)
{
	size_t at = 0, i = 0;

	buf[0] = '\0';
	for (; i < n; i++) {
		size_t len = strlen(v[i].text), tail = i + 1 < n ? sizeof("\nmore=4294967295") : 1;

		if (at + (at > 0) + len + tail > size)
			break;
		at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? "\n" : "", v[i].text);
	}
	if (i < n && n == 1)
		str_copy(buf, size, v[0].text);
	else if (i < n)
		snprintf(buf + at, size - at, "%smore=%zu", at ? "\n" : "", n - i);
}

static void apply(struct model *m, enum guard guard, const struct line *v, size_t n)
{
	char text[sizeof(struct facts)];
	const struct device *dev;
	size_t pos = 0;

	model_lock(m);
	while ((dev = model_next(m, &pos))) {
		const char *old = (const char *)&dev->facts + rows[guard].offset;
		size_t first = lower_bound(v, n, dev->key.name), end = first;
		struct device *edit;

		while (end < n && end - first < rows[guard].lines &&
		       !strcmp(v[end].name, dev->key.name))
			end++;
		join(text, rows[guard].size, v + first, end - first);
		if (dev->key.bus != BUS_PCI || !strcmp(text, old))
			continue;
		edit = model_edit(m, &dev->key, false);
		if (edit)
			str_copy((char *)&edit->facts + rows[guard].offset, rows[guard].size, text);
	}
	model_publish(m);
	model_unlock(m);
}

static struct timespec in_ms(unsigned int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* "- unseen=3": processes that could not be looked into, for health. */
static void note_unseen(struct backend *b, enum guard guard, const struct line *v, size_t n)
{
	size_t at = lower_bound(v, n, "-");
	uint64_t unseen = 0;

	if (at < n && !strcmp(v[at].name, "-") && !strncmp(v[at].text, "unseen=", 7) &&
	    parse_u64(v[at].text + 7, UINT32_MAX, &unseen))
		unseen = 0;
	if (guard == GUARD_HOLDERS)
		atomic_store(&b->guards.unseen, (unsigned int)unseen);
}

static int ask(struct backend *b, enum guard guard)
{
	const char *const argv[] = { rows[guard].request, NULL };
	_free_ struct line *v = NULL;
	struct out answer = { 0 };
	size_t n;
	int rc = io_call(b->io, argv, rows[guard].deadline_ms, &answer, NULL, NULL);

	if (!rc && answer.failed)
		rc = -ENOMEM;
	if (!rc && answer.data) {
		v = cut_lines(answer.data, &n);
		rc = v ? 0 : -ENOMEM;
	}
	/* No answer is no "nobody": what was known stays. */
	if (!rc) {
		apply(b->model, guard, v, v ? n : 0);
		note_unseen(b, guard, v, v ? n : 0);
	}
	out_free(&answer);
	return rc;
}

/* With the lock held. */
static void run_now(struct backend *b, enum guard guard)
{
	struct guard_runs *runs = &b->guards.runs[guard];
	uint64_t number = ++runs->started;
	int rc;

	runs->running = true;
	pthread_mutex_unlock(&b->guards.lock);
	rc = ask(b, guard);
	pthread_mutex_lock(&b->guards.lock);
	runs->running = false;
	runs->ended = number;
	runs->result = rc;
	pthread_cond_broadcast(&b->guards.ended);
}

/* An answer is good when it was begun after the question: those who ask meanwhile share the next one. */
int guard_run(struct backend *b, enum guard guard)
{
	struct guard_runs *runs = &b->guards.runs[guard];
	struct timespec until = in_ms(3 * rows[guard].deadline_ms);
	uint64_t wanted;
	int rc = 0;

	pthread_mutex_lock(&b->guards.lock);
	wanted = runs->started + 1;
	while (runs->ended < wanted && rc != ETIMEDOUT) {
		if (runs->running)
			rc = pthread_cond_timedwait(&b->guards.ended, &b->guards.lock, &until);
		else
			run_now(b, guard);
	}
	rc = runs->ended < wanted ? -ETIMEDOUT : runs->result;
	pthread_mutex_unlock(&b->guards.lock);
	return rc;
}

int guard_result(struct backend *b, enum guard guard)
{
	int rc;

	pthread_mutex_lock(&b->guards.lock);
	rc = b->guards.runs[guard].result;
	pthread_mutex_unlock(&b->guards.lock);
	return rc;
}

void guard_want(struct backend *b, enum guard guard)
{
	pthread_mutex_lock(&b->guards.lock);
	b->guards.wanted[guard] = true;
	pthread_cond_signal(&b->guards.wake);
	pthread_mutex_unlock(&b->guards.lock);
}

void guards_stop(struct backend *b)
{
	pthread_mutex_lock(&b->guards.lock);
	b->guards.stop = true;
	pthread_cond_signal(&b->guards.wake);
	pthread_mutex_unlock(&b->guards.lock);
}

static bool anything_claimed(struct model *m)
{
	const struct device *dev;
	bool claimed = false;
	size_t pos = 0;

	model_lock(m);
	while (!claimed && (dev = model_next(m, &pos)))
		claimed = dev->want.claim[0];
	model_unlock(m);
	return claimed;
}

void serials_want(struct backend *b)
{
	pthread_mutex_lock(&b->guards.lock);
	b->guards.serials = true;
	pthread_cond_signal(&b->guards.wake);
	pthread_mutex_unlock(&b->guards.lock);
}

static bool any_wanted(const struct guards *g)
{
	bool any = g->serials;

	for (int i = 0; i < GUARD_COUNT; i++)
		any |= g->wanted[i];
	return any;
}

/* With the lock held: until something is wanted; while something is claimed, for SLOW_MS at
 * most. */
static void wait_wanted(struct guards *g, bool claimed)
{
	struct timespec until = in_ms(SLOW_MS);
	int rc = 0;

	while (!g->stop && !any_wanted(g) && rc != ETIMEDOUT)
		rc = claimed ? pthread_cond_timedwait(&g->wake, &g->lock, &until)
			     : pthread_cond_wait(&g->wake, &g->lock);
	if (rc == ETIMEDOUT)
		g->wanted[GUARD_HOLDERS] = true;
}

static void pause_after(struct guards *g)
{
	struct timespec until = in_ms(PAUSE_MS);

	while (!g->stop && !pthread_cond_timedwait(&g->wake, &g->lock, &until))
		;
}

void *guards_main(void *arg)
{
	struct backend *b = arg;
	struct guards *g = &b->guards;

	for (;;) {
		bool claimed = anything_claimed(b->model), run[GUARD_COUNT], serials;

		pthread_mutex_lock(&g->lock);
		wait_wanted(g, claimed);
		if (g->stop) {
			pthread_mutex_unlock(&g->lock);
			return NULL;
		}
		memcpy(run, g->wanted, sizeof(run));
		memset(g->wanted, 0, sizeof(g->wanted));
		serials = g->serials;
		g->serials = false;
		pthread_mutex_unlock(&g->lock);
		for (int i = 0; i < GUARD_COUNT; i++)
			if (run[i])
				guard_run(b, i);
		if (serials)
			serials_run(b);
		pthread_mutex_lock(&g->lock);
		pause_after(g);
		pthread_mutex_unlock(&g->lock);
	}
}
