// SPDX-License-Identifier: GPL-2.0-or-later
/* What is looked at around an operation, and what an undo must ask first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/guard/guards.h"
#include "backend/pci/reserved.h"
#include "internal.h"
#include "look.h"
#include "steps.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"

struct around {
	struct touched *v;
	size_t n, cap;
	/* the last group whose members were added: members tend to follow each other */
	int32_t group;
	bool failed; /* no memory: some are missing */
	bool alone; /* as in struct touched, of those that are added */
};

static void add(struct around *a, const struct key *key)
{
	struct touched *rows = more_rows(a->v, a->n, &a->cap, sizeof(*rows));

	if (!rows) {
		a->failed = true;
		return;
	}
	a->v = rows;
	rows[a->n++] = (struct touched){ .key = *key, .alone = a->alone };
}

static void add_vf(void *ctx, int index, const struct key *vf)
{
	add(ctx, vf);
}

/* Call it with the model locked. */
static void add_members(struct model *m, const struct device *d, struct around *a)
{
	const struct device *none[1];
	size_t n = model_group(m, d->facts.iommu_group, none, 0);
	_free_ const struct device **found = calloc(n + 1, sizeof(*found));

	a->failed |= !found;
	if (found)
		model_group(m, d->facts.iommu_group, found, n);
	for (size_t i = 0; i < n && found; i++)
		add(a, &found[i]->key);
}

/* Adds the children that the model knows; alone, those that can still become a vGPU. Call it with
 * the model locked. */
static void add_children(struct model *m, const struct device *dev, struct around *a)
{
	const struct device *none[1];
	size_t n = model_children(m, &dev->key, BUS_NONE, none, 0);
	_free_ const struct device **found = calloc(n + 1, sizeof(*found));

	a->failed |= !found;
	if (found && n)
		model_children(m, &dev->key, BUS_NONE, found, n);
	for (size_t i = 0; i < n && found; i++)
		if (!a->alone || !found[i]->facts.profile_id[0])
			add(a, &found[i]->key);
}

/* The device, its group, its present and former children: what an operation on it would touch. */
static void add_around(struct backend *b, const struct key *dev, struct around *a)
{
	const struct device *d;
	bool pf;

	add(a, dev);
	model_lock(b->model);
	d = model_find(b->model, dev);
	pf = d && d->caps & CAP_SRIOV;
	if (d) {
		if (d->facts.iommu_group != a->group)
			add_members(b->model, d, a);
		a->group = d->facts.iommu_group;
		add_children(b->model, d, a);
	}
	model_unlock(b->model);
	if (pf)
		pci_vfs(&b->sys, dev, add_vf, a);
}

static int by_key(const void *left, const void *right)
{
	const struct touched *a = left, *b = right;

	return key_cmp(&a->key, &b->key);
}

/* All that an operation on these touches, each once: members of one group add each other. */
static int collect_around(struct backend *b, const struct key *devs, size_t n_devs,
			  struct around *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < n_devs; i++)
		add_around(b, &devs[i], ret);
	if (ret->failed)
		return -ENOMEM;
	qsort(ret->v, ret->n, sizeof(*ret->v), by_key);
	for (size_t i = 0; i < ret->n; i++)
		if (!n || !key_eq(&ret->v[n - 1].key, &ret->v[i].key))
			ret->v[n++] = ret->v[i];
	ret->n = n;
	return 0;
}

static bool has_no_vfconf(const struct ask_row *row, const struct device *dev)
{
	return !dev->facts.vfconf[0];
}

