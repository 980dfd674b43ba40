// SPDX-License-Identifier: GPL-2.0-or-later
/* What looks at the VFs of a card have found of its vGPU types. */
#include "budget.h"
#include "types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/ops.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static void say_why(const struct device *dev, const struct budget *b, bool lists, struct vgpu_type *t)
{
	if (device_is_vf(dev) && dev->facts.profile_id[0])
		snprintf(t->why, sizeof(t->why), "it is %s now", dev->facts.profile);
	else
		budget_why(b, t, t->why);
	if (!t->why[0] && !lists)
		snprintf(t->why, sizeof(t->why),
			 "its driver lists no vGPU types now, see vgpu_support of %s",
			 device_is_vf(dev) ? dev->facts.parent.name : dev->key.name);
}

/* Fills in what this device can be now, of all that its card is known to have. */
static void list_own(struct vgpu_types *known, const struct vgpu_types *seen,
		     const struct device *dev, const struct budget *b)
{
	for (size_t i = 0; i < known->n; i++) {
		struct vgpu_type *t = &known->v[i];
		const struct vgpu_type *now = types_find(seen, t->id, NULL);

		t->available = now ? now->available : 0;
		t->why[0] = '\0';
		if (t->available <= 0)
			say_why(dev, b, seen->n, t);
	}
}

/* What the card can still have, and why not. lists: its driver tells types. */
static void list_card(struct vgpu_types *known, const struct device *card, const struct budget *b,
		      bool lists)
{
	for (size_t i = 0; i < known->n; i++) {
		struct vgpu_type *t = &known->v[i];

		t->available = b->idle[0] || b->own ? b->types.v[i].available : 0;
		t->why[0] = '\0';
		if (t->available <= 0 && (b->idle[0] || b->own))
			say_why(card, b, lists, t);
		else if (t->available <= 0)
			STR_COPY(t->why, "all of its VFs are vGPUs");
	}
}

static void name_profile(struct device *dev, const struct vgpu_types *known)
{
	struct facts *f = &dev->facts;
	const struct vgpu_type *t = f->profile_id[0] ? types_find(known, f->profile_id, NULL)
						     : NULL;

	if (t)
		STR_COPY(f->profile, t->name);
	else if (!f->profile[0])
		STR_COPY(f->profile, f->profile_id);
	if (dev->key.bus == BUS_MDEV)
		snprintf(dev->names.description, sizeof(dev->names.description),
			 "%.64s of %.32s", f->profile, f->parent.name);
	dev->names.resource[0] = '\0'; /* what is no vGPU is not offered */
	if (f->profile[0])
		types_resource(f->profile, dev->names.resource);
}

static struct device *card_of(struct model *m, struct device *dev)
{
	return device_is_vf(dev) ? model_edit(m, &dev->facts.parent, false) : dev;
}

/* Another driver, or the other world, has another id for this name. Where one id is still the same
 * the others are types with the same name, for which there is no room now. */
static void drop_renumbered(struct vgpu_types *known, const struct vgpu_types *seen,
			    const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < known->n; i++)
		if (!strcmp(known->v[i].name, name) && types_find_id(seen, known->v[i].id))
			return;
	for (size_t i = 0; i < known->n; i++)
		if (strcmp(known->v[i].name, name))
			known->v[n++] = known->v[i];
	known->n = n;
}

/* VFs of one card mostly tell the same one after another. */
static bool is_same(const struct types_last *last, const struct device *card,
		    const struct vgpu_types *seen)
{
	return last->dev && last->card == card && last->seen->n == seen->n &&
	       !memcmp(last->seen->v, seen->v, seen->n * sizeof(seen->v[0]));
}

/* Is there nothing to learn? How many are left is noted later. */
static bool has_all(const struct vgpu_types *known, const struct device *card,
		    const struct vgpu_types *seen)
{
	bool has = card->facts.driver[0];

	for (size_t i = 0; i < seen->n && has; i++) {
		const struct vgpu_type *s = &seen->v[i], *k = types_find_id(known, s->id);

		has = k && !strcmp(k->name, s->name) && (s->max < 0 || s->max == k->max) &&
		      (s->framebuffer_mib < 0 || s->framebuffer_mib == k->framebuffer_mib);
	}
	return has;
}

