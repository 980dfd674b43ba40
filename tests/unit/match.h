/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TEST_MATCH_H
#define TEST_MATCH_H

#include "model/intents/identity.h"

/* The search among all candidates; *ret_at is left alone where there is none. */
static inline enum match identity_match(const struct identity *wanted,
					const struct candidate *candidates, size_t n,
					size_t *ret_at)
{
	struct search f = { .wanted = wanted };
	const struct candidate *found;
	enum match match;

	for (size_t i = 0; i < n; i++)
		search_look(&f, &candidates[i]);
	match = search_end(&f, &found);
	if (found)
		*ret_at = (size_t)(found - candidates);
	return match;
}

#endif
