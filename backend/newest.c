// SPDX-License-Identifier: GPL-2.0-or-later
#include "newest.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "pcidevfs/util.h"

static int to_key(const void *row, const void *key)
{
	return key_cmp(&((const struct newest_row *)row)->key, key);
}

static size_t first_row(const struct newest *t, const struct key *key, bool *ret_is)
{
	size_t at = rows_first(t->v, t->n, sizeof(*t->v), key, to_key);

	*ret_is = at < t->n && key_eq(&t->v[at].key, key);
	return at;
}

int newest_take(struct newest *t, const struct key *key, uint64_t number)
{
	struct newest_row *v;
	bool is;
	size_t at = first_row(t, key, &is);

	if (is && t->v[at].number > number)
		return 0;
	v = is ? t->v : more_rows(t->v, t->n, &t->cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	t->v = v;
	if (!is)
		memmove(&v[at + 1], &v[at], (t->n++ - at) * sizeof(*v));
	v[at] = (struct newest_row){ *key, number };
	return 1;
}

uint64_t newest_of(const struct newest *t, const struct key *key)
{
	bool is;
	size_t at = first_row(t, key, &is);

	return is ? t->v[at].number : 0;
}
