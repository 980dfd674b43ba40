// SPDX-License-Identifier: GPL-2.0-or-later
/* Records, their keys, and their text. Pure. */
#include "intent_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/index.h"
#include "persist.h"

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
	c->aside = r->aside ? strdup(r->aside) : NULL;
	c->types = r->types ? strdup(r->types) : NULL;
	c->owners = calloc(r->n_owners ? r->n_owners : 1, sizeof(*c->owners));
	if (!c->owners || (r->extra && !c->extra) || (r->aside && !c->aside) ||
	    (r->types && !c->types)) {
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
	free(r->aside);
	free(r->types);
	free(r);
}

void record_set_aside(struct record *r)
{
	snprintf(r->id.path, sizeof(r->id.path), "damaged/%016llx",
		 (unsigned long long)fnv1a(FNV1A, r->aside, strlen(r->aside)));
	r->state = RECORD_DAMAGED;
	r->fresh = false;
}

bool record_is_root(const struct record *r)
{
	return r && !strcmp(r->id.path, ROOT_PATH);
}

bool record_is_empty(const struct record *r)
{
	for (size_t i = 0; persists[i]; i++)
		if (persist_has(persists[i], &r->intent))
			return false;
	return !r->n_owners && !r->extra && !r->aside && !r->intent.former_known &&
	       !r->boot[0];
}

