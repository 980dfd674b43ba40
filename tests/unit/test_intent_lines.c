// SPDX-License-Identifier: GPL-2.0-or-later
/* Each line of the state file stands for itself: all that was written is read again, and damage
 * costs one line. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/intents/intent_file.h"
#include "facts.h"
#include "pcidevfs/err.h"
#include "test.h"

#define IDS " ids=8086:10fb:0000:0001 serial=none vf=none"
#define A "path=0000:00/1c.4/00.0" IDS
#define B "path=0000:00/1c.5/00.0" IDS
#define C "path=0000:00/1c.6/00.0" IDS

static int parse(const char *text, size_t len, struct records *ret, struct err *err)
{
	char *copy = malloc(len + 1);
	int rc;

	memcpy(copy, text, len);
	copy[len] = '\0';
	rc = intent_parse(copy, len, ret, err);
	free(copy);
	return rc;
}

/* As the former version wrote it. */
static void former_text(const char *lines, struct out *ret)
{
	out_printf(ret, "pcidevfs-intent 1\n%s", lines);
	out_printf(ret, "checksum=%016llx\n",
		   (unsigned long long)fnv1a(FNV1A, ret->data, ret->len));
}

/* The records of these lines. */
static void read_lines(const char *lines, struct records *ret)
{
	struct out text = { 0 };
	struct err err = { 0 };

	former_text(lines, &text);
	if (parse(text.data, text.len, ret, &err))
		FAIL("%s: %s", lines, err.text);
	out_free(&text);
}

static void write_lines(const char *lines, struct out *ret)
{
	struct records rs = { 0 };

	read_lines(lines, &rs);
	intent_format(&rs, ret);
	records_free(&rs);
}

static const char *claim_at(const struct records *rs, size_t i)
{
	return i < rs->n ? rs->v[i]->intent.claim : "missing";
}

static struct record *some_record(void)
{
	struct record *r = record_new();

	STR_COPY(r->id.path, "0000:00/1c.4/00.0");
	STR_COPY(r->intent.claim, "alice");
	r->intent.former_known = true;
	r->fresh = false;
	return r;
}

/* Whatever the kernel had there. */
DEFINE_TEST(intent_texts_are_read_as_they_were)
{
	static const char *const texts[] = { "foo bar", "a/b",	   "none", "",	   "\"",
					     "\\",	"a=b",	   "\n",   "\x7f", "\xff\xfe",
					     "(null)",	"sum=012", " ",	   "none " };
	struct record *r = some_record();
	struct records rs = { .v = &r, .n = 1 }, again = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct out text = { 0 };

		former_set(r->intent.former, "override", texts[i]);
		former_set(r->intent.former, "driver", texts[ARRAY_SIZE(texts) - 1 - i]);
		intent_format(&rs, &text);
		if (parse(text.data, text.len, &again, &err))
			FAIL("%s: %s", text.data, err.text);
		CHECK_EQ(again.n, 1);
		CHECK_STR(again.v[0]->intent.claim, "alice");
		CHECK_STR(former_of(again.v[0]->intent, "override"), texts[i]);
		CHECK_STR(former_of(again.v[0]->intent, "driver"),
			  texts[ARRAY_SIZE(texts) - 1 - i]);
		records_free(&again);
		out_free(&text);
	}
	record_free(r);
}

/* How many of the three claims are there; what is not there must have been told. */
static size_t count_left(const char *data, size_t len, const char *what)
{
	struct records rs = { 0 };
	struct err err = { 0 };
	size_t left = 0, told = 0;

	if (parse(data, len, &rs, &err))
		return 0;
	for (size_t i = 0; i < rs.n; i++) {
		left += !strcmp(claim_at(&rs, i), "alice") || !strcmp(claim_at(&rs, i), "bob") ||
			!strcmp(claim_at(&rs, i), "carol");
		told += rs.v[i]->aside && rs.v[i]->reason[0];
	}
	if (!told && left != 3)
		FAIL("%s: %zu are left, and nothing is told: %.*s", what, left, (int)len, data);
	records_free(&rs);
	return left;
}

static const char three[] = A " claim=alice\n" B " claim=bob\n" C " claim=carol\n";

DEFINE_TEST(intent_damage_costs_one_line)
{
	struct out text = { 0 };

	write_lines(three, &text);
	CHECK_EQ(count_left(text.data, text.len, "whole"), 3);
	for (size_t i = 0; i < text.len; i++)
		for (int bit = 1; bit < 256; bit <<= 1) {
			char was = text.data[i];
			size_t left;

			text.data[i] = (char)(was ^ bit);
			left = count_left(text.data, text.len, "one bit");
			/* A newline's two neighbours are one line without it. */
			if (left < (was == '\n' ? 1 : 2))
				FAIL("%zu left of %s", left, text.data);
			text.data[i] = was;
		}
	out_free(&text);
}

