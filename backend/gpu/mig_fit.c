// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the instances of a layout fit. A card has at most a dozen slices, so all ways are tried:
 * first those in which what is there stays. Of a driver that tells nonsense there may be more ways
 * than anybody can wait for. */
#include <errno.h>
#include <string.h>

#include "mig.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

/* The cards of tests/unit/test_mig.c need at most a thirtieth of it. */
#define TRIES_MAX (1u << 18)

struct mig_search {
	const struct mig *m;
	unsigned int order[MIG_INSTANCES]; /* the profile of each instance to be placed */
	unsigned int starts[MIG_INSTANCES];
	size_t n;
	uint16_t taken;	     /* slices */
	int stay, best;	     /* of those there: how many stay; -1: no way was found yet */
	bool touch_used;     /* may one that is used go? */
	unsigned int *tries; /* which are left */
	struct mig_plan *plan;
};

static bool may_try(unsigned int *tries)
{
	*tries -= *tries > 0;
	return *tries;
}

static uint16_t slices_at(const struct mig_profile *p, unsigned int start)
{
	return (uint16_t)(((1u << p->size) - 1) << start);
}

/* The instance that is there already, of this profile at this place. */
static int there(const struct mig *m, unsigned int profile, unsigned int start)
{
	for (size_t i = 0; i < m->n_instances; i++)
		if (m->instances[i].profile == profile && m->instances[i].start == start)
			return (int)i;
	return -1;
}

static void take_plan(struct mig_search *s)
{
	struct mig_plan plan = { .n = 0 };

	for (size_t k = 0; k < s->n; k++) {
		int i = there(s->m, s->order[k], s->starts[k]);

		if (i >= 0)
			plan.keep[i] = true;
		else
			plan.add[plan.n++] = (struct mig_place){ s->order[k], s->starts[k] };
	}
	for (size_t i = 0; i < s->m->n_instances && !s->touch_used; i++)
		if (s->m->instances[i].used && !plan.keep[i])
			return;
	s->best = s->stay;
	*s->plan = plan;
}

/* Of equal profiles each next one begins behind the one before: their order means nothing. A place
 * where such an instance is already counts as staying. */
static void place(struct mig_search *s, size_t k)
{
	const struct mig_profile *p = k < s->n ? &s->m->profiles[s->order[k]] : NULL;
	unsigned int from = 0;

	/* It cannot become better than what was found. */
	if (s->stay + (int)(s->n - k) <= s->best || !may_try(s->tries))
		return;
	if (!p) {
		take_plan(s);
		return;
	}
	if (k && s->order[k - 1] == s->order[k])
		from = s->starts[k - 1] + 1;
	for (unsigned int start = from; start + p->size <= MIG_SLICES; start++) {
		uint16_t slices = slices_at(p, start);
		bool stays;

		if (!(p->starts & 1u << start) || s->taken & slices)
			continue;
		stays = there(s->m, s->order[k], start) >= 0;
		s->starts[k] = start;
		s->taken |= slices;
		s->stay += stays;
		place(s, k + 1);
		s->stay -= stays;
		s->taken &= (uint16_t)~slices;
	}
}

static size_t list_wanted(const struct mig *m, const struct mig_wanted *w, unsigned int *order)
{
	size_t n = 0;

	for (unsigned int i = 0; i < m->n_profiles; i++)
		for (unsigned int k = 0; k < w->n[i]; k++) {
			if (n == MIG_INSTANCES)
				return n + 1;
			order[n++] = i;
		}
	return n;
}

static unsigned int slices_wanted(const struct mig *m, const struct mig_wanted *w)
{
	unsigned int n = 0;

	for (size_t i = 0; i < m->n_profiles; i++)
		n += w->n[i] * m->profiles[i].size;
	return n;
}

/* Those of the card, as far as any profile reaches. */
static unsigned int slices_of(const struct mig *m)
{
	uint16_t all = 0;

	for (size_t i = 0; i < m->n_profiles; i++)
		for (unsigned int start = 0; start < MIG_SLICES; start++)
			if (m->profiles[i].starts & 1u << start)
				all |= slices_at(&m->profiles[i], start);
	return (unsigned int)__builtin_popcount(all);
}

