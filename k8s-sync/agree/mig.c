// SPDX-License-Identifier: GPL-2.0-or-later
/* MIG of a GPU: files of mig/ on the one side, a MigConfiguration on the other, whose words are
 * Harvester's (spec/harvester.md 4.9, 11). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"
#include "tables.h"
#include "words.h"

#define PREFIX "MIG " /* Harvester has names as nvidia-smi prints them */

enum { NAME = 32, NAMES = 32 };

/* ---- layouts, as text that is the same for both sides: GPU instances by profile */

struct mig_counts {
	size_t n;
	struct mig_count {
		char name[NAME];
		unsigned long whole, slices; /* of compute instances that share some */
	} v[NAMES];
};

static struct mig_count *count_of(struct mig_counts *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, name))
			return &l->v[i];
	if (l->n == NAMES)
		return NULL;
	STR_COPY(l->v[l->n].name, name);
	return &l->v[l->n++];
}

/* "3g.40gb" has three compute slices. */
static unsigned long instances_of(const struct mig_count *c)
{
	unsigned long all = strtoul(c->name, NULL, 10) ?: 1;

	return c->whole + (c->slices + all - 1) / all;
}

/* "1g.10gb*2"; of "1c.3g.40gb*3" three share one (include/pcidevfs/mig.h). */
static void read_word(struct mig_counts *l, char *word)
{
	char *star = strchr(word, '*');
	unsigned long times = star ? strtoul(star + 1, NULL, 10) : 1;
	unsigned int slices = 0;
	struct mig_count *c;
	int skip = 0;

	if (star)
		*star = '\0';
	if (sscanf(word, "%2uc.%n", &slices, &skip) < 1 || !skip)
		slices = skip = 0;
	c = count_of(l, word + skip);
	if (!c)
		return;
	if (slices)
		c->slices += slices * times;
	else
		c->whole += times;
}

static void layout_read(const char *text, struct mig_counts *ret)
{
	char *copy = strdup(strcmp(text, "none") ? text : ""), *cursor = copy, *word;

	*ret = (struct mig_counts){ 0 };
	while (copy && (word = strsep(&cursor, " ")))
		if (*word)
			read_word(ret, word);
	free(copy);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct mig_count *)b)->name, ((const struct mig_count *)a)->name);
}

static void layout_print(struct mig_counts *l, char ret[static ACCORD_VALUE])
{
	struct out o = { 0 };

	qsort(l->v, l->n, sizeof(*l->v), by_name);
	for (size_t i = 0; i < l->n; i++) {
		unsigned long n = instances_of(&l->v[i]);

		if (n)
			out_printf(&o, "%s%s", o.len ? " " : "", l->v[i].name);
		if (n > 1)
			out_printf(&o, "*%lu", n);
	}
	str_copy(ret, ACCORD_VALUE, o.len ? out_text(&o) : "none");
	out_free(&o);
}

void mig_layout(const char *text, char ret[static ACCORD_VALUE])
{
	struct mig_counts l;

	layout_read(text, &l);
	layout_print(&l, ret);
}

/* ---- what the object asks for */

/* The tree's name of a profile; "" for what cannot be one. */
static void name_of(json_object *o, json_object *entry, char ret[static NAME])
{
	json_object *told = js_get(o, "status.profileStatus"), *id = js_get(entry, "id");
	const char *name = js_text(entry, "name");

	for (size_t i = 0; !*name && i < js_length(told); i++) {
		json_object *p = json_object_array_get_idx(told, i);

		if (json_object_equal(js_get(p, "id"), id))
			name = js_text(p, "name");
	}
	str_copy(ret, NAME, name + (strncmp(name, PREFIX, strlen(PREFIX)) ? 0 : strlen(PREFIX)));
	for (char *c = ret; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || strchr("<>*", *c))
			*c = '_';
}

/* Harvester leaves all requests 0 of what it has found: whatever it is. */
void mig_cluster(json_object *o, const char *tree, char ret[static ACCORD_VALUE])
{
	json_object *list = js_get(o, "spec.profileSpec");
	bool on = json_object_get_boolean(js_get(o, "spec.enabled"));
	struct mig_counts l = { 0 };

	for (size_t i = 0; on && i < js_length(list); i++) {
		json_object *entry = json_object_array_get_idx(list, i);
		int64_t requested = json_object_get_int64(js_get(entry, "requested"));
		struct mig_count *c;
		char name[NAME];

		name_of(o, entry, name);
		if (requested > 0 && (c = count_of(&l, *name ? name : "_")))
			c->whole += (unsigned long)requested;
	}
	if (on && !l.n)
		str_copy(ret, ACCORD_VALUE, tree);
	else
		layout_print(&l, ret);
}

/* ---- what the card has */

struct mig_card {
	char *text; /* which the others point into */
	size_t n;
	struct card_profile {
		const char *name, *id, *max, *available;
	} v[NAMES];
};

