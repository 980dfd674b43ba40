// SPDX-License-Identifier: GPL-2.0-or-later
#include "fs/log/ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/region.h"
#include "pcidevfs/util.h"
#include "test.h"

#define BYTES 1024

static unsigned char space[BYTES + 256] __attribute__((aligned(64)));

static const struct region_head layout = { "test", RING_ABI, BYTES };

static struct ring *open_ring(void)
{
	struct ring *r;

	CHECK_EQ(ring_open(space, sizeof(space), &layout, &r, NULL), 0);
	return r;
}

DEFINE_TEST(ring_numbers_lines)
{
	struct ring *r = open_ring();
	struct out o = { 0 };

	CHECK_EQ(ring_put(r, "id=a x", 6), 1);
	CHECK_EQ(ring_put(r, "id=b y", 6), 2);
	ring_print(r, NULL, &o);
	CHECK_STR(o.data, "seq=1 id=a x\nseq=2 id=b y\n");
	out_free(&o);
	o = (struct out){ 0 };
	ring_print(r, " id=b ", &o);
	CHECK_STR(o.data, "seq=2 id=b y\n");
	out_free(&o);
	ring_close(r);
}

DEFINE_TEST(ring_takes_no_value_for_a_field)
{
	static const char line[] =
		"id=a value=\"x \\\" id=b y\" comm=\"\\\\\" text=\" id=c \" last=1";
	struct ring *r = open_ring();
	struct out o = { 0 };

	ring_put(r, line, strlen(line));
	ring_print(r, " id=b ", &o);
	ring_print(r, " id=c ", &o);
	CHECK_STR(out_text(&o), "");
	ring_print(r, " id=a ", &o);
	ring_print(r, " last=1\n", &o);
	CHECK_EQ(o.len, 2 * (strlen("seq=1 \n") + strlen(line)));
	out_free(&o);
	ring_close(r);
}

DEFINE_TEST(ring_finds_how_a_line_ends)
{
	struct ring *r = open_ring();
	uint64_t second;

	ring_put(r, "at=1 id=a x", 11);
	second = ring_head(r);
	ring_put(r, "at=2 id=b y", 11);
	CHECK(ring_has(r, 0, " id=a x", 7));
	CHECK(!ring_has(r, second, " id=a x", 7));
	CHECK(ring_has(r, second, " id=b y", 7));
	CHECK(!ring_has(r, 0, " id=b", 5));
	CHECK(!ring_has(r, 0, "x\nseq=2 at=2 id=b y", 19));
	CHECK(!ring_has(r, ring_head(r) + 1, " id=b y", 7));
	ring_close(r);
}

DEFINE_TEST(ring_survives_its_process)
{
	struct ring *r = open_ring();
	struct out o = { 0 };

	ring_put(r, "a", 1);
	ring_close(r);
	r = open_ring();
	CHECK_EQ(ring_put(r, "b", 1), 2);
	ring_print(r, NULL, &o);
	CHECK_STR(o.data, "seq=1 a\nseq=2 b\n");
	out_free(&o);
	ring_close(r);
}

/* Killed behind a line, before it was noted that its number is used. */
DEFINE_TEST(ring_gives_no_number_twice)
{
	struct ring *r = open_ring();
	uint64_t *seq = NULL;
	struct out o = { 0 };

	ring_put(r, "a", 1);
	ring_put(r, "b", 1);
	ring_close(r);
	for (size_t at = 0; at < sizeof(space) - BYTES && !seq; at += sizeof(*seq))
		seq = space[at] == 2 ? (uint64_t *)&space[at] : NULL;
	CHECK(seq);
	*seq = 1;
	r = open_ring();
	CHECK_EQ(ring_span(r).seq, 2);
	CHECK_EQ(ring_put(r, "c", 1), 3);
	ring_print(r, NULL, &o);
	CHECK_STR(o.data, "seq=1 a\nseq=2 b\nseq=3 c\n");
	out_free(&o);
	ring_close(r);
}

DEFINE_TEST(ring_forgets_whole_lines)
{
	struct ring *r = open_ring();
	struct out o = { 0 };
	char line[64];

	for (int i = 1; i <= 1000; i++) {
		int n = snprintf(line, sizeof(line), "line %d %.*s", i, i % 40,
				 "----------------------------------------");

		CHECK_EQ(ring_put(r, line, (size_t)n), i);
	}
	ring_print(r, NULL, &o);
	CHECK(o.len <= BYTES && o.len > BYTES / 2 - 80);
	CHECK(!strncmp(o.data, "seq=", 4));
	CHECK_IN(o.data, "seq=1000 line 1000");
	out_free(&o);
	ring_close(r);
}

