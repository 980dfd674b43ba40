// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of what is kept, and what all of them share. A wish of more than a few lines has a file of its own. */
#include "kept.h"

#include <errno.h>
#include <string.h>

#include "pcidevfs/util.h"

int kept_parse(const struct kept_key *k, struct record *r, const char *text)
{
	char *field = (char *)r + k->at;

	switch (k->is) {
	case KEY_TEXT:
		return str_copy(field, k->size, text) ? 0 : -EINVAL;
	case KEY_FLAG:
		return parse_bool(text, (bool *)field);
	default:
		return k->parse(r, text);
	}
}

void kept_put(const struct kept_key *k, const struct record *r, struct out *o)
{
	const char *field = (const char *)r + k->at;

	if (k->claimed && !r->want.claim[0])
		return;
	if (k->is == KEY_OTHER && k->print)
		k->print(r, o);
	else if (k->is == KEY_TEXT && field[0])
		kept_print(o, k->name, field);
	else if (k->is == KEY_FLAG && *(const bool *)field)
		out_printf(o, " %s=1", k->name);
}

void kept_print(struct out *o, const char *key, const char *text)
{
	if (!text[0])
		out_printf(o, " %s=none", key);
	else if (!strcmp(text, "none"))
		out_printf(o, " %s=\"none\"", key);
	else
		out_pair(o, key, text);
}

/* ---- sriov_numvfs */

static int vfs_parse(struct record *r, const char *text)
{
	uint64_t n;
	int rc = parse_u64(text, UINT16_MAX, &n);

	if (rc)
		return rc;
	r->want.vfs_wanted = true;
	r->want.num_vfs = (int32_t)n;
	return 0;
}

static void vfs_print(const struct record *r, struct out *o)
{
	if (r->want.vfs_wanted)
		out_printf(o, " numvfs=%d", r->want.num_vfs);
}

static void vfs_value(const struct record *r, char ret[static WISH_VALUE])
{
	snprintf(ret, WISH_VALUE, "%d", r->want.vfs_wanted ? r->want.num_vfs : 0);
}

static bool vfs_are_there(const struct device *dev)
{
	return dev->facts.num_vfs > 0;
}

static const char *vfs_wait(const struct device *dev)
{
	bool ready = dev->facts.driver[0] && dev->facts.total_vfs >= 0;

	return ready ? NULL : "the driver that makes its VFs has not come yet";
}

static bool vfs_drifted(const struct record *r, const struct device *dev, char *ret, size_t size)
{
	bool claimed = false;

	if (dev->facts.num_vfs == r->want.num_vfs)
		return false;
	for (int32_t i = 0; i < dev->facts.num_vfs && i < WANT_VFS; i++)
		claimed |= dev->want.vf_claims[i / 64] >> i % 64 & 1;
	snprintf(ret, size, "it has %d VFs although %d are stored; %swrite sriov_numvfs again",
		 dev->facts.num_vfs, r->want.num_vfs,
		 claimed ? "write none to the claims of those that are there, then " : "");
	return true;
}

/* VFs that neither were there nor are stored, or none of those that were; or some that have met no driver yet. Those
 * that others had made come back as theirs by no wish that is stored. */
static enum half vfs_half(const struct record *r, const struct device *dev)
{
	const struct want *w = &r->want;
	int32_t now = dev->facts.num_vfs;
	bool other = now != r->had_vfs && !(w->vfs_wanted && now == w->num_vfs);
	bool unmet = r->autoprobe && (!dev->facts.autoprobe || now != r->had_vfs);

	if (dev->facts.total_vfs < 0 || !(other || unmet))
		return HALF_NOT;
	return w->vfs_wanted || !r->had_vfs ? HALF_MENDS : HALF_STAYS;
}

const struct kept kept_vfs = {
	.file = "sriov_numvfs",
	.keys = { KEPT_OTHER("numvfs", vfs_parse, vfs_print) },
	.fields = { KEPT_NUMBER(vfs_wanted), KEPT_NUMBER(num_vfs) },
	.ends = &kept_claim,
	.value = vfs_value,
	.none = "0",
	.is_there = vfs_are_there,
	.waits = vfs_wait,
	.half = vfs_half,
	.drifted = vfs_drifted,
};

