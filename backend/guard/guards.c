// SPDX-License-Identifier: GPL-2.0-or-later
/* Why the host needs a device, and who holds it: helpers find this out for all devices at once. */
#include <errno.h>
#include <string.h>

#include "backend/gpu/daemons.h"
#include "backend/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"
#include "backend/pci/serials.h"

/* A burst of events is one question, because a helper walks /proc or the whole block layer for it.
 * Questions that an operation has asked meanwhile are not asked again. */
#define BURST_MS 25
#define PAUSE_MS 100
/* Finds closes of nodes that cannot be watched (no inotify, a process killed). */
#define SLOW_MS 30000
#define AGAIN_MS 1000

/* Drops the wanted devices that this question covers. Call it with the lock held. */
static void serve_wanted(struct guards *g, enum guard guard, const struct question *asked)
{
	struct question *wanted = &g->wanted[guard];
	size_t n = 0;

	for (size_t i = 0; i < wanted->n; i++)
		if (!question_has(asked, &wanted->devs[i]))
			wanted->devs[n++] = wanted->devs[i];
	wanted->n = n;
	wanted->all &= !asked->all;
}

/* Call it with the lock held. */
static void run_now(struct backend *b, enum guard guard)
{
	struct guard_runs *runs = &b->guards.runs[guard];
	struct question question = runs->next;
	uint64_t number = ++runs->started;
	int rc;

	runs->next = (struct question){ 0 };
	runs->running = true;
	serve_wanted(&b->guards, guard, &question);
	pthread_mutex_unlock(&b->guards.lock);
	rc = guard_ask(b, guard, &question);
	for (size_t i = 0; i < question.n && rc; i++)
		guard_want(b, guard, &question.devs[i]);
	if (question.all && rc)
		guard_want(b, guard, NULL);
	pthread_mutex_lock(&b->guards.lock);
	runs->running = false;
	runs->ended = number;
	runs->result = rc;
	pthread_cond_broadcast(&b->guards.ended);
}

