// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/stash.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"

static struct stash *attach(int fd)
{
	struct err err = { 0 };
	struct stash *s;

	if (stash_attach(fd, &s, &err))
		FAIL("%s", err.text);
	return s;
}

static int create(void)
{
	struct err err = { 0 };
	int fd;

	if (stash_create(&fd, &err))
		FAIL("%s", err.text);
	return fd;
}

DEFINE_TEST(stash_outlives_its_user)
{
	int fd = create();
	struct stash *s = attach(fd);
	size_t size;

	for (int i = 0; i < STASH_COUNT; i++)
		memset(stash_region(s, i, &size), i + 1, 16);
	stash_detach(s);
	s = attach(fd);
	for (int i = 0; i < STASH_COUNT; i++) {
		unsigned char *p = stash_region(s, i, &size);

		CHECK_EQ(p[0], i + 1);
		CHECK_EQ(p[15], i + 1);
		CHECK_EQ(p[16], 0);
	}
	stash_detach(s);
	close(fd);
}

DEFINE_TEST(stash_regions_lie_apart)
{
	int fd = create();
	struct stash *s = attach(fd);
	unsigned char *end = NULL;

	for (int i = 0; i < STASH_COUNT; i++) {
		size_t size;
		unsigned char *p = stash_region(s, i, &size);

		CHECK(!end || p >= end);
		CHECK_EQ((uintptr_t)p % 4096, 0);
		end = p + size;
		/* The last byte is there: nothing lies behind the end of the file. */
		end[-1] = 1;
	}
	stash_detach(s);
	close(fd);
}

DEFINE_TEST(stash_holds_the_model)
{
	int fd = create();
	struct stash *s = attach(fd);
	size_t size;

	stash_region(s, STASH_MODEL, &size);
	CHECK(size >= model_arena_size());
	stash_detach(s);
	close(fd);
}

DEFINE_TEST(stash_costs_what_is_touched)
{
	int fd = create();
	struct stash *s = attach(fd);
	struct stat st;
	size_t size;

	memset(stash_region(s, STASH_MODEL, &size), 1, 4096);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(st.st_blocks * 512 <= 64 * 1024);
	stash_detach(s);
	close(fd);
}

DEFINE_TEST(stash_cannot_be_cut)
{
	int fd = create();

	CHECK_EQ(ftruncate(fd, 4096), -1);
	CHECK_EQ(errno, EPERM);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

DEFINE_TEST(stash_refuses_what_is_not_its_own)
{
	struct err err = { 0 };
	struct stash *s = NULL;
	uint32_t abi = STASH_ABI + 1;
	int fd = memfd_create("other", MFD_CLOEXEC);

	CHECK_EQ(stash_attach(fd, &s, &err), -EPROTO);
	CHECK_EQ(ftruncate(fd, 8192), 0);
	CHECK_EQ(stash_attach(fd, &s, &err), -EPROTO);
	close(fd);

	fd = create();
	CHECK_EQ(pwrite(fd, &abi, sizeof(abi), 8), (ssize_t)sizeof(abi));
	CHECK_EQ(stash_attach(fd, &s, &err), -EPROTO);
	CHECK_IN(err.text, "this program knows layout");
	CHECK(!s);
	close(fd);
}
