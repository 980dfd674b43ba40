// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "ring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/region.h"
#include "pcidevfs/util.h"

/* In the stash. */
struct head {
	struct region_head region;
	_Atomic uint64_t tail, head; /* tail moves before its line is overwritten, head after */
	_Atomic uint64_t moved;
	_Atomic uint64_t seq;	  /* moves after head */
	_Atomic uint64_t written; /* ns of the calendar */
	char text[] __attribute__((aligned(64)));
};

struct ring {
	pthread_mutex_t lock;
	struct head *h;
	ring_share *share; /* NULL: lines have no owners */
};

#define OWNERS 256

/* How many bytes of each owner stay. */
struct ring_owners {
	size_t n;
	struct {
		uint64_t id;
		size_t used;
	} v[OWNERS];
};

static void copy_in(struct head *h, uint64_t at, const char *text, size_t len)
{
	size_t place = at % h->region.size, first = h->region.size - place;

	if (first > len)
		first = len;
	memcpy(h->text + place, text, first);
	memcpy(h->text, text + first, len - first);
}

static void copy_out(const struct head *h, uint64_t at, char *buf, size_t len)
{
	size_t place = at % h->region.size, first = h->region.size - place;

	if (first > len)
		first = len;
	memcpy(buf, h->text + place, first);
	memcpy(buf + first, h->text, len - first);
}

static bool is_ours(const struct head *h, const struct region_head *layout)
{
	return region_is(&h->region, layout) && h->tail <= h->head &&
	       h->head - h->tail <= layout->size && h->moved <= h->head && h->head >> 62 == 0;
}

static uint64_t seq_at(const struct head *h, uint64_t at)
{
	char text[32] = { 0 };
	size_t len = h->head - at;

	copy_out(h, at, text, len < sizeof(text) ? len : sizeof(text) - 1);
	return strncmp(text, "seq=", 4) ? 0 : strtoull(text + 4, NULL, 10);
}

/* A process that was killed may have written a line, and not that it has used its number. */
static void count_last(struct head *h)
{
	uint64_t at = h->head, seq;

	at -= at > h->tail;
	while (at > h->tail && h->text[(at - 1) % h->region.size] != '\n')
		at--;
	seq = seq_at(h, at);
	if (seq > h->seq)
		h->seq = seq;
}

int ring_open(void *region, size_t size, const struct region_head *layout, struct ring **ret,
	      struct err *err)
{
	struct ring *r = calloc(1, sizeof(*r));
	struct head *h = region;

