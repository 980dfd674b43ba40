// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 312
#define _GNU_SOURCE
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/vfs.h>

#include "fs/fault.h"
#include "inflight.h"
#include "pcidevfs/err.h"
#include "pcidevfs/region.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "reader.h"
#include "fs/stash.h"

/* Newer than the headers of Linux 6.1. */
#define NOTIFY_RESEND 7
#define UNIQUE_RESENT (1ull << 63)
#define INIT_HAS_RESEND (1u << 7) /* in flags2: FUSE_HAS_RESEND */
#define SESSION_ABI 5
#define INIT_FLAGS2_AT 16 /* behind major, minor, max_readahead, flags */

enum {
	MAX_WRITE = 65536,
	INIT_MAX = 512,
	POISON_DEATHS = 3,
	POISON_KILLS = 10, /* so many kills count as one death */
	/* Requests that nobody in the kernel waits for. A close is one of them. */
	BACKGROUND_MAX = 1024,
};

enum init_state { INIT_NONE, INIT_SEEN, INIT_ANSWERED };

/* In the stash. */
struct session_record {
	struct region_head region;
	atomic_uint init; /* enum init_state */
	uint32_t init_len;
	uint32_t resend; /* at INIT the kernel said that it can send requests again */
	uint64_t connection;
	unsigned char init_buf[INIT_MAX];
	_Atomic uint64_t in_hand[HANDS];
	/* The request at which the last processes died: by a fault, or killed (also for lack of
	 * memory). */
	uint64_t poison;
	uint32_t poison_kills; /* with each death counted as POISON_KILLS */
	struct inflight inflight;
};

struct session {
	struct session_conf conf;
	struct fuse_session *se;
	struct session_record *rec;
	struct reader reader;
};

const struct region_head session_layout = { "session", SESSION_ABI, sizeof(struct session_record) };

/* libfuse has no accessor before 3.17, so handlers use this. */
static __thread uint64_t current_unique;

uint64_t session_unique(void)
{
	return current_unique;
}

struct fuse_session *session_fuse(struct session *s)
{
	return s->se;
}

/* All of this belongs to SESSION_ABI: it holds as long as the mount. Asynchronous I/O and the
 * number of background requests do not, because no request relies on them: file_read() and
 * file_write() refuse O_DIRECT, so that nothing waits in the background, also on a mount made with
 * other values. */
static void session_init(void *userdata, struct fuse_conn_info *conn)
{
	/* The loop reads each request's header, so requests must come as memory. */
	conn->want &= ~(unsigned int)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				      FUSE_CAP_SPLICE_MOVE);
	/* The kernel would truncate its cached size on open: cached readers would see empty
	 * values. */
	conn->want &= ~(unsigned int)FUSE_CAP_ATOMIC_O_TRUNC;
	/* A directory is listed anew, even by an open descriptor, after a check of its mtime, which
	 * drops the kernel's cached list. Of files only utimes changes it. */
	conn->want |= conn->capable & (FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS |
				       FUSE_CAP_PARALLEL_DIROPS);
	/* Programs that list also look at the entries. The kernel's guess about that is made anew
	 * for each buffer, and a wrong one would cost a request for each entry. */
	conn->want &= ~(unsigned int)FUSE_CAP_READDIRPLUS_AUTO;
	/* Reads that wait would fill the background, and closes would wait behind them. */
	conn->want &= ~(unsigned int)FUSE_CAP_ASYNC_DIO;
	conn->max_background = BACKGROUND_MAX;
	conn->max_write = MAX_WRITE;
}

static int find_record(struct session *s, struct stash *stash, struct err *err)
{
	struct session_record *rec;
	size_t size;

	rec = stash_region(stash, STASH_SESSION, &size);
	if (size < sizeof(*rec))
		return fail(err, EPROTO, "the memory handed over has no room for the session");
	if (!rec->region.magic[0]) {
		rec->connection = now_us();
		region_begin(&rec->region, &session_layout);
	}
	if (!region_is(&rec->region, &session_layout))
		return fail(err, EPROTO,
			    "the mount was negotiated by another version (session %u, "
			    "this is %u)",
			    rec->region.abi, SESSION_ABI);
	if (rec->init_len > INIT_MAX)
		return fail(err, EPROTO, "the stored greeting of the kernel is damaged");
	s->rec = rec;
	return 0;
}

