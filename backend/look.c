// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks that may hang in the kernel. Each runs on its own thread, which is abandoned if a device
 * does not answer. The other devices of its batch are looked at again without that one. The
 * abandoned thread goes no further when it returns, and looks once more, because it missed the
 * events meanwhile. */
#include "look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus.h"
#include "internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/say.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#define HUNG_MAX 8 /* devices that begin to hang during one look */
/* A thread that only waits for a CPU is held by no driver, and gets so many times the patience. */
#define STARVED 10

/* ---- which of them counts */

static bool is_newer(const struct looks *looks, const struct key *key, uint64_t than)
{
	return looks->all > than || newest_of(&looks->seen, key) > than;
}

bool look_is_old(const struct look *l, const struct key *key)
{
	return is_newer(&l->b->looks, key, l->number);
}

bool looked_since(struct backend *b, const struct key *key, uint64_t than)
{
	bool is;

	model_lock(b->model);
	is = is_newer(&b->looks, key, than);
	model_unlock(b->model);
	return is;
}

/* ---- which of them hangs */

/* Call it with the lock held. */
static bool is_late(const struct look *l, unsigned int ms)
{
	return l->at.bus != BUS_NONE && now_ms() - l->at_ms >= ms;
}

bool look_goes_to(struct look *l, const struct key *key)
{
	struct looks *looks = &l->b->looks;
	bool goes;

	pthread_mutex_lock(&looks->lock);
	goes = !looks->stopped && !l->left;
	for (const struct look *o = looks->left; o && key && goes; o = o->next)
		goes = !(key_eq(&o->at, key) && is_late(o, l->patience_ms));
	l->at = key && goes ? *key : (struct key){ 0 };
	l->at_ms = now_ms();
	pthread_mutex_unlock(&looks->lock);
	return goes;
}

void looks_stop(struct looks *looks)
{
	pthread_mutex_lock(&looks->lock);
	looks->stopped = true;
	pthread_mutex_unlock(&looks->lock);
}

/* Call it with the lock held, which is free while /proc is read: each look takes it at each
 * device. */
static bool hangs(struct look *l)
{
	bool runs;

	if (!is_late(l, l->patience_ms) || is_late(l, STARVED * l->patience_ms))
		return is_late(l, l->patience_ms);
	pthread_mutex_unlock(&l->b->looks.lock);
	runs = thread_runs(atomic_load(&l->tid));
	pthread_mutex_lock(&l->b->looks.lock);
	return !l->over && !runs && is_late(l, l->patience_ms);
}

/* Waits until the look has ended; false if it stays at one device for too long. */
static bool wait_for(struct look *l)
{
	struct looks *looks = &l->b->looks;
	bool over;

	pthread_mutex_lock(&looks->lock);
	while (!l->over && !hangs(l)) {
		struct timespec until = in_ms(l->patience_ms);

		pthread_cond_timedwait(&l->ended, &looks->lock, &until);
	}
	over = l->over;
	if (!over) {
		l->left = true;
		l->next = looks->left;
		looks->left = l;
		atomic_fetch_add(&l->b->left, 1);
		pool_blocked(l->b->lookers, true);
	}
	pthread_mutex_unlock(&looks->lock);
	return over;
}

/* ---- a look */

/* A look at all reads them anew, another one only if there are others than before. */
static int read_slots(struct look *l)
{
	struct looks *looks = &l->b->looks;
	struct pci_slots *before;
	int rc;

	if (l->slots)
		return 0;
	pthread_mutex_lock(&looks->lock);
	before = l->all ? NULL : pci_slots_ref(looks->slots);
	pthread_mutex_unlock(&looks->lock);
	rc = pci_slots_read(&l->b->sys, before, &l->slots);
	pci_slots_unref(before);
	if (rc)
		return rc;
	pthread_mutex_lock(&looks->lock);
	before = looks->slots;
	looks->slots = pci_slots_ref(l->slots);
	pthread_mutex_unlock(&looks->lock);
	pci_slots_unref(before);
	return 0;
}

int look_observe(struct look *l, const struct key *dev, struct facts *ret)
{
	int rc = l->b->buses[dev->bus]->observe(l->b, dev, ret);

	if (rc || dev->bus != BUS_PCI)
		return rc;
	rc = read_slots(l);
	if (!rc)
		pci_slot_of(l->slots, dev, ret->slot);
	return rc;
}

static void look_free(struct look *l)
{
	pci_slots_unref(l->slots);
	pthread_cond_destroy(&l->ended);
	free(l);
}

/* Is it abandoned? From now on it keeps no other one from its device. */
static bool is_left(struct look *l, int rc)
{
	struct looks *looks = &l->b->looks;
	struct look **link = &looks->left;
	bool left;

	pthread_mutex_lock(&looks->lock);
	l->rc = rc;
	l->over = true;
	left = l->left;
	while (left && *link != l)
		link = &(*link)->next;
	if (left)
		*link = l->next;
	l->left = false;
	pthread_cond_signal(&l->ended);
	pthread_mutex_unlock(&looks->lock);
	return left;
}

static void look_main(void *arg)
{
	struct look *l = arg;
	struct backend *b = l->b;

	atomic_store(&l->tid, gettid());
	if (!is_left(l, look_scan(l)))
		return;
	pci_slots_unref(l->slots); /* they may be old by now */
	l->slots = NULL;
	look_scan(l); /* for as long as it takes: nobody waits for it */
	look_free(l);
	pool_blocked(b->lookers, false);
	atomic_fetch_sub(&b->left, 1);
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
	rc = rc ? look_scan(l) : l->rc;
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
