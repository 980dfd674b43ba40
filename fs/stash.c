// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "stash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "pcidevfs/err.h"
#include "pcidevfs/region.h"
#include "pcidevfs/util.h"

#define MIB ((size_t)1 << 20)

const struct region_head stash_layout = { "stash", STASH_ABI, STASH_COUNT };

/* Address space only: a page exists once it is touched. The sizes are part of STASH_ABI, because
 * they determine the regions' places. */
static const size_t sizes[STASH_COUNT] = {
	[STASH_SESSION] = 1 * MIB, [STASH_MODEL] = 4096 * MIB, [STASH_OBJECTS] = 256 * MIB,
	[STASH_CTL] = 1 * MIB,     [STASH_EVENTS] = 16 * MIB,  [STASH_LOG] = 16 * MIB,
	[STASH_FILES] = 512 * MIB, [STASH_JOURNAL] = 64 * MIB,
	[STASH_INTENTS] = 129 * MIB,
};

/* The head has the first page. */
static size_t place(enum stash_region region)
{
	size_t at = 4096;

	for (size_t i = 0; i < region; i++)
		at += sizes[i];
	return at;
}

static int prepare(int fd)
{
	if (ftruncate(fd, (off_t)place(STASH_COUNT)) ||
	    pwrite(fd, &stash_layout, sizeof(stash_layout), 0) != (ssize_t)sizeof(stash_layout))
		return -errno;
	/* A file that can shrink could kill its user by SIGBUS. */
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) ? -errno : 0;
}

int stash_create(int *ret_fd, struct err *err)
{
	int fd = memfd_create("pcidevfs", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return fail(err, errno, "no memory for the state that outlives the serving "
					"process: %s",
			    strerror(errno));
	r = prepare(fd);
	if (r) {
		close(fd);
		return fail(err, -r,
			    "cannot lay out the memory that outlives the serving process: %s",
			    strerror(-r));
	}
	*ret_fd = fd;
	return 0;
}

int stash_peek(int fd, enum stash_region region, size_t at, void *ret, size_t size)
{
	ssize_t n = pread(fd, ret, size, (off_t)(place(region) + at));

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
}

int stash_clear(int fd, enum stash_region region)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)place(region),
			 (off_t)sizes[region])
		       ? -errno
		       : 0;
}

static int check_head(int fd, struct err *err)
{
	struct region_head head;
	struct stat st;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || fstat(fd, &st) ||
	    memcmp(head.magic, stash_layout.magic, sizeof(head.magic)))
		return fail(err, EPROTO, "the memory handed over is not this program's");
	if (!region_is(&head, &stash_layout) || (size_t)st.st_size != place(STASH_COUNT))
		return fail(err, EPROTO,
			    "the memory handed over has layout %u, this program knows layout %u",
			    head.abi, STASH_ABI);
	return 0;
}

int stash_attach(int fd, struct stash **ret, struct err *err)
{
	int r = check_head(fd, err);
	void *map;

	if (r)
		return r;
	map = mmap(NULL, place(STASH_COUNT), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		   0);
	if (map == MAP_FAILED)
		return fail(err, errno, "cannot map the memory handed over: %s", strerror(errno));
	*ret = map;
	return 0;
}

void stash_detach(struct stash *s)
{
	if (s)
		munmap(s, place(STASH_COUNT));
}

void *stash_region(struct stash *s, enum stash_region region, size_t *ret_size)
{
	*ret_size = sizes[region];
	return (char *)s + place(region);
}
