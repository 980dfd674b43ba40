// SPDX-License-Identifier: GPL-2.0-or-later
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/pair.h"
#include "pcidevfs/util.h"

enum {
	HELLO_SAYS = 200, /* of a client's sentence, as ctl takes it */
	CHUNK = 65536,	  /* longer than any line: the tree's texts are bounded */
	RETRY_MS = 100,	  /* the first pause after the tree was lost; doubled each time */
	RETRY_MAX_MS = 2000,
	ORPHAN_MS = 20000,
};

struct follower {
	const char *tree;
	const struct watcher *w;
	int stop_fd;
	uint64_t generation; /* of the inventory */
	uint64_t seq;	     /* of the last event; 0: none yet */
	bool lost;	     /* events are missing: read the inventory again */
};

/* Lines of a stream. */
struct lines {
	int fd;
	char buf[CHUNK + 1];
	size_t start, end;
	bool ended;
	bool live;    /* poll() tells when there is more */
	bool drained; /* the last read took all there was */
};

/* The next whole line without its newline. Returns 1; 0: none yet (or ever, if ended); -errno. */
static int next_line(struct lines *l, char **ret)
{
	for (;;) {
		char *from = l->buf + l->start, *nl = memchr(from, '\n', l->end - l->start);
		ssize_t n;

		if (nl) {
			*nl = '\0';
			*ret = from;
			l->start = (size_t)(nl - l->buf) + 1;
			return 1;
		}
		memmove(l->buf, from, l->end - l->start);
		l->end -= l->start;
		l->start = 0;
		if (l->end == CHUNK)
			return -EBADMSG;
		if (l->drained) {
			l->drained = false;
			return 0;
		}
		n = read(l->fd, l->buf + l->end, CHUNK - l->end);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		l->ended = !n;
		if (!n)
			return 0;
		l->end += (size_t)n;
		l->drained = l->live && l->end < CHUNK;
	}
}

static int open_file(const struct follower *f, const char *name, int flags, struct err *err)
{
	char path[4096];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", f->tree, name) >= sizeof(path))
		return fail(err, ENAMETOOLONG, "%.100s...: the path is too long", f->tree);
	fd = open(path, O_CLOEXEC | flags);
	return fd >= 0 ? fd : fail(err, errno, "%s: %s", path, strerror(errno));
}

static int head_line(struct follower *f, char *line, uint64_t *ret_devices, struct err *err)
{
	bool generation = false, devices = false;
	struct pair p;

	if (pair_next(&line, &p) != 1 || p.key[0] || strcmp(p.value, "pcidevfs-inventory") ||
	    pair_next(&line, &p) != 1 || p.key[0] || strcmp(p.value, "1"))
		return fail(err, EBADMSG, "%s/inventory does not begin like one of version 1",
			    f->tree);
	while (pair_next(&line, &p) == 1)
		if (!strcmp(p.key, "generation"))
			generation = !parse_u64(p.value, UINT64_MAX, &f->generation);
		else if (!strcmp(p.key, "devices"))
			devices = !parse_u64(p.value, UINT64_MAX, ret_devices);
	if (generation && devices)
		return 0;
	return fail(err, EBADMSG, "%s/inventory does not give its generation and number of devices",
		    f->tree);
}

static int read_inventory(struct follower *f, struct err *err)
{
	_free_ struct lines *l = calloc(1, sizeof(*l));
	_close_ int fd = -1;
	uint64_t n = 0, devices = 0; /* n: lines */
	char *line = NULL;
	int r;

	if (!l)
		return fail_nomem(err);
	fd = l->fd = open_file(f, "inventory", O_RDONLY, err);
	if (fd < 0)
		return fd;
	f->w->begin(f->w->ctx);
	for (; (r = next_line(l, &line)) == 1; n++) {
		struct pair id;

		if (!n && head_line(f, line, &devices, err))
			return -EBADMSG;
		if (!n)
			continue;
		if (pair_next(&line, &id) != 1 || id.key[0])
			return fail(err, EBADMSG,
				    "%s/inventory: line %llu does not begin with an "
				    "id",
				    f->tree, (unsigned long long)n + 1);
		f->w->device(f->w->ctx, id.value, line);
	}
	if (r < 0)
		return fail(err, -r, "%s/inventory: %s", f->tree, strerror(-r));
	/* Devices missing from an incomplete inventory would be taken for gone. */
	if (!l->ended || l->end != l->start || n != devices + 1)
		return fail(err, EBADMSG,
			    "%s/inventory is incomplete: it has %llu lines for %llu devices",
			    f->tree, (unsigned long long)n, (unsigned long long)devices);
	f->w->settled(f->w->ctx);
	return 0;
}

