/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The serving process as its holder sees it. */
#ifndef FS_SERVER_H
#define FS_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "handoff.h"
#include "retry.h"
#include "watchdog.h"

struct err;
struct options;

/* Another one goes on: between two requests, where the kernel sends unanswered ones again. */
#define SERVER_LEAVE SIGUSR1
/* Serves on until no operation runs. */
#define SERVER_END SIGTERM

struct server {
	pid_t pid; /* 0: none, and no descriptors */
	int pidfd; /* readable once it is completely gone */
	int sock;
	uint64_t since;	  /* now_ms() when it was told to go */
	bool served;	  /* it said REPORT_SERVING */
	bool gone;	  /* it said REPORT_GONE */
	int stopping;	  /* by this signal; 0 not */
	uint64_t kill_at; /* when stopping: now_ms() */
	struct watchdog watchdog;
	const char *hung;  /* and was stopped for it; NULL not */
	bool aborted;	   /* and so was the connection, or it would have stayed for ever */
	char failing[112]; /* why it is stopped although nobody asked for it; "" it is not */
};

extern const struct server server_none;

/* Starts this very program (not what lies at its path by now) with --serve. It does nothing until
 * it is told to by server_go(): one that is there in advance need not be loaded when it is waited
 * for. */
int server_start(struct server *s, const struct options *o, const char *mountpoint,
		 struct err *err);
/* Hands it what and fds. Where that fails, it is gone. */
int server_go(struct server *s, const struct handover *what, const int fds[HANDOVER_FDS],
	      struct err *err);
/* Kills, reaps, frees; one that is none too. */
void server_drop(struct server *s);
/* Asks it to end, by SERVER_LEAVE or SERVER_END; after grace_ms it is killed. server_nudge() does
 * both, again and again. */
void server_stop(struct server *s, int how, unsigned int grace_ms);
void server_nudge(struct server *s);
/* To be called at server_look_at(), now_ms(), UINT64_MAX: never. Stops one that hangs at once. */
void server_watch(struct server *s, int stash);
uint64_t server_look_at(const struct server *s);
/* It has nothing in hand, and is looked at again once server_asked(). */
bool server_rests(const struct server *s);
void server_asked(struct server *s);
/* It was killed 5 s ago, and the kernel does not let a thread of it go. */
bool server_stays(struct server *s);
/* After pidfd has become readable: notes for the next one how it ended. It is still to be
 * dropped. */
enum server_end server_ended(const struct server *s, struct handover *next);

/* After that, from the memory that it had: was an operation interrupted that had begun? */
bool server_left_op(int stash);
/* The connection is another one: what belonged to the former is no more. 0, or -errno, which it
 * says. */
int server_forget_connection(int stash);

/* First thing in a process that the holder has forked: it ends with the holder, since two processes
 * must never read one connection, takes signals again, and does not speak to the service
 * manager. */
void server_child(pid_t holder);
/* Where memory is short the kernel may choose what the holder starts again, rather than the
 * holder. */
void server_victim(pid_t pid);

#endif
