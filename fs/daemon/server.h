/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The holder's children from its view: the serving process, and the one that starts helpers.
 *
 * Does it make progress? It answers each request at once, or leaves it to another thread, so a
 * process that is at the same request for two seconds hangs, as does one that is stopped: callers
 * would wait for ever. Its notifier, its worker and its thread for ctl never wait either, but may
 * take longer. The holder looks from outside and counts looks, not time, because the machine may
 * sleep. It looks while there is work, and again from the next request on, of which the kernel
 * tells it, not the serving process.
 */
#ifndef FS_SERVER_H
#define FS_SERVER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "handoff.h"
#include "retry.h"
#include "fs/session/session.h"

struct err;
struct daemon_options;

/* Another process goes on: leave between two requests if the kernel can resend unanswered ones. */
#define SERVER_LEAVE SIGUSR1
/* Serve until no operation runs, then end. */
#define SERVER_END SIGTERM

struct server {
	pid_t pid; /* 0: no process, and no descriptors */
	int pidfd; /* readable once it is completely gone */
	int sock;
	int fuse;		   /* the connection, owned by the caller */
	uint64_t since;		   /* now_ms() of server_start() */
	bool served;		   /* it sent REPORT_SERVING */
	bool gone;		   /* it sent REPORT_GONE */
	int stopping;		   /* the signal; 0: not stopping */
	uint64_t kill_at;	   /* now_ms(), if stopping */
	uint64_t look_at;	   /* now_ms(); UINT64_MAX: at the next request */
	bool idle;		   /* the last look saw no work: SIGIO tells of requests */
	uint64_t in_hand[HANDS];   /* seen by the last look */
	unsigned int looks[HANDS]; /* consecutive looks that saw it */
	/* Likewise, that saw it stopped, or saw a thread that no signal reaches. */
	unsigned int stopped, waiting;
	const char *hung; /* why it hung and was stopped; NULL: it did not */
	/* the connection was aborted too, otherwise it would have stayed for ever */
	bool aborted;
	char failing[112]; /* why it is stopped without a request; "": it is not */
};

extern const struct server server_none;

/* Starts this program (not the present file at its path) with --serve, and passes what and fds to
 * it. */
int server_start(struct server *s, const struct daemon_options *o, const char *mountpoint,
		 const struct handover *what, const int fds[HANDOVER_FDS], struct err *err);
/* Kills, reaps and frees; allowed for no process. */
void server_drop(struct server *s);
/* Asks it to end, by SERVER_LEAVE or SERVER_END, and kills it after grace_ms. server_nudge() must
 * be called repeatedly to do both. */
void server_stop(struct server *s, int how, unsigned int grace_ms);
void server_nudge(struct server *s);
/* Call it at server_look_at() (now_ms(); UINT64_MAX: never). Kills a process that hangs. */
void server_watch(struct server *s, int stash);
uint64_t server_look_at(const struct server *s);
/* It has no work, and is not watched until server_asked(): a request has come. That is told by
 * SIGIO, or the connection is readable. */
bool server_rests(const struct server *s);
void server_asked(struct server *s);
/* Does one of its threads wait for a mount, so that no signal reaches it? Threads that wait for a
 * disk, dump core or are frozen with their cgroup will be let go. */
bool server_waits(const struct server *s);
/* It was killed 5 s ago, and a thread has waited so since and is not let go. */
bool server_stays(struct server *s);
/* After pidfd became readable: notes for the next process how it ended. Then server_drop(). */
enum server_end server_ended(const struct server *s, struct handover *next);

/* There is a new connection: clears the data of the old one. Returns 0, or -errno with a
 * message. */
int server_forget_connection(int stash);
/* Clears so much of what former processes knew: better a new look at the machine than no mount.
 * Says so. Returns whether the next one must not trust the logs of operations either. */
bool server_forget(int stash, enum to_forget what);

/* Call it first in a forked process: it ends with the holder, because two processes must never read
 * one connection; it takes signals again, and does not talk to the service manager. */
void server_child(pid_t holder);
/* Kills and reaps a child of the holder, if there is one, and closes its pidfd. */
void server_reap(pid_t *pid, int *pidfd);

/* The process that starts helpers (the spawner) from the holder's view. One socket leads to it for
 * ever: requests that come while there is none wait for the next one. */
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
void spawn_watch(struct spawn *s, const struct daemon_options *o);
/* now_ms(); UINT64_MAX: never. */
uint64_t spawn_look_at(const struct spawn *s);
/* Kills and reaps it, and closes the socket. Its helpers go on. */
void spawn_close(struct spawn *s);

#endif
