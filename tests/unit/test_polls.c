// SPDX-License-Identifier: GPL-2.0-or-later
/* Open files and who waits for them; a pipe stands for the connection. */
#include "fs/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fs/journal.h"
#include "fs/cache/texts.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

#define SIZE ((size_t)64 << 20)

struct wakeup {
	struct fuse_out_header head;
	struct fuse_notify_poll_wakeup_out out;
};

static const struct creds nobody = { .uid = 65534, .gid = 65534 };
static void *space;
static int conn[2];

/* A text that says how long it is. */
static struct text *text_of(size_t len)
{
	struct out o = { 0 };
	struct text *text;

	out_printf(&o, "text");
	text = text_take(&o);
	CHECK(text);
	text->len = len;
	return text;
}

static struct files *start(int first)
{
	struct files *f;

	if (!space) {
		space = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		CHECK_EQ(pipe2(conn, O_NONBLOCK), 0);
	}
	CHECK_EQ(files_new(space, SIZE, first, &f, NULL), 0);
	files_use(f, conn[1]);
	return f;
}

static uint64_t opened(struct files *f, uint64_t node, uint64_t unique)
{
	uint64_t fh = 0;

	CHECK_EQ(files_open(f, node, unique, &nobody, NULL, false, &fh, NULL), 0);
	return fh;
}

/* The handle that was woken, 0 for none. */
static uint64_t woken(void)
{
	struct wakeup w;

	if (read(conn[0], &w, sizeof(w)) != (ssize_t)sizeof(w))
		return 0;
	CHECK_EQ(w.head.len, sizeof(w));
	CHECK_EQ(w.head.error, FUSE_NOTIFY_POLL);
	CHECK_EQ(w.head.unique, 0);
	return w.out.kh;
}

DEFINE_TEST(polls_as_sysfs)
{
	struct files *f = start(1);
	uint64_t fh = opened(f, 77, 1000);
	struct open_file *file = files_get(f, fh);

	CHECK(file);
	CHECK(files_poll(f, file, 0, false)); /* never read */
	files_seen(f, file);
	CHECK(!files_poll(f, file, 5, false));
	files_touch(f, 78); /* another file */
	files_tell(f);
	CHECK_EQ(woken(), 0);
	files_touch(f, 77);
	CHECK(files_poll(f, file, 0, false)); /* for who asks, before who waits is woken */
	CHECK_EQ(woken(), 0);
	files_tell(f);
	CHECK_EQ(woken(), 5);
	CHECK(files_poll(f, file, 0, false));
	files_touch(f, 77); /* told already */
	files_tell(f);
	CHECK_EQ(woken(), 0);
	CHECK(files_poll(f, file, 0, true));
	CHECK(files_poll(f, file, 0, true)); /* as epoll asks */
	CHECK(!files_poll(f, file, 0, true));
	files_release(f, fh);
	CHECK(!files_get(f, fh));
	files_free(f);
}

DEFINE_TEST(polls_are_woken_by_the_next_process)
{
	struct files *f = start(1);
	uint64_t a = opened(f, 77, 1000), b = opened(f, 77, 1001);

	files_seen(f, files_get(f, a));
	files_poll(f, files_get(f, a), 5, false);
	files_seen(f, files_get(f, b));
	files_release(f, opened(f, 77, 1002));
	files_free(f);
	f = start(0);
	CHECK(files_poll(f, files_get(f, b), 0, false));
	files_wake_all(f);
	CHECK_EQ(woken(), 5);
	CHECK_EQ(woken(), 0);
	files_seen(f, files_get(f, a));
	files_poll(f, files_get(f, a), 5, false);
	files_touch(f, 77);
	files_tell(f);
	CHECK_EQ(woken(), 5);
	files_release(f, a);
	files_release(f, b);
	files_free(f);
}

DEFINE_TEST(files_open_sent_again_is_one_file)
{
	struct files *f = start(1);
	uint64_t a = opened(f, 1, 1000), b;

	CHECK_EQ(opened(f, 1, 1000 | UNIQUE_RESENT), a);
	b = opened(f, 1, 1001 | UNIQUE_RESENT);
	CHECK(b && b != a);
	files_release(f, a);
	CHECK(opened(f, 1, 1002) != a); /* its place, another handle */
	CHECK(!files_get(f, a));
	CHECK(!files_get(f, 0));
	CHECK(!files_get(f, ~0ull));
	files_free(f);
}

DEFINE_TEST(files_many)
{
	struct text *text = text_of(4);
	struct files *f = start(1);
	uint64_t fh[5000];

	for (int i = 0; i < 5000; i++)
		CHECK((fh[i] = opened(f, (uint64_t)i % 7, (uint64_t)i)));
	for (int i = 0; i < 5000; i += 2)
		files_release(f, fh[i]);
	for (int i = 1; i < 5000; i += 2) {
		files_seen(f, files_get(f, fh[i]));
		files_keep(f, files_get(f, fh[i]), text, 4, NULL);
	}
	text_unref(text);
	files_touch(f, 3);
	files_tell(f);
	for (int i = 1; i < 5000; i += 2)
		CHECK_EQ(files_poll(f, files_get(f, fh[i]), 0, false), i % 7 == 3);
	files_free(f);
}

