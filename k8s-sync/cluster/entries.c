// SPDX-License-Identifier: GPL-2.0-or-later
/* Entries of KubeVirt's lists, and the ledger that tells which names are ours. */
#include <string.h>

#include "k8s-sync/agree/js.h"
#include "permitted.h"

/* ---- names by list */

json_object *names_new(void)
{
	json_object *sets = json_object_new_array_ext(LISTS);

	for (enum list_id l = 0; l < LISTS; l++)
		json_object_array_add(sets, json_object_new_object());
	return sets;
}

bool names_has(json_object *sets, enum list_id l, const char *name)
{
	return json_object_object_get_ex(json_object_array_get_idx(sets, l), name, NULL);
}

void names_put(json_object *sets, enum list_id l, const char *name)
{
	json_object_object_add(json_object_array_get_idx(sets, l), name, NULL);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(json_object_get_string(*(json_object *const *)a),
		      json_object_get_string(*(json_object *const *)b));
}

json_object *names_sorted(json_object *set)
{
	json_object *list = json_object_new_array();

	json_object_object_foreach(set, name, value)
	{
		(void)value;
		json_object_array_add(list, json_object_new_string(name));
	}
	json_object_array_sort(list, by_text);
	return list;
}

json_object *ledger_read(const struct dialect *d, const char *text)
{
	json_object *sets = names_new();
	_json_ json_object *o = text ? json_tokener_parse(text) : NULL;

	for (enum list_id l = 0; l < LISTS; l++) {
		json_object *names = js_get(o, d->lists[l]);

		for (size_t i = 0; i < js_length(names); i++)
			names_put(sets, l, js_text(json_object_array_get_idx(names, i), ""));
	}
	return sets;
}

json_object *ledger_text(const struct dialect *d, json_object *sets)
{
	_json_ json_object *o = json_object_new_object();

	for (enum list_id l = 0; l < LISTS; l++) {
		json_object *set = json_object_array_get_idx(sets, l);

		if (json_object_object_length(set))
			json_object_object_add(o, d->lists[l], names_sorted(set));
	}
	return json_object_new_string(js_line(o));
}

/* ---- one entry */

bool entry_is_id(const char *text)
{
	return strlen(text) == 4 && strspn(text, "0123456789abcdef") == 4;
}

static bool is_selector(json_object *o)
{
	return json_object_is_type(o, json_type_object) && json_object_object_length(o) == 2 &&
	       entry_is_id(js_text(o, "vendor")) && entry_is_id(js_text(o, "product"));
}

bool entry_is_form(const struct dialect *d, enum list_id l, json_object *entry)
{
	json_object *selectors = js_get(entry, "selectors");
	const char *pci = js_text(entry, d->pci_selector);

	if (json_object_object_length(entry) != 3)
		return false;
	switch (l) {
	case LIST_PCI:
		return strlen(pci) == 9 && pci[4] == ':' && entry_is_id(pci + 5) &&
		       strspn(pci, "0123456789abcdef") == 4;
	case LIST_MDEV:
		return *js_text(entry, "mdevNameSelector");
	default:
		return js_length(selectors) == 1 &&
		       is_selector(json_object_array_get_idx(selectors, 0));
	}
}

bool entry_is_one_of(json_object *entries, json_object *entry)
{
	for (size_t i = 0; i < js_length(entries); i++)
		if (json_object_equal(json_object_array_get_idx(entries, i), entry))
			return true;
	return false;
}

bool entry_is_external(json_object *entry)
{
	json_object *flag = js_get(entry, "externalResourceProvider");

	return json_object_is_type(flag, json_type_boolean) && json_object_get_boolean(flag);
}
