// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "confined.h"
#include "control.h"
#include "handoff.h"
#include "holder_state.h"
#include "mountpoint.h"
#include "options.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/notify.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "retry.h"
#include "server.h"
#include "signals.h"
#include "spawn.h"
#include "fs/stash.h"
#include "takeover.h"

enum {
	NO_START_MS = 5000, /* pause after a process that could not be started */
	NUDGE_MS = 20,
	LEAVE_GRACE_MS = 5000, /* after this the successor carries on */
	BACK_ENDS = 3, /* of a new program that never served: then the former one returns */
};

static void start_server(struct holder *h)
{
	const int fds[HANDOVER_FDS] = { h->fuse, h->stash, h->watch, h->spawn.ask };
	struct err err = { 0 };

	h->next.generation++;
	if (!server_start(&h->server, h->o, h->path, &h->next, fds, &err))
		return;
	say("%s", err.text);
	h->start_at = now_ms() + NO_START_MS;
	if (!h->mounted)
		holder_finish(h, 1);
}

static void begin_end(struct holder *h)
{
	/* Asked twice: do not wait for what still runs. */
	bool again = h->ending;

	h->ending = true;
	notify_manager("STOPPING=1");
	if (!h->server.pid)
		holder_finish(h, 0);
	else {
		handoff_report(h->server.sock, REPORT_END, "");
		server_stop(&h->server, SERVER_END, again ? 0 : END_GRACE_MS);
	}
}

static void go_back(struct holder *h);

/* Better a new look at the machine than no mount. */
static void forget(struct holder *h)
{
	enum forget what = retry_forget(&h->retry);
	int r = what == FORGET_NOTHING ? 0 : stash_clear(h->stash, STASH_MODEL);

	h->next.distrust = what == FORGET_OPERATIONS;
	if (what == FORGET_OPERATIONS)
		r = r ? r : stash_clear(h->stash, STASH_INTENTS);
	if (r)
		say("what former serving processes knew cannot be forgotten: %s", strerror(-r));
	else if (what != FORGET_NOTHING)
		say_at(SAY_WARNING,
		       "the next serving process forgets what former ones knew of the devices%s, "
		       "and looks at the machine anew",
		       what == FORGET_OPERATIONS ? " and of running operations" : "");
}

/* The server is gone, and all it had read is unanswered: has the next one started, or ends. */
static void on_server_end(struct holder *h)
{
	const struct server was = h->server;
	struct handover next = h->next;
	struct mount_entry top;

	retry_note(&h->retry, server_ended(&was, &next));
	server_drop(&h->server);
	if (h->ending) {
		if (was.stopping && now_ms() >= was.kill_at && server_left_op(h->stash))
			say("a running operation was interrupted; the next start undoes it");
		holder_finish(h, 0);
		return;
	}
	if (was.gone) {
		bool aborted = !mountpoint_find(h->path, &top) && top.minor == h->mount.minor;

		say("%s was %s; nothing is left to serve", h->path,
		    aborted ? "aborted by the kernel's fusectl" : "unmounted");
		holder_finish(h, aborted);
		return;
	}
	if (h->takeover.state == TAKEOVER_AGREED)
		return;
	say_at(SAY_WARNING, "%s%s", next.restarted_for, h->mounted ? "; the next one goes on" : "");
	if (!h->mounted || (was.aborted && server_forget_connection(h->stash))) {
		holder_finish(h, 1);
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
		holder_finish(h, 1);
		return;
	}
	forget(h);
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
		holder_finish(h, 1);
		return;
	}
	h->mounted = true;
	holder_listen(h);
	handoff_report(h->server.sock, REPORT_READY, "");
}

static void on_serving(struct holder *h)
{
	h->server.served = true;
	if (h->takeover.state != TAKEOVER_STARTED)
		return;
	takeover_done(&h->takeover, h->path);
	if (h->former >= 0)
		close(h->former);
	h->former = -1;
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
		close(h->server.sock);
		h->server.sock = -1;
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
			holder_finish(h, 1);
		break;
	}
}

static struct estate estate_of(const struct holder *h)
{
	return (struct estate){ .fuse = h->fuse,
				.stash = h->stash,
				.listen = h->listen,
				.conn = h->takeover.conn,
				.former = -1,
				.generation = h->next.generation,
				.restarts = h->next.restarts,
				.major = h->mount.major,
				.minor = h->mount.minor };
}

/* The new program never served, so the former one, which did, returns. */
static void go_back(struct holder *h)
{
	struct estate e = estate_of(h);

	takeover_refuse(&h->takeover, "the new program fails to serve; the former one goes on");
	spawn_close(&h->spawn);
	e.conn = -1;
	takeover_exec(h->former, &e, h->o, h->path);
	close(h->former);
	h->former = -1;
	spawn_open(&h->spawn, NULL);
}

/* The program agreed and the old serving process is gone. Returns only on failure. */
static void hand_over(struct holder *h)
{
	struct estate e = estate_of(h);
	char text[ERR_TEXT];
	int r;

	spawn_close(&h->spawn);
	e.former = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	r = takeover_exec(h->takeover.exe, &e, &h->takeover.o, h->path);
	if (e.former >= 0)
		close(e.former);
	snprintf(text, sizeof(text),
		 "the offered program cannot be run: %s; the running one goes on", strerror(-r));
	takeover_refuse(&h->takeover, text);
	h->start_at = now_ms();
	spawn_open(&h->spawn, NULL);
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

/* Returns how long poll() may sleep. */
static int pause_of(const struct holder *h)
{
	uint64_t now = now_ms(), until = UINT64_MAX, look_at = server_look_at(&h->server);
	uint64_t ask_until = takeover_until(&h->takeover);

	if (h->server.stopping)
		return NUDGE_MS;
	if (!h->server.pid)
		until = h->start_at;
	until = look_at < until ? look_at : until;
	until = ask_until < until ? ask_until : until;
	look_at = spawn_look_at(&h->spawn);
	until = look_at < until ? look_at : until;
	if (until == UINT64_MAX)
		return -1;
	return until > now ? (int)(until - now) : 0;
}

static void turn(struct holder *h)
{
	const struct takeover *t = &h->takeover;
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
	if (p[0].revents && signals_came(h->signals))
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
	if (p[6].revents && server_rests(&h->server))
		server_asked(&h->server);
	spawn_watch(&h->spawn, h->o);
	advance_takeover(h);
	server_watch(&h->server, h->stash);
	server_nudge(&h->server);
	holder_abort_what_stays(h);
	if (!h->server.pid && !h->finished && now_ms() >= h->start_at)
		start_server(h);
}

static int hold(struct holder *h)
{
	struct err err = { 0 };

	confine_holder(h->mounted);
	h->signals = signals_open();
	h->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* too many inotifies; a descriptor that refuses every watch does no harm */
	if (h->watch < 0)
		h->watch = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->signals < 0 || h->watch < 0) {
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
	holder_deafen(h);
	if (h->mounted)
		mountpoint_detach(h->path, &h->mount, h->server.pid);
	takeover_clear(&h->takeover);
	free(h->path);
	return h->status;
}

static void holder_init(struct holder *h, const struct options *o)
{
	*h = (struct holder){
		.o = o, .fuse = -1, .stash = -1, .watch = -1, .listen = -1, .former = -1
	};
	h->server = server_none;
	h->spawn = spawn_none;
	takeover_init(&h->takeover);
}

int holder_run(const struct options *o)
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

int holder_adopt(const struct options *o)
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
