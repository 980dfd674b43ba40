// SPDX-License-Identifier: GPL-2.0-or-later
/* What an open ctl gathers and answers, as it lies in the memory that outlives the process. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "fs/ctl/ctl_job.h"
#include "fs/ctl/ctl_store.h"
#include "fs/journal.h"
#include "test.h"

#define REGION ((size_t)1088 << 20)

static struct ctl *fresh(struct ctls **ret)
{
	void *at = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct ctl *ctl;

	CHECK(at != MAP_FAILED);
	CHECK_EQ(ctls_new(at, REGION, ret, NULL), 0);
	ctl = ctls_open(*ret, 1);
	CHECK(ctl != NULL);
	return ctl;
}

static int append(struct ctl *ctl, const char *text, size_t size)
{
	struct ctl_state *next = ctl_next(ctl);
	int r = ctl_append(ctl, next, text, size);

	if (!r)
		ctl_swap(ctl);
	return r;
}

/* Passes one line; ends the transaction behind it or not. */
static void pass(struct ctl *ctl, const char *expected, bool ends)
{
	struct ctl_state *next = ctl_next(ctl);
	size_t len = 0;
	const char *line = ctl_line(ctl, next, &len);

	CHECK(line && len == strlen(expected) && !memcmp(line, expected, len));
	next->scanned += (uint32_t)len + 1;
	if (ends)
		next->begin = next->scanned;
	ctl_swap(ctl);
}

DEFINE_TEST(ctl_lines_of_any_cut)
{
	struct ctls *c;
	struct ctl *ctl = fresh(&c);
	size_t len;

	CHECK_EQ(append(ctl, "a/cl", 4), 0);
	CHECK(!ctl_line(ctl, ctl_now(ctl), &len));
	CHECK_EQ(append(ctl, "aim b\n\ncom", 10), 0);
	pass(ctl, "a/claim b", false);
	pass(ctl, "", false);
	CHECK(!ctl_line(ctl, ctl_now(ctl), &len));
	CHECK_EQ(append(ctl, "mit\n", 4), 0);
	pass(ctl, "commit", true);
	CHECK_EQ(ctl_now(ctl)->begin, ctl_now(ctl)->end);
	ctls_free(c);
}

DEFINE_TEST(ctl_text_is_bounded_and_moves)
{
	static char block[CTL_WRITE];
	struct ctls *c;
	struct ctl *ctl = fresh(&c);
	size_t len;

	memset(block, 'x', sizeof(block));
	block[sizeof(block) - 1] = '\n';
	CHECK_EQ(append(ctl, block, sizeof(block) + 1), -E2BIG);
	for (int round = 0; round < 8; round++) {
		for (size_t i = 0; i < CTL_TEXT / CTL_WRITE; i++)
			CHECK_EQ(append(ctl, block, sizeof(block)), 0);
		CHECK_EQ(append(ctl, "y", 1), -E2BIG);
		CHECK(ctl_now(ctl)->end <= sizeof(ctl->text));
		for (size_t i = 0; i < CTL_TEXT / CTL_WRITE; i++) {
			const char *line = ctl_line(ctl, ctl_now(ctl), &len);
			struct ctl_state *next;

			CHECK(line && len == sizeof(block) - 1 && line[0] == 'x');
			next = ctl_next(ctl);
			next->scanned += (uint32_t)len + 1;
			/* The last but one ends the transaction: one block is left for the next. */
			if (i == CTL_TEXT / CTL_WRITE - 1)
				next->begin = next->scanned;
			ctl_swap(ctl);
		}
	}
	ctls_free(c);
}

static void tell(struct ctl *ctl, const char *text)
{
	struct ctl_state *next = ctl_next(ctl);

	CHECK(ctl_say(ctl, next, text, strlen(text)));
	ctl_swap(ctl);
}

DEFINE_TEST(ctl_answers_are_read_once)
{
	char buf[16] = { 0 };
	struct ctls *c;
	struct ctl *ctl = fresh(&c);

	CHECK_EQ(ctl_take(ctl, 10, buf, sizeof(buf)), 0);
	tell(ctl, "ok\n");
	tell(ctl, "end\n");
	CHECK_EQ(ctl_take(ctl, 12, buf, 4), 4);
	CHECK(!memcmp(buf, "ok\ne", 4));
	/* Sent again: its reader never got it. */
	CHECK_EQ(ctl_take(ctl, 12 | UNIQUE_RESENT, buf, 4), 4);
	CHECK(!memcmp(buf, "ok\ne", 4));
	CHECK_EQ(ctl_take(ctl, 14, buf, sizeof(buf)), 3);
	CHECK_EQ(ctl_take(ctl, 16, buf, sizeof(buf)), 0);
	/* What is unread waits for its reader, whatever is answered after it. */
	tell(ctl, "error\n");
	tell(ctl, "ok\n");
	CHECK_EQ(ctl_take(ctl, 18, buf, sizeof(buf)), 9);
	CHECK(!memcmp(buf, "error\nok\n", 9));
	ctls_free(c);
}