/* seq= generation= action= [changed=] ID [pairs]. */
static void take_event(struct follower *f, char *line)
{
	const char *action = "";
	uint64_t generation = 0, seq = 0;
	struct pair p;
	bool lost;
	int r;

	while ((r = pair_next(&line, &p)) == 1 && p.key[0]) {
		if (!strcmp(p.key, "generation"))
			parse_u64(p.value, UINT64_MAX, &generation);
		else if (!strcmp(p.key, "seq"))
			parse_u64(p.value, UINT64_MAX, &seq);
		else if (!strcmp(p.key, "action"))
			action = p.value;
	}
	/* "lost" and "hello" are about no device, and numbering continues from them. */
	lost = !strcmp(action, "lost");
	if (!lost && strcmp(action, "hello"))
		lost = r != 1 || (f->seq && seq != f->seq + 1);
	f->lost |= lost;
	f->seq = seq;
	if (r != 1 || generation <= f->generation)
		return;
	if (!strcmp(action, "add") || !strcmp(action, "change"))
		f->w->device(f->w->ctx, p.value, line);
	else if (!strcmp(action, "remove"))
		f->w->removed(f->w->ctx, p.value);
}

/* Takes all that can be read now. */
static int take_events(struct follower *f, struct lines *l, struct err *err)
{
	char *line = NULL;
	int r;

	while ((r = next_line(l, &line)) == 1)
		take_event(f, line);
	if (r < 0 || l->ended)
		return fail(err, r ? -r : EPIPE, "%s/events_pipe: %s", f->tree,
			    r ? strerror(-r) : "the stream ended");
	f->w->settled(f->w->ctx);
	return 0;
}

/* `health` shows us, and what we say, while this file is open. */
static void say_hello(const struct follower *f, int fd)
{
	char text[HELLO_SAYS] = "";
	uint64_t n;

	if (f->w->saying) {
		(void)!read(f->w->say_fd, &n, sizeof(n));
		f->w->saying(f->w->ctx, text, sizeof(text));
	}
	dprintf(fd, "hello %s%s%s\n", f->w->name, *text ? " " : "", text);
}

/* A client that may not open it follows all the same. */
static int show_us(const struct follower *f)
{
	struct err err = { 0 };
	int fd = f->w->name ? open_file(f, "ctl", O_RDWR, &err) : -1;

	if (fd >= 0)
		say_hello(f, fd);
	return fd;
}

/* Returns -errno if the tree is lost, or 0 if it must stop. */
static int follow(struct follower *f, struct lines *l, struct err *err)
{
	_close_ int shown = show_us(f); /* open until we return */
	_close_ int fd = l->fd = open_file(f, "events_pipe", O_RDONLY | O_NONBLOCK, err);
	struct pollfd p[] = { { fd, POLLIN, 0 },
			      { f->stop_fd, POLLIN, 0 },
			      { f->w->saying ? f->w->say_fd : -1, POLLIN, 0 } };
	int r = fd < 0 ? fd : read_inventory(f, err);

	f->seq = 0;
	while (!r) {
		if (poll(p, ARRAY_SIZE(p), -1) < 0 && errno != EINTR)
			return fail(err, errno, "poll: %s", strerror(errno));
		if (p[1].revents)
			return 0;
		if (p[2].revents)
			say_hello(f, shown);
		r = take_events(f, l, err);
		if (!r && f->lost)
			r = read_inventory(f, err);
		f->lost = false;
	}
	return r;
}

void watch_run(const char *tree, const struct watcher *w, int stop_fd)
{
	struct follower f = { .tree = tree, .w = w, .stop_fd = stop_fd };
	_free_ struct lines *l = malloc(sizeof(*l));
	struct pollfd stop = { stop_fd, POLLIN, 0 };
	uint64_t orphan = 0; /* since when */
	unsigned int pause = 0;

	while (l) {
		struct err err = { 0 };
		uint64_t since = now_ms();

		*l = (struct lines){ .live = true };
		if (!follow(&f, l, &err))
			return;
		if (now_ms() - since > RETRY_MAX_MS)
			pause = 0;
		w->lost(w->ctx, err.text);
		orphan = err.code != ENOTCONN ? 0 : orphan ?: now_ms();
		if (orphan && now_ms() - orphan > ORPHAN_MS && w->orphaned)
			w->orphaned(w->ctx);
		if (poll(&stop, 1, (int)back_off(&pause, RETRY_MS, RETRY_MAX_MS)) > 0)
			return;
	}
	w->lost(w->ctx, "no memory");
}
