// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds, runs and takes apart the serving process. Besides main.c the only file that knows both
 * the tree and the hardware. */
#define _GNU_SOURCE
#include "daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "confined.h"
#include "fs/fault.h"
#include "handoff.h"
#include "instance.h"
#include "layouts.h"
#include "options.h"
#include "release.h"
#include "fs/rights.h"
#include "server.h"
#include "fs/session/session.h"
#include "fs/stash.h"
#include "fs/tree.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

enum { RESTORE_MS = 30000, EXECUTORS = 64 /* at most: each waits for one operation */ };

struct daemon {
	const struct daemon_options *o;
	int sock;	       /* to the holder */
	int fds[HANDOVER_FDS]; /* /dev/fuse, stash, watch, spawner, log */
	struct handover from;
	struct roots roots;
	char boot_id[BOOT_ID];
	bool found; /* the former process's model exists: serve it, then scan */
	struct stash *stash;
	struct model *model;
	struct backend *backend;
	struct instance instance;
	struct oplog oplog;
	struct intents *intents;
	struct engine *engine;
	struct tree *tree;
	struct session *session;
	pthread_t watcher, greeter;
	bool watching, greeting;
	bool ended; /* for good: no other process follows */
};

/* SERVER_LEAVE or SERVER_END once requested. */
static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
	stop = sig;
}

static void on_verdict(void *ctx, const struct request *requests, size_t n, const struct actor *who,
		       const struct err *err, uint64_t *place)
{
	struct daemon *d = ctx;

	if (d->tree)
		tree_verdict(d->tree, requests, n, who, err, place);
	if (d->from.generation == 1 && fault_is("told"))
		fault_die();
}

static int on_may(void *ctx, const struct request *request, const struct actor *who,
		  struct err *err)
{
	struct daemon *d = ctx;

	return rights_may(d->tree, request, &who->opener, err);
}

/* All that needs rights. Reads nothing that a former process, which can do less, could write. */
static int open_places(struct daemon *d, struct err *err)
{
	int r = backend_open(&d->roots, &d->backend, err);

	r = r ? r : intents_new(d->roots.state, &d->intents, err);
	if (!r)
		oplog_open(&d->oplog, d->intents, d->boot_id);
	return r;
}

static int open_model(struct daemon *d, struct err *err)
{
	int r = layouts_renew(d->fds[1], err);
	size_t size;
	void *arena;

	r = r ? r : stash_attach(d->fds[1], &d->stash, err);
	if (r)
		return r;
	arena = stash_region(d->stash, STASH_MODEL, &size);
	r = model_new(arena, size, &d->model, &d->found, err);
	if (!r && d->found && fault_is("adopt-fault"))
		abort();
	/* No former one has had as many changes as milliseconds. */
	if (!r && !d->found && d->from.generation > 1)
		model_count_from(d->model, now_ms());
	if (!r)
		backend_use(d->backend, d->model);
	if (!r && model_dropped(d->model))
		say_at(SAY_WARNING,
		       "%zu devices were not taken over from the former serving process, whose "
		       "memory held what it cannot have written; they are looked at anew",
		       model_dropped(d->model));
	return r;
}

/* The content of a damaged state file is unknown: devices may stay claimed. Returns 1 if it is. */
static int tell_damaged(const struct daemon *d)
{
	char text[600];

	if (!d->intents || !intents_damaged(d->intents, text, sizeof(text)))
		return 0;
	say("%s", text);
	return 1;
}

static void open_intents(struct daemon *d)
{
	struct intents_conf conf = { .boot_id = d->boot_id, .marks = !d->oplog.conf.at };

	conf.copy = stash_region(d->stash, STASH_INTENTS, &conf.copy_size);
	intents_open(d->intents, &conf, d->model);
}

