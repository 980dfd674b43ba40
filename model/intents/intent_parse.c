// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the file's text: bounded by it, pure. An invalid line is kept as it is; the others
 * hold. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "intent_file.h"
#include "persist.h"
#include "pcidevfs/err.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/resource.h"

/* ---- key=value */

/* Does nothing if that file has an owner, or if there is no room. */
static int set_owner(struct record *r, const char *file, const char *text)
{
	struct file_owner o = { 0 };
	unsigned int uid, gid, mode;
	int end = 0;

	if (sscanf(text, "%u:%u:%o%n", &uid, &gid, &mode, &end) != 3 || text[end] || mode > 07777 ||
	    !STR_COPY(o.file, file))
		return -EINVAL;
	o.is = (struct ownership){ uid, gid, mode };
	return record_add_owner(r, &o);
}

/* o's text takes the place of *text. */
static int put_text(char **text, struct out *o)
{
	if (o->failed) {
		out_free(o);
		return -ENOMEM;
	}
	free(*text);
	*text = o->data;
	return 0;
}

static int keep_unknown(struct record *r, const struct pair *p)
{
	struct out o = { 0 };

	out_printf(&o, "%s", r->extra ? r->extra : "");
	if (p->quoted && strcmp(p->value, "none"))
		out_pair(&o, p->key, p->value);
	else
		out_printf(&o, p->quoted ? "%s%s=\"%s\"" : "%s%s=%s", o.len ? " " : "", p->key,
			   p->value);
	return put_text(&r->extra, &o);
}

static int set_former(struct record *r, const char *name, const char *value)
{
	r->intent.former_known = true;
	return former_set(r->intent.former, name, value) ? 0 : -EINVAL;
}

/* An unquoted none means nothing. */
static int set_pair(struct record *r, struct pair *p)
{
	const struct persist_key *k = persist_key_find(p->key);
	bool owner = !strncmp(p->key, OWNER_KEY, strlen(OWNER_KEY));
	bool former = !strncmp(p->key, FORMER_KEY, strlen(FORMER_KEY));

	if (!p->key[0])
		return -EINVAL;
	if (!k && !owner && !former)
		return keep_unknown(r, p);
	if (!p->quoted && !strcmp(p->value, "none"))
		p->value[0] = '\0';
	if (owner)
		return set_owner(r, p->key + strlen(OWNER_KEY), p->value);
	return k ? persist_parse(k, r, p->value)
		 : set_former(r, p->key + strlen(FORMER_KEY), p->value);
}

/* ---- a line */

/* The file that is being read, and its records. */
struct state_reader {
	struct records rs;
	unsigned int version;
	unsigned int number; /* of the present line */
	size_t said;	     /* number of lines according to the first line */
	size_t good;	     /* number of lines with a right checksum */
	struct err *err;
};

/* Keeps an invalid line: the next write has text again. */
static int set_aside(struct state_reader *rd, const char *text, const char *why)
{
	struct record *r = record_new();

	if (!r || !(r->aside = strdup(text)) || records_add(&rd->rs, r)) {
		record_free(r);
		return -ENOMEM;
	}
	record_set_aside(r);
	STR_COPY(r->reason, why);
	return 0;
}

/* Returns 0; -ENOMEM; -EINVAL with the invalid word. */
static int parse_pairs(char *line, struct record *r, const char **ret_word)
{
	struct pair pair;
	int rc;

	do {
		*ret_word = line;
		rc = pair_next(&line, &pair);
		if (rc > 0) {
			*ret_word = pair.key[0] ? pair.key : pair.value;
			rc = set_pair(r, &pair) ?: 1;
		}
	} while (rc > 0);
	*ret_word = rc ? *ret_word : "path";
	rc = !rc && !r->id.path[0] ? -EINVAL : rc;
	return rc == -ENOMEM || !rc ? rc : -EINVAL;
}

