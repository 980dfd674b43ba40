// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said of a card's room against a card that has it, through changes at random. */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/budget.h"
#include "pcidevfs/util.h"

#define VFS 8
#define CARD_GIB 16

static const int sizes[] = { 1, 2, 2, 4, 8, 16 };

/* The driver's own account: what the simulation's card does. */
struct card {
	bool mixed;
	int has[VFS]; /* GiB, 0: no vGPU */
};

static bool fits(const struct card *c, int gib)
{
	int sum = 0;
	bool same = true;

	for (int i = 0; i < VFS; i++) {
		sum += c->has[i];
		same &= !c->has[i] || c->has[i] == gib;
	}
	return sum + gib <= CARD_GIB && (same || c->mixed);
}

static void list(const struct card *c, bool all, struct vgpu_types *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct vgpu_type t = { .max = -1, .available = fits(c, sizes[i]) };

		t.framebuffer_mib = sizes[i] * 1024;
		snprintf(t.id, sizeof(t.id), "%zu", 740 + i);
		snprintf(t.name, sizeof(t.name), "LAB-%d%c", sizes[i], 'A' + (int)i);
		if (all || t.available)
			types_add(ret, &t);
	}
}

static const char *id_of(const struct vgpu_types *types, int gib)
{
	for (size_t i = 0; i < types->n; i++)
		if (types->v[i].framebuffer_mib == gib * 1024)
			return types->v[i].id;
	return "none";
}

static void set(struct budget *b, struct card *c, int vf, int gib)
{
	char name[KEY_NAME];

	c->has[vf] = gib;
	snprintf(name, sizeof(name), "vf%d", vf);
	budget_set(b, name, gib ? id_of(&b->types, gib) : "");
}

/* The card as it was found; knows: its list was read before the first vGPU. */
static struct budget *found(const struct card *c, bool knows)
{
	struct budget *b = calloc(1, sizeof(*b) + VFS * sizeof(b->v[0]));
	struct vgpu_types *now = types_new();
	struct card copy = *c;

	CHECK(b && now);
	b->cap = VFS;
	list(c, knows, &b->types);
	for (int i = 0; i < VFS; i++) /* what it is tells a type, too */
		if (c->has[i]) {
			struct card empty = { 0 };
			struct vgpu_types *all = types_new();

			list(&empty, true, all);
			types_add(&b->types, types_find_id(all, id_of(all, c->has[i])));
			free(all);
		}
	for (int i = 0; i < VFS; i++)
		set(b, &copy, i, c->has[i]);
	list(c, false, now);
	budget_learn(b, now);
	free(now);
	return b;
}

/* Some end, some are made; how often it was sure. */
static int go(struct card *c, struct budget *b)
{
	int sure = 0;

	for (int i = 0; i < VFS; i++)
		if (c->has[i] && random() % 2) {
			set(b, c, i, 0);
			b->freed = true;
		}
	for (int i = 0; i < VFS; i++) {
		int gib = sizes[(size_t)random() % ARRAY_SIZE(sizes)];
		const struct vgpu_type *t = types_find_id(&b->types, id_of(&b->types, gib));
		enum fit fit = t && b->freed ? budget_fit(b, t, -1) : FIT_PERHAPS;

		if (c->has[i] || random() % 2)
			continue;
		if (fit != FIT_PERHAPS)
			CHECK_EQ(fit == FIT_YES, fits(c, gib));
		sure += fit != FIT_PERHAPS;
		if (t && fits(c, gib)) {
			set(b, c, i, gib);
			b->made++;
		}
	}
	return sure;
}

static int rounds(bool mixed, bool knows)
{
	struct card c = { .mixed = mixed };
	int sure = 0;

	srandom(7);
	for (int n = 0; n < 2000; n++) {
		struct budget *b = found(&c, knows);

		sure += go(&c, b);
		free(b);
	}
	return sure;
}

/* With the list of a card that was never seen empty, and with sizes that differ, little is sure. */
DEFINE_TEST(the_room_of_a_card_is_known_or_not_told)
{
	CHECK(rounds(false, true) > 1000);
	CHECK(rounds(true, true) > 100);
	rounds(false, false);
	rounds(true, false);
}

DEFINE_TEST(what_is_in_the_way_of_a_vgpu)
{
	struct card c = { .has = { 8, 8 } };
	struct budget *b = found(&c, true);
	const struct vgpu_type *four = types_find(&b->types, "743", NULL);
	const struct vgpu_type *eight = types_find(&b->types, "744", NULL);
	char why[TYPE_WHY];

	budget_why(b, four, why);
	CHECK_STR(why, "all vGPUs of a card have one size, and vf0 is LAB-8E");
	budget_why(b, eight, why);
	CHECK_STR(why, "2 vGPUs use 16384 of 16384 MiB");
	set(b, &c, 1, 0);
	budget_why(b, eight, why);
	CHECK_STR(why, "1 vGPU uses 8192 of 16384 MiB, and leaves no place for one of this size");
	free(b);
}