static int open_engine(struct daemon *d, struct err *err)
{
	const struct engine_conf engine = {
		.model = d->model,
		.world = { .backend = d->backend,
			   .methods = backend_methods(d->backend),
			   .verbs = backend_verbs(d->backend),
			   .observe = backend_observe,
			   .guard = backend_guard,
			   .observe_holders = backend_observe_holders, .ask_drivers = backend_ask_drivers,
			   .give_nodes = backend_give_nodes, .opened = backend_opened,
			   .lift = backend_lift,
			   .await = backend_await,
			   .late = backend_late,
			   .state = backend_state },
		.keeper = { d->intents, intents_keep },
		.deadline_factor = d->o->deadline_factor,
		.journal = d->oplog.conf,
		.threads = EXECUTORS,
		.may = on_may,
		.verdict = on_verdict,
		.verdict_ctx = d,
	};

	return engine_new(&engine, &d->engine, err);
}

static void print_health(void *ctx, struct out *o)
{
	struct daemon *d = ctx;

	session_health(d->session, o);
	out_printf(o, "restarts=%u", d->from.restarts);
	if (d->from.restarted_at) {
		out_put(o, " ", 1);
		out_time(o, "last", (uint64_t)d->from.restarted_at * 1000000000);
		out_pair(o, "cause", d->from.restarted_for);
	}
	out_printf(o, "\nmount");
	out_pair(o, "path", d->o->mountpoint);
	out_printf(o, " version=%s\n", VERSION);
	instance_health(&d->instance, o);
	confined_health(o);
	backend_health(d->backend, o);
	intents_health(d->intents, o);
	engine_health(d->engine, o);
}

static void print_metrics(void *ctx, struct out *o)
{
	struct daemon *d = ctx;

	health_metric(o, "state", intents_state(d->intents));
	backend_metrics(d->backend, health_metric, o);
	confined_metrics(o);
}

static int open_tree(struct daemon *d, struct err *err)
{
	int r = open_engine(d, err);
	const struct tree_conf tree = {
		.model = d->model,
		.engine = d->engine,
		.intents = d->intents,
		.stash = d->stash,
		.boot_id = d->boot_id,
		.health = print_health,
		.metrics = print_metrics,
		.health_ctx = d,
		.unique = session_unique,
	};

	return r ? r : tree_new(&tree, &d->tree, err);
}

/* Operations are answered before the end, unless another process carries them on. */
static bool may_leave(void *ctx)
{
	struct daemon *d = ctx;
	bool moves = stop == SERVER_LEAVE && session_resends(d->session);

	return stop && (moves || (engine_idle(d->engine) && tree_idle(d->tree)));
}

static int hear(struct daemon *d, struct err *err)
{
	int r = d->found ? backend_scan(d->backend, err) : 0;

	if (!r && fault_is("deaf") && d->from.generation == 1)
		r = fail(err, EIO, "PCIDEVFS_FAULT says so");
	return r ? r : backend_listen(d->backend, err);
}

static void *watch(void *ctx)
{
	struct daemon *d = ctx;
	struct err err = { 0 };

	if (hear(d, &err)) {
		fail_wrap(&err, "changes of the machine are no longer seen");
		handoff_report(d->sock, REPORT_FAILING, err.text);
	}
	return NULL;
}

static int open_session(struct daemon *d, struct err *err)
{
	const struct session_conf conf = {
		.fuse_fd = d->fds[0],
		.stash = d->stash,
		.ops = tree_ops(),
		.userdata = d->tree,
		.leave = may_leave,
		.ctx = d,
		.group = tree_group(d->tree),
		.mountpoint = d->o->mountpoint,
	};
	int r = session_new(&conf, &d->session, err);

	return r ? r : session_adopt(d->session, d->from.killed, err);
}

/* Intents are restored, or RESTORE_MS have passed: what starts after us finds the devices. */
static void *greet(void *ctx)
{
	struct daemon *d = ctx;

	intents_settled(d->intents, RESTORE_MS);
	handoff_report(d->sock, REPORT_RESTORED, "");
	return NULL;
}

/* All up to the first read of a request. The first generation gets its mount only at the end, so
 * that nobody sees an incomplete tree, or one that cannot be served. */