/* ---- profile */

static void profile_value(const struct record *r, char ret[static WISH_VALUE])
{
	str_copy(ret, WISH_VALUE, r->want.profile);
}

static bool profile_is_there(const struct device *dev)
{
	return key_is_made(&dev->key);
}

static const char *profile_wait(const struct device *dev)
{
	return dev->facts.driver[0] ? NULL : "the driver that makes it has not come yet";
}

static const struct kept kept_profile = {
	.file = "profile",
	.keys = { KEPT_KEY("profile", KEY_TEXT, false, want.profile) },
	.fields = { KEPT_TEXT(profile) },
	.made_by = "create",
	.value = profile_value,
	.none = "none",
	.is_there = profile_is_there,
	.waits = profile_wait,
};

/* ---- pooled, resource_name */

static int pooled_parse(struct record *r, const char *text)
{
	bool pooled;
	int rc = parse_bool(text, &pooled);

	r->want.single = !rc && !pooled;
	return rc;
}

static void pooled_print(const struct record *r, struct out *o)
{
	if (r->want.single)
		out_printf(o, " pooled=0");
}

static const struct kept kept_pooled = {
	.file = "pooled",
	.keys = { KEPT_OTHER("pooled", pooled_parse, pooled_print) },
	.fields = { KEPT_NUMBER(single) },
};

static const struct kept kept_resource = {
	.file = "resource_name",
	.keys = { KEPT_KEY("resource_name", KEY_TEXT, false, want.resource) },
	.fields = { KEPT_TEXT(resource) },
};

/* ---- */

const struct kept *const kept[] = { &kept_vfs,	  &kept_profile, &kept_claim,	 &kept_given,
				    &kept_pooled, &kept_resource, NULL };

const struct kept *kept_find(const char *file)
{
	for (size_t i = 0; kept[i]; i++)
		if (!strcmp(kept[i]->file, file))
			return kept[i];
	return NULL;
}

uint32_t kept_bit(const struct kept *k)
{
	uint32_t bit = 1;

	for (size_t i = 0; kept[i] != k; i++)
		bit <<= 1;
	return bit;
}

bool kept_has(const struct kept *k, const struct want *w)
{
	const char *field = (const char *)w + k->fields[0].at;

	for (size_t i = 0; i < k->fields[0].size; i++)
		if (field[i] || k->fields[0].text)
			return field[i];
	return false;
}

void kept_copy(const struct kept *k, struct want *to, const struct want *from)
{
	for (const struct kept_field *f = k->fields; f < k->fields + ARRAY_SIZE(k->fields); f++)
		if (f->size)
			memcpy((char *)to + f->at, (const char *)from + f->at, f->size);
}

bool kept_same(const struct kept *k, const struct want *a, const struct want *b)
{
	bool same = true;

	for (const struct kept_field *f = k->fields; f < k->fields + ARRAY_SIZE(k->fields); f++) {
		const char *x = (const char *)a + f->at, *y = (const char *)b + f->at;

		same &= f->text ? !strcmp(x, y) : !memcmp(x, y, f->size);
	}
	return same;
}

void kept_clear(const struct kept *k, struct want *w)
{
	static const struct want none;

	kept_copy(k, w, &none);
}

void kept_clear_with_claim(struct want *w)
{
	for (size_t i = 0; kept[i]; i++)
		if (kept[i]->with_claim)
			kept_clear(kept[i], w);
}

void want_end_claim(struct want *w)
{
	kept_clear_with_claim(w);
	w->allocated[0] = '\0';
	w->former[0] = '\0';
	w->former_known = false;
}

bool kept_is_missing(const struct kept *k, const struct record *r)
{
	return k->value && kept_has(k, &r->want) && !(r->in & kept_bit(k));
}

bool record_drifted(const struct record *r, const struct kept *k, const struct device *dev,
		    char *ret, size_t size)
{
	return k->drifted && (r->in & kept_bit(k)) && kept_has(k, &r->want) &&
	       k->drifted(r, dev, ret, size);
}