static void merge(struct vgpu_types *known, const struct device *card, const struct vgpu_types *seen)
{
	if (!card->facts.driver[0]) /* the next one may have others */
		known->n = 0;
	for (size_t i = 0; i < seen->n; i++) {
		drop_renumbered(known, seen, seen->v[i].name);
		types_add(known, &seen->v[i]);
	}
}

void types_name(struct model *m, struct device *dev, const struct vgpu_types *seen,
		struct types_last *last)
{
	struct device *card = dev ? card_of(m, dev) : NULL;
	bool same = card && is_same(last, card, seen);
	_free_ struct vgpu_types *known = types_new();

	if (!card || !known)
		return;
	known->n = 0;
	if (!same || dev->facts.profile_id[0])
		types_of(m, card, known);
	/* A card that makes them itself is not noted. */
	if (!same && (card == dev || !has_all(known, card, seen))) {
		merge(known, card, seen);
		types_keep(m, card, known);
		types_tell(m, card);
	}
	if (dev->caps & CAP_VGPU || dev->facts.caps & CAP_VGPU)
		name_profile(dev, known);
	*last = (struct types_last){ card, dev, seen };
}

static void rename_profile(struct model *m, struct device *dev, const struct vgpu_types *seen,
			   struct types_last *last)
{
	struct device *card = dev ? card_of(m, dev) : NULL;
	_free_ struct vgpu_types *known = NULL;

	if (!card || !dev->facts.profile_id[0] || strcmp(dev->facts.profile, dev->facts.profile_id))
		return;
	known = types_noted(m, card);
	if (known)
		name_profile(dev, known);
}

static void copy_text(struct model *m, struct device *dev, const struct device *from)
{
	struct out o = { 0 };

	model_text(m, &from->facts.profiles, &o);
	model_set_text(m, &dev->facts.profiles, out_text(&o), o.len);
	out_free(&o);
}

/* Of a VF that is a vGPU the kernel lists nothing: what another one has been told counts. */
static void note(struct model *m, struct device *dev, struct device *card,
		 const struct vgpu_types *seen)
{
	bool vgpu = card != dev && dev->facts.profile_id[0];
	_free_ struct vgpu_types *known = types_new(), *others = types_new();
	_free_ struct budget *b = known && others ? budget_new(m, card, NULL) : NULL;
	struct key idle = { .bus = BUS_PCI };

	if (!b)
		return;
	*known = b->types;
	STR_COPY(idle.name, b->idle);
	if (b->idle[0] && vgpu) /* as it was noted a moment ago */
		types_of(m, model_edit(m, &idle, false), others);
	budget_learn(b, vgpu ? others : seen);
	card->facts.vgpu_sizes = (uint8_t)b->sizes;
	list_card(known, card, b, vgpu ? others->n : seen->n);
	/* A look at the vendor's daemons may have come between the VFs and their types. */
	if (card != dev && (vgpu || types_can(known)))
		card->facts.vgpu_idle[0] = '\0';
	types_keep(m, card, known);
	if (card == dev)
		return;
	list_own(known, seen, dev, b);
	types_keep(m, dev, known);
}

static void note_types(struct model *m, struct device *dev, const struct vgpu_types *seen,
		       struct types_last *last)
{
	struct device *card = dev ? card_of(m, dev) : NULL;

	if (!card || (card == dev && !(dev->caps & CAP_CREATE)))
		return;
	if (is_same(last, card, seen) &&
	    !strcmp(last->dev->facts.profile_id, dev->facts.profile_id) &&
	    !strcmp(last->dev->facts.profile, dev->facts.profile))
		copy_text(m, dev, last->dev);
	else
		note(m, dev, card, seen);
	*last = (struct types_last){ card, dev, seen };
}

/* All VFs of a card tell its types. Once these are published, and what is stored of a card has
 * come, the names that were not known are; then, for each, what it can become and who is in the
 * way. */
void types_after_scan(struct model *m, const struct extra *first)
{
	static void (*const passes[])(struct model *m, struct device *dev,
				      const struct vgpu_types *seen, struct types_last *last) = {
		types_name, rename_profile, note_types
	};

	for (size_t p = 0; p < ARRAY_SIZE(passes); p++) {
		struct types_last last = { 0 };

		for (const struct extra *x = first; x; x = x->next)
			passes[p](m, model_edit(m, &x->key, false), x->what, &last);
		model_publish(m);
	}
}
