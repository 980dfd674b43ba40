// SPDX-License-Identifier: GPL-2.0-or-later
#include "budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mdev/mdev.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "mig_steps.h"
#include "pcidevfs/util.h"
#include "settings.h"
#include "vgpu.h"

/* ---- who shares the card */

static size_t find(const struct budget *b, const char *name)
{
	size_t i = 0;

	while (i < b->n && strcmp(b->v[i].name, name))
		i++;
	return i;
}

void budget_set(struct budget *b, const char *name, const char *type)
{
	size_t at = find(b, name);
	const struct vgpu_type *t = types_find(&b->types, type, NULL);
	struct budget_vgpu *v = &b->v[at];

	if (!type[0] && at < b->n) {
		memmove(v, v + 1, (--b->n - at) * sizeof(*v));
		return;
	}
	if (!type[0] || at == b->cap)
		return;
	b->n += at == b->n;
	str_copy(v->name, sizeof(v->name), name);
	STR_COPY(v->type, t ? t->name : type);
	v->mib = t ? t->framebuffer_mib : types_framebuffer(type);
}

static void note_made(struct budget *b, const char *type)
{
	const struct vgpu_type *t = types_find(&b->types, type, NULL);

	if (!b->made++ && t)
		STR_COPY(b->made_as, t->id);
	else if (!t || strcmp(t->id, b->made_as))
		b->made_as[0] = '\0';
}

static void take_step(struct budget *b, const char *name, const char *type)
{
	budget_set(b, name, type);
	if (type[0])
		note_made(b, type);
	else
		b->freed = true;
}

/* A VF of this card; one that is foreseen is called "<card>/virtfn2". */
static bool is_below(struct model *m, const struct key *dev, const struct key *card)
{
	const struct device *vf = model_find(m, dev);
	size_t len = strlen(card->name);

	return vf ? key_eq(&vf->facts.parent, card)
		  : !strncmp(dev->name, card->name, len) && dev->name[len] == '/';
}

static void take_plan(struct budget *b, struct model *m, const struct key *card,
		      const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_steps; i++) {
		const struct step *s = &plan->steps[i];
		char type[TYPE_ID];

		b->mig_changes |= key_eq(&s->dev, card) && mig_is_step(s);
		if (step_remakes(s, card)) {
			b->n = 0;
			b->freed = true;
			b->sizes = SIZES_UNKNOWN;
		} else if (s->verb == &vgpu_mixed_sizes && key_eq(&s->dev, card)) {
			b->sizes = s->value[0] == '1' ? SIZES_MIXED : SIZES_ONE;
		} else if (s->verb == &vgpu_profile && is_below(m, &s->dev, card)) {
			take_step(b, s->dev.name, s->value);
		} else if (s->verb == &mdev_finish && key_eq(&s->dev, card)) {
			take_step(b, s->value, "");
		} else if (s->verb == &mdev_create && key_eq(&s->dev, card)) {
			take_step(b, mdev_split(s->value, type), type);
		}
	}
}

/* Sums of the vGPUs that a budget has. */
struct sum {
	int64_t mib;
	int32_t size; /* of each; -1: they differ, or one is unknown */
	bool known;   /* all sizes are */
};

static struct sum sum_of(const struct budget *b)
{
	struct sum s = { .size = b->n ? b->v[0].mib : -1, .known = true };

	for (size_t i = 0; i < b->n; i++) {
		s.known &= b->v[i].mib > 0;
		s.mib += b->v[i].mib > 0 ? b->v[i].mib : 0;
		s.size = s.size == b->v[i].mib ? s.size : -1;
	}
	return s;
}

/* The largest type has all of a card. A list that was read while vGPUs filled a part of the card may
 * lack that type: then it has no other sizes than theirs, or one that would not fit beside them. */
static void weigh(struct budget *b)
{
	struct sum s = sum_of(b);
	int64_t largest = 0, listed = 0;
	bool sure = !b->n || b->sizes == SIZES_MIXED;

	for (size_t i = 0; i < b->types.n; i++) {
		const struct vgpu_type *t = &b->types.v[i];
		int64_t size = t->framebuffer_mib > 0 ? t->framebuffer_mib : 0;
		int64_t all = size * (t->max > 0 ? t->max : 1);

		sure |= t->max > 0 || (size && size != s.size);
		largest = all > largest ? all : largest;
		listed = t->available > 0 && size > listed ? size : listed;
	}
	b->least = s.mib + listed > largest ? s.mib + listed : largest;
	b->total = sure && s.known && b->least == largest ? largest : 0;
}

/* The lists may show what others have set since the driver was asked. */
static enum vgpu_sizes sizes_told(const struct facts *f)
{
	if (f->mixed_sizes[0] == '1')
		return SIZES_MIXED;
	return f->vgpu_sizes || !f->mixed_sizes[0] ? f->vgpu_sizes : SIZES_ONE;
}

struct budget *budget_new(struct model *m, const struct device *card, const struct plan *plan)
{
	const struct device *below[INTENT_VFS];
	size_t n = model_children(m, &card->key, BUS_NONE, below, INTENT_VFS);
	size_t cap = n + (plan ? plan->n_steps : BUDGET_MORE);
	struct budget *b = malloc(sizeof(*b) + cap * sizeof(b->v[0]));