/* An answer is valid if it began after the question: calls during a run share the next one. */
int guard_run(struct backend *b, enum guard guard, const struct key *devs, size_t n)
{
	struct guard_runs *runs = &b->guards.runs[guard];
	struct timespec until = in_ms(3 * guard_deadline(guard));
	uint64_t wanted;
	int rc = 0;

	pthread_mutex_lock(&b->guards.lock);
	if (!devs)
		question_add(&runs->next, NULL);
	for (size_t i = 0; i < n && devs; i++)
		question_add(&runs->next, &devs[i]);
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

static bool asks_about(const struct asking *a, const struct key *devs, size_t n)
{
	for (size_t i = 0; i < n && devs; i++)
		if (!question_has(a->question, &devs[i]))
			return false;
	return devs || a->question->all;
}

bool guard_await(struct backend *b, enum guard guard, const struct key *devs, size_t n,
		 uint64_t since)
{
	struct timespec until = in_ms(guard_deadline(guard));
	const struct asking *a = &b->guards.asking[guard];
	bool answered = false;
	uint64_t began;
	int rc = 0;

	pthread_mutex_lock(&b->guards.lock);
	began = a->began_us;
	if (began > since && asks_about(a, devs, n)) {
		while (a->began_us == began && rc != ETIMEDOUT)
			rc = pthread_cond_timedwait(&b->guards.ended, &b->guards.lock, &until);
		answered = a->answered == began;
	}
	pthread_mutex_unlock(&b->guards.lock);
	return answered;
}

static void want(struct guards *g, enum guard guard, const struct key *key, bool at_once)
{
	pthread_mutex_lock(&g->lock);
	question_add(&g->wanted[guard], key);
	g->at_once |= at_once;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
}

void guard_want(struct backend *b, enum guard guard, const struct key *key)
{
	want(&b->guards, guard, key, true);
}

void guard_want_critical(struct backend *b, const char *function)
{
	const struct device *usb[GROUP_MAX];
	struct pci_addr addr;
	struct key key;
	bool one = pci_addr_parse(function, &addr) && addr.domain <= UINT16_MAX &&
		   key_make(BUS_PCI, function, &key);
	size_t n;

	guard_want(b, GUARD_CRITICAL, one ? &key : NULL);
	if (!one)
		return;
	model_lock(b->model);
	n = model_children(b->model, &key, BUS_USB, usb, GROUP_MAX);
	for (size_t i = 0; i < n && i < GROUP_MAX; i++)
		guard_want(b, GUARD_CRITICAL, &usb[i]->key);
	model_unlock(b->model);
}

void guards_want_again(struct backend *b, const struct key *key)
{
	for (int guard = 0; guard < GUARD_COUNT; guard++)
		want(&b->guards, guard, key, false);
}

static void changed(void *ctx, const struct change *changes, size_t n)
{
	struct backend *b = ctx;

	for (size_t i = 0; i < n; i++) {
		const struct device *dev;
		bool let_go;

		if (!(changes[i].bits & CH_ALLOCATED))
			continue;
		model_lock(b->model);
		dev = model_find(b->model, &changes[i].key);
		let_go = dev && dev->let_go;
		model_unlock(b->model);
		if (let_go)
			guard_want(b, GUARD_HOLDERS, &changes[i].key);
	}
}

void guards_hear(struct backend *b)
{
	model_observe(b->model, &(struct observer){ changed, b });
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
		claimed = dev->intent.claim[0];
	model_unlock(m);
	return claimed;
}

void serials_want(struct backend *b)
{
	pthread_mutex_lock(&b->guards.lock);
	b->guards.serials = b->guards.at_once = true;
	pthread_cond_signal(&b->guards.wake);
	pthread_mutex_unlock(&b->guards.lock);
}

static bool any_wanted(const struct guards *g)
{
	bool any = g->serials;

	for (int i = 0; i < GUARD_COUNT; i++)
		any |= g->wanted[i].all || g->wanted[i].n;
	return any;
}

/* Waits until something is wanted; for at most SLOW_MS while something is claimed, or `again` ms if
 * serials are still missing. Call it with the lock held. */
static void wait_wanted(struct guards *g, bool claimed, unsigned int again)
{
	struct timespec until = in_ms(again ? again : SLOW_MS);
	int rc = 0;

	while (!g->stop && !any_wanted(g) && rc != ETIMEDOUT)
		rc = claimed || again ? pthread_cond_timedwait(&g->wake, &g->lock, &until)
				      : pthread_cond_wait(&g->wake, &g->lock);
	if (rc == ETIMEDOUT && claimed && (!again || again == SLOW_MS))
		question_add(&g->wanted[GUARD_HOLDERS], NULL);
}

/* Call it with the lock held. */
static void wait_burst(struct guards *g)
{
	struct timespec until = in_ms(BURST_MS);

	while (!g->stop && !g->at_once && !pthread_cond_timedwait(&g->wake, &g->lock, &until))
		;
}

static void pause_after(struct guards *g)
{
	struct timespec until = in_ms(PAUSE_MS);

	while (!g->stop && !pthread_cond_timedwait(&g->wake, &g->lock, &until))
		;
}

/* An operation asks for itself and reports its steps; its devices are asked about afterwards. */
static void put_off_busy(struct backend *b, enum guard guard, struct question *q)
{
	struct question later = { 0 };
	size_t n = 0;

	model_lock(b->model);
	for (size_t i = 0; i < q->n && !q->all; i++) {
		const struct device *dev = model_find(b->model, &q->devs[i]);
		/* A stuck device may stay so for days. */
		bool busy = dev && dev->busy[0] && !dev->stuck[0];

		if (busy)
			later.devs[later.n++] = q->devs[i];
		else if (!dev || guard_may_tell(guard, dev))
			q->devs[n++] = q->devs[i];
	}
	model_unlock(b->model);
	if (q->all)
		return;
	q->n = n;
	pthread_mutex_lock(&b->guards.lock);
	for (size_t i = 0; i < later.n; i++)
		question_add(&b->guards.wanted[guard], &later.devs[i]);
	pthread_mutex_unlock(&b->guards.lock);
}

static void ask_wanted(struct backend *b, enum guard guard, const struct question *question)
{
	struct asking *a = &b->guards.asking[guard];
	uint64_t began = now_us();
	int rc;

	pthread_mutex_lock(&b->guards.lock);
	*a = (struct asking){ began, a->answered, question };
	pthread_mutex_unlock(&b->guards.lock);
	rc = guard_ask(b, guard, question);
	pthread_mutex_lock(&b->guards.lock);
	*a = (struct asking){ .answered = rc ? a->answered : began };
	pthread_cond_broadcast(&b->guards.ended);
	pthread_mutex_unlock(&b->guards.lock);
}

void *guards_main(void *arg)
{
	struct backend *b = arg;
	struct guards *g = &b->guards;
	/* ms until serials are tried again after a failure */
	unsigned int again = 0, pause = 0;

	for (;;) {
		bool claimed = anything_claimed(b->model), serials;
		struct question wanted[GUARD_COUNT];

		pthread_mutex_lock(&g->lock);
		wait_wanted(g, claimed, again);
		wait_burst(g);
		if (g->stop) {
			pthread_mutex_unlock(&g->lock);
			return NULL;
		}
		memcpy(wanted, g->wanted, sizeof(wanted));
		memset(g->wanted, 0, sizeof(g->wanted));
		serials = g->serials || again;
		g->serials = g->at_once = false;
		pthread_mutex_unlock(&g->lock);
		for (int i = 0; i < GUARD_COUNT; i++) {
			put_off_busy(b, i, &wanted[i]);
			if (wanted[i].all || wanted[i].n)
				ask_wanted(b, i, &wanted[i]);
		}
		daemons_look(b);
		if (serials)
			again = serials_run(b) ? back_off(&pause, AGAIN_MS, SLOW_MS) : (pause = 0);
		pthread_mutex_lock(&g->lock);
		pause_after(g);
		pthread_mutex_unlock(&g->lock);
	}
}