static int make_fuse(struct session *s, const struct session_conf *conf, struct err *err)
{
	struct fuse_lowlevel_ops ops = *conf->ops;
	char *argv[] = { "pcidevfsd", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(1, argv);
	char place[32];

	ops.init = session_init;
	ops.destroy = NULL;
	s->se = fuse_session_new(&args, &ops, sizeof(ops), conf->userdata);
	fuse_opt_free_args(&args);
	snprintf(place, sizeof(place), "/dev/fd/%d", conf->fuse_fd);
	/* With such a mount point libfuse adopts the descriptor; it mounts nothing. */
	if (!s->se || fuse_session_mount(s->se, place))
		return fail(err, EIO, "libfuse does not take over the connection");
	return 0;
}

int session_new(const struct session_conf *conf, struct session **ret, struct err *err)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return fail_nomem(err);
	s->conf = *conf;
	r = reader_open(&s->reader, conf->fuse_fd, conf->group, MAX_WRITE) ? 0 : fail_nomem(err);
	r = r ? r : find_record(s, conf->stash, err);
	r = r ? r : make_fuse(s, conf, err);
	if (r) {
		session_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (s->se)
		fuse_session_destroy(s->se);
	reader_close(&s->reader);
	free(s);
}

static void process(struct session *s, void *mem, size_t len)
{
	struct fuse_buf buf = { .mem = mem, .size = len };
	const struct fuse_in_header in = *(const struct fuse_in_header *)mem;

	say_debug(SAY_REQUESTS, "request %llu: opcode %u of node %llu by user %u, process %u",
		  (unsigned long long)in.unique, in.opcode, (unsigned long long)in.nodeid, in.uid,
		  in.pid);
	fuse_session_process_buf(s->se, &buf);
}

/* libfuse writes its answer to the descriptor's number, which leads to /dev/null meanwhile. */
static int replay_init(struct session *s)
{
	_close_ int keep = fcntl(s->conf.fuse_fd, F_DUPFD_CLOEXEC, 3);
	_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned char copy[INIT_MAX];

	if (keep < 0 || null < 0 || dup3(null, s->conf.fuse_fd, O_CLOEXEC) < 0)
		return -errno;
	memcpy(copy, s->rec->init_buf, s->rec->init_len);
	process(s, copy, s->rec->init_len);
	return dup3(keep, s->conf.fuse_fd, O_CLOEXEC) < 0 ? -errno : 0;
}

int session_adopt(struct session *s, bool killed, struct err *err)
{
	struct session_record *rec = s->rec;
	uint64_t request = atomic_load(&rec->in_hand[HAND_REQUEST]);
	int r;

	if (request) {
		if (request != rec->poison)
			rec->poison_kills = 0;
		rec->poison = request;
		rec->poison_kills += killed ? 1 : POISON_KILLS;
	}
	for (size_t i = 0; i < HANDS; i++)
		atomic_store(&rec->in_hand[i], 0);
	if (atomic_load(&rec->init) != INIT_ANSWERED)
		return 0;
	r = replay_init(s);
	return r ? fail(err, -r, "cannot go on with the connection: %s", strerror(-r)) : 0;
}

void session_recover(struct session *s)
{
	struct fuse_out_header again = { .len = sizeof(again), .error = NOTIFY_RESEND };
	unsigned int n;

	if (!fault_is("no-resend") &&
	    write(s->conf.fuse_fd, &again, sizeof(again)) == sizeof(again)) {
		s->rec->resend = true;
		return;
	}
	n = inflight_fail_all(&s->rec->inflight, s->conf.fuse_fd);
	if (n)
		say("%u requests that were being served got EIO; a kernel since "
		    "Linux 6.9 would send them again",
		    n);
}

static void note_init(struct session *s, const void *mem, size_t len)
{
	struct session_record *rec = s->rec;
	uint32_t flags2;

	rec->init_len = len < INIT_MAX ? (uint32_t)len : INIT_MAX;
	memcpy(rec->init_buf, mem, rec->init_len);
	if (len >= sizeof(struct fuse_in_header) + INIT_FLAGS2_AT + sizeof(flags2)) {
		memcpy(&flags2, rec->init_buf + sizeof(struct fuse_in_header) + INIT_FLAGS2_AT,
		       sizeof(flags2));
		rec->resend = (flags2 & INIT_HAS_RESEND) && !fault_is("no-resend");
	}
	atomic_store(&rec->init, INIT_SEEN);
}

static void die_if(const char *fault)
{
	if (fault_is(fault))
		fault_die();
}

/* The kernel's INIT, or the first request after an INIT that was answered but not recorded so. */
static void serve_unready(struct session *s, const struct fuse_in_header *in, size_t len)
{
	struct session_record *rec = s->rec;
	bool again = atomic_load(&rec->init) == INIT_SEEN;

	if (in->opcode == FUSE_INIT) {
		note_init(s, in, len);
		if (!again)
			die_if("init-seen");
		process(s, (void *)in, len);
		if (!again)
			die_if("init-answered");
	} else if (again && !replay_init(s)) {
		process(s, (void *)in, len);
	}
	atomic_store(&rec->init, INIT_ANSWERED);
}

/* A request that kills one process after another is refused, so that the others can be served. */
static bool refuse_poison(struct session *s, uint64_t unique)
{
	struct session_record *rec = s->rec;

	if (rec->poison_kills < POISON_KILLS * POISON_DEATHS ||
	    (unique & ~UNIQUE_RESENT) != rec->poison)
		return false;
	say("request %llu ended process after process; it got EIO",
	    (unsigned long long)rec->poison);
	return inflight_fail(s->conf.fuse_fd, unique);
}

static void *ask_ourselves(void *mountpoint)
{
	struct statfs st;

	(void)!statfs(mountpoint, &st);
	return NULL;
}

/* For tests: at a request, a thread of ours sends the same request, and neither is answered. Even
 * SIGKILL does not free a thread whose request was read, only the end of the connection. */
static void wait_for_ourselves(const struct session *s, const struct fuse_in_header *in)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/task/%u", in->pid);
	while (!access(path, F_OK))
		pause();
	thread_start(NULL, ask_ourselves, (void *)s->conf.mountpoint);
}

