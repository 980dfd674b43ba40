// SPDX-License-Identifier: GPL-2.0-or-later
#include "permitted.h"

#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "k8s-sync/agree/js.h"

#define FIELD "permittedHostDevices"

enum { LOG_MAX = 400 };

const char *const note_reasons[NOTES] = {
	[NOTE_PLUGIN] = "OtherPlugin",	    [NOTE_KEY] = "NoPlace",
	[NOTE_FORM] = "NotAList",	    [NOTE_MADE] = "ListMade",
	[NOTE_GATE] = "GateHostDevicesOff",
};

struct name_list {
	struct out text;
	unsigned int more; /* that do not stand there */
};

/* One look at an object. */
struct survey {
	const struct dialect *d;
	json_object *object, *lists; /* lists NULL: there are none, so every name is permitted */
	char path[128];		     /* JSON pointer of the lists */
	struct offers offers;
	/* The former controller writes here: an entry that is offered is ours. */
	bool formers;
	/* Nobody of us has written here yet: what it wrote of other devices is ours as well. */
	bool adopts;
	struct offers former;
	json_object *since, *unoffered; /* by list and name: ms */
	uint64_t now;
	unsigned int room;	      /* for entries that come or go */
	json_object *ledger, *next;   /* by list: { name: null } */
	json_object *front, *changes; /* operations: tests; all others in their order */
	json_object *made;	      /* the lists where there are none */
	struct name_list added, removed;
	struct permitted *ret;
};

__attribute__((format(printf, 3, 4))) static void note(struct survey *p, enum note_id id,
						       const char *format, ...)
{
	va_list args;

	if (*p->ret->notes[id])
		return;
	va_start(args, format);
	vsnprintf(p->ret->notes[id], ERR_TEXT, format, args);
	va_end(args);
}

static void log_name(struct survey *p, const char *op, struct name_list *to, const char *name)
{
	p->ret->change = fnv1a(fnv1a(p->ret->change, op, strlen(op)), name, strlen(name));
	if (to->text.len > LOG_MAX)
		to->more++;
	else
		out_printf(&to->text, "%s%s", to->text.len ? ", " : "", name);
}

static void log_names(struct survey *p, const char *op, const struct name_list *names)
{
	struct out *log = &p->ret->log;

	if (!names->text.len)
		return;
	out_printf(log, "%s%s %s", log->len ? "; " : "", op, names->text.data);
	if (names->more)
		out_printf(log, " and %u more", names->more);
}

/* ---- one list */

static bool is_offer(const struct survey *p, enum list_id l, json_object *entry)
{
	return entry_is_one_of(offers_of(&p->offers, l, js_text(entry, "resourceName")), entry);
}

/* Returns by name the entry that the ledger means: one that is offered, else the first one of our
 * form, which stood there when others were added behind it. */
static json_object *meant(const struct survey *p, enum list_id l, json_object *entries)
{
	json_object *mine = json_object_new_object();

	for (size_t i = 0; i < js_length(entries); i++) {
		json_object *entry = json_object_array_get_idx(entries, i);
		const char *name = js_text(entry, "resourceName");
		json_object *other = json_object_object_get(mine, name);

		if (names_has(p->ledger, l, name) && entry_is_external(entry) &&
		    entry_is_form(p->d, l, entry) &&
		    (!other || (!is_offer(p, l, other) && is_offer(p, l, entry))))
			json_object_object_add(mine, name, json_object_get(entry));
	}
	return mine;
}

static bool is_ours(const struct survey *p, enum list_id l, json_object *entry, json_object *mine)
{
	const char *name = js_text(entry, "resourceName");

	if (names_has(p->ledger, l, name))
		return json_object_equal(json_object_object_get(mine, name), entry) ||
		       is_offer(p, l, entry);
	return (p->formers && is_offer(p, l, entry)) ||
	       (p->adopts && entry_is_one_of(offers_of(&p->former, l, name), entry));
}

