/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that starts helpers (the spawner) from the holder's view. One socket leads to it for
 * ever: requests that come while there is none wait for the next one. */
#ifndef FS_SPAWN_H
#define FS_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

struct err;
struct options;

struct spawn {
	int ask;    /* the end for requests; serving processes have it too */
	int listen; /* the end that each spawner reads */
	pid_t pid;  /* 0: none */
	int pidfd;
	uint64_t since, start_at; /* now_ms() of its start, and of the next one's */
	unsigned int pause;
};

extern const struct spawn spawn_none;

/* Makes the socket. Returns 0 or -errno. */
int spawn_open(struct spawn *s, struct err *err);
/* Call it at spawn_look_at() and when pidfd is readable: starts a spawner if there is none, with a
 * growing pause if they die young. */
void spawn_watch(struct spawn *s, const struct options *o);
/* now_ms(); UINT64_MAX: never. */
uint64_t spawn_look_at(const struct spawn *s);
/* Kills and reaps it, and closes the socket. Its helpers go on. */
void spawn_close(struct spawn *s);

#endif
