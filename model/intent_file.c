// SPDX-License-Identifier: GPL-2.0-or-later
/* Records, their keys, and the text made of them. Pure. */
#include "intent_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct record *record_new(void)
{
	struct record *r = calloc(1, sizeof(*r));

	if (r) {
		r->id.vf = -1;
		r->fresh = true;
	}
	return r;
}

struct record *record_copy(const struct record *r)
{
	struct record *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = *r;
	c->fresh = true;
	c->extra = r->extra ? strdup(r->extra) : NULL;
	c->owners = calloc(r->n_owners ? r->n_owners : 1, sizeof(*c->owners));
	if (!c->owners || (r->extra && !c->extra)) {
		record_free(c);
		return NULL;
	}
	if (r->n_owners)
		memcpy(c->owners, r->owners, r->n_owners * sizeof(*r->owners));
	return c;
}

void record_free(struct record *r)
{
	if (!r)
		return;
	free(r->owners);
	free(r->extra);
	free(r);
}

bool record_is_empty(const struct record *r)
{
	return !r->claim[0] && !r->vfs_wanted && !r->single && !r->resource[0] && !r->n_owners &&
	       !r->extra && !r->former_known;
}

int records_add(struct records *rs, struct record *r)
{
	if (rs->n == rs->cap) {
		size_t cap = rs->cap ? 2 * rs->cap : 16;
		struct record **v = reallocarray(rs->v, cap, sizeof(*v));

		if (!v)
			return -ENOMEM;
		rs->v = v;
		rs->cap = cap;
	}
	rs->v[rs->n++] = r;
	return 0;
}

void records_free(struct records *rs)
{
	for (size_t i = 0; i < rs->n; i++)
		record_free(rs->v[i]);
	free(rs->v);
	free(rs->other);
	*rs = (struct records){ 0 };
}

/* ---- values */

/* A name that goes into a path or to a shell must be one word. */
static int copy_word(char *dst, size_t size, const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return -EINVAL;
	return str_copy(dst, size, strcmp(text, "none") ? text : "") ? 0 : -EINVAL;
}

static int copy_driver(char dst[static DRIVER_NAME], const char *text)
{
	return strchr(text, '/') ? -EINVAL : copy_word(dst, DRIVER_NAME, text);
}

static const char *or_none(const char *text)
{
	return text[0] ? text : "none";
}

static int path_parse(struct record *r, const char *text)
{
	return identity_parse_path(text, &r->id);
}

static int ids_parse(struct record *r, const char *text)
{
	return identity_parse_ids(text, &r->id);
}

static int serial_parse(struct record *r, const char *text)
{
	return identity_parse_serial(text, &r->id);
}

static int vf_parse(struct record *r, const char *text)
{
	return identity_parse_vf(text, &r->id);
}

static int at_parse(struct record *r, const char *text)
{
	return copy_word(r->at, sizeof(r->at), text);
}

static void at_print(const struct record *r, struct out *o)
{
	if (r->at[0])
		out_pair(o, "at", r->at);
}

static int claim_parse(struct record *r, const char *text)
{
	return copy_word(r->claim, sizeof(r->claim), text);
}

static void claim_print(const struct record *r, struct out *o)
{
	if (r->claim[0])
		out_pair(o, "claim", r->claim);
}

static int vfio_parse(struct record *r, const char *text)
{
	return copy_driver(r->driver, text);
}

static void vfio_print(const struct record *r, struct out *o)
{
	if (r->claim[0] && r->driver[0])
		out_pair(o, "driver", r->driver);
}

static int driver_parse(struct record *r, const char *text)
{
	r->former_known = true;
	return copy_driver(r->former_driver, text);
}

static void driver_print(const struct record *r, struct out *o)
{
	if (r->former_known)
		out_pair(o, "former_driver", or_none(r->former_driver));
}

static int override_parse(struct record *r, const char *text)
{
	return copy_driver(r->former_override, text);
}

static void override_print(const struct record *r, struct out *o)
{
	if (r->former_known)
		out_pair(o, "former_override", or_none(r->former_override));
}

static int group_parse(struct record *r, const char *text)
{
	struct identity id;
	int rc = identity_parse_serial(text, &id);

	if (!rc)
		r->group = id.serial;
	return rc;
}

static void group_print(const struct record *r, struct out *o)
{
	if (r->group)
		out_printf(o, " group=%016llx", (unsigned long long)r->group);
}

static int vfs_parse(struct record *r, const char *text)
{
	uint64_t n;
	int rc = parse_u64(text, UINT16_MAX, &n);

	if (rc)
		return rc;
	r->vfs_wanted = true;
	r->num_vfs = (int32_t)n;
	return 0;
}

static void vfs_print(const struct record *r, struct out *o)
{
	if (r->vfs_wanted)
		out_printf(o, " numvfs=%d", r->num_vfs);
}

static int pooled_parse(struct record *r, const char *text)
{
	bool pooled;
	int rc = parse_bool(text, &pooled);

	r->single = !rc && !pooled;
	return rc;
}

static void pooled_print(const struct record *r, struct out *o)
{
	if (r->single)
		out_printf(o, " pooled=0");
}

