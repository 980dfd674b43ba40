// SPDX-License-Identifier: GPL-2.0-or-later
/* A copy of the state file in memory that outlives the process: if the directory is removed, the
 * next process of this mount still finds what was stored. With it, which records were settled when
 * a process left: for one that knows nothing else of the devices. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"
#include "pcidevfs/region.h"

struct half {
	uint64_t len, sum;
};

struct copy {
	struct region_head head;
	uint32_t valid; /* the half that counts */
	struct half halves[2];
	uint32_t n_settled;
};

const struct region_head copy_layout = { "intents", 2, sizeof(struct copy) };

/* A page for the head, the settled records, and the halves. */
enum { SETTLED_AT = 4096, SETTLED_MAX = 65536, TEXT_AT = SETTLED_AT + SETTLED_MAX * 8 };

static size_t half_size(const struct intents *in)
{
	return in->copy_size < TEXT_AT ? 0 : (in->copy_size - TEXT_AT) / 2;
}

static char *half_text(const struct intents *in, unsigned int half)
{
	return (char *)in->copy + TEXT_AT + half * half_size(in);
}

void copy_keep(struct intents *in, const char *text, size_t len)
{
	struct copy *c = in->copy;
	unsigned int half;

	if (!c || len > half_size(in))
		return;
	if (!region_is(&c->head, &copy_layout)) {
		c->valid = c->n_settled = 0;
		c->halves[0] = c->halves[1] = (struct half){ 0 };
		region_begin(&c->head, &copy_layout);
	}
	half = !c->valid;
	memcpy(half_text(in, half), text, len);
	c->halves[half] = (struct half){ len, fnv1a(FNV1A, text, len) };
	atomic_signal_fence(memory_order_seq_cst);
	c->valid = half;
}

/* The predecessor may have been foreign code: nothing of it is believed. */
int copy_read(const struct intents *in, char **ret, size_t *ret_len)
{
	const struct copy *c = in->copy;
	size_t max = half_size(in);
	unsigned int half;
	struct half is;
	char *text;

	if (!max || !region_is(&c->head, &copy_layout))
		return -ENOENT;
	half = c->valid & 1;
	is = c->halves[half];
	if (!is.len || is.len > max)
		return -ENOENT;
	text = malloc(is.len + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, half_text(in, half), is.len);
	text[is.len] = '\0';
	if (fnv1a(FNV1A, text, is.len) != is.sum) {
		free(text);
		return -ENOENT;
	}
	*ret = text;
	*ret_len = is.len;
	return 0;
}

static uint64_t *settled(const struct intents *in)
{
	return (uint64_t *)((char *)in->copy + SETTLED_AT);
}

static bool has_copy(const struct intents *in)
{
	return half_size(in) && region_is(&((struct copy *)in->copy)->head, &copy_layout);
}

/* All that it stores was applied, by whatever way it is now. */
static bool is_settled(const struct intents *in, const struct record *r)
{
	const struct device *dev = r->birth ? model_find(in->m, &r->dev) : NULL;

	return dev && dev->birth == r->birth && r->noted && !r->restoring && !dev->busy[0] &&
	       !persist_missing(r);
}

void intents_leave(struct intents *in)
{
	struct timespec until;
	struct copy *c = in->copy;
	uint32_t n = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	if (pthread_mutex_timedlock(&in->save, &until))
		return;
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = 0; has_copy(in) && i < in->rs.n && n < SETTLED_MAX; i++)
		if (is_settled(in, in->rs.v[i]))
			settled(in)[n++] = identity_hash(&in->rs.v[i]->id);
	if (has_copy(in))
		c->n_settled = n;
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	pthread_mutex_unlock(&in->save);
}

void copy_unsettle(struct intents *in)
{
	if (has_copy(in))
		((struct copy *)in->copy)->n_settled = 0;
}

uint32_t copy_settled(const struct intents *in)
{
	uint32_t n = has_copy(in) ? ((struct copy *)in->copy)->n_settled : 0;

	return n < SETTLED_MAX ? n : SETTLED_MAX;
}

bool copy_has_settled(const struct intents *in, const struct record *r, uint32_t *at)
{
	uint32_t n = copy_settled(in);
	uint64_t hash = identity_hash(&r->id);

	/* They are in the order of the records. */
	for (uint32_t i = 0; i < n; i++, ++*at)
		if (settled(in)[*at % n] == hash)
			return true;
	return false;
}