static void serve_one(struct session *s, size_t len)
{
	const struct fuse_in_header *in = (const void *)s->reader.buf;
	struct session_record *rec = s->rec;

	if (refuse_poison(s, in->unique))
		return;
	if (atomic_load(&rec->init) != INIT_ANSWERED) {
		serve_unready(s, in, len);
		return;
	}
	if (!rec->resend)
		inflight_note(&rec->inflight, in);
	current_unique = in->unique;
	rec->in_hand[HAND_REQUEST] = in->unique & ~UNIQUE_RESENT;
	if (in->opcode == FUSE_STATFS) {
		die_if("statfs-kill");
		if (fault_is("statfs-fault"))
			_exit(1);
		if (fault_is("statfs-hang"))
			fault_hang();
	}
	if (in->opcode == FUSE_STATFS && fault_is("statfs-stuck"))
		wait_for_ourselves(s, in);
	else
		process(s, s->reader.buf, len);
	rec->in_hand[HAND_REQUEST] = 0;
	current_unique = 0;
}

int session_loop(struct session *s, struct err *err)
{
	size_t len;

	reader_begin(&s->reader);
	while (!fuse_session_exited(s->se)) {
		int r;

		if (s->conf.leave(s->conf.ctx)) {
			while (reader_rest(&s->reader, &len))
				serve_one(s, len);
			return 0;
		}
		r = reader_next(&s->reader, s->rec->resend, &len, err);
		if (r < 0)
			return r;
		if (r == READ_GONE)
			break;
		if (r == READ_ONE)
			serve_one(s, len);
	}
	return 1;
}

_Atomic uint64_t *session_hand(struct session *s, enum session_hand hand)
{
	return &s->rec->in_hand[hand];
}

void session_in_hand(int stash, uint64_t ret[HANDS])
{
	if (stash_peek(stash, STASH_SESSION, offsetof(struct session_record, in_hand), ret,
		       HANDS * sizeof(*ret)))
		memset(ret, 0, HANDS * sizeof(*ret));
}

uint64_t session_connection(const struct session *s)
{
	return s->rec->connection;
}

bool session_resends(const struct session *s)
{
	return s->rec->resend;
}

void session_health(struct session *s, struct out *o)
{
	bool all = s->rec->resend;

	out_printf(o, "kernel_resend=%s", all ? "yes survives=all" : "no survives=mount");
	if (!all)
		out_pair(o, "note",
			 "requests being served when the daemon dies get EIO; Linux 6.9 or newer "
			 "sends them again");
	out_printf(o, "\n");
}
