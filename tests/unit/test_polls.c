// SPDX-License-Identifier: GPL-2.0-or-later
/* Open files and who waits for them; a pipe stands for the connection. */
#include "../../fs/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../fs/journal.h"
#include "test.h"

#define SIZE ((size_t)64 << 20)

struct wakeup {
	struct fuse_out_header head;
	struct fuse_notify_poll_wakeup_out out;
};

static const struct creds nobody = { .uid = 65534, .gid = 65534 };
static void *space;
static int conn[2];

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
	uint64_t fh = files_open(f, 77, 1000, &nobody, NULL);
	struct open_file *file = files_get(f, fh);

	CHECK(file);
	CHECK(files_poll(f, file, 0)); /* never read */
	files_seen(f, file);
	CHECK(!files_poll(f, file, 5));
	files_wake(f, 78); /* another file */
	CHECK_EQ(woken(), 0);
	files_wake(f, 77);
	CHECK_EQ(woken(), 5);
	CHECK(files_poll(f, file, 0));
	files_wake(f, 77); /* told already */
	CHECK_EQ(woken(), 0);
	files_release(f, fh);
	CHECK(!files_get(f, fh));
	files_free(f);
}

DEFINE_TEST(polls_are_woken_by_the_next_process)
{
	struct files *f = start(1);
	uint64_t a = files_open(f, 77, 1000, &nobody, NULL), b = files_open(f, 77, 1001, &nobody, NULL);

	files_seen(f, files_get(f, a));
	files_poll(f, files_get(f, a), 5);
	files_seen(f, files_get(f, b));
	files_release(f, files_open(f, 77, 1002, &nobody, NULL));
	files_free(f);
	f = start(0);
	CHECK(files_poll(f, files_get(f, b), 0));
	files_wake_all(f);
	CHECK_EQ(woken(), 5);
	CHECK_EQ(woken(), 0);
	files_seen(f, files_get(f, a));
	files_poll(f, files_get(f, a), 5);
	files_wake(f, 77);
	CHECK_EQ(woken(), 5);
	files_release(f, a);
	files_release(f, b);
	files_free(f);
}

DEFINE_TEST(files_open_sent_again_is_one_file)
{
	struct files *f = start(1);
	uint64_t a = files_open(f, 1, 1000, &nobody, NULL), b;

	CHECK_EQ(files_open(f, 1, 1000 | UNIQUE_RESENT, &nobody, NULL), a);
	b = files_open(f, 1, 1001 | UNIQUE_RESENT, &nobody, NULL);
	CHECK(b && b != a);
	files_release(f, a);
	CHECK(files_open(f, 1, 1002, &nobody, NULL) != a); /* its place, another handle */
	CHECK(!files_get(f, a));
	CHECK(!files_get(f, 0));
	CHECK(!files_get(f, ~0ull));
	files_free(f);
}

DEFINE_TEST(files_many)
{
	struct files *f = start(1);
	uint64_t fh[5000];

	for (int i = 0; i < 5000; i++)
		CHECK((fh[i] = files_open(f, (uint64_t)i % 7, (uint64_t)i, &nobody, NULL)));
	for (int i = 0; i < 5000; i += 2)
		files_release(f, fh[i]);
	for (int i = 1; i < 5000; i += 2) {
		files_seen(f, files_get(f, fh[i]));
		files_keep(f, files_get(f, fh[i]), strdup("text"), 4);
	}
	files_wake(f, 3);
	for (int i = 1; i < 5000; i += 2)
		CHECK_EQ(files_poll(f, files_get(f, fh[i]), 0), i % 7 == 3);
	files_free(f);
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
