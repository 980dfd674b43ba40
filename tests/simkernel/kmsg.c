// SPDX-License-Identifier: GPL-2.0-or-later
/* As kernel/printk/printk.c of Linux reads: a record a read; EPIPE once if records that were not
 * read yet are gone, then the oldest; EINVAL, and the record is passed, if the buffer is too small.
 * Reads never block. */
#include "kmsg.h"

#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct kmsg_record {
	unsigned int priority;
	char *text;
};

/* An open file: FUSE tells of a seek only by the next read's offset. */
struct log_reader {
	uint64_t next;
	off_t at;
	struct fuse_pollhandle *waits;
	struct log_reader *more;
};

static struct {
	pthread_mutex_t lock; /* of all below */
	struct kmsg_record *ring;
	uint64_t room, next;
	struct log_reader *readers;
} kmsg = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t oldest(void)
{
	return kmsg.next > kmsg.room ? kmsg.next - kmsg.room : 0;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct stat st = { .st_ino = ino, .st_mode = S_IFREG | 0644, .st_nlink = 1 };

	(void)fi;
	fuse_reply_attr(req, &st, 0);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct log_reader *r = calloc(1, sizeof(*r));

	(void)ino;
	if (!r) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	pthread_mutex_lock(&kmsg.lock);
	r->next = oldest();
	r->more = kmsg.readers;
	kmsg.readers = r;
	pthread_mutex_unlock(&kmsg.lock);
	fi->fh = (uintptr_t)r;
	fi->direct_io = 1;
	fuse_reply_open(req, fi);
}

static void wait_as(struct log_reader *r, struct fuse_pollhandle *ph)
{
	if (r->waits)
		fuse_pollhandle_destroy(r->waits);
	r->waits = ph;
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct log_reader *r = (struct log_reader *)(uintptr_t)fi->fh, **at = &kmsg.readers;

	(void)ino;
	pthread_mutex_lock(&kmsg.lock);
	while (*at != r)
		at = &(*at)->more;
	*at = r->more;
	wait_as(r, NULL);
	pthread_mutex_unlock(&kmsg.lock);
	free(r);
	fuse_reply_err(req, 0);
}

/* Returns its length, or -errno. */
static int take(struct log_reader *r, off_t off, size_t size, char *ret, size_t room)
{
	const struct kmsg_record *rec = &kmsg.ring[r->next % kmsg.room];
	int n;

	if (!off && r->at) {
		r->next = oldest();
		r->at = 0;
		rec = &kmsg.ring[r->next % kmsg.room];
	}
	if (r->next < oldest()) {
		r->next = oldest();
		return -EPIPE;
	}
	if (r->next == kmsg.next)
		return -EAGAIN;
	n = snprintf(ret, room, "%u,%llu,%llu,-;%s\n", rec->priority, (unsigned long long)r->next,
		     (unsigned long long)r->next * 1000, rec->text);
	r->next++;
	if ((size_t)n > size)
		return -EINVAL;
	r->at += n;
	return n;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	char text[16384];
	int n;

	(void)ino;
	pthread_mutex_lock(&kmsg.lock);
	n = take((struct log_reader *)(uintptr_t)fi->fh, off, size, text, sizeof(text));
	pthread_mutex_unlock(&kmsg.lock);
	if (n < 0)
		fuse_reply_err(req, -n);
	else
		fuse_reply_buf(req, text, (size_t)n);
}

static void op_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		    struct fuse_pollhandle *ph)
{
	struct log_reader *r = (struct log_reader *)(uintptr_t)fi->fh;
	unsigned int events = 0;

	(void)ino;
	pthread_mutex_lock(&kmsg.lock);
	if (ph)
		wait_as(r, ph);
	if (r->next < kmsg.next)
		events = POLLIN | POLLRDNORM;
	if (r->next < oldest())
		events |= POLLERR | POLLPRI;
	pthread_mutex_unlock(&kmsg.lock);
	fuse_reply_poll(req, events);
}

static int append(unsigned int priority, const char *text)
{
	struct kmsg_record *rec = &kmsg.ring[kmsg.next % kmsg.room];
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(rec->text);
	*rec = (struct kmsg_record){ priority, copy };
	kmsg.next++;
	return 0;
}

int kmsg_log(struct sim *s, int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 1;
	unsigned int priority = (unsigned int)atoi(argv[0]);
	int r;

	(void)s;
	if (*argv[0] < '0' || *argv[0] > '9' || count < 1)
		return -EINVAL;
	pthread_mutex_lock(&kmsg.lock);
	r = kmsg.ring ? 0 : -ENOENT;
	for (long i = 0; i < count && !r; i++)
		r = append(priority, argv[1]);
	for (struct log_reader *l = kmsg.readers; l && !r; l = l->more)
		if (l->waits) {
			fuse_lowlevel_notify_poll(l->waits);
			wait_as(l, NULL);
		}
	pthread_mutex_unlock(&kmsg.lock);
	return r;
}

static const struct fuse_lowlevel_ops kmsg_ops = {
	.getattr = op_getattr,
	.open = op_open,
	.release = op_release,
	.read = op_read,
	.poll = op_poll,
};

struct fuse_session *kmsg_mount(const char *dir, unsigned int room)
{
	char *argv[] = { "pcidevfs-sim", "-o",
			 "fsname=pcidevfs-sim,subtype=kmsg,allow_other,default_permissions", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_session *se;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/dev/kmsg", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	kmsg.room = room;
	kmsg.ring = calloc(room, sizeof(*kmsg.ring));
	se = kmsg.ring ? fuse_session_new(&args, &kmsg_ops, sizeof(kmsg_ops), NULL) : NULL;
	if (se && !fuse_session_mount(se, path))
		return se;
	fprintf(stderr, "pcidevfs-sim: can not mount %s\n", path);
	return NULL;
}
