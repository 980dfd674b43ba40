// SPDX-License-Identifier: GPL-2.0-or-later
/* Open, read, stat and poll of files. Rows decide; no file is known by name. */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/ctl/ctl.h"
#include "fs/log/grown.h"
#include "internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"
#include "rights.h"
#include "fs/log/stream.h"
#include "fs/cache/texts.h"
#include "request.h"

static bool may_open(struct tree *t, const struct node *n, int flags)
{
	bool reads = (flags & O_ACCMODE) != O_WRONLY, writes = (flags & O_ACCMODE) != O_RDONLY;
	struct stat st;

	node_rights(t, n, n->row, &st);
	/* The kernel lets root pass; sysfs does not. */
	if (reads && !(st.st_mode & 0444 && row_readable(n->row)))
		return false;
	return !writes || (st.st_mode & 0222 && row_writable(n->row));
}

/* Capabilities are read only if they matter: of openers for writing, of a long text or of a file that
 * names holders, and if too many files are open. */
static int open_file(struct tree *t, fuse_req_t req, const struct node *n, bool writes,
		     const struct cursor *at, uint64_t *ret_fh, struct err *err)
{
	bool looks = writes || n->row->flags & (ATTR_HOLDER | ATTR_SNAPSHOT);
	struct creds who;
	int r;

	for (;; looks = true) {
		rights_creds(req, looks, &who);
		r = files_open(t->files, n->ino, t->conf.unique(), &who, at, writes, ret_fh, err);
		if (looks || (r != -EMFILE && r != -ENFILE))
			return r;
	}
}

static int open_node(struct tree *t, fuse_req_t req, const struct node *n,
		     struct fuse_file_info *fi, struct err *err)
{
	bool writes = (fi->flags & O_ACCMODE) != O_RDONLY;
	struct cursor at;
	int r;

	if (node_is_dir(n))
		return -EISDIR;
	if (fi->flags & O_DIRECT)
		return -EINVAL; /* as in sysfs */
	if (!may_open(t, n, fi->flags) && writes && n->subject.dev &&
	    !row_takes(n->row, n->dev.caps))
		return row_refuse_write(n->row, &n->dev, err);
	if (!may_open(t, n, fi->flags))
		return writes ? fail(err, EACCES, "%s: it can only be read%s", n->row->name,
				     row_writable(n->row) ? "; its mode has no w" : "")
			      : -EACCES;
	fi->noflush = 1;
	fi->keep_cache = (n->row->flags & ATTR_CONST) != 0;
	fi->direct_io = !fi->keep_cache;
	if (n->row->flags & ATTR_STREAM) {
		fi->nonseekable = 1;
		at = stream_start(t->stream, atomic_load(&t->heard));
	} else if (n->row->ring) {
		at = grown_start(n->row->ring(t));
	}
	r = open_file(t, req, n, writes, fi->nonseekable || n->row->ring ? &at : NULL, &fi->fh,
		      err);
	if (!r && writes && n->row->flags & ATTR_CTL) {
		r = ctl_open(t, fi->fh, (fi->flags & O_ACCMODE) == O_RDWR, err);
		if (r)
			files_release(t->files, fi->fh);
	}
	return r;
}

/* Logs that a user has reached the limit: once, until the user has closed all files. */
static void tell_share(struct tree *t, fuse_req_t req, const struct node *n, uid_t uid,
		       const struct err *err)
{
	struct actor who;

	if (!err->code || files_told(t->files, uid))
		return;
	who = request_actor(req, 0, NULL);
	record_verdict(t, &(struct verdict_of){ .dev = node_device(n), .file = n->row->name }, &who,
		       err);
}

/* FOPEN_PARALLEL_DIRECT_WRITES: headers of Linux 6.1, with which Debian 12 cross-builds, lack it. */
#define PARALLEL_DIRECT_WRITES (1 << 6)

/* Makes the kernel run writers of one file in parallel (Linux 6.2), and a reader of ctl beside its
 * writer. libfuse cannot set this before 3.15, so the answer is written by hand. */
