// SPDX-License-Identifier: GPL-2.0-or-later
#include "identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/util.h"

void identity_of(struct identity *ret, const struct device *dev, const struct device *parent)
{
	const struct device *card = parent ? parent : dev;
	const struct facts *f = &card->facts;

	if (parent && key_is_made(&dev->key)) {
		identity_of(ret, parent, NULL);
		ret->child = dev->key;
		return;
	}
	*ret = (struct identity){ .serial = f->serial, .vf = parent ? dev->facts.index : -1 };
	if (device_is_vf(dev) && (!parent || ret->vf < 0))
		ret->vf = IDENTITY_HALF;
	ret->ids = (uint64_t)f->vendor << 48 | (uint64_t)f->device << 32 |
		   (uint64_t)f->subvendor << 16 | f->subdevice;
	if (ret->vf == IDENTITY_HALF) /* its path is the PF's, shared by all its VFs */
		snprintf(ret->path, sizeof(ret->path), "@%s", dev->key.name);
	else if (f->path[0])
		STR_COPY(ret->path, f->path);
	else
		snprintf(ret->path, sizeof(ret->path), "@%s", card->key.name);
}

bool identity_same_part(const struct identity *a, const struct identity *b)
{
	return a->vf == b->vf && key_eq(&a->child, &b->child);
}

bool identity_eq(const struct identity *a, const struct identity *b)
{
	return a->ids == b->ids && a->serial == b->serial && identity_same_part(a, b) &&
	       !strcmp(a->path, b->path);
}

/* True: *is contradicts *id. */
static bool fill_ids(uint64_t *id, uint64_t is)
{
	for (int shift = 0; shift < 64; shift += 16) {
		uint64_t part = UINT64_C(0xffff) << shift;

		if (!(*id & part))
			*id |= is & part;
		else if (is & part && (*id ^ is) & part)
			return true;
	}
	return false;
}

bool identity_complete(struct identity *id, const struct identity *is)
{
	struct identity now = *id;
	bool half = !id->path[0] || id->vf == IDENTITY_HALF;

	if (half)
		now = *is;
	else if (fill_ids(&now.ids, is->ids) || !identity_same_part(id, is) ||
		 (id->serial && is->serial && id->serial != is->serial))
		return false;
	now.serial = now.serial ? now.serial : is->serial;
	/* That another card has its serial number stays known. */
	now.cloned = id->cloned && id->serial == now.serial;
	STR_COPY(now.path, is->path);
	if (identity_eq(&now, id))
		return false;
	*id = now;
	return true;
}

const char *identity_ids(const struct identity *id, char buf[static IDENTITY_IDS])
{
	uint64_t ids = id->ids;

	snprintf(buf, IDENTITY_IDS, "%04x:%04x:%04x:%04x", (unsigned int)(ids >> 48),
		 (unsigned int)(ids >> 32 & 0xffff), (unsigned int)(ids >> 16 & 0xffff),
		 (unsigned int)(ids & 0xffff));
	return buf;
}

const char *identity_serial(const struct identity *id, char buf[static IDENTITY_SERIAL])
{
	snprintf(buf, IDENTITY_SERIAL, id->serial ? "%016llx" : "none",
		 (unsigned long long)id->serial);
	return buf;
}

const char *identity_text(const struct identity *id, char buf[static IDENTITY_TEXT])
{
	char ids[IDENTITY_IDS], serial[IDENTITY_SERIAL], child[KEY_NAME + 8];
	int n = snprintf(buf, IDENTITY_TEXT, "%s,%s,%s", id->path, identity_ids(id, ids),
			 identity_serial(id, serial));

	if (id->vf >= 0)
		n += snprintf(buf + n, IDENTITY_TEXT - (size_t)n, ",vf%d", id->vf);
	if (id->child.bus)
		snprintf(buf + n, IDENTITY_TEXT - (size_t)n, ",%s", key_id(&id->child, child));
	return buf;
}