static int prepare(struct daemon *d, struct err *err)
{
	int r = open_places(d, err);
	struct err others = { 0 };
	struct report_msg go;
	char text[ERR_TEXT];

	if (!r) {
		backend_hear(d->backend);
		instance_enter(&d->instance, d->roots.sysfs);
	}
	confine_server(d->o, &d->roots);
	if (d->from.generation == 2 && fault_is("adopt-hang"))
		fault_hang();
	r = r ? r : open_model(d, err);
	if (r)
		return r;
	d->oplog.conf.distrust = d->from.distrust;
	open_intents(d);
	if (d->from.generation == 1 && instance_others(&d->instance, &others) > 0)
		say("%s", others.text);
	if (!d->found && !(r = backend_scan(d->backend, err)))
		intents_go_on(d->intents);
	if (!r)
		intents_sign(d->intents, d->o->mountpoint);
	r = r ? r : open_tree(d, err);
	r = r ? r : open_session(d, err);
	if (r)
		return r;
	model_watch(d->model, session_hand(d->session, HAND_NOTIFIER));
	r = tree_start(d->tree, session_fuse(d->session), d->fds[0], d->from.generation == 1, err);
	if (r)
		return r;
	tree_watch(d->tree, session_hand(d->session, HAND_WORKER),
		   session_hand(d->session, HAND_COMMANDS));
	backend_follow_group(d->backend, tree_set_group, d->tree);
	model_complete(d->model);
	engine_recover(d->engine, &(struct former){ session_resends(d->session), d->found,
						    session_connection(d->session),
						    session_hand(d->session, HAND_OPERATIONS) });
	intents_restore(d->intents, d->engine, d->found);
	if (d->from.generation > 1) {
		session_recover(d->session);
		return 0;
	}
	tell_damaged(d);
	/* The administrator learns it before the first claim. */
	if (intents_unusable(d->intents, text, sizeof(text)))
		say("%s", text);
	handoff_report(d->sock, REPORT_READY, "");
	r = fdmsg_recv(d->sock, &go, sizeof(go), NULL, 0);
	return r ? fail(err, -r, "the holder is gone") : 0;
}

/* SIGTERM also comes if another process is to go on. */
static bool told_to_end(const struct daemon *d)
{
	struct pollfd p = { d->sock, POLLIN, 0 };
	struct report_msg msg;

	return poll(&p, 1, 0) == 1 && !fdmsg_recv(d->sock, &msg, sizeof(msg), NULL, 0) &&
	       msg.what == REPORT_END;
}

/* A thread waits for the kernel and may continue with any data, so nothing can be freed. */
static void __attribute__((noreturn))
leave(const struct daemon *d, const struct out *left, int status)
{
	const char *at = out_text(left), *nl;

	for (; d->ended && (nl = strchr(at, '\n')); at = nl + 1)
		say("%.*s", (int)(nl - at), at);
	fflush(stdout);
	_exit(status);
}

static int daemon_close(struct daemon *d, int status)
{
	struct out left = { 0 };
	bool all;

	if (d->intents)
		intents_stop(d->intents);
	if (d->greeting)
		pthread_join(d->greeter, NULL);
	/* Running operations first: their steps need the backend, their verdicts tree and
	 * observers. */
	all = engine_end(d->engine, &left);
	if (d->ended)
		intents_lift(d->intents);
	if (!all)
		leave(d, &left, status);
	if (d->watching) {
		backend_stop(d->backend);
		pthread_join(d->watcher, NULL);
	}
	tree_stop(d->tree);
	/* workers of the tree could use it until now */
	oplog_close(&d->oplog, !engine_free(d->engine) && (d->ended || d->o->release_all));
	tree_free(d->tree);
	session_free(d->session);
	intents_close(d->intents);
	if (!backend_free(d->backend))
		leave(d, &left, status);
	instance_leave(&d->instance);
	model_free(d->model);
	stash_detach(d->stash);
	return status;
}

/* Threads inherit a mask that blocks all signals; the reader takes those two. */
static void set_signals(int how)
{
	struct sigaction op = { .sa_handler = on_stop };
	sigset_t set;

	sigfillset(&set);
	if (how == SIG_UNBLOCK) {
		sigemptyset(&set);
		sigaddset(&set, SERVER_END);
		sigaddset(&set, SERVER_LEAVE);
		sigaction(SERVER_END, &op, NULL);
		sigaction(SERVER_LEAVE, &op, NULL);
	}
	pthread_sigmask(how, &set, NULL);
}

