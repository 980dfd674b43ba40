// SPDX-License-Identifier: GPL-2.0-or-later
/* The name under which a device is offered. */
#include "pcidevfs/resource.h"

#include <stdio.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "store.h"

/* A newer pci.ids must not rename a device under a guest. */
static const char *computed_name(const struct device *dev)
{
	return dev->intent.pinned[0] ? dev->intent.pinned : dev->names.resource;
}

static void part_of(const char *address, char buf[static RESOURCE_PART])
{
	str_copy(buf, RESOURCE_PART, address);
	for (char *c = buf; *c; c++)
		*c = *c == ':' || *c == '.' ? '_' : *c;
}

static void with_domain(const struct device *dev, const char *part, char buf[static RESOURCE_NAME])
{
	const char *name = computed_name(dev);
	size_t n = strcspn(name, "/"), room = RESOURCE_NAME - RESOURCE_PART - 1;

	snprintf(buf, RESOURCE_NAME, "%.*s/%.*s", (int)(n < room ? n : room), name,
		 RESOURCE_PART - 1, part);
}

/* One that was chosen before the device had a computed name has no domain. */
static void own_name(const struct device *dev, char buf[static RESOURCE_NAME])
{
	const char *own = dev->intent.own;
	char part[RESOURCE_PART];

	part_of(dev->key.name, part);
	if (own[0] && own[0] != '/')
		str_copy(buf, RESOURCE_NAME, own);
	else
		with_domain(dev, own[0] ? own + 1 : part, buf);
}

void device_resource(const struct device *dev, char buf[static RESOURCE_NAME])
{
	buf[0] = '\0';
	if (!(dev->caps & CAP_NAMED))
		return;
	if (dev->intent.resource[0])
		str_copy(buf, RESOURCE_NAME, dev->intent.resource);
	else if (dev->intent.single && computed_name(dev)[0])
		own_name(dev, buf);
	else
		str_copy(buf, RESOURCE_NAME, computed_name(dev));
}

void device_offered_as(const struct device *dev, char buf[static RESOURCE_NAME])
{
	if (dev->intent.allocated[0] && dev->intent.given_as[0])
		str_copy(buf, RESOURCE_NAME, dev->intent.given_as);
	else
		device_resource(dev, buf);
}

/* ---- names of their own */

static bool has_part(const char *name, const char *part)
{
	const char *slash = strchr(name, '/');

	return slash && !strcmp(slash + 1, part);
}

bool resource_uses(const struct intent *w, const char *part)
{
	return has_part(w->own, part) || has_part(w->resource, part) || has_part(w->pinned, part) ||
	       has_part(w->given_as, part);
}

static bool is_own(const struct intent *w, const char *name)
{
	return w->single && (w->own[0] == '/' ? has_part(name, w->own + 1) : !strcmp(w->own, name));
}

static const char *find_name(struct model *m, const struct device *but, resource_match *match,
			     const char *name)
{
	const struct device *d;
	size_t pos = 0;

	while ((d = model_next(m, &pos)))
		if (!key_eq(&d->key, &but->key) && match(&d->intent, name))
			return d->key.name;
	return m->stored.find ? m->stored.find(m->stored.ctx, but, match, name) : NULL;
}

void resource_choose(const char *address, bool (*taken)(void *ctx, const char *part), void *ctx,
		     char buf[static RESOURCE_PART])
{
	char base[RESOURCE_PART];

	part_of(address, base);
	str_copy(buf, RESOURCE_PART, base);
	/* No part that an address gives has a dot, so two devices never choose the same one. */
	for (unsigned int n = 2; taken(ctx, buf); n++)
		snprintf(buf, RESOURCE_PART, "%.50s.%u", base, n);
}

struct part_asker {
	struct model *m;
	const struct device *dev;
};

static bool part_taken(void *ctx, const char *part)
{
	const struct part_asker *a = ctx;

	return find_name(a->m, a->dev, resource_uses, part);
}

void resource_give_own(struct model *m, struct device *edit)
{
	const char *stored = m->stored.own ? m->stored.own(m->stored.ctx, edit) : NULL;
	struct part_asker asker = { m, edit };
	char part[RESOURCE_PART];

	if (stored) {
		STR_COPY(edit->intent.own, stored);
		return;
	}
	resource_choose(edit->key.name, part_taken, &asker, part);
	with_domain(edit, part, edit->intent.own);
}

const char *resource_owner(struct model *m, const struct device *but, const char *name)
{
	return find_name(m, but, is_own, name);
}

void model_on_stored(struct model *m, const struct stored *stored)
{
	m->stored = *stored;
}
