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

/* An object's directories are few: its sets are a list, by the object's slot. */
struct sets {
	struct set **heads;
	size_t n;
};

struct sets *sets_new(void)
{
	return calloc(1, sizeof(struct sets));
}

void sets_free(struct sets *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
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
	struct set *set = set_slot(id) < s->n ? s->heads[set_slot(id)] : NULL;

	while (set && set->id != id)
		set = set->next;
	return set;
}

static struct set *make(struct sets *s, uint64_t id)
{
	size_t slot = set_slot(id);
	struct set **heads = rows_upto(s->heads, slot, &s->n, sizeof(*heads));
	struct set *set = heads ? calloc(1, sizeof(*set)) : NULL;

	s->heads = heads ? heads : s->heads;
	if (!set)
		return NULL;
	set->id = id;
	set->next = heads[slot];
	heads[slot] = set;
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
	if (set->n == set->cap) { /* most are small, and there are many */
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
	struct set **at = &s->heads[set_slot(set->id)];

	while (*at != set)
		at = &(*at)->next;
	*at = set->next;
	free(set->elems);
	free(set);
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