DEFINE_TEST(files_of_one_user_are_bounded)
{
	const struct creds root = { .reserve = true };
	struct files *f = start(1);
	struct err err = { 0 };
	uint64_t fh = 0, last = 0;

	for (uint64_t i = 0; i < FILES_OF_USER; i++)
		last = opened(f, 7, i);
	CHECK_EQ(files_open(f, 7, FILES_OF_USER, &nobody, NULL, false, &fh, &err), -EMFILE);
	CHECK_IN(err.text, "user 65534 has 16384 files open");
	CHECK(!files_told(f, 65534));
	CHECK(files_told(f, 65534));
	CHECK_EQ(files_open(f, 7, FILES_OF_USER, &root, NULL, false, &fh, &err), 0);
	files_free(f);
	f = start(0); /* the next process counts the same */
	CHECK_EQ(files_open(f, 7, FILES_OF_USER + 1, &nobody, NULL, false, &fh, &err), -EMFILE);
	files_release(f, last);
	opened(f, 7, FILES_OF_USER + 2);
	files_free(f);
}

/* The capability lifts the bound, the number does not. */
DEFINE_TEST(user_0_without_capabilities_is_bounded)
{
	const struct creds root = { .reserve = true }, capless = { 0 };
	struct files *f = start(1);
	struct text *big = text_of(TEXT_OF_USER);
	uint64_t fh = 0, a, b;
	struct err err = { 0 };

	for (uint64_t i = 0; i < FILES_OF_USER; i++)
		CHECK_EQ(files_open(f, 7, i, &capless, NULL, false, &a, NULL), 0);
	CHECK_EQ(files_open(f, 7, FILES_OF_USER, &capless, NULL, false, &fh, &err), -EMFILE);
	CHECK_IN(err.text, "user 0 has 16384 files open");
	for (uint64_t i = 0; i < 3; i++)
		CHECK_EQ(files_open(f, 7, FILES_OF_USER + i, &root, NULL, false, &b, NULL), 0);
	files_free(f);
	f = start(0);
	CHECK_EQ(files_open(f, 7, 1 << 20, &capless, NULL, false, &fh, &err), -EMFILE);
	CHECK_EQ(files_keep(f, files_get(f, a), big, big->len, NULL), 0);
	CHECK_EQ(files_keep(f, files_get(f, b), big, big->len, NULL), 0);
	files_release(f, b);
	CHECK_EQ(files_open(f, 7, 1 << 20, &capless, NULL, false, &fh, &err), -EMFILE);
	files_free(f);
	text_unref(big);
}

DEFINE_TEST(texts_of_one_user_are_bounded)
{
	struct text *big = text_of(TEXT_OF_USER + 1), *small = text_of(4);
	const struct creds root = { .reserve = true };
	struct files *f = start(1);
	uint64_t a = opened(f, 7, 1), b = opened(f, 7, 2), c, len;
	struct err err = { 0 };

	CHECK_EQ(files_open(f, 7, 3, &root, NULL, false, &c, &err), 0);
	CHECK_EQ(files_keep(f, files_get(f, a), big, big->len, &err), 0);
	CHECK_EQ(files_keep(f, files_get(f, b), small, 4, &err), -ENOMEM);
	CHECK_IN(err.text, "user 65534 has 16 MiB of long texts open");
	CHECK(!files_kept(f, files_get(f, b), &len));
	/* The same text, however often, counts once. */
	CHECK_EQ(files_keep(f, files_get(f, b), big, big->len, &err), 0);
	files_release(f, a);
	CHECK_EQ(files_keep(f, files_get(f, b), big, big->len, &err), 0);
	CHECK_EQ(files_keep(f, files_get(f, c), small, 4, &err), 0);
	CHECK_EQ(files_keep(f, files_get(f, c), big, big->len, &err), 0);
	CHECK_EQ(files_keep(f, files_get(f, b), NULL, 0, &err), 0);
	CHECK_EQ(files_keep(f, files_get(f, b), small, 4, &err), 0);
	CHECK(files_kept(f, files_get(f, b), &len) == small);
	text_unref(small);
	CHECK_EQ(len, 4);
	files_free(f);
	CHECK_EQ(small->refs, 1);
	CHECK_EQ(big->refs, 1);
	text_unref(small);
	text_unref(big);
}

/* Of a user each. */
static int open_as(struct files *f, uid_t uid, uint64_t *ret, struct err *err)
{
	static uint64_t unique = 1 << 21;
	const struct creds who = { .uid = uid };

	return files_open(f, 7, unique += 2, &who, NULL, false, ret, err);
}