DEFINE_TEST(ctl_answers_take_little_memory_while_they_are_read)
{
	char buf[16];
	struct ctls *c;
	struct ctl *ctl = fresh(&c);

	for (uint64_t i = 0; i < 1000; i++) {
		tell(ctl, "ok\nend\n");
		CHECK_EQ(ctl_take(ctl, 2 * i + 2, buf, sizeof(buf)), 7);
		/* Also moved, they are there for a read that is sent again. */
		if (i % 3)
			tell(ctl, "error\n");
		CHECK_EQ(ctl_take(ctl, (2 * i + 2) | UNIQUE_RESENT, buf, 7), 7);
		CHECK(!memcmp(buf, "ok\nend\n", 7));
		if (i % 3)
			CHECK_EQ(ctl_take(ctl, 2 * i + 4, buf, sizeof(buf)), 6);
	}
	CHECK(ctl->said_touched < 64);
	ctls_free(c);
}

DEFINE_TEST(ctl_that_nobody_can_read_keeps_no_answers)
{
	struct ctls *c;
	struct ctl *ctl = fresh(&c);

	ctl->deaf = true;
	for (int i = 0; i < 1000; i++)
		tell(ctl, "ok\nend\n");
	CHECK_EQ(ctl_now(ctl)->said, 0);
	CHECK(ctl_has_room(ctl_now(ctl), CTL_SAID));
	ctls_free(c);
}

DEFINE_TEST(ctl_keeps_room_for_a_verdict)
{
	static char text[CTL_SAID - CTL_VERDICT];
	struct ctls *c;
	struct ctl *ctl = fresh(&c);
	struct ctl_state *next = ctl_next(ctl);

	CHECK(ctl_has_room(next, CTL_VERDICT));
	CHECK(ctl_say(ctl, next, text, sizeof(text)));
	CHECK(ctl_has_room(next, CTL_VERDICT));
	CHECK(ctl_say(ctl, next, "\n", 1));
	CHECK(!ctl_has_room(next, CTL_VERDICT));
	ctl_swap(ctl);
	/* Once most of it was read, and more than that once, there is room again. */
	CHECK_EQ(ctl_take(ctl, 2, text, sizeof(text)), sizeof(text));
	CHECK(!ctl_has_room(ctl_now(ctl), CTL_VERDICT));
	CHECK_EQ(ctl_take(ctl, 4, text, sizeof(text)), 1);
	CHECK(ctl_has_room(ctl_now(ctl), CTL_VERDICT));
	tell(ctl, "ok\n");
	next = ctl_next(ctl);
	next->verdict = -ENOBUFS; /* what it said before is lost */
	CHECK(!ctl_has_room(next, CTL_VERDICT));
	ctls_free(c);
}

DEFINE_TEST(ctl_unswapped_state_is_nothing)
{
	struct ctls *c, *again;
	struct ctl *ctl = fresh(&c);
	struct ctl_state *next;

	CHECK_EQ(append(ctl, "one\n", 4), 0);
	next = ctl_next(ctl);
	CHECK_EQ(ctl_append(ctl, next, "two\n", 4), 0);
	/* Killed here: a later process finds what was there before. */
	CHECK_EQ(ctls_new((char *)ctls_at(c, 0) - 4096, REGION, &again, NULL), 0);
	CHECK(ctls_find(again, 1) == ctl);
	CHECK_EQ(ctl_now(ctl)->end, 4);
	ctls_free(again);
	ctls_free(c);
}

DEFINE_TEST(ctl_files_are_bounded)
{
	struct ctls *c;

	fresh(&c);
	CHECK(ctls_open(c, 1) == ctls_at(c, 0));
	for (uint64_t fh = 2; fh <= CTL_FILES; fh++)
		CHECK(ctls_open(c, fh) != NULL);
	CHECK(!ctls_open(c, CTL_FILES + 1));
	ctls_close(c, ctls_find(c, 7));
	CHECK(!ctls_find(c, 7));
	CHECK(ctls_open(c, CTL_FILES + 1) != NULL);
	ctls_free(c);
}

DEFINE_TEST(ctl_commands_are_words_of_their_own)
{
	char commit[] = "commit", hello[] = "hello me", longer[] = "commits",
	     file[] = "0000:05:02.0/claim a";
	char blank[] = "abort ", more[] = "commit rubbish";
	const struct ctl_command *c;
	char *arg = NULL;
	const struct attr *row;

	CHECK(command_of(commit, &arg) && !arg[0]);
	c = command_of(blank, &arg);
	CHECK(c && c->flags & CMD_ENDS);
	c = command_of(more, &arg);
	CHECK(c && c->flags == CMD_LINE && !strcmp(arg, "rubbish"));
	CHECK(command_of(hello, &arg) && !strcmp(arg, "me") && !strcmp(hello, "hello"));
	CHECK(!command_of(longer, &arg));
	CHECK(!command_of(file, &arg));
	for (size_t i = 0; (row = row_at(OBJ_DEVICE, i)); i++) {
		char name[REQUEST_FILE];

		CHECK(str_copy(name, sizeof(name), row->name));
		CHECK(!command_of(name, &arg)); /* in a device's own ctl they would be the same */
	}
}