	if (!r || size < sizeof(*h) + layout->size) {
		free(r);
		return fail_nomem(err);
	}
	if (!is_ours(h, layout)) {
		memset(h, 0, sizeof(*h));
		region_begin(&h->region, layout);
	}
	count_last(h);
	r->h = h;
	pthread_mutex_init(&r->lock, NULL);
	*ret = r;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void ring_set_share(struct ring *r, ring_share *share)
{
	r->share = share;
}

/* Counts a line for its owner. False: newer lines have used up the owner's share, or there are too
 * many owners to count for this one, which then has no share. */
static bool count_line(const struct ring *r, struct ring_owners *o, const char *line, size_t len)
{
	uint64_t id;
	size_t share = r->share(line, len, &id), i = 0;

	while (i < o->n && o->v[i].id != id)
		i++;
	if (i == OWNERS)
		return false;
	if (i == o->n)
		o->v[o->n++].id = id;
	o->v[i].used += len;
	return o->v[i].used <= share;
}

/* Moves the lines that stay to the end of the first `half` bytes, at most `most` bytes in all.
 * Returns how many bytes stay. */
static size_t select_lines(const struct ring *r, char *text, size_t half, size_t len, size_t most)
{
	struct ring_owners *owners = calloc(1, sizeof(*owners));
	size_t kept = 0;

	for (size_t end = len; owners && end;) {
		const char *nl = end > 1 ? memrchr(text, '\n', end - 1) : NULL;
		size_t at = nl ? (size_t)(nl + 1 - text) : 0, n = end - at;

		if (count_line(r, owners, text + at, n) && end <= half && kept + n <= most) {
			kept += n;
			memmove(text + half - kept, text + at, n);
		}
		end = at;
	}
	free(owners);
	return kept;
}

/* Drops the older half, in whole lines, if need bytes are not free. A quarter of the ring at most
 * stays of that half: else it would be full again at once. */
static void make_room(struct ring *r, size_t need)
{
	struct head *h = r->h;
	const uint64_t tail = h->tail;
	uint64_t half = tail + (h->head - tail) / 2;
	_free_ char *text = NULL;
	size_t kept;

	if (h->region.size - (h->head - tail) >= need)
		return;
	while (half < h->head && h->text[half % h->region.size] != '\n')
		half++;
	half += half < h->head;
	text = r->share ? malloc(h->head - tail) : NULL;
	if (text)
		copy_out(h, tail, text, h->head - tail);
	h->moved = half;
	h->tail = half;
	if (!text)
		return;
	kept = select_lines(r, text, half - tail, h->head - tail, h->region.size / 4);
	copy_in(h, half - kept, text + (half - tail) - kept, kept);
	h->tail = half - kept;
}

uint64_t ring_put(struct ring *r, const char *rest, size_t len)
{
	struct head *h = r->h;
	char number[32];
	uint64_t seq;
	size_t n;

	if (len > h->region.size / 4)
		return 0;
	pthread_mutex_lock(&r->lock);
	seq = h->seq + 1;
	n = (size_t)snprintf(number, sizeof(number), "seq=%llu ", (unsigned long long)seq);
	make_room(r, n + len + 1);
	copy_in(h, h->head, number, n);
	copy_in(h, h->head + n, rest, len);
	copy_in(h, h->head + n + len, "\n", 1);
	h->written = now_real_ns();
	h->head += n + len + 1;
	h->seq = seq;
	pthread_mutex_unlock(&r->lock);
	return seq;
}

/* A copy of what was written from this offset on and is still there; NULL: no memory. */
static char *copy_from(struct ring *r, uint64_t from, size_t *ret_len)
{
	struct head *h = r->h;
	char *copy;

	pthread_mutex_lock(&r->lock);
	from = from < h->tail ? h->tail : from > h->head ? h->head : from;
	*ret_len = h->head - from;
	copy = malloc(*ret_len + 1);
	if (copy)
		copy_out(h, from, copy, *ret_len);
	pthread_mutex_unlock(&r->lock);
	return copy;
}

bool ring_has(struct ring *r, uint64_t from, const char *end, size_t len)
{
	bool found = false;
	size_t n = 0;
	_free_ char *copy = copy_from(r, from, &n);
	const char *at = copy, *nl;

	for (; at && !found && (nl = memchr(at, '\n', n - (size_t)(at - copy))); at = nl + 1)
		found = (size_t)(nl - at) >= len && !memcmp(nl - len, end, len);
	return found;
}

uint64_t ring_seq(struct ring *r)
{
	return r->h->seq;
}

uint64_t ring_head(struct ring *r)
{
	return r->h->head;
}

struct ring_span ring_span(struct ring *r)
{
	struct ring_span span;

	pthread_mutex_lock(&r->lock);
	span = (struct ring_span){ r->h->tail, r->h->head, r->h->moved, r->h->seq, r->h->written };
	pthread_mutex_unlock(&r->lock);
	return span;
}

long ring_read(struct ring *r, uint64_t at, char *buf, size_t size, uint64_t *ret_tail,
	       uint64_t *ret_seq)
{
	struct head *h = r->h;
	long n = -1;

	pthread_mutex_lock(&r->lock);
	if (at >= h->tail && at <= h->head) {
		n = (long)(h->head - at < size ? h->head - at : size);
		copy_out(h, at, buf, (size_t)n);
	} else {
		*ret_tail = h->tail;
		*ret_seq = (seq_at(h, h->tail) ?: h->seq + 1) - 1;
	}
	pthread_mutex_unlock(&r->lock);
	return n;
}

/* Quoted text is skipped: its writer chose it, and it may look like a field. */
const char *ring_field(const char *line, size_t len, const char *where)
{
	size_t n = strlen(where);
	bool quoted = false;

	for (size_t i = 0; i + n <= len; i++) {
		if (!quoted && !memcmp(line + i, where, n))
			return line + i + n;
		if (line[i] == '"')
			quoted = !quoted;
		else if (line[i] == '\\' && quoted)
			i++;
	}
	return NULL;
}

static void print_matching(const char *text, size_t len, const char *where, struct out *o)
{
	const char *end = text + len;

	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *next = nl ? nl + 1 : end;

		if (ring_field(text, (size_t)(next - text), where))
			out_put(o, text, (size_t)(next - text));
		text = next;
	}
}

void ring_print(struct ring *r, const char *where, struct out *o)
{
	size_t n = 0;
	_free_ char *copy = copy_from(r, 0, &n);

	if (!copy)
		o->failed = true;
	else if (where)
		print_matching(copy, n, where, o);
	else
		out_put(o, copy, n);
}
