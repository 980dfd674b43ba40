// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes and reads the state file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "intents.h"
#include "pcidevfs/region.h"

static int at_create(void *ctx, const char *name)
{
	int fd = openat(*(int *)ctx, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? -errno : fd;
}

static ssize_t at_write(void *ctx, int fd, const char *data, size_t len)
{
	ssize_t n = write(fd, data, len);

	(void)ctx;
	return n < 0 ? -errno : n;
}

static int at_sync(void *ctx, int fd)
{
	(void)ctx;
	return fsync(fd) ? -errno : 0;
}

static int at_close(void *ctx, int fd)
{
	(void)ctx;
	return close(fd) ? -errno : 0;
}

static int at_rename(void *ctx, const char *from, const char *to)
{
	return renameat(*(int *)ctx, from, *(int *)ctx, to) ? -errno : 0;
}

static int at_sync_dir(void *ctx)
{
	return fsync(*(int *)ctx) ? -errno : 0;
}

struct disk disk_at(int *dirfd)
{
	return (struct disk){
		dirfd, at_create, at_write, at_sync, at_close, at_rename, at_sync_dir
	};
}

static int write_all(const struct disk *disk, int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = disk->write(disk->ctx, fd, text, len);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -EIO;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int intent_replace(const struct disk *disk, const char *text, size_t len)
{
	int fd = len > INTENT_MAX ? -EFBIG : disk->create(disk->ctx, INTENT_NEW);
	int rc, closed;

	if (fd < 0)
		return fd;
	rc = write_all(disk, fd, text, len);
	/* Before the rename: otherwise a crash may leave the new name without content. */
	if (!rc)
		rc = disk->sync(disk->ctx, fd);
	closed = disk->close(disk->ctx, fd); /* NFS reports failed writes here */
	rc = rc ? rc : closed;
	if (!rc)
		rc = disk->rename(disk->ctx, INTENT_NEW, INTENT_FILE);
	return rc ? rc : disk->sync_dir(disk->ctx);
}

int intent_read(int dirfd, char **ret, size_t *ret_len)
{
	_close_ int fd = openat(dirfd, INTENT_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((size_t)st.st_size > INTENT_MAX)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = read_all(fd, text, (size_t)st.st_size);
	if (n < 0) {
		free(text);
		return (int)n;
	}
	text[n] = '\0';
	*ret = text;
	*ret_len = (size_t)n;
	return 0;
}

/* ---- a copy of the file in memory that outlives the process: if the directory is removed, the
 * next process of this mount still finds what was stored */

struct half {
	uint64_t len, sum;
};

struct copy {
	struct region_head head;
	uint32_t valid; /* the half that counts */
	struct half halves[2];
};

const struct region_head copy_layout = { "intents", 1, sizeof(struct copy) };

enum { TEXT_AT = 4096 }; /* a page for the head */

static size_t half_size(const struct intents *in)
{
	return in->copy_size < TEXT_AT ? 0 : (in->copy_size - TEXT_AT) / 2;
}

static char *half_text(const struct intents *in, unsigned int half)
{
	return (char *)in->copy + TEXT_AT + half * half_size(in);
}

void copy_keep(struct intents *in, const char *text, size_t len)
{
	struct copy *c = in->copy;
	unsigned int half;

	if (!c || len > half_size(in))
		return;
	if (!region_is(&c->head, &copy_layout)) {
		c->valid = 0;
		c->halves[0] = c->halves[1] = (struct half){ 0 };
		region_begin(&c->head, &copy_layout);
	}
	half = !c->valid;
	memcpy(half_text(in, half), text, len);
	c->halves[half] = (struct half){ len, fnv1a(FNV1A, text, len) };
	atomic_signal_fence(memory_order_seq_cst);
	c->valid = half;
}

/* The predecessor may have been foreign code: nothing of it is believed. */
int copy_read(const struct intents *in, char **ret, size_t *ret_len)
{
	const struct copy *c = in->copy;
	size_t max = half_size(in);
	unsigned int half;
	struct half is;
	char *text;

	if (!max || !region_is(&c->head, &copy_layout))
		return -ENOENT;
	half = c->valid & 1;
	is = c->halves[half];
	if (!is.len || is.len > max)
		return -ENOENT;
	text = malloc(is.len + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, half_text(in, half), is.len);
	text[is.len] = '\0';
	if (fnv1a(FNV1A, text, is.len) != is.sum) {
		free(text);
		return -ENOENT;
	}
	*ret = text;
	*ret_len = is.len;
	return 0;
}