uint64_t identity_hash(const struct identity *id)
{
	char buf[IDENTITY_TEXT];
	const char *text = identity_text(id, buf);

	return fnv1a(FNV1A, text, strlen(text));
}

int identity_parse_path(const char *text, struct identity *ret)
{
	return text[0] && STR_COPY(ret->path, text) ? 0 : -EINVAL;
}

static bool is_none(const char *text)
{
	return !text[0] || !strcmp(text, "none");
}

int identity_parse_ids(const char *text, struct identity *ret)
{
	unsigned int v[4];
	char again[IDENTITY_IDS];

	if (sscanf(text, "%4x:%4x:%4x:%4x", &v[0], &v[1], &v[2], &v[3]) != 4)
		return -EINVAL;
	ret->ids = (uint64_t)v[0] << 48 | (uint64_t)v[1] << 32 | (uint64_t)v[2] << 16 | v[3];
	return strcmp(text, identity_ids(ret, again)) ? -EINVAL : 0;
}

int identity_parse_serial(const char *text, struct identity *ret)
{
	unsigned long long serial = 0;
	char again[IDENTITY_SERIAL];

	if (!is_none(text) && (sscanf(text, "%16llx", &serial) != 1 || !serial))
		return -EINVAL;
	ret->serial = serial;
	return serial && strcmp(text, identity_serial(ret, again)) ? -EINVAL : 0;
}

int identity_parse_vf(const char *text, struct identity *ret)
{
	uint64_t vf;

	if (is_none(text)) {
		ret->vf = -1;
		return 0;
	}
	if (parse_u64(text, UINT16_MAX, &vf))
		return -EINVAL;
	ret->vf = (int32_t)vf;
	return 0;
}

int identity_parse_child(const char *text, struct identity *ret)
{
	if (!is_none(text))
		return key_parse(text, &ret->child) ? 0 : -EINVAL;
	ret->child = (struct key){ 0 };
	return 0;
}

static const char *function_of(const struct identity *id)
{
	const char *dot = strrchr(id->path, '.');

	/* Of a USB device the path goes on behind its controller's. */
	return dot && !strchr(dot, '/') ? dot : "";
}

bool identity_same_card(const struct identity *a, const struct identity *b)
{
	return a->serial == b->serial && a->ids == b->ids && identity_same_part(a, b) &&
	       !strcmp(function_of(a), function_of(b));
}

/* "ss/1-4" at the end of a USB device's path, NULL: it is none. */
static const char *usb_place(const struct identity *id)
{
	const char *ports = strrchr(id->path, '/');

	if (!ports || ports - id->path < 3 || ports[-3] != '/' || ports[-1] != 's' ||
	    !strchr("fhs", ports[-2]))
		return NULL;
	return ports - 2;
}

/* The ports of its root hub are numbered apart, those of the hubs below are not. */
bool identity_may_fall(const struct identity *a, const struct identity *b)
{
	const char *x = usb_place(a), *y = usb_place(b);

	if (!x || !y || x - a->path != y - b->path ||
	    strncmp(a->path, b->path, (size_t)(x - a->path)))
		return false;
	if ((x[0] == 's') == (y[0] == 's'))
		return false;
	return !strcmp(x + strcspn(x, "-"), y + strcspn(y, "-"));
}

void search_look(struct search *f, const struct candidate *s)
{
	const struct identity *wanted = f->wanted;

	if (wanted->serial && s->serial_unknown)
		return;
	if (identity_same_part(&s->id, wanted) && !strcmp(s->id.path, wanted->path) && s > f->here)
		f->here = s;
	if (identity_same_card(&s->id, wanted) && f->card != s) {
		f->card = s;
		f->cards++;
	}
}

enum match search_end(const struct search *f, const struct candidate **ret)
{
	*ret = f->here;
	if (f->here && identity_same_card(&f->here->id, f->wanted))
		return MATCH_HERE;
	if (f->wanted->serial && !f->wanted->cloned && f->cards == 1) {
		*ret = f->card;
		return MATCH_HERE;
	}
	return f->here ? MATCH_MISMATCH : MATCH_NONE;
}
