// SPDX-License-Identifier: GPL-2.0-or-later
/* The rows of intents, and their common functions. An intent with more than a few lines has its own
 * file. */
#include "persist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

int persist_parse(const struct persist_key *k, struct record *r, const char *text)
{
	char *field = (char *)r + k->at;

	switch (k->is) {
	case KEY_TEXT:
		return str_copy(field, k->size, text) ? 0 : -EINVAL;
	case KEY_FLAG:
		return parse_bool(text, (bool *)field);
	default:
		return k->parse ? k->parse(r, text) : k->parse_id(text, &r->id);
	}
}

void persist_put(const struct persist_key *k, const struct record *r, struct out *o)
{
	const char *field = (const char *)r + k->at;

	if (k->claimed && !r->intent.claim[0])
		return;
	if (k->is == KEY_OTHER && k->print)
		k->print(r, o);
	else if (k->is == KEY_TEXT && field[0])
		persist_print(o, k->name, field);
	else if (k->is == KEY_FLAG && *(const bool *)field)
		out_printf(o, " %s=1", k->name);
}

void persist_print(struct out *o, const char *key, const char *text)
{
	if (!text[0])
		out_printf(o, " %s=none", key);
	else if (!strcmp(text, "none"))
		out_printf(o, " %s=\"none\"", key);
	else
		out_pair(o, key, text);
}

static void copy_field(const struct persist_field *f, struct intent *to, const struct intent *from)
{
	memcpy((char *)to + f->at, (const char *)from + f->at, f->size);
}

/* ---- sriov_numvfs */

static int vfs_parse(struct record *r, const char *text)
{
	uint64_t n;
	int rc = parse_u64(text, UINT16_MAX, &n);

	if (rc)
		return rc;
	r->intent.vfs_wanted = true;
	r->intent.num_vfs = (int32_t)n;
	return 0;
}

static void vfs_print(const struct record *r, struct out *o)
{
	if (r->intent.vfs_wanted)
		out_printf(o, " numvfs=%d", r->intent.num_vfs);
}

static void vfs_value(const struct record *r, char ret[static REQUEST_VALUE])
{
	snprintf(ret, REQUEST_VALUE, "%d", r->intent.vfs_wanted ? r->intent.num_vfs : 0);
}

static bool vfs_are_there(const struct device *dev)
{
	return dev->facts.num_vfs > 0;
}

static const char *vfs_wait(const struct device *dev)
{
	bool ready = dev->facts.driver[0] && dev->facts.total_vfs >= 0;

	return ready ? NULL : "the driver that makes its VFs is not bound yet";
}

/* Of a driver that is loaded anew, or comes in a pod: most take the VFs along. */
static bool vfs_are_lost(const struct device *dev, bool gone)
{
	return gone && dev->facts.num_vfs <= 0;
}

static bool vfs_drifted(const struct persist *k, const struct record *r, const struct device *dev,
			char *ret, size_t size)
{
	bool claimed = false;

	if (dev->facts.num_vfs == r->intent.num_vfs)
		return false;
	for (int32_t i = 0; i < dev->facts.num_vfs && i < INTENT_VFS; i++)
		claimed |= dev->intent.vf_claims[i / 64] >> i % 64 & 1;
	snprintf(ret, size, "it has %d VFs although %d are stored; %swrite %s", dev->facts.num_vfs,
		 r->intent.num_vfs,
		 claimed ? "write none to the claims of those that are there, then " : "",
		 dev->facts.own_vfs ? "1 to enabled" : "sriov_numvfs again");
	return true;
}

/* The vGPU types of the card: while it is full, the kernel names none. */
static int types_parse(struct record *r, const char *text)
{
	free(r->types);
	r->types = strdup(text);
	return r->types ? 0 : -ENOMEM;
}

static void vfs_follow(struct model *m, struct record *r, const struct device *dev)
{
	struct out o = { 0 };

	persist_copy(&persist_vfs, &r->intent, &dev->intent);
	model_text(m, &dev->facts.profiles, &o);
	if (!r->intent.vfs_wanted)
		types_parse(r, "");
	else if (o.len && !o.failed)
		types_parse(r, out_text(&o));
	out_free(&o);
}

