// SPDX-License-Identifier: GPL-2.0-or-later
/* What an open ctl gathers and answers, and what of it outlives the process. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "fs/ctl/ctl.h"
#include "fs/ctl/ctl_job.h"
#include "fs/files.h"
#include "fs/journal.h"
#include "test.h"

#define REGION ((size_t)1 << 20)

static void *region;
static void *file_region;
static struct ctl_files *files;
static struct files *opened;
static uint64_t fh_of_ctl;
static const struct creds root = { .reserve = true }, alice = { .uid = 1000 };

/* A process dies, if there is one, and the next one takes over. */
static struct ctl *next_process(void)
{
	ctl_free(files);
	files_free(opened);
	CHECK_EQ(files_new(file_region, REGION, 0, &opened, NULL), 0);
	CHECK_EQ(ctl_new(region, REGION, opened, &files, NULL), 0);
	return ctl_find(files, fh_of_ctl);
}

static void *new_region(void)
{
	void *p = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static int open_another(const struct creds *who, uint64_t *fh, struct err *err)
{
	struct ctl *ctl;

	CHECK_EQ(files_open(opened, 7, 0, who, NULL, true, fh, NULL), 0);
	return ctl_add(files, *fh, who, &ctl, err);
}

static struct ctl *fresh(void)
{
	region = new_region();
	file_region = new_region();
	next_process();
	CHECK_EQ(open_another(&alice, &fh_of_ctl, NULL), 0);
	return ctl_find(files, fh_of_ctl);
}

static void append(struct ctl *ctl, const char *text)
{
	out_put(&ctl->text, text, strlen(text));
}

/* Passes one line; ends the transaction behind it or not. */
static void pass(struct ctl *ctl, const char *expected, bool ends)
{
	size_t len = 0;
	const char *line = ctl_line(ctl, &len);

	CHECK(line && len == strlen(expected) && !memcmp(line, expected, len));
	ctl->scanned += len + 1;
	if (ends)
		ctl_cut(ctl, true);
}

DEFINE_TEST(ctl_lines_of_any_cut)
{
	struct ctl *ctl = fresh();
	size_t len;

	CHECK(!ctl_line(ctl, &len));
	append(ctl, "a/cl");
	CHECK(!ctl_line(ctl, &len));
	append(ctl, "aim b\n\ncom");
	pass(ctl, "a/claim b", false);
	pass(ctl, "", false);
	CHECK(!ctl_line(ctl, &len));
	append(ctl, "mit\nc");
	pass(ctl, "commit", true);
	CHECK_EQ(ctl->text.len, 1);
	append(ctl, "\n");
	pass(ctl, "c", true);
	CHECK(!ctl->text.data); /* what is empty takes no memory */
	ctl_free(files);
}

static void tell(struct ctl *ctl, const char *text)
{
	CHECK(ctl_say(ctl, text, strlen(text)));
	ctl->kept->unread = ctl->said.len > ctl->read;
}

DEFINE_TEST(ctl_answers_are_read_once)
{
	struct ctl *ctl = fresh();
	char buf[200] = { 0 };

	CHECK_EQ(ctl_take(ctl, 10, buf, 16), 0);
	tell(ctl, "ok\n");
	tell(ctl, "end\n");
	CHECK_EQ(ctl_take(ctl, 12, buf, 4), 4);
	CHECK(!memcmp(buf, "ok\ne", 4));
	CHECK_EQ(ctl_take(ctl, 14, buf, 16), 3);
	CHECK_EQ(ctl_take(ctl, 16, buf, 16), 0);
	/* What is unread waits for its reader, whatever is answered after it. */
	tell(ctl, "error\n");
	tell(ctl, "ok\n");
	CHECK_EQ(ctl_take(ctl, 18, buf, 16), 9);
	CHECK(!memcmp(buf, "error\nok\n", 9));
	ctl_free(files);
}

static void expect_lost(struct ctl *ctl, uint64_t unique)
{
	char buf[200] = { 0 };

	CHECK(ctl_take(ctl, unique, buf, sizeof(buf) - 1) > 0);
	CHECK(!strncmp(buf, "error ECONNRESET ctl: the daemon was restarted", 46));
	CHECK_STR(buf + strlen(buf) - 5, "\nend\n");
	CHECK_EQ(ctl_take(ctl, (unique & ~UNIQUE_RESENT) + 2, buf, sizeof(buf)), 0);
}

DEFINE_TEST(ctl_lost_answers_are_told_once)
{
	struct ctl *ctl = fresh();
	char buf[16] = { 0 };

	/* All were read: nothing is lost. */
	tell(ctl, "ok\nend\n");
	CHECK_EQ(ctl_take(ctl, 10, buf, sizeof(buf)), 7);
	ctl = next_process();
	CHECK_EQ(ctl_take(ctl, 12, buf, sizeof(buf)), 0);
	/* The read that took them was not answered. */
	tell(ctl, "ok\nend\n");
	CHECK_EQ(ctl_take(ctl, 14, buf, sizeof(buf)), 7);
	ctl = next_process();
	expect_lost(ctl, 14 | UNIQUE_RESENT);
	/* A part was read, and the rest by a read that was not answered either. */
	tell(ctl, "ok\nend\n");
	CHECK_EQ(ctl_take(ctl, 20, buf, 3), 3);
	ctl = next_process();
	expect_lost(ctl, 20 | UNIQUE_RESENT);
	/* Nobody had read them. */
	tell(ctl, "ok\nend\n");
	ctl = next_process();
	expect_lost(ctl, 24);
	ctl_free(files);
}

DEFINE_TEST(ctl_lines_end_with_their_process)
{
	struct ctl *ctl;

	fresh();
	ctl = next_process();
	CHECK(!ctl->broken && !ctl->torn);
	ctl->kept->gathered = true;
	ctl = next_process();
	CHECK_EQ(ctl->broken, ECONNRESET);
	CHECK(!ctl->torn);
	ctl->kept->torn = true;
	ctl = next_process();
	CHECK(ctl->torn);
	/* One that was being carried out may have left some. */
	ctl->kept->gathered = ctl->kept->torn = false;
	ctl->kept->writer = 7;
	ctl = next_process();
	CHECK_EQ(ctl->broken, ECONNRESET);
	ctl_cut(ctl, true);
	CHECK(!ctl->broken);
	ctl_free(files);
}

DEFINE_TEST(ctl_that_nobody_can_read_keeps_no_answers)
{
	struct ctl *ctl = fresh();

	ctl->kept->deaf = true;
	for (int i = 0; i < 1000; i++)
		tell(ctl, "ok\nend\n");
	CHECK_EQ(ctl->said.len, 0);
	ctl_free(files);
}

DEFINE_TEST(ctl_files_are_bounded)
{
	const struct creds bob = { .uid = 1001 };
	struct err err = { 0 };
	uint64_t fh, mine = 0;
	int n = 1;

	fresh();
	while (!open_another(&alice, &mine, &err))
		n++;
	CHECK_EQ(n, CTL_OF_USER);
	CHECK_EQ(err.code, EMFILE);
	CHECK_IN(err.text, "ctl: user 1000 has 16 open for writing, which is the most for one");
	next_process(); /* which counts the same */
	CHECK_EQ(open_another(&alice, &fh, NULL), -EMFILE);
	CHECK_EQ(open_another(&bob, &fh, NULL), 0);
	ctl_remove(files, ctl_find(files, fh_of_ctl));
	CHECK(!ctl_find(files, fh_of_ctl));
	CHECK_EQ(open_another(&alice, &fh, NULL), 0);
	for (n += 1; !open_another(&root, &fh, &err); n++)
		;
	CHECK_EQ(n, CTL_FILES);
	CHECK_EQ(err.code, ENFILE);
	ctl_free(files);
}

DEFINE_TEST(ctl_counts_what_it_holds)
{
	struct ctl *ctl = fresh();

	append(ctl, "a line\n");
	ctl_count(files, ctl);
	tell(ctl, "ok\n");
	ctl_count(files, ctl);
	CHECK_EQ(files->held.used, 10);
	ctl->scanned = 7;
	ctl_cut(ctl, true);
	ctl_count(files, ctl);
	CHECK_EQ(files->held.used, 3);
	CHECK(!quota_check(&files->held, &alice, CTL_HELD_OF_ALL / 2 - 3, NULL));
	CHECK(quota_check(&files->held, &alice, CTL_HELD_OF_ALL, NULL));
	CHECK(!quota_check(&files->held, &root, CTL_HELD_OF_ALL, NULL));
	ctl_remove(files, ctl);
	CHECK_EQ(files->held.used, 0);
	ctl_free(files);
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