static int resource_parse(struct record *r, const char *text)
{
	return copy_word(r->resource, sizeof(r->resource), text);
}

static void resource_print(const struct record *r, struct out *o)
{
	if (r->resource[0])
		out_pair(o, "resource_name", r->resource);
}

static int pinned_parse(struct record *r, const char *text)
{
	return copy_word(r->pinned, sizeof(r->pinned), text);
}

static void pinned_print(const struct record *r, struct out *o)
{
	if (r->claim[0] && r->pinned[0])
		out_pair(o, "offered_as", r->pinned);
}

static int given_parse(struct record *r, const char *text)
{
	return str_copy(r->given, sizeof(r->given), text) ? 0 : -EINVAL;
}

static void given_print(const struct record *r, struct out *o)
{
	if (r->claim[0] && r->given[0])
		out_pair(o, "allocated_nodes", r->given);
}

static int pending_parse(struct record *r, const char *text)
{
	return parse_bool(text, &r->pending);
}

static void pending_print(const struct record *r, struct out *o)
{
	if (r->pending)
		out_printf(o, " pending=1");
}

/* In the order of a line. A new kind of wish is a row here. */
static const struct {
	const char *key;
	int (*parse)(struct record *r, const char *text);
	void (*print)(const struct record *r, struct out *o); /* NULL: part of the identity */
} fields[] = {
	{ "path", path_parse, NULL },
	{ "ids", ids_parse, NULL },
	{ "serial", serial_parse, NULL },
	{ "vf", vf_parse, NULL },
	{ "at", at_parse, at_print },
	{ "claim", claim_parse, claim_print },
	{ "driver", vfio_parse, vfio_print },
	{ "former_driver", driver_parse, driver_print },
	{ "former_override", override_parse, override_print },
	{ "group", group_parse, group_print },
	{ "offered_as", pinned_parse, pinned_print },
	{ "allocated_nodes", given_parse, given_print },
	{ "numvfs", vfs_parse, vfs_print },
	{ "pooled", pooled_parse, pooled_print },
	{ "resource_name", resource_parse, resource_print },
	{ "pending", pending_parse, pending_print },
};

#define OWNER_KEY "owner."

/* owner.claim=1000:1000:0664 ; of the directory: owner.=... */
static int parse_owner(struct record *r, const char *file, const char *text)
{
	struct owner o = { 0 }, *v;
	unsigned int uid, gid, mode;
	int end = 0;

	if (sscanf(text, "%u:%u:%o%n", &uid, &gid, &mode, &end) != 3 || text[end] || mode > 07777 ||
	    copy_word(o.file, sizeof(o.file), file))
		return -EINVAL;
	if (r->n_owners >= OWNERS_MAX) /* no reason to lose the claims of all others */
		return 0;
	o.is = (struct owner_wish){ uid, gid, mode };
	v = reallocarray(r->owners, r->n_owners + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	r->owners = v;
	r->owners[r->n_owners++] = o;
	return 0;
}

static int keep_unknown(struct record *r, const char *key, const char *value)
{
	struct out o = { 0 };

	out_printf(&o, "%s", r->extra ? r->extra : "");
	out_pair(&o, key, value);
	if (o.failed) {
		out_free(&o);
		return -ENOMEM;
	}
	free(r->extra);
	r->extra = o.data;
	return 0;
}

int record_set(struct record *r, const char *key, const char *value)
{
	if (!strncmp(key, OWNER_KEY, strlen(OWNER_KEY)))
		return parse_owner(r, key + strlen(OWNER_KEY), value);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!strcmp(fields[i].key, key))
			return fields[i].parse(r, value);
	return keep_unknown(r, key, value);
}

uint64_t intent_checksum(const char *text, size_t len)
{
	return fnv1a(FNV1A, text, len);
}

void record_format(const struct record *r, struct out *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].print)
			fields[i].print(r, o);
	for (size_t i = 0; i < r->n_owners; i++)
		out_printf(o, " " OWNER_KEY "%s=%u:%u:%04o", r->owners[i].file, r->owners[i].is.uid,
			   r->owners[i].is.gid, (unsigned int)r->owners[i].is.mode);
	if (r->extra)
		out_printf(o, " %s", r->extra);
}

static void format_identity(const struct identity *id, struct out *o)
{
	char text[IDENTITY_TEXT], *part = text, *ids, *serial;

	identity_text(id, text);
	strsep(&part, ",");
	ids = strsep(&part, ",");
	serial = strsep(&part, ",");
	out_printf(o, "path=%s ids=%s serial=%s vf=", id->path, ids, serial);
	out_printf(o, id->vf < 0 ? "none" : "%d", id->vf);
}

void intent_format(const struct records *rs, struct out *o)
{
	out_printf(o, INTENT_HEADER);
	for (size_t i = 0; i < rs->n; i++) {
		if (!rs->v[i] || record_is_empty(rs->v[i]))
			continue;
		format_identity(&rs->v[i]->id, o);
		record_format(rs->v[i], o);
		out_printf(o, "\n");
	}
	if (rs->other)
		out_put(o, rs->other, strlen(rs->other));
	out_printf(o, INTENT_TRAILER "%016llx\n", (unsigned long long)intent_checksum(out_text(o), o->len));
}
