// SPDX-License-Identifier: GPL-2.0-or-later
#include "store.h"

#include <string.h>

#include "agree.h"
#include "inventory.h"
#include "pcidevfs/key.h"
#include "tables.h"

/* What json-c needs for it, about: an object begins with a table of 16 members. */
static size_t size_of(json_object *o)
{
	size_t n = 64, i;

	switch (json_object_get_type(o)) {
	case json_type_string:
		return n + (size_t)json_object_get_string_len(o);
	case json_type_array:
		for (i = 0; i < json_object_array_length(o); i++)
			n += 8 + size_of(json_object_array_get_idx(o, i));
		return n;
	case json_type_object:
		i = (size_t)json_object_object_length(o);
		n += 40 * (i > 8 ? 2 * i : 16);
		json_object_object_foreach(o, key, value)
		{
			n += strlen(key) + 16 + size_of(value);
		}
		return n;
	default:
		return n;
	}
}

void store_open(struct store *s)
{
	*s = (struct store){ json_object_new_object(), json_object_new_object() };
}

void store_close(struct store *s)
{
	json_object_put(s->objects);
	json_object_put(s->apart);
	*s = (struct store){ 0 };
}

/* Of those that mean a device by their address alone, one is enough. */
static bool is_taken(const struct store *s, const char *address)
{
	json_object_object_foreach(s->apart, name, o)
	{
		(void)name;
		if (!strcmp(json_object_get_string(o), address))
			return true;
	}
	return false;
}

/* Is there a place for this one? */
static bool take_apart(struct store *s, enum meant meant, const char *name, json_object *o)
{
	const char *address = meant == MEANT_BY_ADDRESS ? js_text(o, "spec.address") : "";

	if (!json_object_object_get_ex(s->apart, name, NULL) &&
	    json_object_object_length(s->apart) >= APART_MAX &&
	    (!*address || is_taken(s, address)))
		return false;
	json_object_object_add(s->apart, name, json_object_new_string(address));
	return true;
}

void store_put(struct store *s, const struct world *w, enum kind_id kind, json_object *o,
	       size_t others)
{
	const struct claim_kind *k = claim_kind_of(kind);
	const char *name = js_text(o, "metadata.name");
	enum meant meant = k ? k->means(w, o) : MEANT_BY_NAME;
	size_t size = size_of(o);
	json_object *was;

	if ((k && size > CLAIM_MAX) ||
	    (meant != MEANT_BY_NAME && !take_apart(s, meant, name, o))) {
		store_drop(s, name);
		s->left_out = true;
		return;
	}
	if (meant == MEANT_BY_NAME)
		json_object_object_del(s->apart, name);
	if (json_object_object_get_ex(s->objects, name, &was))
		s->size -= size_of(was);
	s->full |= s->size + others + size > STORES_MAX;
	if (s->full) {
		json_object_object_del(s->objects, name);
		return;
	}
	s->size += size;
	json_object_object_add(s->objects, name, json_object_get(o));
}

void store_drop(struct store *s, const char *name)
{
	json_object *was;

	if (!json_object_object_get_ex(s->objects, name, &was))
		return;
	s->size -= size_of(was);
	json_object_object_del(s->objects, name);
	json_object_object_del(s->apart, name);
}

bool store_has_room(const struct store *s)
{
	return s->left_out && json_object_object_length(s->apart) < APART_MAX;
}

uint64_t store_ground(const struct world *w, enum kind_id kind)
{
	bool usb = kind == USB_CLAIM;
	uint64_t h = FNV1A;
	struct pci_addr addr;

	/* A USB device may be called by the numbers that it had once: its object tells. */
	if (usb)
		h = fnv1a(h, w->listed[USB_DEVICE] ? "1" : "0", 1);

	for (size_t i = 0; i < w->inv->n; i++) {
		const struct inv_dev *d = w->inv->v[i];

		if (usb ? !wanted_usb(w, d) : !pci_addr_parse(d->id, &addr))
			continue;
		h = fnv1a(h, d->id, strlen(d->id) + 1);
		if (usb)
			h = fnv1a(h, dev_get(d, "devnum"), strlen(dev_get(d, "devnum")) + 1);
	}
	return h;
}