/* Not of all that it touched: the VFs of a card that was changed itself are looked at anyway. */
static void ask_cards_of(struct backend *b, const struct key *devs, size_t n_devs)
{
	_free_ struct key *cards = calloc(n_devs + 1, sizeof(*cards));
	size_t n = 0;

	model_lock(b->model);
	for (size_t i = 0; i < n_devs && cards; i++) {
		const struct device *dev = model_find(b->model, &devs[i]);
		const struct device *card =
			dev && dev->caps & CAP_VGPU ? model_parent(b->model, dev) : NULL;

		if (card)
			cards[n++] = card->key;
	}
	model_unlock(b->model);
	if (n)
		ask_now(b, &ask_siblings, cards, n, 0, NULL);
}

static int observe(struct backend *b, const struct key *devs, size_t n_devs,
		   const struct around *a, bool guards, struct err *err)
{
	int rc = look_at(b, a->v, a->n, ACT_PATIENCE_MS);

	if (rc == -ETIMEDOUT)
		return fail(
			err, ETIMEDOUT,
			"%s cannot be examined: it, or a device that goes along with it, does not "
			"answer the kernel",
			devs[0].name);
	if (rc)
		return fail(err, -rc, "%s cannot be examined: %s", devs[0].name, strerror(-rc));
	/* An operation has ended. */
	if (!guards)
		ask_cards_of(b, devs, n_devs);
	/* An intent for a card is stored with its serial. Who needs the settings
	 * tells a failure. */
	ask_touched(b, &ask_serial, a->v, a->n, NULL, NULL);
	ask_touched(b, &ask_vfconf, a->v, a->n, guards ? NULL : has_no_vfconf, NULL);
	rc = reserved_of(b, a->v, a->n, err);
	if (rc)
		return rc;
	return guards ? guards_now(b, a->v, a->n, err) : 0;
}

int backend_observe(void *backend, const struct key *devs, size_t n_devs, bool guards,
		    struct err *err)
{
	struct around a = { .group = -1 };
	int rc = collect_around(backend, devs, n_devs, &a);

	rc = rc ? fail_nomem(err)
		: observe(backend, devs, n_devs, &a, guards, err);
	free(a.v);
	return rc;
}

int backend_guard(void *backend, const struct key *devs, size_t n, struct err *err)
{
	struct around a = { 0 };
	struct backend *b = backend;
	const struct device *d;
	int rc;

	model_lock(b->model);
	for (size_t i = 0; i < n; i++) {
		add(&a, &devs[i]);
		d = model_find(b->model, &devs[i]);
		if (d)
			add_children(b->model, d, &a);
	}
	model_unlock(b->model);
	rc = a.failed ? fail_nomem(err)
		      : guards_now(b, a.v, a.n, err);
	free(a.v);
	return rc;
}

int step_refuse_undo(struct backend *b, const struct step *step,
		     int (*refuse)(struct model *m, const struct step *step, struct err *err),
		     struct err *err)
{
	int rc = backend_guard(b, &step->dev, 1, err);

	if (rc)
		return rc;
	model_lock(b->model);
	rc = refuse(b->model, step, err);
	model_unlock(b->model);
	return rc;
}

/* ---- what other VFs of a card can still become, which no event tells */

static int look_at_siblings(struct backend *b, const struct touched *cards, size_t n,
			    unsigned int patience_ms)
{
	struct around a = { .alone = true };
	const struct device *card;
	int rc;

	model_lock(b->model);
	for (size_t i = 0; i < n; i++)
		if ((card = model_find(b->model, &cards[i].key)))
			add_children(b->model, card, &a);
	model_unlock(b->model);
	rc = a.failed ? -ENOMEM : a.n ? look_at(b, a.v, a.n, patience_ms) : 0;
	free(a.v);
	return rc;
}

static enum ask_which which_card(struct backend *b, const struct device *dev)
{
	return dev->caps & CAP_VGPU_HOST ? ASK_IT : ASK_NOT;
}

/* It is about cards. Operations on VFs of one that end at the same time share a look. */
const struct ask_row ask_siblings = { .what = "what other VFs can become", .deadline_ms = 5000,
				      .look = look_at_siblings, .thread = ASKER_WATCH,
				      .which = which_card };