/* Has nobody offered it long enough? */
static bool is_over(struct survey *p, enum list_id l, const char *name)
{
	json_object *set = json_object_array_get_idx(p->unoffered, l), *was;
	uint64_t since = p->now;

	if (json_object_object_get_ex(json_object_array_get_idx(p->since, l), name, &was))
		since = json_object_get_uint64(was);
	json_object_object_add(set, name, json_object_new_uint64(since));
	if (since + LINGER_MS <= p->now)
		return true;
	if (since + LINGER_MS < p->ret->again)
		p->ret->again = since + LINGER_MS;
	return false;
}

/* What an entry says of the device, "" if that may stand twice. */
static const char *key_of(const struct dialect *d, enum list_id l, json_object *entry)
{
	if (!d->keyed || l == LIST_USB)
		return "";
	return js_text(entry, l == LIST_PCI ? d->pci_selector : "mdevNameSelector");
}

/* Looks at the entries: marks those that go, and notes in `others` the names for which somebody
 * else's stand, in `keys` which selectors stay. */
static void sift(struct survey *p, enum list_id l, json_object *entries, bool *drop,
		 json_object *others, json_object *keys)
{
	_json_ json_object *mine = meant(p, l, entries);

	for (size_t i = 0; i < js_length(entries); i++) {
		json_object *entry = json_object_array_get_idx(entries, i);
		const char *name = js_text(entry, "resourceName");
		bool offered = offers_of(&p->offers, l, name);

		if (is_ours(p, l, entry, mine)) {
			drop[i] = names_has(p->next, l, name) || (!offered && is_over(p, l, name));
			drop[i] = drop[i] && p->room;
			p->room -= drop[i];
			if (!drop[i])
				names_put(p->next, l, name);
		} else if (offered && !json_object_get_boolean(js_get(entry, "disabled"))) {
			json_object_object_add(others, name, NULL);
			if (!entry_is_external(entry))
				note(p, NOTE_PLUGIN,
				     "%s stands in " FIELD
				     " without externalResourceProvider, so KubeVirt starts a device plugin of its own under that name; set it to true, or remove that entry",
				     name);
		}
		if (!drop[i])
			json_object_object_add(keys, key_of(p->d, l, entry), NULL);
	}
}

static void remove_marked(struct survey *p, enum list_id l, json_object *entries, const bool *drop)
{
	for (size_t i = js_length(entries); i-- > 0;) {
		json_object *entry = json_object_array_get_idx(entries, i);

		if (!drop[i])
			continue;
		op_add(p->changes, "test", json_object_get(entry), "%s/%s/%zu", p->path,
		       p->d->lists[l], i);
		op_add(p->changes, "remove", NULL, "%s/%s/%zu", p->path, p->d->lists[l], i);
		log_name(p, "remove", &p->removed, js_text(entry, "resourceName"));
	}
}

/* Returns the entries that are missing. */
static json_object *missing(struct survey *p, enum list_id l, json_object *others,
			    json_object *keys)
{
	_json_ json_object *names = names_sorted(p->offers.names[l]);
	json_object *found = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(names); i++) {
		const char *name = js_text(json_object_array_get_idx(names, i), "");
		json_object *entry = json_object_array_get_idx(offers_of(&p->offers, l, name), 0);
		const char *key = key_of(p->d, l, entry);

		if (!p->room || names_has(p->next, l, name) ||
		    json_object_object_get_ex(others, name, NULL))
			continue;
		if (*key && json_object_object_get_ex(keys, key, NULL)) {
			note(p, NOTE_KEY,
			     "%s has no place in " FIELD
			     ": there is another entry with the selector %s, and a %s takes one of each",
			     name, key, p->d->kind);
			continue;
		}
		json_object_object_add(keys, key, NULL);
		names_put(p->next, l, name);
		p->room--;
		json_object_array_add(found, json_object_get(entry));
		log_name(p, "add", &p->added, name);
	}
	return found;
}

