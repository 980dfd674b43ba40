/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another writer that undoes each time what we write would have us write as fast as the server
 * answers: the same that is taken several times within a short time waits. Pure. */
#ifndef SYNC_BRAKE_H
#define SYNC_BRAKE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CALM_MS = 60000,
	/* So many of the same within this time. */
	FIGHT_TIMES = 5,
	FIGHT_MS = 10000,
};

struct brake {
	uint64_t same; /* a hash of what is written */
	uint64_t calm; /* ms: until when it waits; 0: not */
	uint64_t ends; /* ms: of the time in which they are counted */
	unsigned int times;
};

/* This is to be written. Returns until when it waits; 0: not. */
static inline uint64_t brake_until(const struct brake *b, uint64_t same)
{
	return b->same == same ? b->calm : 0;
}

/* It is sent. */
static inline void brake_send(struct brake *b, uint64_t same)
{
	if (b->same != same)
		b->times = 0;
	b->same = same;
	b->calm = 0;
}

/* It was taken. Returns true if somebody else undoes it each time: it waits from now on. */
static inline bool brake_taken(struct brake *b, uint64_t now)
{
	if (now > b->ends) {
		b->times = 0;
		b->ends = now + FIGHT_MS;
	}
	if (++b->times < FIGHT_TIMES)
		return false;
	b->calm = now + CALM_MS;
	b->ends = b->calm + FIGHT_MS;
	return true;
}

/* Is it over? Nothing was to be written again since it has waited. */
static inline bool brake_over(struct brake *b, uint64_t now)
{
	if (!b->calm || now < b->calm)
		return false;
	*b = (struct brake){ 0 };
	return true;
}

#endif
