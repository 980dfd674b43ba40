// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "pcidevfs/err.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"
#include "store.h"

const struct region_head model_layout = { "model", MODEL_ABI, sizeof(struct device) };

size_t model_arena_size(void)
{
	return sizeof(struct arena);
}

static void relink(struct index *x, uint32_t i, bool linked, uint32_t hash)
{
	if (linked)
		index_link(x, i, hash);
	else
		index_unlink(x, i);
}

void slot_link(struct model *m, uint32_t i)
{
	const struct device *d = slot_seen(m, i);
	const struct facts *f = &d->facts;

	relink(&m->by[BY_KEY], i, true, key_hash(&d->key));
	relink(&m->by[BY_GROUP], i, f->iommu_group >= 0, group_hash(f->iommu_group));
	relink(&m->by[BY_PARENT], i, f->parent.bus, key_hash(&f->parent));
}

static void unlink_slot(struct model *m, uint32_t i)
{
	for (int x = 0; x < INDEXES; x++)
		index_unlink(&m->by[x], i);
}

static bool arena_valid(const struct arena *a)
{
	return region_is(&a->head, &model_layout) && atomic_load(&a->used) <= MODEL_MAX &&
	       atomic_load(&a->generation) <= GENERATION_MAX;
}

static void arena_init(struct arena *a)
{
	memset(a->head.magic, 0, sizeof(a->head.magic)); /* until model_complete() */
	atomic_store(&a->used, 0);
	atomic_store(&a->generation, 0);
	atomic_store(&a->log_heard, 0);
}

static int allocate(struct model *m)
{
	int r = 0;

	for (int x = 0; x < INDEXES && !r; x++)
		r = index_init(&m->by[x], MODEL_MAX);
	m->of = calloc(MODEL_MAX, sizeof(*m->of));
	m->edits = calloc(MODEL_MAX, sizeof(*m->edits));
	m->unjudged = calloc(MODEL_MAX, sizeof(*m->unjudged));
	m->queue = calloc(MODEL_MAX, sizeof(*m->queue));
	m->queued_at = calloc(MODEL_MAX, sizeof(*m->queued_at));
	m->taken = calloc(BLOCKS, sizeof(*m->taken));
	return r || !m->of || !m->edits || !m->unjudged || !m->queue || !m->queued_at || !m->taken
		       ? -ENOMEM
		       : 0;
}

static void init_sync(struct model *m)
{
	pthread_mutex_init(&m->lock, NULL);
	cond_init(&m->changed);
	cond_init(&m->heard_more);
}

/* The former process may have died between a device and its peers. */
static void edit_claimed(struct model *m)
{
	const struct device *dev;
	size_t pos = 0;

	while ((dev = model_next(m, &pos)))
		if (dev->intent.claim[0])
			model_edit(m, &dev->key, false);
}