DEFINE_TEST(ring_tells_a_slow_reader_what_it_lost)
{
	struct ring *r = open_ring();
	uint64_t at = ring_head(r), tail = 0, seq = 0;
	char buf[BYTES];

	CHECK_EQ(ring_read(r, at, buf, sizeof(buf), &tail, &seq), 0);
	for (int i = 0; i < 200; i++)
		ring_put(r, "something or other", 18);
	CHECK_EQ(ring_read(r, at, buf, sizeof(buf), &tail, &seq), -1);
	CHECK(ring_read(r, tail, buf, 32, &tail, &seq) == 32);
	CHECK_EQ(strtoull(buf + 4, NULL, 10), seq + 1);
	ring_close(r);
}

DEFINE_TEST(ring_drops_what_is_too_long)
{
	struct ring *r = open_ring();
	char *line = calloc(1, BYTES);

	memset(line, 'x', BYTES);
	CHECK_EQ(ring_put(r, line, BYTES), 0);
	CHECK_EQ(ring_put(r, line, BYTES / 4), 1);
	free(line);
	ring_close(r);
}

DEFINE_TEST(ring_does_not_believe_rubbish)
{
	struct ring *r = open_ring();
	struct out o = { 0 };

	ring_put(r, "a", 1);
	ring_close(r);
	memset(space + 24, 0xff, 24); /* tail, head */
	r = open_ring();
	ring_print(r, NULL, &o);
	CHECK_EQ(o.len, 0);
	CHECK_EQ(ring_put(r, "b", 1), 1);
	out_free(&o);
	ring_close(r);
}

DEFINE_TEST(ring_is_a_file_that_is_rotated)
{
	struct ring *r = open_ring();
	struct ring_span was = ring_span(r), is;
	size_t drops = 0;
	char buf[8];
	uint64_t tail, seq;

	CHECK_EQ(was.written, 0);
	for (int i = 0; i < 1000; i++, was = is) {
		ring_put(r, "something or other", 18);
		is = ring_span(r);
		CHECK(is.head > was.head && is.written >= was.written);
		if (is.tail == was.tail)
			continue;
		drops++;
		CHECK(was.head - was.tail > BYTES - 40);
		CHECK(was.head - is.tail <= BYTES / 2 && was.head - is.tail > BYTES / 2 - 80);
		CHECK_EQ(ring_read(r, is.tail, buf, 4, &tail, &seq), 4);
		CHECK(!memcmp(buf, "seq=", 4));
	}
	CHECK(drops > 1);
	ring_close(r);
}

/* By its first letter; A has all, others 200 bytes. */
static size_t by_letter(const char *line, size_t len, uint64_t *ret_owner)
{
	const char *name = ring_field(line, len, " id=");

	*ret_owner = name ? (uint64_t)*name : 0;
	return *ret_owner == 'A' ? BYTES : 200;
}

/* Who writes without end loses the oldest lines of its own; those of others stay in order. */
DEFINE_TEST(ring_keeps_the_share_of_others)
{
	struct ring *r = open_ring();
	char line[64], said[8];
	uint64_t last = 0;
	struct out o = { 0 };
	const char *at;

	ring_set_share(r, by_letter);
	ring_put(r, "id=A first", 10);
	ring_put(r, "id=B one", 8);
	for (int i = 0; i < 5000; i++) {
		size_t n = (size_t)snprintf(line, sizeof(line), "id=F %d", i);

		ring_put(r, line, n);
		if (i == 2500)
			ring_put(r, "id=B two", 8);
		CHECK(ring_span(r).tail <= ring_span(r).moved);
	}
	ring_print(r, NULL, &o);
	CHECK_IN(o.data, "id=A first\n");
	CHECK_IN(o.data, "id=B one\n");
	CHECK_IN(o.data, "id=B two\n");
	CHECK_IN(o.data, "id=F 4999\n");
	CHECK(o.len <= BYTES);
	for (at = o.data; sscanf(at, "seq=%7[0-9] ", said) == 1; at = strchr(at, '\n') + 1) {
		CHECK(strtoull(said, NULL, 10) > last);
		last = strtoull(said, NULL, 10);
	}
	CHECK(!*at);
	out_free(&o);
	ring_close(r);
}

DEFINE_TEST(ring_keeps_no_more_than_a_quarter)
{
	struct ring *r = open_ring();
	char line[64];
	struct out o = { 0 };

	ring_set_share(r, by_letter);
	for (int i = 0; i < 1000; i++) /* each line is another's, or all are those of A */
		ring_put(r, line, (size_t)snprintf(line, sizeof(line), "id=%c %d", 'A' + i % 26, i));
	for (int i = 0; i < 1000; i++)
		ring_put(r, line, (size_t)snprintf(line, sizeof(line), "id=A %d.", i));
	ring_print(r, NULL, &o);
	CHECK_IN(o.data, "id=A 999.\n");
	CHECK(o.len <= BYTES && o.len > BYTES / 4);
	out_free(&o);
	ring_close(r);
}