DEFINE_TEST(files_of_all_users_are_bounded)
{
	const struct creds sync = { .uid = 7, .reserve = true };
	struct files *f = start(1);
	unsigned int all = 0, one = 0;
	struct err err = { 0 };
	uint64_t fh = 0;

	for (uid_t uid = 100; uid < 103; uid++)
		for (one = 0; !open_as(f, uid, &fh, &err); one++)
			all++;
	CHECK(all < FILES_OF_ALL && one > 1000);
	CHECK_EQ(err.code, EMFILE);
	CHECK_IN(
		err.text,
		"user 102 has 4096 files open here, which is the most for one user while others "
		"have so many");
	CHECK_EQ(open_as(f, 104, &fh, &err), 0); /* who comes has room */
	for (uid_t uid = 1000; all < FILES_OF_ALL - 1; uid++, all++)
		CHECK_EQ(open_as(f, uid, &fh, NULL), 0);
	CHECK_EQ(open_as(f, 105, &fh, &err), -ENFILE);
	CHECK_IN(err.text, "users have 32768 files open here");
	CHECK(!files_told(f, 105)); /* once for all */
	CHECK(files_told(f, 106));
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(files_open(f, 7, 1 << 20, &sync, NULL, false, &fh, NULL), 0);
	files_free(f);
}

DEFINE_TEST(texts_of_all_users_are_bounded)
{
	const struct creds sync = { .uid = 7, .reserve = true };
	struct text *big = text_of(TEXT_OF_ALL);
	struct files *f = start(1);
	struct err err = { 0 };
	uint64_t fh, late;
	size_t kept = 0;

	for (uid_t uid = 100; uid < 140; uid++)
		for (err.code = 0; !err.code;) {
			struct text *text = text_of(1 << 20);

			CHECK_EQ(open_as(f, uid, &fh, NULL), 0);
			if (!files_keep(f, files_get(f, fh), text, text->len, &err))
				kept += text->len;
			text_unref(text);
		}
	CHECK(kept <= TEXT_OF_ALL);
	CHECK_EQ(err.code, ENOMEM);
	/* It is root, or sync, who comes now. */
	CHECK_EQ(files_open(f, 7, 1 << 20, &sync, NULL, false, &late, NULL), 0);
	CHECK_EQ(files_keep(f, files_get(f, late), big, big->len, NULL), 0);
	files_release(f, late);
	files_free(f);
	text_unref(big);
}

DEFINE_TEST(journal_answers_what_is_sent_again)
{
	size_t size = 1 << 20;
	void *at = calloc(1, size);
	struct journal *j;
	uint32_t slot;
	int result;

	CHECK_EQ(journal_open(at, size, &j, NULL), 0);
	CHECK(!journal_begin(j, 10, &slot, &result));
	journal_end(j, slot, -16);
	CHECK(!journal_begin(j, 12, &slot, &result)); /* dies before its verdict */
	journal_close(j);
	CHECK_EQ(journal_open(at, size, &j, NULL), 0);
	for (uint64_t u = 14; u < 200; u += 2)
		CHECK(!journal_begin(j, u, &slot, &result));
	CHECK(journal_begin(j, 10 | UNIQUE_RESENT, &slot, &result));
	CHECK_EQ(result, -16);
	CHECK(!journal_begin(j, 12 | UNIQUE_RESENT, &slot, &result));
	journal_end(j, slot, 6);
	CHECK(journal_begin(j, 12 | UNIQUE_RESENT, &slot, &result));
	CHECK_EQ(result, 6);
	journal_close(j);
	free(at);
}

/* What was running when a process died fills nothing up, also where requests never come again. */
DEFINE_TEST(journal_forgets_who_died)
{
	size_t size = 1 << 20;
	void *at = calloc(1, size);
	uint64_t unique = 2;
	struct journal *j;
	uint32_t slot;
	int result;

	for (int process = 0; process < 20; process++) {
		CHECK_EQ(journal_open(at, size, &j, NULL), 0);
		for (int i = 0; i < 1000; i++, unique += 2)
			CHECK(!journal_begin(j, unique, &slot, &result));
		journal_close(j);
	}
	free(at);
}

/* Whoever runs keeps his place to the end, however many others come. */
DEFINE_TEST(journal_takes_no_place_in_use)
{
	size_t size = 1 << 20;
	void *at = calloc(1, size);
	uint32_t first, slot;
	uint64_t unique = 4;
	struct journal *j;
	int result;

	CHECK_EQ(journal_open(at, size, &j, NULL), 0);
	CHECK(!journal_begin(j, 2, &first, &result));
	for (int i = 0; i < 100000; i++, unique += 2) {
		CHECK(!journal_begin(j, unique, &slot, &result));
		CHECK(slot != first);
		journal_end(j, slot, 1);
	}
	while (!journal_begin(j, unique, &slot, &result))
		unique += 2;
	CHECK_EQ(result, -EBUSY);
	journal_end(j, first, 7);
	CHECK(journal_begin(j, 2 | UNIQUE_RESENT, &slot, &result));
	CHECK_EQ(result, 7);
	CHECK(!journal_begin(j, unique, &slot, &result));
	journal_close(j);
	free(at);
}