const struct persist persist_vfs = {
	.file = "sriov_numvfs",
	.keys = { PERSIST_OTHER("numvfs", vfs_parse, vfs_print),
		  PERSIST_OTHER("types", types_parse, NULL) },
	.fields = { PERSIST_NUMBER(vfs_wanted), PERSIST_NUMBER(num_vfs) },
	.ends = &persist_claim,
	.follow = vfs_follow,
	.value = vfs_value,
	.none = "0",
	.is_there = vfs_are_there,
	.waits = vfs_wait,
	.lost = vfs_are_lost,
	.drifted = vfs_drifted,
};

/* ---- profile */

static bool profile_is_there(const struct device *dev)
{
	return key_is_made(&dev->key) || dev->facts.profile_id[0];
}

/* A VF's own driver lists the types. */
static const char *profile_wait(const struct device *dev)
{
	bool lists = !(dev->caps & (CAP_VGPU | CAP_CREATE)) || dev->facts.profiles.len;

	return key_is_made(&dev->key) || (dev->facts.driver[0] && lists)
		       ? NULL
		       : "the driver that makes it has not come yet";
}

/* The id is stored where two types have one name. */
static bool has_profile(const struct record *r, const struct device *dev)
{
	return !strcmp(dev->facts.profile, r->intent.profile) ||
	       !strcmp(dev->facts.profile_id, r->intent.profile);
}

static bool profile_is_lost(const struct device *dev, bool gone)
{
	return gone && dev->caps & CAP_VGPU && !dev->facts.profile_id[0];
}

static bool profile_drifted(const struct persist *k, const struct record *r,
			    const struct device *dev, char *ret, size_t size)
{
	if (!(dev->caps & CAP_VGPU) || has_profile(r, dev))
		return false;
	snprintf(ret, size, "it is %s although %s is stored; write its profile again",
		 dev->facts.profile[0] ? dev->facts.profile : "not a vGPU", r->intent.profile);
	return true;
}

/* The mediated device keeps its UUID. */
static void profile_note(const struct persist *k, struct record *r, struct device *dev, bool ended)
{
	struct intent *w = &dev->intent;

	if (ended)
		return;
	if (!w->mdev[0])
		STR_COPY(w->mdev, r->intent.mdev);
	if (!w->last_profile[0])
		STR_COPY(w->last_profile, r->intent.last_profile);
}

static const struct persist persist_profile = {
	.file = "profile",
	.ends_claim = true,
	.keys = { PERSIST_KEY("profile", KEY_TEXT, false, intent.profile),
		  PERSIST_KEY("last_profile", KEY_TEXT, false, intent.last_profile),
		  PERSIST_KEY("mdev", KEY_TEXT, false, intent.mdev) },
	.fields = { PERSIST_TEXT(profile), PERSIST_TEXT(last_profile), PERSIST_TEXT(mdev) },
	.made_by = "create",
	.note = profile_note,
	.none = "none",
	.is_there = profile_is_there,
	.waits = profile_wait,
	.lost = profile_is_lost,
	.drifted = profile_drifted,
};

static bool params_are_there(const struct device *dev)
{
	return dev->facts.vgpu_params[0];
}

static const char *params_wait(const struct device *dev)
{
	return dev->facts.profile_id[0] ? NULL : "it is not a vGPU yet";
}

static bool params_drifted(const struct persist *k, const struct record *r,
			   const struct device *dev, char *ret, size_t size)
{
	if (!dev->facts.profile_id[0] || !strcmp(dev->facts.vgpu_params, r->intent.vgpu_params))
		return false;
	snprintf(ret, size, "its vgpu_params are not \"%s\", as stored; write them again",
		 r->intent.vgpu_params);
	return true;
}

