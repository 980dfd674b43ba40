// SPDX-License-Identifier: GPL-2.0-or-later
/* Chooses which of the available devices kubelet should give (DESIGN.md 8): of one bus, whole free
 * IOMMU groups, of one NUMA node, then those freed last. Only a hint; it is not stored. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#include "answer.h"
#include "deviceplugin.pb-c.h"

struct preferable {
	const struct dev *d;
	const struct bus_row *bus;
	size_t group; /* available members of its group; 1 if it has no group */
	bool whole;   /* they are the whole group */
	bool begun;   /* a member of its group is chosen */
	bool chosen;
};

struct choice {
	struct preferable *v;
	size_t n;
	size_t wanted;		   /* still to be chosen */
	const struct bus_row *bus; /* the bus of the chosen ones; NULL: any */
	int numa;		   /* their node; -1: any */
};

static int by_group(const void *a, const void *b)
{
	const struct preferable *x = a, *y = b;

	if (x->d->group != y->d->group)
		return x->d->group < y->d->group ? -1 : 1;
	return strcmp(x->d->id, y->d->id);
}

/* Needs candidates sorted by group. */
static void count_groups(const struct devices *t, struct choice *c)
{
	for (size_t from = 0, to; from < c->n; from = to) {
		int group = c->v[from].d->group;
		size_t members;
		bool whole;

		for (to = from + 1; to < c->n && group >= 0 && c->v[to].d->group == group; to++)
			;
		devices_group(t, c->v[from].d, &members);
		whole = members == to - from;
		for (size_t i = from; i < to; i++) {
			c->v[i].group = to - from;
			c->v[i].whole = whole;
		}
	}
}

/* A container's devices must be of one bus (answer.c): the first that has enough; NULL: none. */
static const struct bus_row *fit_bus(const struct choice *c)
{
	const struct bus_row *b;

	for (size_t i = 0; (b = bus_at(i)); i++) {
		size_t n = 0;

		for (size_t j = 0; j < c->n; j++)
			n += c->v[j].bus == b;
		if (n && n >= c->wanted)
			return b;
	}
	return NULL;
}

/* The node with the most candidates; the lowest one if several have. */
static int best_numa(const struct choice *c)
{
	size_t most = 0;
	int best = -1;

	for (size_t i = 0; i < c->n; i++) {
		size_t n = 0;

		for (size_t j = 0; j < c->n; j++)
			n += c->v[j].d->numa == c->v[i].d->numa &&
			     (!c->bus || c->v[j].bus == c->bus);
		if (n > most || (n == most && c->v[i].d->numa < best)) {
			most = n;
			best = c->v[i].d->numa;
		}
	}
	return best;
}

/* Positive if x is better. The first criterion that differs decides. */
static int better(const struct choice *c, const struct preferable *x, const struct preferable *y)
{
	const int by[] = {
		(x->bus == c->bus) - (y->bus == c->bus),
		x->begun - y->begun,
		x->whole - y->whole,
		(x->d->numa == c->numa) - (y->d->numa == c->numa),
		(x->group <= c->wanted) - (y->group <= c->wanted),
		/* Of the groups that fit, prefer the one that leaves least to other pods. */
		x->group <= c->wanted ? (x->group > y->group) - (x->group < y->group) : 0,
		(x->d->freed > y->d->freed) - (x->d->freed < y->d->freed),
	};

	for (size_t i = 0; i < ARRAY_SIZE(by); i++)
		if (by[i])
			return by[i];
	return strcmp(y->d->id, x->d->id);
}

static void choose(struct choice *c, struct preferable *x)
{
	if (!c->bus)
		c->bus = x->bus;
	if (c->numa < 0)
		c->numa = x->d->numa;
	for (size_t i = 0; x->d->group >= 0 && i < c->n; i++)
		c->v[i].begun |= c->v[i].d->group == x->d->group;
	x->chosen = true;
	c->wanted -= c->wanted > 0;
}

static void choose_best(struct choice *c)
{
	if (!c->bus)
		c->bus = fit_bus(c);
	if (c->numa < 0)
		c->numa = best_numa(c);
	while (c->wanted) {
		struct preferable *best = NULL;

		for (size_t i = 0; i < c->n; i++)
			if (!c->v[i].chosen && (!best || better(c, &c->v[i], best) > 0))
				best = &c->v[i];
		if (!best)
			return;
		choose(c, best);
	}
}

