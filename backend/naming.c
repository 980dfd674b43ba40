// SPDX-License-Identifier: GPL-2.0-or-later
#include "naming.h"

#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "ids.h"
#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

struct named {
	uint64_t ids; /* class and ids, which the names depend on, as one number */
	char manufacturer[OWN_WORD], product[OWN_WORD]; /* likewise */
	bool known;
	struct names names;
};

#define BUS_AT 56 /* above the 24 bits of a class */

static uint64_t name_ids(const struct key *dev, const struct facts *f)
{
	return (uint64_t)dev->bus << BUS_AT | (uint64_t)(f->class_code & 0xffffff) << 32 |
	       (uint64_t)f->vendor << 16 | f->device;
}

static bool has_names(const struct key *dev)
{
	return buses[dev->bus] && buses[dev->bus]->name;
}

static int by_ids(const void *left, const void *right)
{
	const struct named *a = left, *b = right;

	if (a->ids != b->ids)
		return a->ids < b->ids ? -1 : 1;
	return strcmp(a->manufacturer, b->manufacturer) ?: strcmp(a->product, b->product);
}

static struct named named(const struct key *dev, const struct facts *f)
{
	struct named row = { .ids = name_ids(dev, f) };

	STR_COPY(row.manufacturer, f->manufacturer);
	STR_COPY(row.product, f->product);
	return row;
}

static struct named *find(const struct naming *nm, const struct key *dev, const struct facts *f)
{
	const struct named wanted = named(dev, f);

	return has_names(dev) && nm->n ? bsearch(&wanted, nm->v, nm->n, sizeof(*nm->v), by_ids)
					    : NULL;
}

void naming_add(struct naming *nm, const struct key *dev, const struct facts *f)
{
	const struct named row = named(dev, f);
	struct named *rows;

	if (!has_names(dev) || (nm->n && !by_ids(&nm->v[nm->n - 1], &row)))
		return;
	rows = more_rows(nm->v, nm->n, &nm->cap, sizeof(*rows));
	if (!rows)
		return;
	nm->v = rows;
	rows[nm->n++] = row;
}

static void sort(struct naming *nm)
{
	size_t n = 0;

	if (!nm->n)
		return;
	qsort(nm->v, nm->n, sizeof(*nm->v), by_ids);
	for (size_t i = 1; i < nm->n; i++)
		if (by_ids(&nm->v[n], &nm->v[i]))
			nm->v[++n] = nm->v[i];
	nm->n = n + 1;
}

/* Takes names from the model. Returns how many are still unknown. */
static size_t ask_model(struct model *m, const struct naming *nm)
{
	const struct device *dev;
	size_t pos = 0, unknown = nm->n;

	model_lock(m);
	while (unknown && (dev = model_next(m, &pos))) {
		struct named *at = find(nm, &dev->key, &dev->facts);

		/* That of a vGPU is the name of its type. */
		if (!at || at->known || !dev->names.description[0] || dev->caps & CAP_VGPU)
			continue;
		at->names = dev->names;
		at->known = true;
		unknown--;
	}
	model_unlock(m);
	return unknown;
}

static struct facts facts_of(const struct named *at)
{
	struct facts f = { .vendor = (uint16_t)(at->ids >> 16),
			   .device = (uint16_t)at->ids,
			   .class_code = (uint32_t)(at->ids >> 32) & 0xffffff };

	STR_COPY(f.manufacturer, at->manufacturer);
	STR_COPY(f.product, at->product);
	return f;
}

static void ask_database(struct naming *nm, enum bus bus, atomic_bool *missing)
{
	struct ids *ids = NULL;
	bool open = false;

	for (size_t i = 0; i < nm->n; i++) {
		struct named *at = &nm->v[i];
		struct facts f = facts_of(at);

		if (at->known || at->ids >> BUS_AT != bus)
			continue;
		if (!open && ids_open(buses[bus]->ids, &ids))
			return;
		open = true;
		atomic_store(missing, !ids);
		buses[bus]->name(ids, &f, &at->names);
		at->known = true;
	}
	ids_close(ids);
}

void naming_look(struct backend *b, struct naming *nm)
{
	sort(nm);
	if (!ask_model(b->model, nm))
		return;
	for (enum bus bus = 0; bus < BUS_COUNT; bus++)
		ask_database(nm, bus, &b->names_missing[bus]);
}

const struct names *naming_find(const struct naming *nm, const struct key *dev,
				const struct facts *f)
{
	const struct named *at = find(nm, dev, f);

	return at && at->known ? &at->names : NULL;
}

void naming_end(struct naming *nm)
{
	free(nm->v);
}
