// SPDX-License-Identifier: GPL-2.0-or-later
/* Who hears of changes, in which order, and who waits until they did. */
#include "pcidevfs/thread.h"
#include "store.h"

enum { BATCH = 256, PACK_MS = 200 };

void dispatch_enqueue(struct model *m, uint32_t slot, uint64_t generation)
{
	size_t place = (m->q_head + m->q_len) % MODEL_MAX;

	if (m->of[slot].queued)
		return;
	m->of[slot].queued = true;
	m->queue[place] = slot;
	m->queued_at[place] = generation;
	m->q_len++;
	m->grown = true;
}

void model_observe(struct model *m, const struct observer *observer)
{
	pthread_mutex_lock(&m->lock);
	if (m->n_observers < OBSERVERS)
		m->observers[m->n_observers++] = *observer;
	pthread_mutex_unlock(&m->lock);
}

void model_watch(struct model *m, _Atomic uint64_t *in_hand)
{
	m->in_hand = in_hand;
}

/* Moves the pending bits to `telling`; later ones are for the next time. A kill loses no bit. */
static change_bits begin_telling(struct slot *s)
{
	change_bits bits = s->telling | s->pending;

	s->telling = bits;
	s->pending = 0;
	return bits ? bits : CH_ALL;
}

/* Takes the next changes in order. Slots keep their bits until settle_batch(). Needs the lock. */
static size_t take_batch(struct model *m, struct change *batch, uint32_t *slots)
{
	size_t n = 0;

	for (; n < BATCH && m->q_len; n++) {
		uint32_t i = m->queue[m->q_head];
		struct slot *s = &m->a->slots[i];
		const struct device *d = slot_current(m, i);

		m->q_head = (m->q_head + 1) % MODEL_MAX;
		m->q_len--;
		m->of[i].queued = false;
		slots[n] = i;
		batch[n] = (struct change){
			.key = d->key,
			.birth = d->birth,
			.generation = d->generation,
			.action = !slot_live(m, i) ? ACTION_REMOVE
				  : s->heard	   ? ACTION_CHANGE
						   : ACTION_ADD,
			.bits = begin_telling(s),
		};
	}
	return n;
}

static void settle_batch(struct model *m, const struct change *batch, const uint32_t *slots,
			 size_t n, uint64_t generation)
{
	for (size_t k = 0; k < n; k++) {
		struct slot *s = &m->a->slots[slots[k]];

		s->heard = batch[k].generation;
		s->telling = 0;
		if (batch[k].action == ACTION_REMOVE)
			record_drop(m, slots[k]);
	}
	m->heard = m->q_len ? m->queued_at[m->q_head] - 1 : generation;
}

static void tell_rest(struct model *m)
{
	for (size_t k = 0; k < m->n_observers; k++)
		if (m->observers[k].told)
			m->observers[k].told(m->observers[k].ctx);
}

static void await_change(struct model *m)
{
	struct timespec until = in_ms(PACK_MS);

	if (m->n_unpacked <= RECORDS_KEPT)
		pthread_cond_wait(&m->changed, &m->lock);
	else if (pthread_cond_timedwait(&m->changed, &m->lock, &until) && !m->n_edits)
		records_begin(m);
}

bool model_dispatch(struct model *m)
{
	struct change batch[BATCH];
	uint32_t slots[BATCH];
	uint64_t generation;
	size_t n;

	pthread_mutex_lock(&m->lock);
	while (!m->q_len && !m->stop)
		await_change(m);
	n = take_batch(m, batch, slots);
	generation = model_generation(m);
	pthread_mutex_unlock(&m->lock);
	if (!n)
		return false;
	if (m->in_hand)
		atomic_store(m->in_hand, ++m->batches);
	for (size_t k = 0; k < m->n_observers; k++)
		m->observers[k].changed(m->observers[k].ctx, batch, n);
	pthread_mutex_lock(&m->lock);
	settle_batch(m, batch, slots, n, generation);
	pthread_mutex_unlock(&m->lock);
	pthread_cond_broadcast(&m->heard_more);
	tell_rest(m);
	if (m->in_hand)
		atomic_store(m->in_hand, 0);
	return true;
}

void model_stop(struct model *m)
{
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_cond_broadcast(&m->changed);
	pthread_cond_broadcast(&m->heard_more);
	pthread_mutex_unlock(&m->lock);
}

bool model_sync(struct model *m, uint64_t generation, unsigned int ms)
{
	struct timespec until = in_ms(ms);
	int r = 0;
	bool heard;

	pthread_mutex_lock(&m->lock);
	while (m->heard < generation && !m->stop && !r)
		r = pthread_cond_timedwait(&m->heard_more, &m->lock, &until);
	heard = m->heard >= generation;
	pthread_mutex_unlock(&m->lock);
	return heard;
}