int records_add(struct records *rs, struct record *r)
{
	struct record **v = more_rows(rs->v, rs->n, &rs->cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	rs->v = v;
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

/* ---- the device of a record */

void record_renew(struct record *r)
{
	r->decided = false;
	r->tries = r->busy_tries = 0;
	r->tried_for = (struct sight){ 0 };
}

void record_leave(struct record *r)
{
	r->birth = 0;
	r->noted = r->full = false;
	r->in = r->yielded = 0;
	r->asked_ms = 0;
	record_renew(r);
	r->state = RECORD_WAITING;
	r->reason[0] = '\0';
}

void record_attach(struct record *r, const struct device *dev)
{
	if (r->birth && r->birth != dev->birth)
		record_leave(r);
	r->dev = dev->key;
	r->birth = dev->birth;
	record_set_at(r, &dev->key);
}

/* ---- two records of one device */

static uint32_t hash_of(const struct identity *id)
{
	const uint64_t card[] = { id->serial, id->ids, (uint64_t)id->vf };

	return (uint32_t)fnv1a(fnv1a(FNV1A, (const char *)card, sizeof(card)), id->path,
			       strlen(id->path));
}

int records_each_twin(const struct records *rs,
		      int (*found)(void *ctx, size_t former, size_t later), void *ctx)
{
	struct index by = { 0 };
	int rc = index_init(&by, (uint32_t)rs->n);

	for (uint32_t i = 0; i < rs->n && !rc; i++) {
		const struct record *r = rs->v[i];
		uint32_t hash = r ? hash_of(&r->id) : 0, at = index_first(&by, hash);

		if (!r)
			continue;
		while (at != INDEX_NONE && !identity_eq(&rs->v[at]->id, &r->id))
			at = index_next(&by, at);
		index_link(&by, i, hash);
		if (at == INDEX_NONE)
			continue;
		index_unlink(&by, at); /* found may drop it */
		rc = found(ctx, at, i);
	}
	index_fini(&by);
	return rc;
}

/* ---- values */

bool record_key(const struct record *r, struct key *ret)
{
	return key_parse(r->at, ret);
}

void record_set_at(struct record *r, const struct key *dev)
{
	char id[KEY_NAME + 8];

	STR_COPY(r->at, key_id(dev, id));
}

bool record_at_other(const struct record *r, const struct key *dev)
{
	char id[KEY_NAME + 8];

	return strcmp(r->at, key_id(dev, id)) != 0;
}

static int boot_parse(struct record *r, const char *text)
{
	r->interrupted = text[0];
	return STR_COPY(r->boot, text) ? 0 : -EINVAL;
}

static void boot_print(const struct record *r, struct out *o)
{
	if (r->boot[0])
		persist_print(o, "boot", r->boot);
}

/* Of an earlier version, which guessed from them what was half done. */
static int guess_parse(struct record *r, const char *text)
{
	return 0;
}

/* The beginning of a line, before its intents; the identity is printed as one word. */
static const struct persist_key keys[] = {
	{ .name = "path", .parse_id = identity_parse_path },
	{ .name = "ids", .parse_id = identity_parse_ids },
	{ .name = "serial", .parse_id = identity_parse_serial },
	{ .name = "vf", .parse_id = identity_parse_vf },
	{ .name = "child", .parse_id = identity_parse_child },
	PERSIST_KEY("at", KEY_TEXT, false, at),
	PERSIST_KEY("cloned", KEY_FLAG, false, id.cloned),
};

/* Keys of an operation, after the intents. */
static const struct persist_key op_keys[] = {
	PERSIST_OTHER("boot", boot_parse, boot_print),
	PERSIST_OTHER("pending", guess_parse, NULL),
	PERSIST_OTHER("autoprobe", guess_parse, NULL),
	PERSIST_OTHER("had_vfs", guess_parse, NULL),
	PERSIST_OTHER("had_profile", guess_parse, NULL),
	PERSIST_OTHER("unborn", guess_parse, NULL),
};

static const struct persist_key *key_in(const struct persist_key *v, size_t n, const char *name)
{
	for (const struct persist_key *k = v; k < v + n && k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

const struct persist_key *persist_key_find(const char *name)
{
	const struct persist_key *k = key_in(keys, ARRAY_SIZE(keys), name);

	k = k ? k : key_in(op_keys, ARRAY_SIZE(op_keys), name);
	for (size_t i = 0; persists[i] && !k; i++)
		k = key_in(persists[i]->keys, PERSIST_KEYS, name);
	return k;
}

static void put_keys(const struct persist_key *v, size_t n, const struct record *r, struct out *o)
{
	for (const struct persist_key *k = v; k < v + n && k->name; k++)
		persist_put(k, r, o);
}

int record_add_owner(struct record *r, const struct file_owner *o)
{
	struct file_owner *v;

	/* Too many are not worth losing the claims of all others. */
	if (record_owner_of(r, o->file) || r->n_owners >= OWNERS_MAX)
		return 0;
	v = reallocarray(r->owners, r->n_owners + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	r->owners = v;
	r->owners[r->n_owners++] = *o;
	return 0;
}

/* What a person asked for is the first key of a row; nodes come with a pod. */
static size_t asked_keys(const struct persist *k)
{
	return k == &persist_given ? 0 : 1;
}

void record_asked(const struct record *r, struct out *o)
{
	for (size_t i = 0; persists[i]; i++)
		put_keys(persists[i]->keys, asked_keys(persists[i]), r, o);
}

static void put_rest(const struct record *r, bool asked, struct out *o)
{
	put_keys(keys, ARRAY_SIZE(keys), r, o);
	for (size_t i = 0; persists[i]; i++) {
		size_t skip = asked ? 0 : asked_keys(persists[i]);

		put_keys(persists[i]->keys + skip, PERSIST_KEYS - skip, r, o);
	}
	put_keys(op_keys, ARRAY_SIZE(op_keys), r, o);
	for (size_t i = 0; i < r->n_owners; i++)
		out_printf(o, " " OWNER_KEY "%s=%u:%u:%04o", r->owners[i].file, r->owners[i].is.uid,
			   r->owners[i].is.gid, (unsigned int)r->owners[i].is.mode);
	if (r->extra)
		out_printf(o, " %s", r->extra);
}

void record_details(const struct record *r, struct out *o)
{
	put_rest(r, false, o);
}

static void format_identity(const struct identity *id, struct out *o)
{
	char ids[IDENTITY_IDS], serial[IDENTITY_SERIAL], child[KEY_NAME + 8];

	out_pair(o, "path", id->path);
	out_printf(o, " ids=%s serial=%s vf=", identity_ids(id, ids), identity_serial(id, serial));
	out_printf(o, id->vf < 0 ? "none" : "%d", id->vf);
	if (id->child.bus)
		out_pair(o, "child", key_id(&id->child, child));
}

void record_line(const struct record *r, struct out *o)
{
	format_identity(&r->id, o);
	put_rest(r, true, o);
	if (r->types && r->types[0]) /* long, and nobody's request: people do without */
		out_pair(o, "types", r->types);
}

static void put_line(struct out *o, const char *line, size_t len)
{
	out_put(o, line, len);
	out_printf(o, SUM "\n", (unsigned long long)fnv1a(FNV1A, line, len));
}

static void format_record(const struct record *r, struct out *o)
{
	struct out line = { 0 };

	if (r->aside) {
		/* written back as it was: without sense now, but perhaps not for another version */
		out_printf(o, "%s\n", r->aside);
		return;
	}
	record_line(r, &line);
	put_line(o, out_text(&line), line.len);
	o->failed |= line.failed;
	out_free(&line);
}

void intent_format(const struct records *rs, struct out *o)
{
	struct out lines = { 0 };
	char head[64];
	size_t n = 0;

	for (size_t i = 0; i < rs->n; i++) {
		if (!rs->v[i] || record_is_empty(rs->v[i]))
			continue;
		format_record(rs->v[i], &lines);
		n++;
	}
	for (const char *p = rs->other, *end; p && *p; p = end + 1, n++) {
		end = strchr(p, '\n');
		put_line(&lines, p, (size_t)(end - p));
	}
	snprintf(head, sizeof(head), INTENT_HEADER "%zu", n);
	put_line(o, head, strlen(head));
	out_put(o, out_text(&lines), lines.len);
	o->failed |= lines.failed;
	out_free(&lines);
}

struct file_owner *record_owner_of(const struct record *r, const char *file)
{
	for (size_t i = 0; i < r->n_owners; i++)
		if (!strcmp(r->owners[i].file, file))
			return &r->owners[i];
	return NULL;
}

void record_note_owner(const struct record *r, struct intent *want)
{
	const struct file_owner *o = record_owner_of(r, "claim");

	o = o ? o : record_owner_of(r, "");
	want->n_owners = (uint32_t)r->n_owners;
	want->uid = o ? o->is.uid : 0;
	want->gid = o ? o->is.gid : 0;
	want->owned = want->uid || want->gid; /* otherwise the nodes keep their initial owner */
}