int model_new(void *arena, size_t size, struct model **ret, bool *ret_found, struct err *err)
{
	struct model *m;

	if (size < sizeof(struct arena))
		return fail(err, ENOSPC,
			    "the model needs %zu bytes of address space, %zu are there",
			    sizeof(struct arena), size);
	m = calloc(1, sizeof(*m));
	if (!m)
		return fail_nomem(err);
	init_sync(m);
	m->a = arena;
	if (allocate(m)) {
		model_free(m);
		return fail_nomem(err);
	}
	*ret_found = arena_valid(m->a);
	if (!*ret_found)
		arena_init(m->a);
	records_begin(m);
	slots_adopt(m);
	edit_claimed(m);
	model_publish(m);
	m->heard = m->q_len ? 0 : atomic_load(&m->a->generation);
	*ret = m;
	return 0;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	for (int x = 0; x < INDEXES; x++)
		index_fini(&m->by[x]);
	free(m->of);
	free(m->edits);
	free(m->unjudged);
	free(m->queue);
	free(m->queued_at);
	free(m->taken);
	pthread_cond_destroy(&m->changed);
	pthread_cond_destroy(&m->heard_more);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

void model_lock(struct model *m)
{
	pthread_mutex_lock(&m->lock);
}

void model_unlock(struct model *m)
{
	/* Under the lock: after the unlock the model may be freed. */
	if (m->grown)
		pthread_cond_signal(&m->changed);
	m->grown = false;
	pthread_mutex_unlock(&m->lock);
}

uint32_t slot_find(struct model *m, const struct key *key, bool fresh)
{
	uint32_t i;

	for (i = index_first(&m->by[BY_KEY], key_hash(key)); i != INDEX_NONE;
	     i = index_next(&m->by[BY_KEY], i)) {
		const struct key *k = slot_live(m, i) ? slot_key(m, i) : &slot_spare(m, i)->key;

		if ((fresh ? !slot_live(m, i) : slot_there(m, i)) && key_eq(k, key))
			return i;
	}
	return INDEX_NONE;
}

const struct device *model_find(struct model *m, const struct key *key)
{
	uint32_t i = slot_find(m, key, false);

	return i == INDEX_NONE ? NULL : slot_seen(m, i);
}

bool model_copy(struct model *m, const struct key *key, struct device *ret)
{
	uint32_t i;

	model_lock(m);
	i = slot_find(m, key, false);
	if (i != INDEX_NONE)
		slot_copy(m, i, ret);
	model_unlock(m);
	return i != INDEX_NONE;
}

const struct key *model_next_key(struct model *m, size_t *pos)
{
	uint32_t used = atomic_load(&m->a->used);

	for (; *pos < used; (*pos)++)
		if (slot_live(m, (uint32_t)*pos))
			return slot_key(m, (uint32_t)(*pos)++);
	return NULL;
}

const struct device *model_next(struct model *m, size_t *pos)
{
	return model_next_key(m, pos) ? slot_current(m, (uint32_t)*pos - 1) : NULL;
}

uint64_t model_generation(struct model *m)
{
	return atomic_load(&m->a->generation);
}

void model_count_from(struct model *m, uint64_t generation)
{
	atomic_store(&m->a->generation, generation);
	m->heard = generation;
	m->anew = true;
}

void model_complete(struct model *m)
{
	if (!region_is(&m->a->head, &model_layout))
		region_begin(&m->a->head, &model_layout);
}

bool model_is_anew(const struct model *m)
{
	return m->anew;
}

size_t model_count(struct model *m)
{
	return m->count;
}

size_t model_dropped(const struct model *m)
{
	return m->dropped;
}

bool model_has_iommu(struct model *m)
{
	return atomic_load(&m->a->iommu);
}

uint64_t model_log_heard(const struct model *m)
{
	return atomic_load(&m->a->log_heard);
}

void model_set_log_heard(struct model *m, uint64_t next)
{
	atomic_store(&m->a->log_heard, next);
}

static uint32_t free_slot(struct model *m)
{
	uint32_t used = atomic_load(&m->a->used);

	/* Positions are directory cookies: reused only if the table is far larger than needed. */
	if (used == MODEL_MAX || (used > 1024 && used > 4 * (m->count + m->n_edits)))
		for (uint32_t i = 0; i < used; i++)
			if (!slot_word(m, i) && !m->of[i].edited)
				return i;
	if (used == MODEL_MAX)
		return INDEX_NONE;
	atomic_store(&m->a->slots[used].word, 0); /* of a model that was not taken over */
	atomic_store(&m->a->used, used + 1);
	return used;
}

static struct device *new_record(struct model *m, uint32_t i, const struct key *key)
{
	struct slot *s = &m->a->slots[i];
	struct device *d = slot_spare(m, i);

	*d = (struct device){ .key = *key, .facts = facts_none };
	s->heard = 0;
	s->pending = s->telling = 0;
	return d;
}

static void note_edit(struct model *m, uint32_t i)
{
	m->of[i].edited = true;
	m->edits[m->n_edits++] = i;
}

struct device *edit_slot(struct model *m, uint32_t i)
{
	if (!m->of[i].edited) {
		*slot_spare(m, i) = *slot_current(m, i);
		note_edit(m, i);
	}
	return slot_spare(m, i);
}

struct device *model_edit(struct model *m, const struct key *key, bool create)
{
	uint32_t i = slot_find(m, key, false);
	struct device *d;

	if (i == INDEX_NONE)
		i = slot_find(m, key, true);
	if (i != INDEX_NONE)
		return edit_slot(m, i);
	i = create ? free_slot(m) : INDEX_NONE;
	if (i == INDEX_NONE)
		return NULL;
	d = new_record(m, i, key);
	index_link(&m->by[BY_KEY], i, key_hash(key));
	note_edit(m, i);
	return d;
}

/* Claimed members of its IOMMU group show things that depend on these, and on its pod and owner. */
static unsigned int matters(const struct device *d)
{
	bool owned = d->intent.claim[0] && (d->intent.uid || d->intent.gid);

	return (device_with_pod(d) ? 1 : 0) | (d->facts.use == USE_HOST ? 2 : 0) | (owned ? 4 : 0) |
	       (d->intent.claim[0] ? 8 : 0);
}

/* Does it show something that depends on other members of its group? */
static bool may_be_with(const struct device *d)
{
	return d->intent.claim[0] || !d->facts.driver[0];
}

static void edit_peers(struct model *m, const struct device *dev)
{
	for (uint32_t i = INDEX_NONE;
	     (i = next_in_group(m, dev->facts.iommu_group, i)) != INDEX_NONE;)
		if (may_be_with(slot_current(m, i)))
			edit_slot(m, i);
}

void model_remove(struct model *m, const struct key *key)
{
	uint32_t i = slot_find(m, key, false);

	if (i == INDEX_NONE)
		return;
	judge_removal(m, i);
	unlink_slot(m, i);
	if (matters(slot_current(m, i)))
		edit_peers(m, slot_current(m, i));
	m->count--;
	slot_current(m, i)->generation = atomic_fetch_add(&m->a->generation, 1) + 1;
	m->a->slots[i].pending = CH_ALL; /* whatever was to be told before */
	record_write(m, i, slot_current(m, i), (slot_word(m, i) & WORD_SECOND) | WORD_GONE);
	dispatch_enqueue(m, i, model_generation(m));
}

void model_set_iommu(struct model *m, bool present)
{
	if (model_has_iommu(m) == present)
		return;
	atomic_store(&m->a->iommu, present);
	judge_all(m);
}

static struct peers find_peers(struct model *m, uint32_t slot)
{
	const struct device *dev = slot_spare(m, slot);
	const int32_t group = may_be_with(dev) ? dev->facts.iommu_group : -1;
	struct peers found = { 0 };

	for (uint32_t i = INDEX_NONE; (i = next_in_group(m, group, i)) != INDEX_NONE;) {
		const struct device *d = slot_seen(m, i);

		if (i == slot)
			continue;
		if (!found.with_pod && device_with_pod(d))
			found.with_pod = d;
		if (!found.with_other && device_with_pod(d) && device_with_pod(dev) &&
		    !same_pod(dev->intent.allocated, d->intent.allocated))
			found.with_other = d;
		if (!found.on_host && d->facts.use == USE_HOST)
			found.on_host = d;
		if (d->intent.claim[0] && !dev->intent.claim[0])
			found.claimed = d;
		if (!found.of_other && d->intent.claim[0] && !device_shares_owner(dev, d))
			found.of_other = d;
	}
	return found;
}

static void publish_slot(struct model *m, uint32_t i, uint64_t generation)
{
	struct slot *s = &m->a->slots[i];
	struct device *d = slot_spare(m, i);
	bool fresh = !slot_live(m, i);
	change_bits bits;

	device_derive(d, find_peers(m, i));
	bits = fresh ? CH_ALL : device_diff(slot_current(m, i), d);
	if (!bits)
		return;
	if (fresh) {
		d->birth = generation;
		m->count++;
	}
	d->generation = generation;
	atomic_store(&m->a->generation, generation);
	s->pending |= bits;
	record_write(m, i, d, (~slot_word(m, i) & WORD_SECOND) | WORD_LIVE);
	dispatch_enqueue(m, i, generation);
}

/* It is new, or in another IOMMU group than before. */
static bool comes(struct model *m, uint32_t i)
{
	return !slot_live(m, i) ||
	       slot_current(m, i)->facts.iommu_group != slot_spare(m, i)->facts.iommu_group;
}

/* It has another pod, or owner. */
static bool moves(struct model *m, uint32_t i)
{
	const struct device *was = slot_current(m, i), *is = slot_spare(m, i);

	return strcmp(was->intent.allocated, is->intent.allocated) || !device_shares_owner(was, is);
}

static void let_arrive(struct model *m, uint32_t i)
{
	struct device *d = slot_spare(m, i);
	uint32_t at = INDEX_NONE;

	if (!m->stored.arrives || slot_live(m, i) || slot_word(m, i) & WORD_GONE)
		return;
	if (device_is_made(d)) {
		at = slot_find(m, &d->facts.parent, false);
		at = at == INDEX_NONE ? slot_find(m, &d->facts.parent, true) : at;
	}
	m->stored.arrives(m->stored.ctx, d,
			  at == INDEX_NONE   ? NULL
			  : m->of[at].edited ? slot_spare(m, at)
					     : slot_current(m, at));
}

/* Other devices may show something that follows from this one. */
static void follow_edit(struct model *m, uint32_t i)
{
	unsigned int was = slot_live(m, i) ? matters(slot_current(m, i)) : 0;
	unsigned int is = matters(slot_spare(m, i));

	if (is != was || (is && (comes(m, i) || moves(m, i))))
		edit_peers(m, slot_spare(m, i));
	if (was && comes(m, i))
		edit_peers(m, slot_current(m, i));
	judge_edit(m, i);
}

/* From here on devices are found as they are going to be. */
static void begin_publishing(struct model *m)
{
	m->publishing = true;
	for (size_t k = 0; k < m->n_edits; k++) {
		if (!slot_there(m, m->edits[k]))
			continue;
		device_identify(slot_spare(m, m->edits[k]));
		slot_link(m, m->edits[k]);
	}
}

static void publish_edits(struct model *m, uint64_t generation)
{
	for (size_t k = 0; k < m->n_edits; k++) {
		uint32_t i = m->edits[k];

		/* A device removed after an edit keeps its last record, for observers. */
		if (slot_there(m, i))
			publish_slot(m, i, generation);
		m->of[i].edited = false;
	}
	m->n_edits = 0;
	m->publishing = false;
}

uint64_t model_publish(struct model *m)
{
	uint64_t generation = model_generation(m) + 1;

	for (size_t k = 0; k < m->n_edits; k++)
		let_arrive(m, m->edits[k]);
	for (size_t k = 0; k < m->n_edits; k++)
		follow_edit(m, m->edits[k]);
	begin_publishing(m);
	judge_marked(m);
	publish_edits(m, generation);
	return model_generation(m);
}
