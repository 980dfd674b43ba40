// SPDX-License-Identifier: GPL-2.0-or-later
#include "sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"

struct set {
	struct set *next;
	uint64_t id;
	struct elem *elems;
	uint32_t n, cap;
};

struct sets {
	struct set **heads;
	size_t n_heads, n; /* n_heads is a power of two */
};

static struct set **head(struct set **heads, size_t n_heads, uint64_t id)
{
	return &heads[(id * 0x9e3779b97f4a7c15ull >> 32) & (n_heads - 1)];
}

struct sets *sets_new(void)
{
	struct sets *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->n_heads = 256;
	s->heads = calloc(s->n_heads, sizeof(*s->heads));
	if (!s->heads) {
		free(s);
		return NULL;
	}
	return s;
}

void sets_free(struct sets *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_heads; i++) {
		struct set *set = s->heads[i];

		while (set) {
			struct set *next = set->next;

			free(set->elems);
			free(set);
			set = next;
		}
	}
	free(s->heads);
	free(s);
}

static struct set *find(const struct sets *s, uint64_t id)
{
	struct set *set = *head(s->heads, s->n_heads, id);

	while (set && set->id != id)
		set = set->next;
	return set;
}

/* A failure only makes chains longer. */
static void rehash(struct sets *s)
{
	size_t n = s->n_heads * 4;
	struct set **heads = calloc(n, sizeof(*heads));

	if (!heads)
		return;
	for (size_t i = 0; i < s->n_heads; i++) {
		struct set *set = s->heads[i];

		while (set) {
			struct set *next = set->next;
			struct set **at = head(heads, n, set->id);

			set->next = *at;
			*at = set;
			set = next;
		}
	}
	free(s->heads);
	s->heads = heads;
	s->n_heads = n;
}

static struct set *make(struct sets *s, uint64_t id)
{
	struct set *set = calloc(1, sizeof(*set));
	struct set **at;

	if (!set)
		return NULL;
	if (++s->n > s->n_heads * 2)
		rehash(s);
	set->id = id;
	at = head(s->heads, s->n_heads, id);
	set->next = *at;
	*at = set;
	return set;
}

static int by_key(const void *row, const void *key)
{
	const struct elem *elem = row;
	uint32_t wanted = *(const uint32_t *)key;

	return (elem->key > wanted) - (elem->key < wanted);
}

/* The first place whose key is not smaller. */
static uint32_t place(const struct set *set, uint32_t key)
{
	uint32_t n = set->n;

	if (n && set->elems[n - 1].key < key)
		return n;
	return (uint32_t)rows_first(set->elems, n, sizeof(*set->elems), &key, by_key);
}

int set_add(struct sets *s, uint64_t id, struct elem elem)
{
	struct set *set = find(s, id);
	uint32_t at;

	if (!set)
		set = make(s, id);
	if (!set)
		return -ENOMEM;
	at = place(set, elem.key);
	if (at < set->n && set->elems[at].key == elem.key) {
		bool same = set->elems[at].slot == elem.slot;

		set->elems[at] = elem;
		return !same;
	}
	if (set->n == set->cap) {
		uint32_t cap = set->cap ? set->cap * 2 : 2;
		struct elem *elems = reallocarray(set->elems, cap, sizeof(*elems));

		if (!elems)
			return -ENOMEM;
		set->elems = elems;
		set->cap = cap;
	}
	memmove(&set->elems[at + 1], &set->elems[at], (set->n - at) * sizeof(*set->elems));
	set->elems[at] = elem;
	set->n++;
	return 1;
}

static void drop(struct sets *s, struct set *set)
{
	struct set **at = head(s->heads, s->n_heads, set->id);

	while (*at != set)
		at = &(*at)->next;
	*at = set->next;
	free(set->elems);
	free(set);
	s->n--;
}

bool set_remove(struct sets *s, uint64_t id, uint32_t key)
{
	struct set *set = find(s, id);
	uint32_t at = set ? place(set, key) : 0;

	if (!set || at == set->n || set->elems[at].key != key)
		return false;
	set->n--;
	memmove(&set->elems[at], &set->elems[at + 1], (set->n - at) * sizeof(*set->elems));
	if (!set->n)
		drop(s, set);
	return true;
}

const struct elem *set_from(const struct sets *s, uint64_t id, uint32_t key, size_t *ret_n)
{
	const struct set *set = find(s, id);
	uint32_t at = set ? place(set, key) : 0;

	*ret_n = set ? set->n - at : 0;
	return *ret_n ? &set->elems[at] : NULL;
}

size_t set_count(const struct sets *s, uint64_t id)
{
	const struct set *set = find(s, id);

	return set ? set->n : 0;
}