static bool listed(char *const *ids, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(ids[i], id))
			return true;
	return false;
}

/* Sorts by group and drops duplicates. */
static void sort_candidates(struct choice *c)
{
	size_t n = 0;

	qsort(c->v, c->n, sizeof(*c->v), by_group);
	for (size_t i = 0; i < c->n; i++)
		if (!n || c->v[n - 1].d != c->v[i].d)
			c->v[n++] = c->v[i];
	c->n = n;
}

static int choice_make(const struct devices *t, const char *resource,
		       const V1beta1__ContainerPreferredAllocationRequest *q, struct choice *c,
		       struct err *err)
{
	*c = (struct choice){ .wanted = (size_t)q->allocation_size, .numa = -1 };
	c->v = calloc(q->n_available_deviceids + 1, sizeof(*c->v));
	if (!c->v)
		return fail_nomem(err);
	for (size_t i = 0; i < q->n_available_deviceids; i++) {
		const struct dev *d = devices_of_kubelet(t, resource, q->available_deviceids[i]);

		/* Allocate will refuse a device that has gone; this only ranks the others. */
		if (d)
			c->v[c->n++] = (struct preferable){ .d = d, .bus = bus_of(d) };
	}
	sort_candidates(c);
	if (q->allocation_size < 0 || (size_t)q->allocation_size > c->n)
		return fail(err, EINVAL, "%d devices of %zu are asked for", (int)q->allocation_size,
			    c->n);
	count_groups(t, c);
	for (size_t i = 0; i < c->n; i++)
		if (listed(q->must_include_deviceids, q->n_must_include_deviceids,
			   dev_kubelet_id(c->v[i].d)))
			choose(c, &c->v[i]);
	choose_best(c);
	return 0;
}

static int prefer(const struct devices *t, const char *resource,
		  const V1beta1__ContainerPreferredAllocationRequest *q,
		  V1beta1__ContainerPreferredAllocationResponse *ret, struct err *err)
{
	struct choice c = { 0 };
	int r = choice_make(t, resource, q, &c, err);

	v1beta1__container_preferred_allocation_response__init(ret);
	ret->deviceids = r ? NULL : calloc(c.n + 1, sizeof(*ret->deviceids));
	if (!r && !ret->deviceids)
		r = fail_nomem(err);
	for (size_t i = 0; !r && i < c.n; i++)
		if (c.v[i].chosen)
			ret->deviceids[ret->n_deviceids++] = (char *)dev_kubelet_id(c.v[i].d);
	free(c.v);
	return r;
}

static int check_size(const V1beta1__PreferredAllocationRequest *q, struct err *err)
{
	size_t available = 0, must = 0;

	for (size_t i = 0; i < q->n_container_requests; i++) {
		available += q->container_requests[i]->n_available_deviceids;
		must += q->container_requests[i]->n_must_include_deviceids;
	}
	return request_size(q->n_container_requests, available > must ? available : must, err);
}

int answer_preferred(const struct devices *t, const char *resource, const uint8_t *msg, size_t len,
		     struct out *ret, struct err *err)
{
	V1beta1__PreferredAllocationRequest *q =
		v1beta1__preferred_allocation_request__unpack(NULL, len, msg);
	V1beta1__PreferredAllocationResponse m = V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
	V1beta1__ContainerPreferredAllocationResponse *rows;
	size_t n = q ? q->n_container_requests : 0;
	int r = q ? check_size(q, err) : fail(err, EINVAL, "not a PreferredAllocationRequest");

	rows = calloc(n + 1, sizeof(*rows));
	m.container_responses = calloc(n + 1, sizeof(*m.container_responses));
	if (!r && (!rows || !m.container_responses))
		r = fail_nomem(err);
	for (size_t i = 0; !r && i < n; i++) {
		m.container_responses[m.n_container_responses++] = &rows[i];
		r = prefer(t, resource, q->container_requests[i], &rows[i], err);
	}
	if (!r)
		answer_pack(&m.base, ret);
	for (size_t i = 0; rows && i < n; i++)
		free(rows[i].deviceids);
	free(rows);
	free(m.container_responses);
	if (q)
		v1beta1__preferred_allocation_request__free_unpacked(q, NULL);
	return r;
}
