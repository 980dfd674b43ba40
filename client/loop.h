/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the main thread waits for: descriptors and one next time for each user. Threads that wait
 * for something else do what follows from it themselves, each in its turn: nothing here, and
 * nothing that the sources' owners have, is touched without.
 */
#ifndef CLIENT_LOOP_H
#define CLIENT_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct err;
struct loop;

/* Embedded by its owner; fd -1: a timer only. */
struct source {
	int fd;
	void (*ready)(struct source *s); /* readable, or hung up */
	void (*due)(struct source *s);	 /* `at` has come; it is UINT64_MAX again */
	uint64_t at;			 /* ms of now_ms(); UINT64_MAX: never */
	struct source *next;
};

struct loop {
	int epoll;
	pthread_mutex_t turn; /* guards what follows */
	struct source *timers;
	struct source wake;
	uint64_t until;		  /* what loop_run() sleeps to; 0: it does not */
	void (*after)(void *ctx); /* at the end of every turn; may be NULL */
	void *after_ctx;
	bool ended;
};

/* It is the caller's turn from then on. */
int loop_open(struct loop *l, struct err *err);
void loop_close(struct loop *l);
/* Around all that another thread does with it, and around waits for such threads. */
void loop_enter(struct loop *l);
void loop_leave(struct loop *l);
int loop_add(struct loop *l, struct source *s, struct err *err);
/* Before its descriptor is closed. */
void loop_remove(struct loop *l, struct source *s);
/* Its descriptor is not looked at until it is heard again; its timer is. */
void loop_mute(struct loop *l, struct source *s, bool mute);
/* Until `ended`. */
void loop_run(struct loop *l);

#endif