static bool search(const struct mig *m, const struct mig_wanted *w, bool touch_used,
		   unsigned int *tries, struct mig_plan *ret)
{
	struct mig_search s = {
		.m = m, .best = -1, .touch_used = touch_used, .tries = tries, .plan = ret
	};

	s.n = list_wanted(m, w, s.order);
	if (s.n > MIG_INSTANCES || slices_wanted(m, w) > slices_of(m))
		return false;
	place(&s, 0);
	return s.best >= 0;
}

static unsigned int memory_of(const struct mig *m, const struct mig_wanted *w)
{
	unsigned int mib = 0;

	for (size_t i = 0; i < m->n_profiles; i++)
		mib += w->n[i] * m->profiles[i].mib;
	return mib;
}

/* The part of what is wanted that takes most memory and fits. Each profile's count is lowered in
 * turn; there are at most seven instances of a kind. */
static void find_largest(const struct mig *m, struct mig_wanted *w, size_t i, unsigned int *tries,
			 struct mig_wanted *best)
{
	struct mig_plan unused;
	uint8_t all;

	if (memory_of(m, w) <= memory_of(m, best) || !may_try(tries))
		return;
	if (i == m->n_profiles) {
		if (search(m, w, true, tries, &unused))
			*best = *w;
		return;
	}
	all = w->n[i];
	for (;; w->n[i]--) {
		find_largest(m, w, i + 1, tries, best);
		if (!w->n[i])
			break;
	}
	w->n[i] = all;
}

static int fail_tries(const struct mig *m, const struct mig_wanted *w, struct err *err)
{
	struct out all = { 0 };
	int rc;

	mig_print_wanted(m, w, &all);
	rc = fail(err, E2BIG,
		  "%s could lie on this card in more ways than can be tried; write fewer instances",
		  out_text(&all));
	out_free(&all);
	return rc;
}

static int fail_room(const struct mig *m, const struct mig_wanted *w, unsigned int *tries,
		     struct err *err)
{
	struct mig_wanted part = { 0 }, best = { 0 };
	struct out all = { 0 }, fits = { 0 };
	int rc;

	if (!err)
		return -ENOSPC;
	memcpy(part.n, w->n, sizeof(part.n));
	find_largest(m, &part, 0, tries, &best);
	mig_print_wanted(m, w, &all);
	mig_print_wanted(m, &best, &fits);
	if (memory_of(m, &best))
		rc = fail(err, ENOSPC, "%s does not fit on this card; %s would", out_text(&all),
			  out_text(&fits));
	else
		rc = fail(err, ENOSPC, "%s does not fit on this card; write fewer instances",
			  out_text(&all));
	out_free(&all);
	out_free(&fits);
	return rc;
}

/* The first that is used and cannot stay. */
static int fail_used(const struct mig *m, const struct mig_wanted *w, struct err *err)
{
	uint8_t left[MIG_PROFILES];

	memcpy(left, w->n, sizeof(left));
	for (size_t i = 0; i < m->n_instances; i++) {
		const struct mig_instance *in = &m->instances[i];

		if (in->used && !left[in->profile])
			return fail(
				err, EBUSY,
				"MIG instance %u (%s) is used by %s; end that, or leave the instance in "
				"the layout",
				in->id, m->profiles[in->profile].name, in->user);
		left[in->profile] -= in->used;
	}
	return fail(err, EBUSY,
		    "the MIG instances that are used lie where the others would have to; "
		    "end what uses them and write again");
}

int mig_fit(const struct mig *m, const struct mig_wanted *w, struct mig_plan *ret, struct err *err)
{
	unsigned int tries = TRIES_MAX;

	*ret = (struct mig_plan){ .n = 0 };
	if (search(m, w, false, &tries, ret))
		return 0;
	if (search(m, w, true, &tries, ret))
		return fail_used(m, w, err);
	return tries ? fail_room(m, w, &tries, err) : fail_tries(m, w, err);
}
