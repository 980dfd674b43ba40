// SPDX-License-Identifier: GPL-2.0-or-later
/* Room on a card that is divided by MIG: a vGPU has a GPU instance of its type's profile. */
#include <stdio.h>
#include <string.h>

#include "budget.h"

static int instances_of(const struct budget *b, const char *profile)
{
	int n = 0;

	for (size_t i = 0; i < b->mig.n_instances; i++)
		n += !strcmp(b->mig.profiles[b->mig.instances[i].profile].name, profile);
	return n;
}

static int vgpus_of(const struct budget *b, const char *profile)
{
	int n = 0;

	for (size_t i = 0; i < b->n; i++) {
		const struct vgpu_type *t = types_find(&b->types, b->v[i].type, NULL);

		n += t && !strcmp(t->gi, profile);
	}
	return n;
}

/* Was it told which types need one? */
static bool is_told(const struct budget *b)
{
	bool told = false;

	for (size_t i = 0; i < b->types.n && !told; i++)
		told = b->types.v[i].gi[0];
	return told;
}

bool budget_is_mig(const struct budget *b, const struct vgpu_type *t)
{
	return b->mig_known && (t->gi[0] || (b->mig.current && is_told(b)));
}

/* The type's most of a card are those of all instances that the profile can have (spec/nvml.md 3.1). */
static int each(const struct budget *b, const struct vgpu_type *t)
{
	for (size_t i = 0; i < b->mig.n_profiles; i++) {
		const struct mig_profile *p = &b->mig.profiles[i];

		if (!strcmp(p->name, t->gi) && t->max > (int32_t)p->max)
			return t->max / (int)p->max;
	}
	return 1;
}

int budget_instances(const struct budget *b, const struct vgpu_type *t)
{
	return instances_of(b, t->gi) * each(b, t) - vgpus_of(b, t->gi);
}

enum fit budget_fit_mig(const struct budget *b, const struct vgpu_type *t, int32_t available)
{
	if (!t->gi[0] != !b->mig.current)
		return FIT_NO;
	if (!b->freed && !b->made && !b->mig_changes && available >= 0)
		return available > 0 ? FIT_YES : FIT_NO;
	return budget_instances(b, t) > 0 ? FIT_YES : FIT_NO;
}

void budget_why_mig(const struct budget *b, const struct vgpu_type *t, char ret[static TYPE_WHY])
{
	int n = instances_of(b, t->gi);

	ret[0] = '\0';
	if (!t->gi[0])
		snprintf(ret, TYPE_WHY, "MIG mode is on, and this type is for a card without");
	else if (!b->mig.current)
		snprintf(ret, TYPE_WHY, "it needs a MIG instance %s, and MIG mode is off", t->gi);
	else if (!n)
		snprintf(ret, TYPE_WHY,
			 "it needs a MIG instance %s, and the card has none; add one to mig/layout",
			 t->gi);
	else if (budget_instances(b, t) <= 0)
		snprintf(
			ret, TYPE_WHY,
			"it needs a MIG instance %s, and vGPUs have all %d of the card; add one to "
			"mig/layout",
			t->gi, n);
}