/* Of a part of the file, the whole lines hold; the number of the others is known. */
DEFINE_TEST(intent_cut_is_noticed)
{
	struct out text = { 0 };
	struct records rs = { 0 };
	struct err err = { 0 };
	const char *p;

	write_lines(three, &text);
	for (size_t len = 0; len < text.len - 1; len++) {
		size_t whole = 0;

		for (size_t i = 0; i <= len; i++) /* a line may lack its newline alone */
			whole += text.data[i] == '\n';
		CHECK_EQ(count_left(text.data, len, "cut"), whole ? whole - 1 : 0);
	}
	p = strchr(strchr(text.data, '\n') + 1, '\n') + 1;
	CHECK_EQ(parse(text.data, (size_t)(p - text.data), &rs, &err), 0);
	CHECK_EQ(rs.n, 2);
	CHECK_STR(claim_at(&rs, 0), "alice");
	CHECK_STR(rs.v[1]->reason, "2 of 3 lines are missing");
	records_free(&rs);
	out_free(&text);
}

/* The next write loses nothing of it, however often, and does not make it live. */
DEFINE_TEST(intent_damaged_lines_stay)
{
	struct out text = { 0 }, once = { 0 }, twice = { 0 };
	struct records rs = { 0 };
	struct err err = { 0 };

	write_lines(three, &text);
	*strstr(text.data, "bob") = 'B';
	out_put(&text, "rubbish\0!\n", 10);
	CHECK_EQ(parse(text.data, text.len, &rs, &err), 0);
	CHECK_EQ(rs.n, 4);
	CHECK(!rs.v[0]->aside && rs.v[1]->aside && !rs.v[2]->aside && rs.v[3]->aside);
	CHECK_STR(rs.v[1]->reason, "line 3 is damaged: its checksum is wrong");
	CHECK_IN(rs.v[1]->aside, "claim=Bob");
	intent_format(&rs, &once);
	records_free(&rs);
	CHECK_IN(once.data, "claim=Bob");
	CHECK_IN(once.data, "rubbish?!");
	CHECK_EQ(parse(once.data, once.len, &rs, &err), 0);
	CHECK_EQ(rs.n, 4);
	CHECK(rs.v[1]->aside);
	intent_format(&rs, &twice);
	CHECK_STR(once.data, twice.data);
	records_free(&rs);
	out_free(&text);
	out_free(&once);
	out_free(&twice);
}

/* What a later version has written is its own when that comes back. */
DEFINE_TEST(intent_line_without_sense_is_written_as_it_was)
{
	struct records rs = { 0 };
	struct err err = { 0 };
	struct out text = { 0 }, again = { 0 };
	char *sense;

	write_lines(three, &text);
	sense = strstr(text.data, A);
	out_printf(&again, "%.*s" A " numvfs=-1 sum=%016llx%s", (int)(sense - text.data), text.data,
		   (unsigned long long)fnv1a(FNV1A, A " numvfs=-1", strlen(A " numvfs=-1")),
		   strchr(sense, '\n'));
	CHECK_EQ(parse(again.data, again.len, &rs, &err), 0);
	CHECK_EQ(rs.n, 3);
	CHECK_STR(rs.v[0]->reason, "line 2 makes no sense: numvfs");
	CHECK_STR(claim_at(&rs, 1), "bob");
	out_free(&text);
	intent_format(&rs, &text);
	CHECK_STR(text.data, again.data);
	records_free(&rs);
	out_free(&text);
	out_free(&again);
}

/* Of two records of one device the later one holds; the former never does again. */
DEFINE_TEST(intent_of_equal_identities_the_later_one_holds)
{
	struct out text = { 0 };
	struct records rs = { 0 };
	struct err err = { 0 };

	read_lines(A " claim=alice\n" B " claim=bob\n" A " claim=carol\n", &rs);
	CHECK_EQ(rs.n, 3);
	CHECK_IN(rs.v[0]->aside, "claim=alice");
	CHECK_IN(rs.v[0]->reason, "a later line is about the same device");
	CHECK_STR(claim_at(&rs, 1), "bob");
	CHECK_STR(claim_at(&rs, 2), "carol");
	rs.v[2]->intent.claim[0] = '\0'; /* released: nothing of it is written */
	intent_format(&rs, &text);
	records_free(&rs);
	CHECK_EQ(parse(text.data, text.len, &rs, &err), 0);
	CHECK_EQ(rs.n, 2);
	CHECK(rs.v[0]->aside);
	CHECK_STR(claim_at(&rs, 1), "bob");
	records_free(&rs);
	out_free(&text);
}

DEFINE_TEST(intent_of_the_former_form_is_read)
{
	struct records rs = { 0 };

	read_lines(A " claim=alice former_driver=none former_override=none\n" B
		     " former_driver=none numvfs=-1\nmdev=5f2a type=\"x y\"\n",
		   &rs);
	CHECK_EQ(rs.n, 2);
	CHECK_STR(former_of(rs.v[0]->intent, "driver"), "");
	CHECK(rs.v[0]->intent.former_known);
	CHECK_IN(rs.v[1]->aside, "numvfs=-1");
	CHECK_STR(rs.other, "mdev=5f2a type=\"x y\"\n");
	records_free(&rs);
}

/* A file that the reader refuses leaves the one that is there. */
DEFINE_TEST(intent_too_large_is_not_written)
{
	int dir = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct disk real = disk_at(&dir);
	char *got, *large = calloc(1, INTENT_MAX + 1);
	size_t len;

	CHECK_EQ(intent_replace(&real, "text", 4), 0);
	CHECK_EQ(intent_replace(&real, large, INTENT_MAX + 1), -EFBIG);
	CHECK_EQ(intent_read(dir, &got, &len), 0);
	CHECK_STR(got, "text");
	free(got);
	free(large);
	close(dir);
}
