// SPDX-License-Identifier: GPL-2.0-or-later
/* Records, their keys, and the text made of them. Pure. */
#include "intent_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kept.h"

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

bool record_is_root(const struct record *r)
{
	return r && !strcmp(r->id.path, ROOT_PATH);
}

bool record_is_empty(const struct record *r)
{
	for (size_t i = 0; kept[i]; i++)
		if (kept_has(kept[i], &r->want))
			return false;
	return !r->n_owners && !r->extra && !r->want.former_known && !cut_is_begun(r);
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
	return kept_word(r->at, sizeof(r->at), text);
}

static void at_print(const struct record *r, struct out *o)
{
	if (r->at[0])
		out_pair(o, "at", r->at);
}

static int pending_parse(struct record *r, const char *text)
{
	return parse_bool(text, &r->pending);
}

static int boot_parse(struct record *r, const char *text)
{
	int rc = kept_word(r->boot, sizeof(r->boot), text);

	r->cut = r->boot[0];
	return rc;
}

static int autoprobe_parse(struct record *r, const char *text)
{
	return parse_bool(text, &r->autoprobe);
}

static int had_vfs_parse(struct record *r, const char *text)
{
	uint64_t n;
	int rc = parse_u64(text, UINT16_MAX, &n);

	r->had_vfs = rc ? 0 : (int32_t)n;
	return rc;
}

static void act_print(const struct record *r, struct out *o)
{
	if (r->pending)
		out_printf(o, " pending=1");
	if (r->boot[0])
		out_pair(o, "boot", r->boot);
	if (r->autoprobe)
		out_printf(o, " autoprobe=1");
	if (r->had_vfs)
		out_printf(o, " had_vfs=%d", r->had_vfs);
}

/* What a line has besides wishes. */
static const struct kept_key keys[] = {
	{ "path", path_parse, NULL },	    { "ids", ids_parse, NULL },
	{ "serial", serial_parse, NULL },   { "vf", vf_parse, NULL },
	{ "at", at_parse, NULL },	    { "pending", pending_parse, NULL },
	{ "boot", boot_parse, NULL },	    { "autoprobe", autoprobe_parse, NULL },
	{ "had_vfs", had_vfs_parse, NULL },
};

const struct kept_key *kept_key_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	for (size_t i = 0; kept[i]; i++)
		for (const struct kept_key *k = kept[i]->keys;
		     k < kept[i]->keys + KEPT_KEYS && k->name; k++)
			if (!strcmp(k->name, name))
				return k;
	return NULL;
}

#define OWNER_KEY "owner."

/* owner.claim=1000:1000:0664 ; of the directory: owner.=... */
static int parse_owner(struct record *r, const char *file, const char *text)
{
	struct owner o = { 0 }, *v;
	unsigned int uid, gid, mode;
	int end = 0;

	if (sscanf(text, "%u:%u:%o%n", &uid, &gid, &mode, &end) != 3 || text[end] || mode > 07777 ||
	    kept_word(o.file, sizeof(o.file), file))
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
	const struct kept_key *k = kept_key_find(key);

	if (!strncmp(key, OWNER_KEY, strlen(OWNER_KEY)))
		return parse_owner(r, key + strlen(OWNER_KEY), value);
	return k ? k->parse(r, value) : keep_unknown(r, key, value);
}

uint64_t intent_checksum(const char *text, size_t len)
{
	return fnv1a(FNV1A, text, len);
}

void record_format(const struct record *r, struct out *o)
{
	at_print(r, o);
	for (size_t i = 0; kept[i]; i++)
		for (const struct kept_key *k = kept[i]->keys;
		     k < kept[i]->keys + KEPT_KEYS && k->name; k++)
			k->print(r, o);
	act_print(r, o);
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
	out_printf(o, INTENT_TRAILER "%016llx\n",
		   (unsigned long long)intent_checksum(out_text(o), o->len));
}