static void add_missing(struct survey *p, enum list_id l, json_object *entries, json_object *found)
{
	const char *list = p->d->lists[l];

	if (!json_object_array_length(found))
		return;
	if (!p->lists) {
		json_object_object_add(p->made, list, json_object_get(found));
	} else if (!entries) {
		op_add(p->changes, "test", NULL, "%s/%s", p->path, list);
		op_add(p->changes, "add", json_object_get(found), "%s/%s", p->path, list);
	} else {
		for (size_t i = 0; i < json_object_array_length(found); i++)
			op_add(p->changes, "add",
			       json_object_get(json_object_array_get_idx(found, i)), "%s/%s/-",
			       p->path, list);
	}
}

static void list_decide(struct survey *p, enum list_id l)
{
	json_object *entries = js_get(p->lists, p->d->lists[l]);
	_json_ json_object *others = json_object_new_object(), *keys = json_object_new_object();
	_json_ json_object *found = NULL;
	_free_ bool *drop = calloc(js_length(entries) + 1, sizeof(*drop));

	if (!drop || (entries && !json_object_is_type(entries, json_type_array))) {
		note(p, NOTE_FORM, FIELD ".%s is not a list; nothing is written there",
		     p->d->lists[l]);
		json_object_array_put_idx(p->next, l,
					  json_object_get(json_object_array_get_idx(p->ledger, l)));
		return;
	}
	sift(p, l, entries, drop, others, keys);
	remove_marked(p, l, entries, drop);
	found = missing(p, l, others, keys);
	/* Where the ledger stays as it is, its test does not tell that two of us add the same. */
	if (entries && json_object_array_length(found) &&
	    json_object_equal(json_object_array_get_idx(p->ledger, l),
			      json_object_array_get_idx(p->next, l)))
		op_add(p->front, "test", json_object_get(entries), "%s/%s", p->path,
		       p->d->lists[l]);
	add_missing(p, l, entries, found);
}

/* ---- the object */

/* There is no list at all, so KubeVirt permits every name, and one that we made would forbid those
 * of others. But a mediated device that no list names is removed by KubeVirt. */
static bool needs_lists(const struct survey *p)
{
	return json_object_object_length(p->offers.names[LIST_MDEV]);
}

/* Makes what is above, from where it is missing. */
static void make_lists(struct survey *p)
{
	if (!json_object_object_length(p->made))
		return;
	if (!js_get(p->object, p->d->above)) { /* the KubeVirt CR's spec.configuration */
		char *end = strrchr(p->path, '/');
		json_object *o = json_object_new_object();

		json_object_object_add(o, FIELD, json_object_get(p->made));
		*end = '\0';
		op_add(p->front, "test", NULL, "%s", p->path);
		op_add(p->changes, "add", o, "%s", p->path);
	} else {
		op_add(p->front, "test", NULL, "%s", p->path);
		op_add(p->changes, "add", json_object_get(p->made), "%s", p->path);
	}
	note(p, NOTE_MADE,
	     FIELD
	     " is made, since KubeVirt removes mediated devices that it does not name; from now on VMs may ask only for names that it has");
}

static void write_ledger(struct survey *p)
{
	const char *was = js_meta(p->object, "annotations", LEDGER);
	json_object *text = ledger_text(p->d, p->next);
	const char *is = json_object_get_string(text);
	bool change = !was || strcmp(was, is);

	if (change) /* it may be all that changes, one name after another */
		p->ret->change = fnv1a(p->ret->change, is, strlen(is));
	if (!json_object_array_length(p->changes) && (!change || (!was && !strcmp(is, "{}")))) {
		json_object_put(text);
		return;
	}
	if (!js_get(p->object, "metadata.annotations")) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, LEDGER, text);
		op_add(p->front, "test", NULL, "/metadata/annotations");
		op_add(p->changes, "add", o, "/metadata/annotations");
		return;
	}
	op_add(p->front, "test", was ? json_object_new_string(was) : NULL,
	       "/metadata/annotations/pcidevfs~1permitted-host-devices");
	if (change)
		op_add(p->changes, "add", text,
		       "/metadata/annotations/pcidevfs~1permitted-host-devices");
	else
		json_object_put(text);
}

