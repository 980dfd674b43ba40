// SPDX-License-Identifier: GPL-2.0-or-later
/* What looks at the VFs of a card have found of its vGPU types. */
#include "types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* The vGPUs of a card, as far as they are known. */
struct used {
	const struct device *first, *idle; /* one that is a vGPU, one that could be */
	int n;
	int32_t mib, size; /* of all of them; of each, -1: they differ or are unknown */
};

static void count(struct used *u, const struct device *vf)
{
	int32_t size = types_framebuffer(vf->facts.profile);

	if (!vf->facts.profile_id[0]) {
		u->idle = !u->idle && vf->caps & CAP_VGPU ? vf : u->idle;
		return;
	}
	u->size = u->first && u->size != size ? -1 : size;
	u->first = u->first ? u->first : vf;
	u->mib += size > 0 ? size : 0;
	u->n++;
}

static struct used used_of(struct model *m, const struct device *card)
{
	struct used u = { .size = -1 };
	const struct device *vfs[INTENT_VFS];
	size_t n = model_children(m, &card->key, BUS_PCI, vfs, INTENT_VFS);

	for (size_t i = 0; i < n && i < INTENT_VFS; i++)
		count(&u, vfs[i]);
	return u;
}

static void say_why(const struct device *dev, const struct used *u, bool lists, struct vgpu_type *t)
{
	if (dev->facts.profile_id[0])
		snprintf(t->why, sizeof(t->why), "it is %s now", dev->facts.profile);
	else if (u->n && u->size > 0 && t->framebuffer_mib > 0 && u->size != t->framebuffer_mib)
		snprintf(t->why, sizeof(t->why),
			 "all vGPUs of a card have one size, and %s is %s",
			 u->first->key.name, u->first->facts.profile);
	else if (u->n)
		snprintf(t->why, sizeof(t->why), "%d vGPUs use %d MiB of the card", u->n,
			 (int)u->mib);
	else if (!lists)
		snprintf(t->why, sizeof(t->why),
			 "its driver lists no vGPU types now, see vgpu_support of %s",
			 dev->facts.parent.name);
	else
		t->why[0] = '\0';
}

/* Fills in what this device can be now, of all that its card is known to have. */
static void list_own(struct vgpu_types *known, const struct vgpu_types *seen,
		     const struct device *dev, const struct used *u)
{
	for (size_t i = 0; i < known->n; i++) {
		struct vgpu_type *t = &known->v[i];
		const struct vgpu_type *now = types_find(seen, t->id, NULL);

		t->available = now ? now->available : 0;
		t->why[0] = '\0';
		if (t->available <= 0)
			say_why(dev, u, seen->n, t);
	}
}

/* What the card can still have. seen: what can be made of a VF that is no vGPU. */
static void list_card(struct vgpu_types *known, const struct vgpu_types *seen, const struct used *u)
{
	for (size_t i = 0; i < known->n; i++) {
		struct vgpu_type *t = &known->v[i];
		const struct vgpu_type *now = types_find(seen, t->id, NULL);
		int64_t n = 1;

		if (t->max > 0 && t->framebuffer_mib > 0)
			n = t->max - u->mib / t->framebuffer_mib - !!(u->mib % t->framebuffer_mib);
		t->why[0] = '\0';
		t->available = 0;
		if (u->idle && now && now->available > 0)
			t->available = n > 1 ? (int32_t)n : 1;
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
	}
	if (dev->caps & CAP_VGPU || dev->facts.caps & CAP_VGPU)
		name_profile(dev, known);
	*last = (struct types_last){ card, dev, seen };
}

void types_rename(struct model *m, struct device *dev, const struct vgpu_types *seen,
		  struct types_last *last)
{
	struct device *card = dev ? card_of(m, dev) : NULL;
	_free_ struct vgpu_types *known = NULL;

	(void)seen;
	(void)last;
	if (!card || !dev->facts.profile_id[0] || strcmp(dev->facts.profile, dev->facts.profile_id))
		return;
	known = types_new();
	if (!known)
		return;
	types_of(m, card, known);
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
	_free_ struct vgpu_types *known = types_new();
	_free_ struct vgpu_types *others = types_new();
	struct used u;

	if (!known || !others)
		return;
	types_of(m, card, known);
	u = used_of(m, card);
	if (u.idle && dev->facts.profile_id[0]) /* as it was noted a moment ago */
		types_of(m, model_edit(m, &u.idle->key, false), others);
	list_card(known, dev->facts.profile_id[0] ? others : seen, &u);
	/* A look at the vendor's daemons may have come between the VFs and their types. */
	if (dev->facts.profile_id[0] || types_can(known))
		card->facts.vgpu_idle[0] = '\0';
	types_keep(m, card, known);
	list_own(known, seen, dev, &u);
	types_keep(m, dev, known);
}

void types_note(struct model *m, struct device *dev, const struct vgpu_types *seen,
		struct types_last *last)
{
	struct device *card = dev ? card_of(m, dev) : NULL;

	if (!card || card == dev)
		return;
	if (is_same(last, card, seen) &&
	    !strcmp(last->dev->facts.profile_id, dev->facts.profile_id) &&
	    !strcmp(last->dev->facts.profile, dev->facts.profile))
		copy_text(m, dev, last->dev);
	else
		note(m, dev, card, seen);
	*last = (struct types_last){ card, dev, seen };
}