/* The driver forgets them with the type: restored behind it, and before the claim, which tells that
 * a VM may start. A driver that takes none, or a VM that runs already, does not delay the
 * claim. */
static const struct persist persist_params = {
	.file = "vgpu_params",
	.with_claim = true,
	.keys = { PERSIST_KEY("vgpu_params", KEY_TEXT, false, intent.vgpu_params) },
	.fields = { PERSIST_TEXT(vgpu_params) },
	.none = "none",
	.is_there = params_are_there,
	.yields = true,
	.waits = params_wait,
	.lost = profile_is_lost,
	.drifted = params_drifted,
};

/* ---- pooled, resource_name */

static int pooled_parse(struct record *r, const char *text)
{
	bool pooled;
	int rc = parse_bool(text, &pooled);

	r->intent.single = !rc && !pooled;
	return rc;
}

static void pooled_print(const struct record *r, struct out *o)
{
	if (r->intent.single)
		out_printf(o, " pooled=0");
}

static const struct persist persist_pooled = {
	.file = "pooled",
	.keys = { PERSIST_OTHER("pooled", pooled_parse, pooled_print),
		  PERSIST_KEY("own_name", KEY_TEXT, false, intent.own) },
	.fields = { PERSIST_NUMBER(single), PERSIST_TEXT(own) },
};

static const struct persist persist_resource = {
	.file = "resource_name",
	.keys = { PERSIST_KEY("resource_name", KEY_TEXT, false, intent.resource) },
	.fields = { PERSIST_TEXT(resource) },
};

/* ---- the settings of a NIC's VF */

/* The driver of the PF forgets them with its VFs. They come back before the claim: no guest gets a
 * VF with another address, or in another VLAN, than stored. */
static void setting_note(const struct persist *k, struct record *r, struct device *dev, bool ended)
{
	const struct persist_field *before = &k->fields[1], *claimed = before + 1;

	if (ended || ((char *)&dev->intent)[before->at])
		return;
	copy_field(before, &dev->intent, &r->intent);
	copy_field(claimed, &dev->intent, &r->intent);
}

static bool setting_drifted(const struct persist *k, const struct record *r,
			    const struct device *dev, char *ret, size_t size)
{
	char now[VFCONF_VALUE], stored[REQUEST_VALUE];

	persist_value(k, r, stored);
	vfconf_get(dev->facts.vfconf, vfconf_find(k->file), now);
	if (!dev->facts.vfconf[0] || !strcmp(now, stored))
		return false;
	snprintf(ret, size, "its %s is %s although %s is stored; write its %s again", k->file,
		 now[0] ? now : "none", stored, k->file);
	return true;
}

static const char *setting_wait(const struct device *dev)
{
	return dev->facts.vfconf[0]
		       ? NULL
		       : "its PF has no network interface here that tells the settings of its VFs";
}

