// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state file. Its first byte tells how the rest is taken: as lines of the former form with a
 * right checksum behind them, as lines with a right checksum each, as all of the file, or as what
 * the fields of records hold. What is accepted and written again must be accepted again, and be
 * written the same; no line of it is lost; what a record holds is read as it was.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/intents/intent_file.h"
#include "model/intents/persist.h"
#include "pcidevfs/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frame_former(struct out *o, const char *data, size_t size)
{
	out_printf(o, INTENT_FORMER);
	out_put(o, data, size);
	if (o->data[o->len - 1] != '\n')
		out_put(o, "\n", 1);
	out_printf(o, INTENT_TRAILER "%016llx\n",
		   (unsigned long long)fnv1a(FNV1A, o->data, o->len));
}

static void put_line(struct out *o, const char *line, size_t len)
{
	out_put(o, line, len);
	out_printf(o, SUM "\n", (unsigned long long)fnv1a(FNV1A, line, len));
}

static void frame_lines(struct out *o, const char *data, size_t size)
{
	const char *end = data + size;

	put_line(o, INTENT_HEADER "1", strlen(INTENT_HEADER "1"));
	for (const char *p = data; p < end;) {
		const char *next = memchr(p, '\n', (size_t)(end - p));

		next = next ? next : end;
		put_line(o, p, (size_t)(next - p));
		p = next + 1;
	}
}

/* False: refused, with a sentence. */
static int read_text(const struct out *text, struct records *ret)
{
	struct err err = { 0 };
	char *copy = malloc(text->len + 1);
	int rc;

	memcpy(copy, out_text(text), text->len + 1);
	rc = intent_parse(copy, text->len, ret, &err);
	if (rc && (!err.code || !err.text[0] || ret->n))
		abort();
	free(copy);
	return !rc;
}

static void try_text(const struct out *given)
{
	struct records rs = { 0 }, again = { 0 };
	struct out once = { 0 }, twice = { 0 };

	if (!read_text(given, &rs))
		return;
	intent_format(&rs, &once);
	if (!read_text(&once, &again))
		abort();
	intent_format(&again, &twice);
	if (strcmp(once.data, twice.data))
		abort();
	for (size_t i = 0; i < rs.n; i++)
		if (rs.v[i]->aside && !rs.v[i]->reason[0])
			abort();
	records_free(&rs);
	records_free(&again);
	out_free(&once);
	out_free(&twice);
}

struct bytes {
	const uint8_t *at, *end;
};

static unsigned int number(struct bytes *b)
{
	return b->at < b->end ? *b->at++ : 0;
}

static void fill_text(struct bytes *b, char *dst, size_t size)
{
	size_t n = number(b) % size, i = 0;

	for (; i < n && b->at < b->end && *b->at; i++)
		dst[i] = (char)*b->at++;
	dst[i] = '\0';
}

static void fill_record(struct bytes *b, struct record *r, size_t i)
{
	struct intent *w = &r->intent;

	fill_text(b, r->id.path, sizeof(r->id.path));
	/* No path of a device is one of these, which mean something else in the file. */
	if (!r->id.path[0] || r->id.path[0] == '/' || !strcmp(r->id.path, "none"))
		STR_COPY(r->id.path, "@");
	r->id.serial = number(b);
	r->id.ids = i; /* no two of one device */
	r->id.vf = (int32_t)number(b) - 1;
	fill_text(b, r->at, sizeof(r->at));
	for (size_t k = 0; persists[k]; k++)
		for (const struct persist_field *f = persists[k]->fields;
		     f < persists[k]->fields + ARRAY_SIZE(persists[k]->fields) && f->size; f++)
			if (f->text)
				fill_text(b, (char *)w + f->at, f->size);
	w->vfs_wanted = number(b) & 1;
	w->num_vfs = w->vfs_wanted ? (int32_t)number(b) << 8 : 0;
	w->single = number(b) & 1;
	r->group = number(b);
	r->boot[0] = number(b) & 1 ? 'x' : '\0';
	fill_text(b, r->boot, sizeof(r->boot));
	w->former_known = number(b) & 1;
	if (w->former_known) {
		char text[DRIVER_NAME];

		fill_text(b, text, sizeof(text));
		former_set(w->former, "driver", text);
		fill_text(b, text, sizeof(text));
		former_set(w->former, "override", text);
	}
	if (w->claim[0])
		fill_text(b, r->driver, sizeof(r->driver));
	else
		persist_clear_with_claim(w);
}

static void expect_same(const struct record *a, const struct record *b)
{
	for (size_t k = 0; persists[k]; k++)
		if (!persist_same(persists[k], &a->intent, &b->intent))
			abort();
	if (b->aside || !identity_eq(&a->id, &b->id) || strcmp(a->at, b->at) ||
	    strcmp(a->driver, b->driver) || a->group != b->group || strcmp(a->boot, b->boot) ||
	    a->intent.former_known != b->intent.former_known ||
	    strcmp(a->intent.former, b->intent.former))
		abort();
}

static void try_records(struct bytes b)
{
	struct records rs = { 0 }, again = { 0 };
	struct out text = { 0 };
	size_t n = 0;

	while (b.at < b.end && rs.n < 8) {
		struct record *r = record_new();

		fill_record(&b, r, rs.n);
		records_add(&rs, r);
	}
	intent_format(&rs, &text);
	if (!read_text(&text, &again))
		abort();
	for (size_t i = 0; i < rs.n; i++)
		if (!record_is_empty(rs.v[i]))
			expect_same(rs.v[i], again.v[n++]);
	if (n != again.n)
		abort();
	records_free(&rs);
	records_free(&again);
	out_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct out given = { 0 };
	const char *rest = (const char *)data + 1;

	if (!size)
		return 0;
	if (data[0] % 4 == 0)
		frame_former(&given, (const char *)data, size); /* 'p' of path= */
	else if (data[0] % 4 == 1)
		frame_lines(&given, rest, size - 1);
	else if (data[0] % 4 == 2)
		out_put(&given, rest, size - 1);
	else
		try_records((struct bytes){ data + 1, data + size });
	if (given.data)
		try_text(&given);
	out_free(&given);
	return 0;
}
