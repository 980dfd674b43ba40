// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "wire.h"

enum {
	IDLE_MAX = 2,	 /* of each kind, and */
	BURST_MAX = 8,	 /* as many as an operation has lanes, for */
	BURST_MS = 1000, /* after they have answered: they end with the next answer then */
	SPAWN_TRIES = 4, /* the spawner may die while it handles a request */
	HELLO_MS = 5000, /* the spawner may have to be started first */
	ASK_TRIES = 4,	 /* of a request that no helper has read */
	READ_TRIES = 2,	 /* of one that only reads and whose helper died: it may be the cause */
};

struct helper {
	struct helper *next;
	enum helper_kind kind;
	struct helper_id id;
	uint64_t idle_since; /* ms */
	int fd;
};

/* A request while it is made. */
struct io_request {
	struct wire_request head;
	struct out *answer;
	void **ret_late;
	struct helper_id *who;
	uint64_t until; /* it is late then; 0: no helper has it yet */
	enum helper_kind kind;
	bool reads; /* changes nothing */
};

struct io {
	const struct roots *roots;
	pthread_mutex_t lock;
	struct helper *idle[HELPER_KINDS]; /* lock; the last one that answered first */
	_Atomic uint64_t lacks[HELPER_KINDS];
};

int io_new(const struct roots *roots, struct io **ret, struct err *err)
{
	struct io *io = calloc(1, sizeof(*io));

	if (!io)
		return fail_nomem(err);
	io->roots = roots;
	pthread_mutex_init(&io->lock, NULL);
	*ret = io;
	return 0;
}

/* The helper exits at the end of its socket, or after its request. It is not our child. */
static void helper_free(struct helper *h)
{
	close(h->fd);
	free(h);
}

static void helpers_free(struct helper *h)
{
	for (struct helper *next; h; h = next) {
		next = h->next;
		helper_free(h);
	}
}

void io_free(struct io *io)
{
	if (!io)
		return;
	for (size_t i = 0; i < HELPER_KINDS; i++)
		helpers_free(io->idle[i]);
	pthread_mutex_destroy(&io->lock);
	free(io);
}

/* Field 22 of stat, counted behind the name, which may contain anything. */
uint64_t process_started(pid_t pid)
{
	char path[48], buf[1024], *p;
	uint64_t started = 0;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
	p = strrchr(buf, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		started = strtoull(p + 1, NULL, 10);
	return started;
}

/* Returns 0 if there is something to read, or -ETIMEDOUT. */
static int wait_answer(int fd, uint64_t until)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = now_ms();
		int n = poll(&p, 1, until > now ? (int)(until - now) : 0);

		if (n > 0)
			return 0;
		if (!n && now_ms() >= until)
			return -ETIMEDOUT;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

/* The sender cannot be forged: the kernel adds the pid of the sending process. */
static int get_hello(int fd, struct wire_hello *hello, pid_t *ret_pid)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} space;
	struct iovec iov = { .iov_base = hello, .iov_len = sizeof(*hello) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &space,
			    .msg_controllen = sizeof(space) };
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	struct ucred sender;

	if (n != sizeof(*hello))
		return n < 0 ? -errno : n ? -EPROTO : -EPIPE;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
		return -EPROTO;
	memcpy(&sender, CMSG_DATA(c), sizeof(sender));
	*ret_pid = sender.pid;
	return 0;
}

/* Waits for the helper's hello. -EPIPE: there is no helper, and another request may help. */
static int meet(struct io *io, struct helper *h)
{
	struct wire_hello hello;
	int off = 0, r = wait_answer(h->fd, now_ms() + HELLO_MS);

	r = r ? r : get_hello(h->fd, &hello, &h->id.pid);
	if (r)
		return r;
	setsockopt(h->fd, SOL_SOCKET, SO_PASSCRED, &off, sizeof(off));
	h->id.started = hello.started;
	atomic_store(&io->lacks[h->kind], hello.lacks);
	return 0;
}

