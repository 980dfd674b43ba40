// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>

#include "confined.h"
#include "control.h"
#include "ears.h"
#include "handoff.h"
#include "mountpoint.h"
#include "options.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/notify.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "retry.h"
#include "server.h"
#include "fs/stash.h"
#include "takeover.h"

enum {
	NO_START_MS = 5000, /* pause after a process that could not be started */
	NUDGE_MS = 20,
	LEAVE_GRACE_MS = 5000, /* after this the successor carries on */
	BACK_ENDS = 3,	       /* of a new program that never served: then the former one returns */
	UNREAPED_MS = 5000,
	GIVING_BACK_MS = 30000,
};

struct holder {
	const struct daemon_options *o;
	char *path;
	struct mount_entry mount;
	bool mounted, ending;
	int fuse, stash, watch, log, signals, listen;
	int former; /* the program before a takeover until the new one has served; else -1 */
	int status; /* of the process, once finished is set */
	bool finished;
	struct server server;
	struct spawn spawn;
	struct takeover takeover;
	struct handover next; /* for the next serving process */
	struct retry retry;
	uint64_t start_at; /* now_ms() of the next start if there is no server */
};

/* Makes the holder end with this status. */
static void finish(struct holder *h, int status)
{
	h->finished = true;
	h->status = status;
}

/* The signals by which a person, a shell or a service manager ends us, and that by which the
 * kernel tells us of a request, do not end the process by themselves from now on. Of the former
 * those ignored at its start stay so, as nohup expects, and are not blocked: then they would be
 * delivered. Returns a descriptor that is readable when one came; -1 and errno. */