/* line is overwritten; whole is the line in the file. */
static int parse_record(struct state_reader *rd, char *line, const char *whole)
{
	struct record *r = record_new();
	const char *word = "";
	char why[120];
	int rc = r ? parse_pairs(line, r, &word) : -ENOMEM;

	if (!rc && !r->intent.claim[0])
		persist_clear_with_claim(&r->intent);
	if (!rc)
		rc = records_add(&rd->rs, r);
	if (!rc) {
		r->fresh = false;
		return 0;
	}
	record_free(r);
	snprintf(why, sizeof(why), "line %u makes no sense: %.40s", rd->number, word);
	return rc == -EINVAL ? set_aside(rd, whole, why) : rc;
}

/* A line of a later version about an unknown kind of device. */
static int keep_line(struct records *rs, const char *line)
{
	struct out o = { 0 };

	out_printf(&o, "%s%s\n", rs->other ? rs->other : "", line);
	return put_text(&rs->other, &o);
}

/* The length covered by the line's checksum; 0: it is wrong or missing. */
static size_t sum_covers(const char *line, size_t len)
{
	char sum[SUM_LEN + 1];
	size_t body = len > SUM_LEN ? len - SUM_LEN : 0;

	snprintf(sum, sizeof(sum), SUM, (unsigned long long)fnv1a(FNV1A, line, body));
	if (!body || memchr(line, 0, len) || memcmp(line + body, sum, SUM_LEN))
		return 0;
	return body;
}

static int parse_damaged(struct state_reader *rd, char *line, size_t len)
{
	char why[120];

	for (size_t i = 0; i < len; i++)
		line[i] = line[i] ? line[i] : '?';
	if (!strncmp(line, LOST, strlen(LOST)))
		snprintf(why, sizeof(why), "%.20s lines were missing once", line + strlen(LOST));
	else
		snprintf(why, sizeof(why), "line %u is damaged: its checksum is wrong", rd->number);
	return set_aside(rd, line, why);
}