static int helper_start(struct io *io, struct helper *h)
{
	const struct wire_spawn what = { WIRE_SPAWN, h->kind };
	int pair[2], on = 1, r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	h->fd = pair[0];
	setsockopt(h->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	r = fdmsg_send(io->roots->spawner, &what, sizeof(what), &pair[1], 1);
	close(pair[1]);
	r = r ? r : meet(io, h);
	if (r)
		close(h->fd);
	return r;
}

static struct helper *helper_new(struct io *io, enum helper_kind kind)
{
	struct helper *h = calloc(1, sizeof(*h));
	int r = -EPIPE;

	if (!h)
		return NULL;
	h->kind = kind;
	for (int i = 0; i < SPAWN_TRIES && (r == -EPIPE || r == -ECONNRESET); i++)
		r = io->roots->spawner > 0 ? helper_start(io, h) : -ECHILD;
	if (!r)
		return h;
	free(h);
	return NULL;
}

static struct helper *helper_get(struct io *io, enum helper_kind kind)
{
	struct helper *h;

	pthread_mutex_lock(&io->lock);
	h = io->idle[kind];
	if (h)
		io->idle[kind] = h->next;
	pthread_mutex_unlock(&io->lock);
	return h ? h : helper_new(io, kind);
}

static void helper_put(struct io *io, struct helper *h)
{
	struct helper **at = &io->idle[h->kind];
	unsigned int n = 0;

	h->idle_since = now_ms();
	pthread_mutex_lock(&io->lock);
	h->next = *at;
	*at = h;
	for (; *at &&
	       (n < IDLE_MAX || (n < BURST_MAX && h->idle_since < (*at)->idle_since + BURST_MS));
	     n++)
		at = &(*at)->next;
	h = *at;
	*at = NULL;
	pthread_mutex_unlock(&io->lock);
	helpers_free(h);
}

uint64_t io_lacks(struct io *io, const char *request)
{
	enum helper_kind kind;
	bool reads;

	if (request_find(request, &kind, &reads))
		return 0;
	return atomic_load(&io->lacks[kind]);
}

static int pack_request(const char *const *argv, struct wire_request *head,
			char words[static WIRE_REQUEST])
{
	*head = (struct wire_request){ 0 };
	for (; argv[head->argc]; head->argc++) {
		size_t n = strlen(argv[head->argc]) + 1;

		if (head->argc == WIRE_WORDS || n > WIRE_REQUEST - head->size)
			return -E2BIG;
		memcpy(words + head->size, argv[head->argc], n);
		head->size += (uint32_t)n;
	}
	return head->argc ? 0 : -EINVAL;
}

/* The helper is trusted to send what it announced; its own result goes to *ret_result. */
static int get_answer(int fd, struct out *answer, int *ret_result)
{
	struct wire_answer head;
	_free_ char *text = NULL;
	int rc = wire_receive(fd, &head, sizeof(head));

	if (rc)
		return rc;
	if (head.size > WIRE_ANSWER || head.result > 0)
		return -EPROTO;
	text = malloc(head.size + 1);
	if (!text)
		return -ENOMEM;
	rc = wire_receive(fd, text, head.size);
	if (rc)
		return rc;
	if (answer)
		out_put(answer, text, head.size);
	*ret_result = head.result;
	return 0;
}

/* Ends each request: the helper is kept if it answered properly. Otherwise its result is -EIO, and
 * *ret_end is how its socket ended; else 0. */
static int finish(struct io *io, struct helper *h, struct out *answer, int *ret_end)
{
	int result = 0, rc = get_answer(h->fd, answer, &result);

	*ret_end = rc;
	if (rc) {
		helper_free(h);
		return rc == -ENOMEM ? rc : -EIO;
	}
	helper_put(io, h);
	return result;
}

static int give_late(struct helper *h, const struct io_request *c)
{
	if (c->ret_late && !c->reads)
		*c->ret_late = h;
	else
		helper_free(h);
	return -ETIMEDOUT;
}

/* Sends the request to a helper, or returns -errno. A helper that died while idle has done nothing,
 * so the next one is tried. */
static int hand_out(struct io *io, const struct io_request *c, const char *words,
		    struct helper **ret)
{
	for (int tries = 0; tries <= BURST_MAX; tries++) {
		struct helper *h = helper_get(io, c->kind);

		if (!h)
			return -ECHILD;
		if (c->who)
			*c->who = h->id;
		*ret = h;
		if (!wire_send(h->fd, &c->head, sizeof(c->head), words, c->head.size))
			return 0;
		helper_free(h);
	}
	return -EIO;
}

/* One try; *ret_end as for finish(). */
static int call_once(struct io *io, struct io_request *c, const char *words, int *ret_end)
{
	struct helper *h;
	int rc = hand_out(io, c, words, &h);

	*ret_end = 0;
	if (rc)
		return rc;
	if (!c->until)
		c->until = now_ms() + c->head.deadline_ms;
	rc = wait_answer(h->fd, c->until + helper_grace(h->kind));
	if (rc == -ETIMEDOUT)
		return give_late(h, c);
	return finish(io, h, c->answer, ret_end);
}

/* A helper that was killed before it read its request, as one that waits for the next, has done
 * nothing: the kernel says so by ECONNRESET. */
static bool may_ask_again(const struct io_request *c, int end, unsigned int tries)
{
	return (end == -ECONNRESET && tries < ASK_TRIES) ||
	       (end == -EPIPE && c->reads && tries < READ_TRIES);
}

int io_call(struct io *io, const char *const *argv, unsigned int deadline_ms, struct out *answer,
	    void **ret_late, struct helper_id *who)
{
	struct io_request c = { .answer = answer, .ret_late = ret_late, .who = who };
	char words[WIRE_REQUEST];
	unsigned int tries = 0;
	int rc = pack_request(argv, &c.head, words), end = 0;
	uint64_t begun = now_ms();

	if (ret_late)
		*ret_late = NULL;
	rc = rc ? rc : request_find(argv[0], &c.kind, &c.reads);
	if (rc)
		return rc;
	c.head.deadline_ms = deadline_ms;
	for (;;) {
		uint64_t now;

		rc = call_once(io, &c, words, &end);
		now = now_ms();
		say_debug(SAY_HELPERS, "helper %s %s: %s after %llu ms", argv[0],
			  argv[1] ? argv[1] : "", err_name(-rc), (unsigned long long)(now - begun));
		if (!end)
			return rc;
		/* It ended itself before we noticed that it is late. */
		if (now >= c.until)
			return rc == -EIO && c.reads ? -ETIMEDOUT : rc;
		if (!may_ask_again(&c, end, ++tries))
			return rc;
		c.head.deadline_ms = (uint32_t)(c.until - now);
	}
}

int io_late(struct io *io, void *late, struct out *answer)
{
	int end;

	return finish(io, late, answer, &end);
}

int io_await(const struct helper_id *who, int deadline_ms)
{
	struct pollfd p = { .events = POLLIN };
	int n;

	if (!who->pid || process_started(who->pid) != who->started)
		return 0;
	p.fd = (int)syscall(SYS_pidfd_open, who->pid, 0);
	if (p.fd < 0)
		return 0;
	/* The pid may have been reused before we opened it. */
	n = process_started(who->pid) == who->started ? poll(&p, 1, deadline_ms) : 1;
	close(p.fd);
	return n ? 0 : -ETIMEDOUT;
}