#define SETTING(name)                                                                              \
	static const struct persist persist_##name = {                                             \
		.file = #name,                                                                     \
		.keys = { PERSIST_KEY(#name, KEY_TEXT, false, intent.name),                        \
			  PERSIST_KEY(#name "_before", KEY_TEXT, false, intent.name##_before),     \
			  PERSIST_KEY(#name "_claimed", KEY_FLAG, false, intent.name##_claimed) }, \
		.fields = { PERSIST_TEXT(name), PERSIST_TEXT(name##_before),                       \
			    PERSIST_NUMBER(name##_claimed) },                                      \
		.until_release = offsetof(struct intent, name##_claimed),                          \
		.note = setting_note,                                                              \
		.none = "none",                                                                    \
		.waits = setting_wait,                                                             \
		.drifted = setting_drifted,                                                        \
	}

SETTING(mac);
SETTING(vlan);
SETTING(trust);
SETTING(spoofchk);

/* ---- */

const struct persist *const persists[] = {
	&persist_mig_mode, /* before the VFs: it changes only without them */
	&persist_vfs,	   &persist_mixed_sizes, &persist_scheduler, &persist_mig_layout,
	&persist_profile,  &persist_params,	 &persist_mac, /* before a guest can have it */
	&persist_vlan,	   &persist_trust,	 &persist_spoofchk,  &persist_claim,
	&persist_given,	   &persist_pooled,	 &persist_resource,  NULL
};

const struct persist *persist_find(const char *file)
{
	for (size_t i = 0; persists[i]; i++)
		if (!strcmp(persists[i]->file, file))
			return persists[i];
	return NULL;
}

uint32_t persist_bit(const struct persist *k)
{
	uint32_t bit = 1;

	for (size_t i = 0; persists[i] != k; i++)
		bit <<= 1;
	return bit;
}

bool persist_has(const struct persist *k, const struct intent *w)
{
	return ((const char *)w)[k->fields[0].at];
}

bool intent_has(const struct intent *w, const char *file)
{
	const struct persist *k = persist_find(file);

	return k && persist_has(k, w);
}

void persist_copy(const struct persist *k, struct intent *to, const struct intent *from)
{
	for (const struct persist_field *f = k->fields; f < k->fields + ARRAY_SIZE(k->fields); f++)
		copy_field(f, to, from);
}

bool persist_same(const struct persist *k, const struct intent *a, const struct intent *b)
{
	bool same = true;

	for (const struct persist_field *f = k->fields; f < k->fields + ARRAY_SIZE(k->fields);
	     f++) {
		const char *x = (const char *)a + f->at, *y = (const char *)b + f->at;

		same &= f->text ? !strcmp(x, y) : !memcmp(x, y, f->size);
	}
	return same;
}

void persist_clear(const struct persist *k, struct intent *w)
{
	static const struct intent none;

	persist_copy(k, w, &none);
}

void persist_clear_with_claim(struct intent *w)
{
	for (size_t i = 0; persists[i]; i++)
		if (persists[i]->with_claim)
			persist_clear(persists[i], w);
}

void intent_end_claim(struct intent *w)
{
	for (size_t i = 0; persists[i] && w->claim[0]; i++)
		if (persists[i]->until_release &&
		    *(const bool *)((const char *)w + persists[i]->until_release))
			persist_clear(persists[i], w);
	persist_clear_with_claim(w);
	w->allocated[0] = '\0';
	w->former[0] = '\0';
	w->former_known = false;
}

void persist_value(const struct persist *k, const struct record *r, char ret[static REQUEST_VALUE])
{
	if (k->value)
		k->value(r, ret);
	else
		str_copy(ret, REQUEST_VALUE, (const char *)&r->intent + k->fields[0].at);
}

bool persist_is_missing(const struct persist *k, const struct record *r)
{
	return k->none && persist_has(k, &r->intent) && !(r->in & persist_bit(k)) &&
	       !(k->rests_claimed && r->intent.claim[0]);
}

const struct persist *persist_missing(const struct record *r)
{
	const struct persist *yielded = NULL;

	for (size_t i = 0; persists[i]; i++) {
		const struct persist *k = persists[i];

		if (persist_is_missing(k, r) && !(r->yielded & persist_bit(k)))
			return k;
		yielded = !yielded && persist_is_missing(k, r) ? k : yielded;
	}
	return yielded;
}

bool record_drifted(const struct record *r, const struct persist *k, const struct device *dev,
		    char *ret, size_t size)
{
	return k->drifted && (r->in & persist_bit(k)) && persist_has(k, &r->intent) &&
	       k->drifted(k, r, dev, ret, size);
}

void record_unnote(struct device *dev, const struct intent *was)
{
	for (size_t i = 0; persists[i]; i++)
		if (was ? persist_same(persists[i], &dev->intent, was)
			: !persists[i]->none && !persists[i]->with_claim)
			persist_clear(persists[i], &dev->intent);
	dev->intent.noted = dev->intent.owned = false;
	dev->intent.uid = dev->intent.gid = 0;
	dev->intent.n_owners = 0;
	dev->unmet[0] = dev->intended[0] = '\0';
	dev->intended_vfs = 0;
}
