/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the main thread waits for: descriptors, and one timer per user. A thread that waits for
 * something else handles it by itself, in a turn. Outside of a turn nobody may touch the loop or
 * the data of the owners of its sources. */
#ifndef CLIENT_LOOP_H
#define CLIENT_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct loop;

/* Embedded by its owner; fd -1: only a timer. */
struct source {
	int fd;
	void (*ready)(struct source *s); /* readable (loop_heed(): or writable), or hung up */
	void (*due)(struct source *s);	 /* `at` has come; it is reset to UINT64_MAX */
	uint64_t at;			 /* time of now_ms(); UINT64_MAX: never */
	uint64_t round;			 /* of the loop, in which due() was called last */
	struct source *next;
};

struct loop {
	int epoll;
	pthread_mutex_t turn; /* guards what follows */
	struct source *timers;
	struct source wake;
	struct source signals;	  /* fd -1: not watched yet */
	uint64_t until;		  /* time that loop_run() sleeps to; 0: it is awake */
	void (*after)(void *ctx); /* at the end of every turn; may be NULL */
	void *after_ctx;
	uint64_t round; /* of due() */
	bool ended;
};

/* SIGTERM and SIGINT set `ended`, SIGPIPE and SIGHUP are ignored: call it before there are threads.
 * Returns 0 or -errno. The caller has the turn from then on. */
int loop_open(struct loop *l, struct err *err);
void loop_close(struct loop *l);
/* Brackets all that another thread does with the loop; loop_leave() and loop_enter() bracket waits
 * for such threads. */
void loop_enter(struct loop *l);
void loop_leave(struct loop *l);
int loop_add(struct loop *l, struct source *s, struct err *err);
/* Likewise, of a descriptor, and of a timer that is due at this time. */
int loop_watch(struct loop *l, struct source *s, int fd, void (*ready)(struct source *s),
	       struct err *err);
void loop_timer(struct loop *l, struct source *s, void (*due)(struct source *s), uint64_t at);
/* It is due at this time, if not before. */
void source_by(struct source *s, uint64_t at);
/* It is due now, or so many ms after `last`, if that is later. */
void source_soon(struct source *s, uint64_t last, unsigned int gap_ms);
/* Call it before the descriptor is closed. */
void loop_remove(struct loop *l, struct source *s);
/* Calls ready() if the descriptor is readable, if it is writable; loop_add() has set: readable. The
 * timer runs in any case. */
void loop_heed(struct loop *l, struct source *s, bool readable, bool writable);
/* Returns once `ended` is set. */
void loop_run(struct loop *l);

#endif