static int reply_parallel(struct tree *t, fuse_req_t req, const struct fuse_file_info *fi,
			  bool stream)
{
	uint32_t flags = FOPEN_DIRECT_IO | FOPEN_NOFLUSH | PARALLEL_DIRECT_WRITES;
	struct {
		struct fuse_out_header head;
		struct fuse_open_out open;
	} msg = {
		.head = { .len = sizeof(msg), .unique = t->conf.unique() },
		.open = { .fh = fi->fh,
			  .open_flags = flags | (stream ? FOPEN_STREAM | FOPEN_NONSEEKABLE : 0) },
	};
	ssize_t n = write(t->fuse_fd, &msg, sizeof(msg));

	fuse_reply_none(req);
	return n == (ssize_t)sizeof(msg) ? 0 : -errno;
}

/* A file has another size while it is open for writing. */
static void forget_size(struct tree *t, const struct node *n)
{
	if (row_is_sized(n->row) && row_writable(n->row))
		forget_attr(t, n->ino);
}

static void forget_file(struct tree *t, uint64_t ino, uint64_t fh)
{
	const struct open_file *file = files_get(t->files, fh);
	bool wrote = file && file->writes;
	struct node n;
	bool known = wrote && !node_get(t, ino, &n);

	if (wrote)
		ctl_release(t, fh, known ? node_device(&n) : NULL);
	files_release(t->files, fh);
	if (known)
		forget_size(t, &n);
}

/* rc: of the answer; if the opener was killed meanwhile, no release will come. */
static void opened(struct tree *t, uint64_t ino, const struct fuse_file_info *fi, int rc)
{
	if (rc && fi->fh)
		forget_file(t, ino, fi->fh);
}

struct open_later {
	struct text_asker asker; /* must be first */
	fuse_req_t req;
	uint64_t ino;
	struct fuse_file_info fi;
};

/* The device may have gone meanwhile; then its reads say so. */
static void refreshed(struct text_asker *a, struct text *text, int error)
{
	struct open_later *later = (struct open_later *)a;
	struct tree *t = fuse_req_userdata(later->req);

	forget_attr(t, later->ino);
	opened(t, later->ino, &later->fi, fuse_reply_open(later->req, &later->fi));
	free(later);
}

/* The opener waits for refresh() of the directory, this thread does not. Returns false if nobody
 * waits. */
static bool open_refreshed(fuse_req_t req, struct tree *t, const struct node *n,
			   const struct fuse_file_info *fi)
{
	struct open_later *later;
	struct node dir;

	if ((fi->flags & (O_ACCMODE | O_NONBLOCK)) != O_RDONLY || !strchr(n->row->name, '/') ||
	    node_get(t, node_dir(n, n->row), &dir) || !dir.row || !dir.row->refresh)
		return false;
	later = malloc(sizeof(*later));
	if (!later)
		return false;
	*later = (struct open_later){
		.asker.done = refreshed, .req = req, .ino = n->ino, .fi = *fi
	};
	texts_ask(t, &dir, &later->asker);
	return true;
}

void file_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct tree *t = fuse_req_userdata(req);
	struct err err = { 0 };
	struct node n;
	int r = node_get(t, ino, &n);

	if (!r)
		r = open_node(t, req, &n, fi, &err);
	if (r == -EACCES && err.code)
		record_refused_open(t, req, &n, n.row->name, &err);
	else if (r)
		tell_share(t, req, &n, fuse_req_ctx(req)->uid, &err);
	if (r) {
		fuse_reply_err(req, -r);
		return;
	}
	/* The opener may rely on its size. */
	if (n.row->flags & ATTR_SNAPSHOT) {
		forget_attr(t, n.ino);
		texts_opened(t, &n);
	}
	if (open_refreshed(req, t, &n, fi))
		return;
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		forget_size(t, &n);
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		r = reply_parallel(t, req, fi, n.row->flags & ATTR_CTL);
	else
		r = fuse_reply_open(req, fi);
	opened(t, ino, fi, r);
}