/* The line must end with a NUL behind len. */
static int parse_line(struct state_reader *rd, char *line, size_t len)
{
	size_t body = rd->version == 1 ? len : sum_covers(line, len);
	_free_ char *whole = NULL;

	if (!body && rd->version > 1)
		return parse_damaged(rd, line, len);
	if (!body)
		return 0;
	rd->good++;
	whole = strdup(line);
	if (!whole)
		return -ENOMEM;
	line[body] = '\0';
	return strncmp(line, "path=", 5) ? keep_line(&rd->rs, line)
					 : parse_record(rd, line, whole);
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

/* ---- all of it */

/* The former version: one checksum for all. Sets the length that it covers. */
static int check_frame(const char *text, size_t len, size_t *ret, struct err *err)
{
	size_t tail = strlen(INTENT_TRAILER) + 17;
	char sum[20];

	if (memchr(text, 0, len))
		return fail(err, EINVAL, "it has bytes that are not text");
	if (len < strlen(INTENT_FORMER) + tail || text[len - tail - 1] != '\n' ||
	    text[len - 1] != '\n' ||
	    memcmp(text + len - tail, INTENT_TRAILER, strlen(INTENT_TRAILER)))
		return fail(err, EINVAL, "its end is missing");
	snprintf(sum, sizeof(sum), "%016llx", (unsigned long long)fnv1a(FNV1A, text, len - tail));
	if (memcmp(sum, text + len - 17, 16))
		return fail(err, EINVAL, "its checksum is wrong");
	*ret = len - tail;
	return 0;
}

/* "pcidevfs-intent 2 lines=3", with a checksum. If damaged only the number of lines is lost. */
static int parse_head(struct state_reader *rd, char *line, size_t len)
{
	size_t body = sum_covers(line, len);
	uint64_t said;

	rd->said = 0;
	line[body ? body : len] = '\0';
	if (!body || strncmp(line, INTENT_HEADER, strlen(INTENT_HEADER)) ||
	    parse_u64(line + strlen(INTENT_HEADER), INTENT_MAX, &said))
		return parse_damaged(rd, line, body ? body : len);
	rd->said = said;
	rd->good++;
	return 0;
}

static int parse_lines(struct state_reader *rd, char *text, size_t len)
{
	char *end = text + len;
	int rc = 0;

	for (char *line = text; line < end && !rc; rd->number++) {
		char *next = memchr(line, '\n', (size_t)(end - line));

		next = next ? next : end;
		*next = '\0';
		rc = rd->number == 1 ? parse_head(rd, line, (size_t)(next - line))
				     : parse_line(rd, line, (size_t)(next - line));
		line = next + 1;
	}
	return rc;
}

static int note_lost(struct state_reader *rd)
{
	size_t lines = rd->number - 2;
	char why[80], text[40];

	if (lines >= rd->said)
		return 0;
	snprintf(text, sizeof(text), LOST "%zu", rd->said - lines);
	snprintf(why, sizeof(why), "%zu of %zu lines are missing", rd->said - lines, rd->said);
	return set_aside(rd, text, why);
}

/* Of two equal identities the former counts as damaged: it must not hold after the later is
 * gone. */
static int drop_former(void *ctx, size_t former, size_t later)
{
	struct state_reader *rd = ctx;
	struct record *r = rd->rs.v[former];
	struct out text = { 0 };
	char why[IDENTITY_TEXT + 60], id[IDENTITY_TEXT];
	int rc;

	if (r->aside)
		return 0;
	record_line(r, &text);
	snprintf(why, sizeof(why), "a later line is about the same device: %s",
		 identity_text(&r->id, id));
	rc = text.failed ? -ENOMEM : set_aside(rd, text.data, why);
	out_free(&text);
	if (rc)
		return rc;
	rd->rs.v[former] = rd->rs.v[--rd->rs.n];
	record_free(r);
	return 0;
}

static int parse_former(struct state_reader *rd, char *text, size_t len)
{
	size_t end = 0, head = strlen(INTENT_FORMER);
	int rc = check_frame(text, len, &end, rd->err);

	rd->version = 1;
	rd->number = 2;
	return rc ? rc : parse_lines(rd, text + head, end - head);
}

static int parse_all(struct state_reader *rd, char *text, size_t len)
{
	bool later = !strncmp(text, "pcidevfs-intent ", 16);
	int rc = parse_lines(rd, text, len);

	if (!rc && !rd->good)
		return fail(
			rd->err, EINVAL,
			later ? "it was written by a later version, or its first line is damaged"
			      : "none of its lines makes sense");
	return rc ? rc : note_lost(rd);
}

int intent_parse(char *text, size_t len, struct records *ret, struct err *err)
{
	struct err why = { 0 };
	struct state_reader rd = { .version = 2, .number = 1, .err = &why };
	bool former = !strncmp(text, INTENT_FORMER, strlen(INTENT_FORMER));
	int rc;

	rc = former ? parse_former(&rd, text, len) : parse_all(&rd, text, len);
	rc = rc ? rc : records_each_twin(&rd.rs, drop_former, &rd);
	if (rc) {
		records_free(&rd.rs);
		if (!why.code)
			fail_nomem(&why);
		return fail(err, why.code, "%s", why.text);
	}
	*ret = rd.rs;
	return 0;
}

/* ---- the question of udev before a driver may meet a device: reads only the file */

int intents_early(const char *state_dir, const struct device *dev, const struct device *pf,
		  char ret[static DRIVER_NAME], struct err *err)
{
	_close_ int dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct records rs = { 0 };
	const struct device *card = pf ? pf : dev;
	struct identity id;
	char *text = NULL;
	size_t len = 0;
	int found = 0, rc = dir < 0 ? -errno : intent_read(dir, &text, &len);

	if (rc)
		return fail(err, -rc, "%s/" INTENT_FILE ": %s", state_dir, strerror(-rc));
	rc = intent_parse(text, len, &rs, err);
	free(text);
	if (rc)
		return fail_wrap(err, "%s/" INTENT_FILE, state_dir);
	identity_of(&id, dev, pf);
	ret[0] = '\0';
	/* A card that moved is left to the daemon, which knows whether its serial is unique. */
	for (size_t i = 0; i < rs.n; i++) {
		const struct record *r = rs.v[i];

		/* if it does not answer it may be the same card */
		if (!card->facts.serial_known)
			id.serial = r->id.serial;
		if (r->intent.claim[0] && identity_eq(&r->id, &id)) {
			str_copy(ret, DRIVER_NAME, r->driver);
			found = 1;
		}
	}
	records_free(&rs);
	return found;
}