static void card_read(const struct inv_dev *d, struct mig_card *ret)
{
	char *cursor = ret->text = strdup(dev_get(d, "mig_profiles"));
	struct card_profile *at = NULL;
	struct pair p;

	ret->n = 0;
	while (cursor && pair_next(&cursor, &p) == 1) {
		if (!strcmp(p.key, "name") && ret->n < NAMES) {
			at = &ret->v[ret->n++];
			*at = (struct card_profile){ p.value, "", "", "" };
		} else if (at && !strcmp(p.key, "id")) {
			at->id = p.value;
		} else if (at && !strcmp(p.key, "max")) {
			at->max = p.value;
		} else if (at && !strcmp(p.key, "available")) {
			at->available = p.value;
		}
	}
}

static void set_number(json_object *o, const char *key, const char *text)
{
	if (*text)
		js_set(o, key, json_object_new_int64(strtoll(text, NULL, 10)));
}

static json_object *profile_new(const struct card_profile *p)
{
	json_object *o = json_object_new_object();
	char name[NAME + sizeof(PREFIX)];

	snprintf(name, sizeof(name), PREFIX "%s", p->name);
	js_set_text(o, "name", name);
	set_number(o, "id", p->id);
	return o;
}

/* The ids of its instances, as texts; NULL: it has none. */
static json_object *ids_of(const struct inv_dev *d, const char *profile)
{
	char *text = strdup(dev_get(d, "mig_instances")), *cursor = text;
	json_object *ids = NULL;
	const char *id = "";
	struct pair p;

	while (text && pair_next(&cursor, &p) == 1) {
		if (!strcmp(p.key, "id"))
			id = p.value;
		if (strcmp(p.key, "profile") || strcmp(p.value, profile))
			continue;
		ids = ids ?: json_object_new_array();
		json_object_array_add(ids, json_object_new_string(id));
	}
	free(text);
	return ids;
}

bool wanted_mig(const struct world *w, const struct inv_dev *d)
{
	return dev_has(d, "mig_support");
}

bool mig_is_known(const struct inv_dev *d)
{
	return !strcmp(dev_get(d, "mig_support"), "yes");
}

json_object *conv_mig_profiles(const struct at *at, const char *value)
{
	json_object *list = json_object_new_array();
	struct mig_card card;

	card_read(at->dev, &card);
	for (size_t i = 0; i < card.n; i++) {
		json_object *o = profile_new(&card.v[i]);

		set_number(o, "total", card.v[i].max);
		set_number(o, "available", card.v[i].available);
		js_set(o, "vGPUID", ids_of(at->dev, card.v[i].name));
		json_object_array_add(list, o);
	}
	free(card.text);
	return list;
}

/* The profiles of the card, with what the layout asks for. */
static json_object *requests(const struct inv_dev *d, const char *layout)
{
	json_object *list = json_object_new_array();
	struct mig_counts l;
	struct mig_card card;

	layout_read(layout, &l);
	card_read(d, &card);
	for (size_t i = 0; i < card.n; i++) {
		json_object *o = profile_new(&card.v[i]);
		const struct mig_count *c = count_of(&l, card.v[i].name);

		js_set(o, "requested", json_object_new_int64(c ? (int64_t)instances_of(c) : 0));
		json_object_array_add(list, o);
	}
	free(card.text);
	return list;
}

json_object *conv_mig_requests(const struct at *at, const char *value)
{
	return requests(at->dev, value);
}

void mig_set(json_object *o, const struct inv_dev *d, const char *value)
{
	json_object *list = requests(d, value);

	js_set(o, "spec.enabled", json_object_new_boolean(strcmp(value, "none") != 0));
	if (js_length(list))
		js_set(o, "spec.profileSpec", list);
	else
		json_object_put(list);
}

/* One that was never enabled has no word. */
static const char *word_of(const struct at *at)
{
	bool on = json_object_get_boolean(js_get(at->was, "spec.enabled"));
	char has[ACCORD_VALUE], asked[ACCORD_VALUE];

	mig_layout(dev_get(at->dev, "mig_layout"), has);
	mig_cluster(at->was, has, asked);
	if (!on && !strcmp(has, "none"))
		return *js_text(at->was, "status.status") ? "disabled" : "";
	if (!at->was || (mig_is_known(at->dev) && !strcmp(has, asked)))
		return "synced";
	return "out-of-sync";
}

json_object *conv_mig_status(const struct at *at, const char *value)
{
	return json_object_new_string(word_of(at));
}

json_object *conv_mig_message(const struct at *at, const char *value)
{
	const char *why = dev_get(at->dev, "unsatisfied");
	const struct verdict *v;
	_free_ char *text = NULL;
	char about[80];

	if (strcmp(word_of(at), "out-of-sync"))
		return NULL;
	snprintf(about, sizeof(about), "%s/mig/layout", at->dev->id);
	v = verdict_about(at->w, about);
	if (!mig_is_known(at->dev))
		why = value;
	else if (v && !v->running && v->err.code)
		why = v->err.text;
	text = words_for_cluster(why);
	return *why ? json_object_new_string(text ?: why) : NULL;
}

/* ---- the mode */

/* Harvester turns it on as it enables the GPU, unless that says not to. */
void mig_with_enabled(const struct value *v, struct out *lines)
{
	const char *skip = js_meta(v->object, "annotations", SKIP_MIG);

	if (mig_is_known(v->dev) && !strcmp(dev_get(v->dev, "mig_mode"), "0") &&
	    (!skip || strcmp(skip, "true")))
		out_printf(lines, "%s/mig/mode 1\n", v->dev->id);
}
