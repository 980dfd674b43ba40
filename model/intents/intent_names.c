// SPDX-License-Identifier: GPL-2.0-or-later
/* Resource names in the records, also of devices that are away: nobody else gets them. */
#include <string.h>

#include "intents.h"
#include "pcidevfs/resource.h"

/* Also before a pass has matched the record with its device. */
static bool is_of(const struct intents *in, const struct record *r, const struct device *dev)
{
	struct identity id;

	if (r->birth)
		return r->birth == dev->birth && key_eq(&r->dev, &dev->key);
	device_identity(in->m, dev, &id);
	return identity_eq(&r->id, &id) ||
	       (id.serial && !r->id.cloned && identity_same_card(&r->id, &id) &&
		identity_same_part(&r->id, &id));
}

static const char *own(void *ctx, const struct device *dev)
{
	const struct intents *in = ctx;

	for (size_t i = 0; i < in->rs.n; i++) {
		const struct record *r = in->rs.v[i];

		if (r->intent.single && r->intent.own[0] && is_of(in, r, dev))
			return r->intent.own;
	}
	return NULL;
}

static const char *find(void *ctx, const struct device *but, resource_match *match,
			const char *name)
{
	const struct intents *in = ctx;

	for (size_t i = 0; i < in->rs.n; i++) {
		const struct record *r = in->rs.v[i];

		if (match(&r->intent, name) && !is_of(in, r, but))
			return r->at;
	}
	return NULL;
}

void intents_tell_names(struct intents *in)
{
	const struct stored_names names = { own, find, in };

	resource_on_choice(in->m, &names);
}

/* ---- files of former versions */

static bool is_taken(void *ctx, const char *part)
{
	const struct records *rs = ctx;

	for (size_t i = 0; i < rs->n; i++)
		if (resource_uses(&rs->v[i]->intent, part))
			return true;
	return false;
}

/* The newest record of an address, which is the last one, had the name last. */
void records_complete_names(struct records *rs)
{
	for (size_t i = rs->n; i-- > 0;) {
		struct record *r = rs->v[i];
		char part[RESOURCE_PART];
		struct key at;

		if (!r->intent.single || r->intent.own[0])
			continue;
		resource_choose(record_key(r, &at) ? at.name : "unknown", is_taken, rs, part);
		snprintf(r->intent.own, sizeof(r->intent.own), "/%s", part);
	}
}