static int signals_open(void)
{
	static const int ends[] = { SIGTERM, SIGINT };
	struct sigaction op;
	sigset_t set;

	/* There is nothing to read anew, and a terminal that is closed must not take the mount
	 * away. */
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (sigaction(ends[i], NULL, &op) || op.sa_handler != SIG_IGN)
			sigaddset(&set, ends[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void start_server(struct holder *h)
{
	const int fds[HANDOVER_FDS] = { h->fuse, h->stash, h->watch, h->spawn.ask, h->log };
	struct err err = { 0 };

	h->next.generation++;
	if (!server_start(&h->server, h->o, h->path, &h->next, fds, &err))
		return;
	say("%s", err.text);
	h->start_at = now_ms() + NO_START_MS;
	if (!h->mounted)
		finish(h, 1);
}

static void begin_end(struct holder *h)
{
	/* Asked twice: do not wait for what still runs. */
	bool again = h->ending;

	h->ending = true;
	notify_manager("STOPPING=1");
	if (!h->server.pid)
		finish(h, 0);
	else {
		handoff_report(h->server.sock, REPORT_END, "");
		server_stop(&h->server, SERVER_END, again ? 0 : END_GRACE_MS);
	}
}

/* Executes program exe in place of this one. Returns only on failure, -errno. */
static int become(struct holder *h, int exe, const struct daemon_options *o, int conn, int former)
{
	const struct estate e = { .fuse = h->fuse,
				  .stash = h->stash,
				  .listen = h->listen,
				  .conn = conn,
				  .former = former,
				  .generation = h->next.generation,
				  .restarts = h->next.restarts,
				  .major = h->mount.major,
				  .minor = h->mount.minor };
	int r;

	spawn_close(&h->spawn);
	r = takeover_exec(exe, &e, o, h->path);
	spawn_open(&h->spawn, NULL);
	return r;
}

/* The new program never served, so the former one, which did, returns. */
static void go_back(struct holder *h)
{
	takeover_refuse(&h->takeover, "the new program fails to serve; the former one goes on");
	become(h, h->former, h->o, -1, -1);
	drop_fd(&h->former);
}

/* The server is gone, and all it had read is unanswered: has the next one started, or ends. */
static void on_server_end(struct holder *h)
{
	const struct server was = h->server;
	struct handover next = h->next;
	uint64_t in_hand[HANDS];
	struct mount_entry top;

	retry_note(&h->retry, server_ended(&was, &next));
	server_drop(&h->server);
	if (h->ending) {
		session_in_hand(h->stash, in_hand);
		if (was.stopping && now_ms() >= was.kill_at && in_hand[HAND_OPERATIONS])
			say("a running operation was interrupted; the next start undoes it");
		finish(h, 0);
		return;
	}
	if (was.gone) {
		bool aborted = !mountpoint_find(h->path, &top) && top.minor == h->mount.minor;

		say("%s was %s; nothing is left to serve", h->path,
		    aborted ? "aborted by the kernel's fusectl" : "unmounted");
		finish(h, aborted);
		return;
	}
	if (h->takeover.state == TAKEOVER_AGREED)
		return;
	say_at(SAY_WARNING, "%s%s", next.restarted_for, h->mounted ? "; the next one goes on" : "");
	if (!h->mounted || (was.aborted && server_forget_connection(h->stash))) {
		finish(h, 1);
		return;
	}
	if (h->former >= 0 && !was.served && h->retry.failed + h->retry.killed >= BACK_ENDS)
		go_back(h);
	h->next = next;
	h->next.restarts++;
	h->next.restarted_at = time(NULL);
	if (retry_hopeless(&h->retry)) {
		say_at(SAY_ERROR,
		       "%u serving processes in a row failed or were killed before they served; "
		       "gives up %s, so that nobody waits for it for ever",
		       h->retry.failed + h->retry.killed, h->path);
		finish(h, 1);
		return;
	}
	h->next.distrust = server_forget(h->stash, retry_forget(&h->retry));
	h->start_at = now_ms() + retry_pause_ms(&h->retry);
}

static void on_ready(struct holder *h)
{
	struct err err = { 0 };

	if (h->mounted || h->ending)
		return;
	if (mountpoint_attach(h->path, h->fuse, &h->mount, &err)) {
		say("%s", err.text);
		server_stop(&h->server, SERVER_END, 0);
		finish(h, 1);
		return;
	}
	h->mounted = true;
	h->listen = control_listen(&h->mount);
	handoff_report(h->server.sock, REPORT_READY, "");
}

static void on_serving(struct holder *h)
{
	h->server.served = true;
	if (h->takeover.state != TAKEOVER_STARTED)
		return;
	takeover_done(&h->takeover, h->path);
	drop_fd(&h->former);
}

static void on_restored(const struct holder *h)
{
	char text[ERR_TEXT];

	snprintf(text, sizeof(text), "READY=1\nMAINPID=%d\nSTATUS=serves %.200s\n", (int)getpid(),
		 h->path);
	notify_manager(text);
}

/* Its data would never change again; a new process may do better. */
static void on_failing(struct holder *h, const char *why)
{
	say_at(SAY_WARNING, "%s", why);
	if (h->server.stopping)
		return;
	STR_COPY(h->server.failing, why);
	server_stop(&h->server, SERVER_LEAVE, LEAVE_GRACE_MS);
}

static void on_server_word(struct holder *h)
{
	struct report_msg msg;

	if (fdmsg_recv(h->server.sock, &msg, sizeof(msg), NULL, 0)) {
		/* It is dying; its pidfd will report that. The socket would stay readable. */
		drop_fd(&h->server.sock);
		return;
	}
	msg.text[sizeof(msg.text) - 1] = '\0';
	switch (msg.what) {
	case REPORT_READY:
		on_ready(h);
		break;
	case REPORT_SERVING:
		on_serving(h);
		break;
	case REPORT_RESTORED:
		on_restored(h);
		break;
	case REPORT_FAILING:
		on_failing(h, msg.text);
		break;
	case REPORT_GONE:
		h->server.gone = true;
		break;
	case REPORT_REFUSED:
		say("%s", msg.text);
		if (!h->mounted)
			finish(h, 1);
		break;
	}
}

/* The program agreed and the old serving process is gone. Returns only on failure. */
static void hand_over(struct holder *h)
{
	_close_ int former = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int r = become(h, h->takeover.exe, &h->takeover.o, h->takeover.conn, former);
	char text[ERR_TEXT];

	snprintf(text, sizeof(text),
		 "the offered program cannot be run: %s; the running one goes on", strerror(-r));
	takeover_refuse(&h->takeover, text);
	h->start_at = now_ms();
}

static void advance_takeover(struct holder *h)
{
	struct takeover *t = &h->takeover;

	if (now_ms() >= takeover_until(t))
		takeover_expire(t);
	if (t->state != TAKEOVER_AGREED || h->ending)
		return;
	if (!h->server.pid)
		hand_over(h);
	else if (!h->server.stopping)
		server_stop(&h->server, SERVER_LEAVE, LEAVE_GRACE_MS);
}

static void on_caller(struct holder *h)
{
	struct err err = { 0 };
	int conn = control_accept(h->listen, &err);

	if (conn >= 0)
		takeover_call(&h->takeover, conn);
	else if (err.code)
		say("%s", err.text);
}

/* After a kill while we end: a thread that the kernel does not let go keeps the process. One that
 * only gives back the memory of 70 000 functions, on a busy machine, has longer. */
static bool outlives_end(const struct server *s)
{
	uint64_t now = now_ms();

	return now >= s->kill_at + UNREAPED_MS &&
	       (server_waits(s) || now >= s->kill_at + GIVING_BACK_MS);
}

/* The last resort if the serving process cannot be ended: otherwise callers would wait for ever.
 * They find the new mount by its path, but not by a bind mount. The stuck thread may be waiting for
 * the connection itself; if not, the next process cannot be started. */
static void abort_what_stays(struct holder *h)
{
	struct server *s = &h->server;
	struct err err = { 0 };

	if (h->finished || !s->pid || !(h->ending ? outlives_end(s) : server_stays(s)))
		return;
	control_forget(&h->listen, &h->mount);
	if (h->ending || !h->mounted || s->aborted || mountpoint_detach(h->path, &h->mount, true)) {
		say("the serving process (pid %d) cannot end before the kernel releases one of its "
		    "threads; %s is unmounted without it",
		    (int)s->pid, h->path);
		finish(h, 1);
		return;
	}
	s->aborted = true;
	say("the kernel does not release the serving process (pid %d); aborts its connection and "
	    "mounts %s anew",
	    (int)s->pid, h->path);
	h->mounted = !mountpoint_anew(h->path, &h->fuse, &h->mount, &err);
	if (h->mounted) {
		h->listen = control_listen(&h->mount);
		return;
	}
	say("%s", err.text);
	finish(h, 1);
}

/* Returns how long poll() may sleep. */
static int pause_of(const struct holder *h)
{
	const uint64_t due[] = { h->server.pid ? UINT64_MAX : h->start_at,
				 server_look_at(&h->server), takeover_until(&h->takeover),
				 spawn_look_at(&h->spawn) };
	uint64_t now = now_ms(), until = UINT64_MAX;

	if (h->server.stopping)
		return NUDGE_MS;
	for (size_t i = 0; i < ARRAY_SIZE(due); i++)
		until = due[i] < until ? due[i] : until;
	if (until == UINT64_MAX)
		return -1;
	return until > now ? (int)(until - now) : 0;
}

static void turn(struct holder *h)
{
	const struct takeover *t = &h->takeover;
	struct signalfd_siginfo signal;
	struct pollfd p[] = {
		{ h->signals, POLLIN, 0 },
		{ h->server.sock, POLLIN, 0 },
		{ h->server.pidfd, POLLIN, 0 },
		{ h->listen, POLLIN, 0 },
		{ t->state == TAKEOVER_CALLED ? t->conn : -1, POLLIN, 0 },
		{ t->state == TAKEOVER_ASKING ? t->pidfd : -1, POLLIN, 0 },
		{ server_rests(&h->server) ? h->fuse : -1, POLLIN, 0 },
		{ h->spawn.pidfd, POLLIN, 0 },
	};

	if (poll(p, ARRAY_SIZE(p), pause_of(h)) < 0)
		return;
	if (p[0].revents && read(h->signals, &signal, sizeof(signal)) == sizeof(signal) &&
	    signal.ssi_signo != SIGIO)
		begin_end(h);
	if (p[1].revents)
		on_server_word(h);
	/* Its last message first: socket and pidfd may become ready in one turn. */
	else if (p[2].revents)
		on_server_end(h);
	/* A caller that left must not be in the way of the next one. */
	if (p[4].revents)
		takeover_ask(&h->takeover, h->o, h->path);
	if (p[3].revents)
		on_caller(h);
	if (p[5].revents)
		takeover_verdict(&h->takeover);
	if (p[0].revents || p[6].revents)
		server_asked(&h->server);
	spawn_watch(&h->spawn, h->o);
	advance_takeover(h);
	server_watch(&h->server, h->stash);
	server_nudge(&h->server);
	abort_what_stays(h);
	if (!h->server.pid && !h->finished && now_ms() >= h->start_at)
		start_server(h);
}

static int hold(struct holder *h)
{
	struct err err = { 0 };

	h->log = ears_log(h->o, &h->next.log_error);
	confine_holder(h->mounted);
	h->signals = signals_open();
	h->watch = ears_nodes();
	if (h->signals < 0 || h->watch < 0 || h->log < 0) {
		say("no descriptor for signals: %s", strerror(errno));
		return 1;
	}
	if (spawn_open(&h->spawn, &err)) {
		say("%s", err.text);
		return 1;
	}
	while (!h->finished)
		turn(h);
	if (h->server.pid)
		server_stop(&h->server, SERVER_END, 0);
	spawn_close(&h->spawn);
	/* Waiting callers get an error once the last descriptor is closed. */
	control_forget(&h->listen, &h->mount);
	if (h->mounted)
		mountpoint_detach(h->path, &h->mount, h->server.pid);
	takeover_clear(&h->takeover);
	free(h->path);
	return h->status;
}

static void holder_init(struct holder *h, const struct daemon_options *o)
{
	*h = (struct holder){ .o = o,
			      .fuse = -1,
			      .stash = -1,
			      .watch = -1,
			      .listen = -1,
			      .former = -1,
			      .server = server_none,
			      .spawn = spawn_none,
			      .takeover = takeover_none };
}

int holder_run(const struct daemon_options *o)
{
	struct err err = { 0 };
	struct holder h;

	/* What we were started with beside its outputs nobody needs, and is not looked for by walks
	 * for holders (backend/guard/hold_procs.c). */
	closefrom(STDERR_FILENO + 1);
	holder_init(&h, o);
	if (mountpoint_open_fuse(&h.fuse, &err) ||
	    mountpoint_resolve(o->mountpoint, &h.path, &err) || mountpoint_prepare(h.path, &err) ||
	    stash_create(&h.stash, &err)) {
		say("%s", err.text);
		free(h.path);
		return 1;
	}
	return hold(&h);
}

int holder_adopt(const struct daemon_options *o)
{
	struct estate e;
	struct holder h;

	holder_init(&h, o);
	if (takeover_parse(o->adopt, &e) || !(h.path = strdup(o->mountpoint))) {
		say("--adopt is for pcidevfsd itself");
		return 2;
	}
	h.fuse = e.fuse;
	h.stash = e.stash;
	h.listen = e.listen;
	h.former = e.former;
	h.mount = (struct mount_entry){ .major = e.major, .minor = e.minor, .ours = true };
	h.mounted = true;
	h.next.generation = e.generation;
	h.next.restarts = e.restarts;
	h.next.killed = true; /* it may have been */
	if (e.former >= 0) {
		h.takeover.state = TAKEOVER_STARTED;
		h.takeover.conn = e.conn;
		h.next.restarted_at = time(NULL);
		STR_COPY(h.next.restarted_for, "replaced by another program");
	}
	return hold(&h);
}