/* The former controller writes to this object alone (spec/harvester.md 2). */
static bool is_formers(const struct dialect *d, json_object *o)
{
	return d == &dialect_kubevirt &&
	       !strcmp(js_text(o, "metadata.namespace"), "harvester-system") &&
	       !strcmp(js_text(o, "metadata.name"), "kubevirt");
}

static void pass_open(struct survey *p, const struct picks *picks)
{
	char dotted[96];

	snprintf(dotted, sizeof(dotted), "%s." FIELD, p->d->above);
	p->lists = js_get(p->object, dotted);
	snprintf(p->path, sizeof(p->path), "/%s", dotted);
	for (char *c = p->path; *c; c++)
		*c = *c == '.' ? '/' : *c;
	p->formers = is_formers(p->d, p->object);
	p->adopts = p->formers && !js_meta(p->object, "annotations", LEDGER);
	offers_fill(&p->offers, p->d, picks, false);
	if (p->adopts)
		offers_fill(&p->former, p->d, picks, true);
	p->ledger = ledger_read(p->d, js_meta(p->object, "annotations", LEDGER));
	p->next = names_new();
	p->unoffered = names_new();
	p->front = json_object_new_array();
	p->changes = json_object_new_array();
	p->made = json_object_new_object();
}

static void pass_close(struct survey *p)
{
	json_object *const all[] = { p->ledger, p->next,    p->since, p->unoffered,
				     p->front,	p->changes, p->made };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		json_object_put(all[i]);
	offers_free(&p->offers);
	offers_free(&p->former);
	out_free(&p->added.text);
	out_free(&p->removed.text);
}

/* Takes the operations together. */
static void finish(struct survey *p)
{
	write_ledger(p);
	if (!json_object_array_length(p->changes))
		return;
	for (size_t i = 0; i < json_object_array_length(p->changes); i++)
		json_object_array_add(p->front,
				      json_object_get(json_object_array_get_idx(p->changes, i)));
	p->ret->patch = json_object_get(p->front);
	log_names(p, "adds", &p->added);
	log_names(p, "removes", &p->removed);
}

static bool has_gate(json_object *o)
{
	json_object *gates = js_get(o, "spec.configuration.developerConfiguration.featureGates");

	return js_find(gates, "", "HostDevices");
}

void permitted_decide(const struct dialect *d, json_object *o, const struct picks *picks,
		      json_object **since, uint64_t now, struct permitted *ret)
{
	struct survey p = { .d = d,
			    .object = o,
			    .since = *since ?: names_new(),
			    .now = now,
			    .room = ENTRIES_MAX,
			    .ret = ret };
	bool any = false;

	*ret = (struct permitted){ .change = FNV1A, .again = UINT64_MAX };
	pass_open(&p, picks);
	if (p.lists && !json_object_is_type(p.lists, json_type_object)) {
		note(&p, NOTE_FORM, FIELD " is not an object; nothing is written there");
	} else if (p.lists || needs_lists(&p)) {
		for (enum list_id l = 0; l < LISTS; l++)
			list_decide(&p, l);
		make_lists(&p);
		finish(&p);
	} else if (js_meta(o, "annotations", LEDGER)) { /* somebody took all of them */
		finish(&p);
	}
	for (enum list_id l = 0; l < LISTS; l++)
		any = any || json_object_object_length(p.offers.names[l]);
	if (any && d == &dialect_kubevirt && !has_gate(o))
		note(&p, NOTE_GATE,
		     "the feature gate HostDevices is not in its developerConfiguration, so KubeVirt refuses VMs with hostDevices");
	*since = json_object_get(p.unoffered);
	pass_close(&p);
}

void permitted_free(struct permitted *p)
{
	json_object_put(p->patch);
	out_free(&p->log);
}
