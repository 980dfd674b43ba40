/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree as it is and as it changes: inventory first, then events_pipe, and from the start again
 * when events were lost or the tree went away and came back (DESIGN.md 2, "How clients live").
 */
#ifndef CLIENT_WATCH_H
#define CLIENT_WATCH_H

#include <stdbool.h>

/* All are called by the thread that runs watch_run(). */
struct watcher {
	const char *name; /* as which `health` shows who follows */
	/* An inventory begins: what is not told until settled() is not there. */
	void (*begin)(void *ctx);
	/* A device is there, as `pairs` say: what record_next() takes apart; behind the id. */
	void (*device)(void *ctx, const char *id, char *pairs);
	void (*removed)(void *ctx, const char *id);
	/* The inventory, or a batch of events, is complete. */
	void (*settled)(void *ctx);
	/* The tree cannot be read; why is one sentence. Tried again until it can. */
	void (*lost)(void *ctx, const char *why);
	void *ctx;
};

/* Follows the tree at the path until stop_fd is readable. A read of a tree whose daemon is dead
 * waits for the next one; only the caller's thread does. */
void watch_run(const char *tree, const struct watcher *w, int stop_fd);

#endif