void file_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct tree *t = fuse_req_userdata(req);

	if (fi->fh)
		forget_file(t, ino, fi->fh);
	fuse_reply_err(req, 0);
}

struct read_job {
	fuse_req_t req;
	struct tree *tree;
	struct open_file *file; /* NULL: cached, or the handle is unknown */
	uint64_t ino;
	size_t size;
	off_t off;
};

static void reply_part(const struct read_job *job, const char *text, size_t len)
{
	size_t off = (uint64_t)job->off < len ? (size_t)job->off : len;

	fuse_reply_buf(job->req, text + off, len - off < job->size ? len - off : job->size);
}

/* The rest of a text is kept for the next reads, so that the parts fit together. It is kept before
 * the answer, because the next read may come at once. Nobody is refused a short text because too
 * many are kept: the next read makes it anew then. */
static void reply_text(const struct read_job *job, const struct node *n, struct text *text)
{
	bool begins, whole = n->row->flags & ATTR_SNAPSHOT;
	bool rest = text->len && (job->off || text->len > job->size);
	struct err err = { 0 };

	/* A new pass; tail begins one near the end. */
	begins = job->file && (!job->off || whole);
	if (begins &&
	    files_keep(job->tree->files, job->file, rest ? text : NULL, text->len, &err) && whole) {
		tell_share(job->tree, job->req, n, job->file->creds.uid, &err);
		fuse_reply_err(job->req, ENOMEM);
		return;
	}
	reply_part(job, text->data ? text->data : "", text->len);
}

/* Makes the text now. */
static void reply_fresh(const struct read_job *job, const struct node *n)
{
	static const struct creds nobody = { .uid = (uid_t)-1 };
	struct subject s = n->subject;
	struct out o = { 0 };
	struct text *text;

	if (job->file)
		files_seen(job->tree->files, job->file);
	if (n->row->flags & ATTR_HOLDER)
		s.reader = job->file ? &job->file->creds : &nobody;
	row_show(n->row, &s, &o);
	text = o.failed ? NULL : text_take(&o);
	if (text)
		reply_text(job, n, text);
	else
		fuse_reply_err(job->req, ENOMEM);
	out_free(&o);
	text_unref(text);
}

/* Answers with the rest of a text that an earlier read began. False: there is none. */
static bool reply_rest(const struct read_job *job, const struct attr *row)
{
	struct text *text;
	uint64_t len;

	if (!job->file || !job->off)
		return false;
	text = files_kept(job->tree->files, job->file, &len);
	if (text)
		reply_part(job, text->data, text->len);
	else if (len && (uint64_t)job->off >= len)
		fuse_reply_buf(job->req, NULL, 0);
	else if (len && row->flags & ATTR_SNAPSHOT)
		fuse_reply_err(job->req, ESTALE); /* its snapshot ended with the former process */
	else
		return false;
	text_unref(text);
	return true;
}

static void reply_stat(fuse_req_t req, const struct node *n, const struct text *text)
{
	struct stat st;

	node_stat(fuse_req_userdata(req), n, n->row, &st);
	if (text)
		st.st_size = (off_t)text->len;
	fuse_reply_attr(req, &st, attr_seconds(n->row));
}

/* A read that waits for its text, or a stat for the size of it. */
struct read_later {
	struct text_asker asker; /* must be first */
	struct read_job job;
};

/* Another read of the same file may have started a text meanwhile. */
static void got_text(struct text_asker *a, struct text *text, int error)
{
	struct read_later *later = (struct read_later *)a;
	const struct read_job *job = &later->job;
	struct node n;

	if (!error && node_get(job->tree, job->ino, &n))
		error = -ENODEV;
	if (error)
		fuse_reply_err(job->req, a->stats && error == -ENODEV ? ESTALE : -error);
	else if (a->stats)
		reply_stat(job->req, &n, text);
	else if (!reply_rest(job, n.row))
		reply_text(job, &n, text);
	free(later);
}

