// SPDX-License-Identifier: GPL-2.0-or-later
/* From the file's text to records: strict, bounded by the text, pure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intent_file.h"
#include "kept.h"
#include "pcidevfs/err.h"

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What out_pair() quoted, in place; *at stands behind the first quote and ends behind the last. */
static int unquote(char **at)
{
	char *to = *at, *from = *at;

	while (*from && *from != '"') {
		char c = *from++;

		if (c == '\\' && from[0] == 'x' && hex_digit(from[1]) >= 0 &&
		    hex_digit(from[2]) >= 0) {
			c = (char)(hex_digit(from[1]) << 4 | hex_digit(from[2]));
			from += 3;
		} else if (c == '\\' && (*from == '\\' || *from == '"')) {
			c = *from++;
		} else if (c == '\\') {
			return -EINVAL;
		}
		if (!c)
			return -EINVAL;
		*to++ = c;
	}
	if (*from != '"')
		return -EINVAL;
	*at = from + 1;
	*to = '\0';
	return 0;
}

/* The next pair of the line; 0 none, 1 one, -EINVAL. */
static int pair_next(char **line, char **key, char **value)
{
	char *p = *line + strspn(*line, " ");
	int rc = 0;

	if (!*p)
		return 0;
	*key = p;
	p += strcspn(p, " =");
	if (p == *key || *p != '=')
		return -EINVAL;
	*p++ = '\0';
	*value = p;
	if (*p == '"') {
		*value = ++p;
		rc = unquote(&p);
	} else {
		p += strcspn(p, " ");
	}
	if (rc || (*p && *p != ' '))
		return -EINVAL;
	if (*p)
		*p++ = '\0';
	*line = p;
	return 1;
}

static int parse_record(char *line, struct records *rs)
{
	struct record *r = record_new();
	char *key, *value;
	int rc = r ? 1 : -ENOMEM;

	while (rc > 0) {
		rc = pair_next(&line, &key, &value);
		if (rc > 0 && record_set(r, key, value))
			rc = -EINVAL;
	}
	if (!rc && !r->id.path[0])
		rc = -EINVAL;
	if (!rc && !r->want.claim[0])
		kept_clear_with_claim(&r->want);
	for (size_t i = 0; i < rs->n && !rc; i++)
		if (identity_eq(&rs->v[i]->id, &r->id))
			rc = -EINVAL;
	if (!rc)
		rc = records_add(rs, r);
	if (rc)
		record_free(r);
	else
		r->fresh = false;
	return rc;
}

/* A line of a later version about something that we do not know, an mdev or a USB device. */
static int keep_line(struct records *rs, const char *line)
{
	struct out o = { 0 };

	out_printf(&o, "%s%s\n", rs->other ? rs->other : "", line);
	if (o.failed) {
		out_free(&o);
		return -ENOMEM;
	}
	free(rs->other);
	rs->other = o.data;
	return 0;
}

/* Returns the length of what the checksum covers. */
static int check_frame(const char *text, size_t len, size_t *ret, struct err *err)
{
	size_t tail = strlen(INTENT_TRAILER) + 17;
	char sum[20];

	if (len < strlen(INTENT_HEADER) || memcmp(text, INTENT_HEADER, strlen(INTENT_HEADER)))
		return fail(err, EINVAL,
			    !strncmp(text, "pcidevfs-intent ", 16)
				    ? "it was written by a later version"
				    : "it does not begin with pcidevfs-intent 1");
	if (memchr(text, 0, len))
		return fail(err, EINVAL, "it has bytes that are no text");
	if (len < strlen(INTENT_HEADER) + tail || text[len - tail - 1] != '\n' ||
	    text[len - 1] != '\n' ||
	    memcmp(text + len - tail, INTENT_TRAILER, strlen(INTENT_TRAILER)))
		return fail(err, EINVAL, "its end is missing");
	snprintf(sum, sizeof(sum), "%016llx",
		 (unsigned long long)intent_checksum(text, len - tail));
	if (memcmp(sum, text + len - 17, 16))
		return fail(err, EINVAL, "its checksum is wrong");
	*ret = len - tail;
	return 0;
}

int intent_parse(char *text, size_t len, struct records *ret, struct err *err)
{
	struct records rs = { 0 };
	size_t end = 0;
	int rc = check_frame(text, len, &end, err);
	unsigned int number = 2;

	if (rc)
		return rc;
	text[end] = '\0';
	for (char *line = text + strlen(INTENT_HEADER); *line && !rc; number++) {
		char *next = line + strcspn(line, "\n");

		if (*next)
			*next++ = '\0';
		rc = strncmp(line, "path=", 5) ? keep_line(&rs, line) : parse_record(line, &rs);
		line = next;
	}
	if (rc) {
		records_free(&rs);
		return rc == -ENOMEM ? fail(err, ENOMEM, "no memory to read it")
				     : fail(err, EINVAL, "its line %u makes no sense", number - 1);
	}
	*ret = rs;
	return 0;
}
