/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the tree: first inventory, then events_pipe. Starts again if events were lost or the tree
 * went away and came back (DESIGN.md 2, "How clients live"). */
#ifndef CLIENT_WATCH_H
#define CLIENT_WATCH_H

#include <stdbool.h>
#include <stddef.h>

/* All functions are called by the thread that runs watch_run(). */
struct watcher {
	const char *name; /* the client's name in `health`; NULL: it does not stand there */
	/* An inventory begins: devices not named until settled() are gone. */
	void (*begin)(void *ctx);
	/* A device is there; `pairs` is the line behind the id, for pair_next(). */
	void (*device)(void *ctx, const char *id, char *pairs);
	void (*removed)(void *ctx, const char *id);
	/* The inventory, or a batch of events, is complete. */
	void (*settled)(void *ctx);
	/* The tree cannot be read; why is one sentence. Retried until it can. */
	void (*lost)(void *ctx, const char *why);
	void *ctx;
	/* What the client has to say in `health`; "" for nothing. Asked at the start, and when say_fd,
	 * an eventfd, is readable. NULL: nothing, and say_fd is not used. */
	void (*saying)(void *ctx, char *buf, size_t size);
	int say_fd;
	/* The tree has been a mount without a daemon for 20 s; called once more after each try. A
	 * new daemon's mount does not come in its place where a container has this one. NULL:
	 * nothing. */
	void (*orphaned)(void *ctx);
};

/* Follows the tree at the path until stop_fd is readable. A read of a tree whose daemon is dead
 * waits for the next daemon; only the calling thread waits. */
void watch_run(const char *tree, const struct watcher *w, int stop_fd);

#endif