/* Asks for a text that this thread has no time to make. */
static void ask_text(const struct read_job *job, const struct node *n, bool stats)
{
	struct read_later *later = malloc(sizeof(*later));

	if (!later) {
		fuse_reply_err(job->req, ENOMEM);
		return;
	}
	*later = (struct read_later){ .asker = { .done = got_text, .stats = stats }, .job = *job };
	if (job->file)
		files_seen(job->tree->files, job->file);
	texts_ask(job->tree, n, &later->asker);
}

void node_getattr(fuse_req_t req, uint64_t ino, struct fuse_file_info *fi)
{
	struct tree *t = fuse_req_userdata(req);
	struct node n;

	if (node_get(t, ino, &n))
		fuse_reply_err(req, ESTALE);
	else if (!n.row || !(n.row->flags & ATTR_SNAPSHOT) ||
		 (n.row->flags & ATTR_SLOW && !files_in_use(t->files, n.ino, false)))
		reply_stat(req, &n, NULL);
	else
		ask_text(&(struct read_job){ .req = req, .tree = t, .ino = ino }, &n, true);
}

void file_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct tree *t = fuse_req_userdata(req);
	struct read_job job = {
		.req = req,
		.tree = t,
		.file = fi->fh ? files_get(t->files, fi->fh) : NULL,
		.ino = ino,
		.size = size,
		.off = off,
	};
	struct node n;

	if (fi->flags & O_DIRECT) { /* set after the open, which sysfs does not allow */
		fuse_reply_err(req, EINVAL);
		return;
	}
	if (node_get(t, ino, &n)) {
		fuse_reply_err(req, ENODEV);
		return;
	}
	if (n.row->flags & ATTR_STREAM) {
		if (job.file)
			stream_read(t->stream, req, job.file, t->conf.unique(), size,
				    fi->flags & O_NONBLOCK);
		else
			fuse_reply_err(req, ESTALE);
		return;
	}
	if (n.row->ring) {
		if (job.file)
			files_seen(t->files, job.file);
		grown_read(n.row->ring(t), req, job.file, size, off);
		return;
	}
	if (n.row->flags & ATTR_CONST && job.file) {
		/* for the page cache, which reads in parts of its own */
		files_seen(t->files, job.file);
		job.file = NULL;
	}
	if (n.row->flags & ATTR_CTL && (!job.file || job.file->writes)) {
		ctl_read(t, req, fi->fh, t->conf.unique(), size);
		return;
	}
	if (job.file && !off) { /* a new pass: drops the text of an earlier one */
		files_keep(t->files, job.file, NULL, 0, NULL);
	} else if (reply_rest(&job, n.row)) {
		return;
	}
	if (n.row->flags & (ATTR_SLOW | ATTR_WORK))
		ask_text(&job, &n, false);
	else
		reply_fresh(&job, &n);
}

void file_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
	       struct fuse_pollhandle *ph)
{
	struct tree *t = fuse_req_userdata(req);
	struct open_file *file = fi->fh ? files_get(t->files, fi->fh) : NULL;
	unsigned int events = POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
	struct node n;
	uint64_t kh = 0;
	bool changed = false;
	int r;

	/* libfuse stores the kernel's handle at the start of its own, which would die with us. */
	if (ph) {
		memcpy(&kh, ph, sizeof(kh));
		fuse_pollhandle_destroy(ph);
	}
	r = node_get(t, ino, &n);
	if (file)
		changed = files_poll(t->files, file, kh, !r && n.row->flags & ATTR_CONST);
	if (r)
		events |= POLLERR | POLLPRI; /* gone: a read returns ENODEV */
	else if (file && n.row->flags & ATTR_STREAM)
		events = stream_ready(t->stream, file) ? POLLIN | POLLRDNORM : 0;
	else if (file && file->writes && n.row->flags & ATTR_CTL)
		events = POLLOUT | POLLWRNORM |
			 (ctl_ready(t->ctl, fi->fh) ? POLLIN | POLLRDNORM : 0);
	else if (changed)
		events |= POLLERR | POLLPRI;
	fuse_reply_poll(req, events);
}