/* Opens all that serving opens, but on its own memory, and starts nothing. */
int daemon_can_adopt(const struct daemon_options *o)
{
	struct daemon d = { .o = o, .roots = o->roots };
	struct err err = { 0 };
	int r = layouts_check(o->can_adopt, &err);

	r = r ? r : stash_create(&d.fds[1], &err);
	r = r ? r : backend_open(&d.roots, &d.backend, &err);
	r = r ? r : open_model(&d, &err);
	if (r)
		puts(err.text);
	return daemon_close(&d, r ? 1 : 0);
}

int daemon_serve(const struct daemon_options *o)
{
	struct daemon d = { .o = o, .roots = o->roots };
	struct err err = { 0 };
	uint64_t sock = 0;
	int r = parse_u64(o->serve, 1 << 20, &sock);

	prctl(PR_SET_NAME, "pcidevfsd");
	r = r ? r : fdmsg_recv((int)sock, &d.from, sizeof(d.from), d.fds, HANDOVER_FDS);
	if (r == -EPIPE)
		return 1; /* the holder is gone */
	if (r) {
		say("--serve is for pcidevfsd itself");
		return 2;
	}
	d.sock = (int)sock;
	d.roots.watch = d.fds[2];
	d.roots.spawner = d.fds[3];
	d.roots.log = d.from.log_error ?: d.fds[4];
	fcntl(d.sock, F_SETFD, FD_CLOEXEC);
	set_signals(SIG_BLOCK);
	/* Small threads share arenas; a scan's large memory is given back, a heap would not shrink. */
	mallopt(M_ARENA_MAX, 2);
	mallopt(M_MMAP_THRESHOLD, 65536);
	instance_boot_id(o->roots.proc, d.boot_id);
	r = prepare(&d, &err);
	if (!r) {
		handoff_report(d.sock, REPORT_SERVING, "");
		d.greeting = !thread_start(&d.greeter, greet, &d);
		d.watching = !thread_start(&d.watcher, watch, &d);
		if (!d.watching)
			handoff_report(d.sock, REPORT_FAILING,
				       "no thread to watch for changes of the machine");
	}
	set_signals(SIG_UNBLOCK);
	if (!r) {
		r = session_loop(d.session, &err);
		d.ended = r > 0 || (!r && told_to_end(&d));
	}
	if (r)
		handoff_report(d.sock, r > 0 ? REPORT_GONE : REPORT_REFUSED, err.text);
	if (stop == SERVER_LEAVE && !r)
		intents_leave(d.intents);
	/* The next process takes over what runs, and learns who waits for it. */
	if (stop == SERVER_LEAVE && !r && session_resends(d.session))
		_exit(0);
	return daemon_close(&d, r != 0);
}

/* Runs only the engine, on memory that ends with the process. */
int daemon_release(const struct daemon_options *o)
{
	struct daemon d = { .o = o, .roots = o->roots };
	struct err err = { 0 };
	int r = stash_create(&d.fds[1], &err);
	bool any = false;

	instance_boot_id(o->roots.proc, d.boot_id);
	r = r ? r : backend_open_spawner(&d.roots, &d.roots.spawner, &err);
	r = r ? r : open_places(&d, &err);
	r = r ? r : open_model(&d, &err);
	if (!r)
		open_intents(&d);
	r = r ? r : backend_scan(d.backend, &err);
	r = r ? r : open_engine(&d, &err);
	if (!r) {
		model_stop(d.model); /* nobody listens, so nobody must be waited for */
		engine_recover(d.engine, &(struct former){ .connection = now_us() });
		any = release_interrupted(d.model, d.engine);
	}
	r = r ? r : intents_note(d.intents, &err);
	if (r)
		say("%s", err.text);
	else
		r = release_by_engine(d.model, d.engine, any);
	r |= tell_damaged(&d);
	return daemon_close(&d, r ? 1 : 0);
}
