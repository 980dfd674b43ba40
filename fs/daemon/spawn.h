/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that starts helpers, as its holder sees it. One socket leads to it for ever: what
 * serving processes ask while there is none waits for the next one.
 */
#ifndef FS_SPAWN_H
#define FS_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

struct err;
struct options;

struct spawn {
	int ask;    /* where serving processes ask; theirs as well */
	int listen; /* what each one of them hears */
	pid_t pid;  /* 0: there is none */
	int pidfd;
	uint64_t since, start_at; /* now_ms(): of its start, of the next one's */
	unsigned int pause;
};

extern const struct spawn spawn_none;

/* Makes the socket. 0 or -errno. */
int spawn_open(struct spawn *s, struct err *err);
/* To be called at spawn_look_at() and when pidfd is readable: starts one where there is none, with
 * a pause that grows where they die young. */
void spawn_watch(struct spawn *s, const struct options *o);
/* now_ms(), UINT64_MAX: never. */
uint64_t spawn_look_at(const struct spawn *s);
/* Kills and reaps it, closes the socket. Helpers that it has started go on. */
void spawn_close(struct spawn *s);

#endif
