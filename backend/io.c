// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "wire.h"

#define IDLE_MAX 2

struct helper {
	struct helper *next;
	pid_t pid;
	uint64_t started;
	int fd;
	bool reads; /* what it was asked for last changes nothing */
};

struct io_late {
	struct helper *helper;
};

struct io {
	const struct roots *roots;
	pthread_mutex_t lock;
	struct helper *idle;	/* lock */
	unsigned int n_idle;	/* lock */
	struct helper *orphans; /* lock; nobody waits for their answer, they end with it */
};

int io_new(const struct roots *roots, struct io **ret, struct err *err)
{
	struct io *io = calloc(1, sizeof(*io));

	if (!io)
		return fail(err, ENOMEM, "no memory for the helpers");
	io->roots = roots;
	pthread_mutex_init(&io->lock, NULL);
	*ret = io;
	return 0;
}

/* It reads the end of its socket and exits. */
static void helper_end(struct helper *h)
{
	close(h->fd);
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(h);
}

static void reap_orphans(struct io *io)
{
	for (struct helper **at = &io->orphans; *at;) {
		struct helper *h = *at;

		if (!waitpid(h->pid, NULL, WNOHANG)) {
			at = &h->next;
			continue;
		}
		*at = h->next;
		free(h);
	}
}

void io_free(struct io *io)
{
	if (!io)
		return;
	reap_orphans(io);
	for (struct helper *h = io->orphans, *next; h; h = next) {
		next = h->next;
		free(h);
	}
	for (struct helper *h = io->idle, *next; h; h = next) {
		next = h->next;
		helper_end(h);
	}
	pthread_mutex_destroy(&io->lock);
	free(io);
}

/* A session of its own: a terminal's interrupt must not end a write half way. */
static int spawn_attr(posix_spawnattr_t *attr)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(attr, &none);
	posix_spawnattr_setsigdefault(attr, &all);
	return posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETSID);
}

static int spawn(const struct roots *roots, int sock, pid_t *ret)
{
	char *argv[] = { (char *)roots->helper, (char *)HELPER_ARG,  (char *)roots->sysfs,
			 (char *)roots->dev,	(char *)roots->proc, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	rc = posix_spawn_file_actions_adddup2(&actions, sock, STDIN_FILENO);
	if (!rc)
		rc = posix_spawn_file_actions_addclosefrom_np(&actions, STDOUT_FILENO);
	if (!rc)
		rc = spawn_attr(&attr);
	if (!rc)
		rc = posix_spawn(ret, roots->helper, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -rc;
}

/* Field 22 of stat, counted after the name, which may hold anything; 0 when the process is gone. */
static uint64_t start_time(pid_t pid)
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

static struct helper *helper_new(const struct roots *roots)
{
	struct helper *h = calloc(1, sizeof(*h));
	int pair[2];

	if (!h)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		free(h);
		return NULL;
	}
	h->fd = pair[0];
	if (spawn(roots, pair[1], &h->pid)) {
		close(pair[0]);
		free(h);
		h = NULL;
	}
	close(pair[1]);
	if (h)
		h->started = start_time(h->pid);
	return h;
}

static struct helper *helper_get(struct io *io)
{
	struct helper *h;

	pthread_mutex_lock(&io->lock);
	reap_orphans(io);
	h = io->idle;
	if (h) {
		io->idle = h->next;
		io->n_idle--;
	}
	pthread_mutex_unlock(&io->lock);
	if (!h)
		h = helper_new(io->roots);
	return h;
}

static void helper_put(struct io *io, struct helper *h)
{
	bool keep;

	pthread_mutex_lock(&io->lock);
	keep = io->n_idle < IDLE_MAX;
	if (keep) {
		h->next = io->idle;
		io->idle = h;
		io->n_idle++;
	}
	pthread_mutex_unlock(&io->lock);
	if (!keep)
		helper_end(h);
}

/* What only reads serves nobody any more: it would take time and memory until it ends by itself. */
static void helper_abandon(struct io *io, struct helper *h)
{
	if (h->reads)
		kill(h->pid, SIGKILL);
	close(h->fd);
	h->fd = -1;
	pthread_mutex_lock(&io->lock);
	h->next = io->orphans;
	io->orphans = h;
	pthread_mutex_unlock(&io->lock);
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

/* 0 when there is something to read, -ETIMEDOUT. */
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

/* The helper is trusted to send what it announced; a result of its own making goes to
 * *ret_result. */
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

/* The end of every request: the helper is kept when it answered as it should. */
static int finish(struct io *io, struct helper *h, struct out *answer)
{
	int result = 0, rc = get_answer(h->fd, answer, &result);

	if (rc) {
		helper_abandon(io, h);
		return rc == -ENOMEM ? rc : -EIO;
	}
	helper_put(io, h);
	return result;
}

static int give_late(struct io *io, struct helper *h, struct io_late **ret_late)
{
	struct io_late *late = ret_late && !h->reads ? malloc(sizeof(*late)) : NULL;

	if (!late) {
		helper_abandon(io, h);
		return -ETIMEDOUT;
	}
	late->helper = h;
	*ret_late = late;
	return -ETIMEDOUT;
}

int io_call(struct io *io, const char *const *argv, unsigned int deadline_ms, struct out *answer,
	    struct io_late **ret_late, struct helper_id *who)
{
	uint64_t until = now_ms() + deadline_ms;
	char words[WIRE_REQUEST];
	struct wire_request head;
	struct helper *h;
	int rc = pack_request(argv, &head, words);

	if (ret_late)
		*ret_late = NULL;
	if (rc)
		return rc;
	/* One that died while it was idle has done nothing yet: the next is asked instead. */
	for (int tries = 0;; tries++) {
		h = helper_get(io);
		if (!h)
			return -ECHILD;
		if (who)
			*who = (struct helper_id){ h->pid, h->started };
		h->reads = request_reads(argv[0]);
		rc = wire_send(h->fd, &head, sizeof(head), words, head.size);
		if (!rc || tries == IDLE_MAX)
			break;
		helper_abandon(io, h);
	}
	if (!rc)
		rc = wait_answer(h->fd, until);
	if (rc == -ETIMEDOUT)
		return give_late(io, h, ret_late);
	if (rc) {
		helper_abandon(io, h);
		return -EIO;
	}
	return finish(io, h, answer);
}

int io_late(struct io *io, struct io_late *late, struct out *answer)
{
	struct helper *h = late->helper;

	free(late);
	return finish(io, h, answer);
}

int io_await(const struct helper_id *who, int deadline_ms)
{
	struct pollfd p = { .events = POLLIN };
	int n;

	if (!who->pid || start_time(who->pid) != who->started)
		return 0;
	p.fd = (int)syscall(SYS_pidfd_open, who->pid, 0);
	if (p.fd < 0)
		return 0;
	/* Its number may have gone to another process before we had a hold on it. */
	n = start_time(who->pid) == who->started ? poll(&p, 1, deadline_ms) : 1;
	close(p.fd);
	return n ? 0 : -ETIMEDOUT;
}
