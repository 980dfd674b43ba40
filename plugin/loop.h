/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the main thread waits for: descriptors and one next time for each user. */
#ifndef PLUGIN_LOOP_H
#define PLUGIN_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct loop {
	int epoll;
	struct source *timers;
	bool ended;
};

/* Embedded by its owner; fd -1: a timer only. */
struct source {
	int fd;
	void (*ready)(struct source *s); /* readable, or hung up */
	void (*due)(struct source *s);	 /* `at` has come; it is UINT64_MAX again */
	uint64_t at;			 /* ms of now_ms(); UINT64_MAX: never */
	struct source *next;
};

int loop_open(struct loop *l, struct err *err);
void loop_close(struct loop *l);
int loop_add(struct loop *l, struct source *s, struct err *err);
/* Before its descriptor is closed. */
void loop_remove(struct loop *l, struct source *s);
/* Its descriptor is not looked at until it is heard again; its timer is. */
void loop_mute(struct loop *l, struct source *s, bool mute);
/* Until `ended`. */
void loop_run(struct loop *l);

#endif
