/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an open ctl has gathered, in memory that outlives the process: text, the write that is being
 * carried out, unread answers. Text and answers are appended beyond what the state names; then the
 * state is swapped, so that a kill leaves the one before or the one after. Not locked.
 */
#ifndef FS_CTL_STORE_H
#define FS_CTL_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/txn.h"

struct ctls;
struct err;
struct region_head;

extern const struct region_head ctl_layout;

#define CTL_WRITE ((size_t)64 << 10) /* the most one write may bring */
#define CTL_TEXT ((size_t)1 << 20)   /* the most a transaction may hold */
#define CTL_SAID ((size_t)2 << 20)   /* answers that were not read yet */
#define CTL_VERDICT 1024	     /* ... of them, the most that a verdict takes */
#define CTL_FILES 256
#define CTL_OF_USER 16 /* of them, for one user who is not privileged */
#define CTL_QUEUE 32   /* writes of one open file that wait for the one before them */
/* For all users without a reserve: ctls open for writing, what they hold, and what waits. One may
 * have as much of each as is left, so that there is always something left for who comes. */
#define CTL_OF_ALL 192
#define CTL_HELD_OF_ALL ((size_t)32 << 20)
#define CTL_QUEUED_OF_ALL ((size_t)16 << 20)
#define CTL_HELLO 64
#define CTL_WHY 200  /* of the first refusal's sentence */
#define CTL_SAYS 200 /* of a client's sentence behind its name */

struct ctl_state {
	/* Of text: the transaction's lines, then what is yet to be looked at. */
	uint32_t begin, scanned, end;
	int32_t broken;	   /* errno of a line or write that was refused: no commit until abort */
	char why[CTL_WHY]; /* the sentence of that refusal, without "ctl: " */
	/* The write that is being carried out; 0 none. */
	uint64_t writer;
	struct actor who;
	uint32_t size;
	int32_t verdict;   /* -errno of its first command that failed */
	uint32_t commands; /* of it that were carried out */
	/* Of the command that runs, and 1: it was let go to the disk, which may have it since. */
	uint32_t begun;
	uint32_t started;  /* likewise: it runs, and may have told the log by now */
	uint64_t log_head; /* ... and where that ended before */
	uint32_t said, read; /* answers: until where they are there, and were read */
	uint64_t read_by; /* the last read and where it began: for when it is sent again */
	uint32_t read_from;
};

struct ctl {
	uint64_t fh; /* 0: free */
	uint32_t which;
	bool deaf; /* opened for writing alone: nobody can read its answers, and none are kept */
	uint32_t hello_pid;
	uint32_t text_touched,
		said_touched; /* how much of them is memory since it was given back */
	char hello[CTL_HELLO], says[CTL_SAYS];
	struct ctl_state state[2];
	/* The last transaction may have ended behind as much text; then the next is moved to the
	 * start. */
	char text[2 * (CTL_TEXT + CTL_WRITE)];
	char said[CTL_SAID];
};

int ctls_new(void *region, size_t size, struct ctls **ret, struct err *err);
void ctls_free(struct ctls *c);

/* NULL when CTL_FILES are open. The same fh gives the same again. */
struct ctl *ctls_open(struct ctls *c, uint64_t fh);
struct ctl *ctls_find(struct ctls *c, uint64_t fh);
void ctls_close(struct ctls *c, struct ctl *ctl);
/* The i-th, or NULL when i is beyond; its fh may be 0. */
struct ctl *ctls_at(struct ctls *c, size_t i);

static inline const struct ctl_state *ctl_now(const struct ctl *ctl)
{
	return &ctl->state[ctl->which & 1];
}
static inline bool ctl_begun(const struct ctl_state *s)
{
	return s->begun == s->commands + 1;
}
/* For record_verdict(). */
static inline uint64_t ctl_told_since(const struct ctl_state *s)
{
	return s->started == s->commands + 1 ? s->log_head + 1 : 0;
}
/* The next state, to be filled in; it counts from ctl_swap() on. */
struct ctl_state *ctl_next(struct ctl *ctl);
void ctl_swap(struct ctl *ctl);

static inline size_t ctl_held(const struct ctl *ctl)
{
	return (size_t)ctl->text_touched + ctl->said_touched;
}
/* Between two transactions: its text goes back to the system once the next state counts. */
void ctl_relax(struct ctl *ctl, struct ctl_state *next);

/* Appends what was written, in the next state. -E2BIG when the transaction would become too
 * long. */
int ctl_append(struct ctl *ctl, struct ctl_state *next, const char *buf, size_t size);
/* The line at `scanned`, without its newline; NULL when there is no whole one. */
const char *ctl_line(const struct ctl *ctl, const struct ctl_state *s, size_t *ret_len);
/* Adds an answer behind those that were not read, in the next state. False: no room. */
bool ctl_say(struct ctl *ctl, struct ctl_state *next, const char *text, size_t len);
/* Is there room for so much more, and was there for all that the write in progress was answered? */
bool ctl_has_room(const struct ctl_state *s, size_t len);
/* Takes up to size bytes of the answers for the read `unique`, which may be one sent again. */
size_t ctl_take(struct ctl *ctl, uint64_t unique, char *buf, size_t size);

#endif