	if (!b)
		return NULL;
	memset(b, 0, offsetof(struct budget, types));
	types_of(m, card, &b->types);
	b->sizes = sizes_told(&card->facts);
	b->own = card->caps & CAP_CREATE;
	b->cap = cap;
	for (size_t i = 0; i < n && i < INTENT_VFS; i++) {
		const struct facts *f = &below[i]->facts;

		budget_set(b, below[i]->key.name, f->profile_id);
		if (!f->profile_id[0] && below[i]->caps & CAP_VGPU && !b->idle[0])
			STR_COPY(b->idle, below[i]->key.name);
	}
	weigh(b);
	if (plan)
		take_plan(b, m, &card->key, plan);
	b->mig_known = !mig_behind(m, card, plan, &b->mig) && b->mig.n_profiles;
	return b;
}

/* ---- does one more fit? */

/* Of vGPUs of one size only their number counts; where sizes differ their driver decides by where
 * each of them lies. */
static enum fit fit_by_size(const struct budget *b, const struct vgpu_type *t)
{
	struct sum s = sum_of(b);

	if (!b->n)
		return FIT_YES;
	if (!s.known || t->framebuffer_mib <= 0)
		return FIT_PERHAPS;
	if (b->total && s.mib + t->framebuffer_mib > b->total)
		return FIT_NO;
	if (s.size != t->framebuffer_mib)
		return b->sizes == SIZES_ONE ? FIT_NO : FIT_PERHAPS;
	if (b->sizes == SIZES_MIXED)
		return FIT_PERHAPS;
	if (t->max > 0)
		return (size_t)t->max > b->n ? FIT_YES : FIT_NO;
	return s.mib + t->framebuffer_mib <= b->least ? FIT_YES : FIT_PERHAPS;
}

enum fit budget_fit(const struct budget *b, const struct vgpu_type *t, int32_t available)
{
	if (budget_is_mig(b, t))
		return budget_fit_mig(b, t, available);
	if (!b->freed && !b->made && available >= 0)
		return available > 0 ? FIT_YES : FIT_NO;
	if (!b->freed && !available)
		return FIT_NO; /* what others take makes no room */
	if (!b->freed && b->own && available > 0 && !strcmp(b->made_as, t->id))
		return available > b->made ? FIT_YES : FIT_NO;
	return fit_by_size(b, t);
}

void budget_why(const struct budget *b, const struct vgpu_type *t, char ret[static TYPE_WHY])
{
	struct sum s = sum_of(b);
	const char *use = b->n == 1 ? "vGPU uses" : "vGPUs use";

	ret[0] = '\0';
	if (budget_is_mig(b, t))
		budget_why_mig(b, t, ret);
	if (ret[0] || !b->n || b->mig.current)
		return;
	if (b->sizes != SIZES_MIXED && s.size > 0 && t->framebuffer_mib > 0 &&
	    s.size != t->framebuffer_mib)
		snprintf(ret, TYPE_WHY, "all vGPUs of a card have one size, and %s is %s",
			 b->v[0].name, b->v[0].type);
	else if (!s.known)
		snprintf(ret, TYPE_WHY, "%zu %s the card", b->n, use);
	else if (!b->total)
		snprintf(ret, TYPE_WHY, "%zu %s %lld MiB of the card", b->n, use, (long long)s.mib);
	else if (s.mib + t->framebuffer_mib <= b->total && t->framebuffer_mib > 0)
		snprintf(ret, TYPE_WHY,
			 "%zu %s %lld of %lld MiB, and leave%s no place for one of this size", b->n,
			 use, (long long)s.mib, (long long)b->total, b->n == 1 ? "s" : "");
	else
		snprintf(ret, TYPE_WHY, "%zu %s %lld of %lld MiB", b->n, use, (long long)s.mib,
			 (long long)b->total);
}

/* ---- what the driver's lists tell */

/* A smaller one lies wherever one of theirs has room; and each of them is in the way of at most one
 * larger one. */
static bool would_fit(const struct budget *b, const struct sum *s, const struct vgpu_type *t)
{
	return t->framebuffer_mib > 0 &&
	       (t->framebuffer_mib < s->size || b->total / t->framebuffer_mib > (int64_t)b->n);
}

static enum vgpu_sizes sizes_of(const struct budget *b)
{
	struct sum s = sum_of(b);
	bool same = false, lacks = false;

	if (!b->n)
		return SIZES_UNKNOWN;
	if (!s.known)
		return b->sizes;
	if (s.size < 0)
		return SIZES_MIXED;
	for (size_t i = 0; i < b->types.n; i++) {
		const struct vgpu_type *t = &b->types.v[i];
		bool own = t->framebuffer_mib == s.size;

		if (t->available > 0 && !own && t->framebuffer_mib > 0)
			return SIZES_MIXED;
		same |= t->available > 0 && own;
		lacks |= t->available <= 0 && !own && would_fit(b, &s, t);
	}
	return same && lacks ? SIZES_ONE : b->sizes;
}

/* How many more: of each type at least one that the driver lists. */
static int32_t left(const struct budget *b, const struct vgpu_type *t)
{
	int64_t mib = sum_of(b).mib, n = 1;

	if (budget_is_mig(b, t))
		n = budget_instances(b, t);
	else if (t->max > 0 && t->framebuffer_mib > 0)
		n = t->max - mib / t->framebuffer_mib - !!(mib % t->framebuffer_mib);
	return n > 1 ? (int32_t)n : 1;
}

void budget_learn(struct budget *b, const struct vgpu_types *now)
{
	for (size_t i = 0; i < b->types.n; i++) {
		struct vgpu_type *t = &b->types.v[i];
		const struct vgpu_type *n = types_find_id(now, t->id);

		t->available = n && n->available > 0 ? b->own ? n->available : left(b, t) : 0;
	}
	weigh(b);
	b->sizes = sizes_of(b);
}
