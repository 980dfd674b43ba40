// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"

#include "plugin/kubelet/checkpoint.h"
#include "plugin/kubelet/listing.h"
#include "plugin.h"
#include "plugin/rpc/rpc.h"
#include "client/file.h"
#include "client/mirror.h"

enum {
	LIST_MS = 5000,	    /* deadline of a call */
	PENDING_MS = 30000, /* after Allocate, how long kubelet may not know the pod */
	/* First pause after Allocate, until kubelet lists it or the device is released; doubled
	 * each time. Also the first pause after a failure. */
	SOON_MS = 50,
	EVERY_MS = 10000,
	/* How long a kubelet or an offer is new: kubelet may name a pod late that ran before. */
	NEW_MS = 300000,
	CUT_TIMES = 3, /* how often kubelet may hang up while it restarts */
};

/* What kubelet's checkpoint says. It is read on a thread of its own: the disk may hang, and neither
 * registration nor answers may wait for it; and only if a list of pods raised a question. */
struct memory {
	struct plugin *p;
	bool reading; /* meanwhile the thread owns checkpoint and err */
	bool ended;   /* it may not use anything else: the plugin ends */
	bool wanted, known;
	struct err told; /* the last error that was logged */
	struct checkpoint *checkpoint;
	struct err err;
};

struct pods {
	struct plugin *p;
	struct memory *memory;
	struct source watch, timer;
	struct rpc_channel *channel; /* NULL if no call runs */
	struct stat socket;	     /* of the kubelet that was last asked */
	uint64_t asked;		     /* ms */
	unsigned int kubelet;	     /* its number, from 1 */
	bool again;		     /* asked for meanwhile */
	bool failed;		     /* something failed and must be retried */
	struct out round, before; /* messages of this round, and of the one before */
	unsigned int pause;	  /* SOON_MS and up while something is pending, held or failed */
	unsigned int cut;   /* consecutive answers of one kubelet that were cut off */
	uint64_t new_until; /* ms */
	size_t offered, allocated, pending, held;
	uint64_t shape, freed; /* of the table when they were counted */
	/* jobs that the tree has; no list is asked for meanwhile, it would write the same lines */
	size_t writing;
};

/* ---- kubelet's checkpoint */

static void memory_free(struct memory *m)
{
	m->ended = true;
	if (m->reading)
		return; /* its thread does it */
	checkpoint_free(m->checkpoint);
	free(m);
}

/* Logs an error once as long as it lasts. */
static void tell(struct memory *m)
{
	if (m->err.code && m->err.code != ENOENT && strcmp(m->err.text, m->told.text))
		say("%s; devices that kubelet does not list stay with their pods", m->err.text);
	m->told = m->err;
}

static void *read_it(void *ctx)
{
	struct memory *m = ctx;
	struct plugin *p = m->p;

	checkpoint_load(p->o->kubelet, &m->checkpoint, &m->err);
	malloc_trim(0); /* the parser takes 40 MiB for a large node */
	loop_enter(&p->loop);
	m->reading = false;
	if (m->ended) {
		memory_free(m);
	} else {
		tell(m);
		source_by(&p->pods->timer, 0);
	}
	loop_leave(&p->loop);
	return NULL;
}

/* Starts to read if there was a question. Returns true if a read runs: ask() will come. */
static bool memory_read(struct memory *m)
{
	int r;

	if (m->reading || !m->wanted)
		return m->reading;
	m->wanted = false;
	m->known = true; /* true by the time of the next list */
	m->err = (struct err){ 0 };
	r = thread_start(NULL, read_it, m);
	m->reading = !r;
	if (r) {
		fail(&m->err, -r, "no thread for kubelet's checkpoint: %s", strerror(-r));
		tell(m);
	}
	return m->reading;
}

/* Does the checkpoint say that no pod has the device? If not read yet: false, and a question. */
static bool memory_forgets(void *memory, const char *device_id)
{
	struct memory *m = memory;

	m->wanted |= !m->known;
	if (!m->known || !m->checkpoint)
		return m->known && m->err.code == ENOENT;
	return !checkpoint_holds(m->checkpoint, device_id);
}

/* ---- when kubelet is asked again */

/* Logs a message once as long as it comes in each round. failed: must be retried. */
__attribute__((format(printf, 3, 4))) static void complain(struct pods *pods, bool failed,
							   const char *fmt, ...)
{
	char text[ERR_TEXT + ALLOCATED_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!strstr(out_text(&pods->before), text))
		say("%s", text);
	out_printf(&pods->round, "%s\n", text);
	pods->failed |= failed;
}

static void end_round(struct pods *pods)
{
	out_free(&pods->before);
	pods->before = pods->round;
	pods->round = (struct out){ 0 };
	pods->again = pods->failed = false;
}

/* Schedules the next question, after an answer or a failure and all its writes. */
static void plan_next(struct pods *pods)
{
	uint64_t now = now_ms(), at = UINT64_MAX;
	bool soon = pods->pending || pods->held || pods->failed;
	struct memory *m = pods->memory;

	checkpoint_free(m->checkpoint);
	m->checkpoint = NULL;
	m->known = false; /* read anew before a list that needs it */
	pods->again |= m->wanted;
	if (pods->again)
		at = now;
	else if (soon)
		at = now + back_off(&pods->pause, SOON_MS, EVERY_MS);
	else if (pods->allocated || (pods->offered && now < pods->new_until))
		at = now + EVERY_MS;
	source_by(&pods->timer, at);
	if (!soon)
		pods->pause = 0;
	end_round(pods);
}

/* ---- what is to be written */

static void job_done(struct job *job, const struct err *err)
{
	struct pods *pods = job->ctx;

	if (err && err->code != ECANCELED) /* the next list repeats what was overtaken */
		complain(pods, true, "%.*s: %s", (int)strcspn(job->lines, "\n"), job->lines,
			 err->text);
	pods->writing--;
	if (!pods->writing)
		plan_next(pods);
	free(job->lines);
	free(job);
}

static void submit(struct pods *pods, bool look, struct out *text)
{
	struct job *job = text->failed ? NULL : calloc(1, sizeof(*job));

	if (!job) {
		complain(pods, true, "no memory");
		return;
	}
	job->lines = text->data;
	*text = (struct out){ 0 };
	job->look = look;
	job->since = pods->asked;
	job->done = job_done;
	job->ctx = pods;
	pods->writing++;
	mirror_commit(pods->p->tree, job);
}

static void compare(struct pods *pods, const uint8_t *msg, size_t len)
{
	struct listing l = { .now = now_ms(),
			     .asked = pods->asked,
			     .pending_ms = plugin_deadline(pods->p, PENDING_MS),
			     .kubelet = pods->kubelet,
			     .is_forgotten = memory_forgets,
			     .ctx = pods->memory };

	if (listing_read(&l, msg, len)) {
		complain(pods, true, "kubelet's list of pods cannot be read");
	} else {
		listing_settle(&l, mirror_lock(pods->p->tree));
		mirror_unlock(pods->p->tree);
	}
	if (l.odd)
		complain(
			pods, false,
			"kubelet lists %zu devices with invalid names of pods; these devices stay "
			"as they are",
			l.odd);
	for (struct batch *b = l.batches; b; b = b->next) {
		if (b->clear.len)
			submit(pods, false, &b->clear);
		submit(pods, b->ends, &b->set);
	}
	if (l.changed)
		resources_refresh(pods->p->resources);
	listing_free(&l);
}

/* ---- asking */

static void on_list(void *ctx, enum rpc_status status, const char *why, const uint8_t *msg,
		    size_t len)
{
	struct pods *pods = ctx;
	struct rpc_channel *ch = pods->channel;

	if (!ch)
		return; /* pods_stop() */
	pods->channel = NULL;
	pods->cut = status == RPC_UNAVAILABLE ? pods->cut + 1 : 0;
	if (status == RPC_OK)
		compare(pods, msg, len);
	else if (!pods->cut || pods->cut > CUT_TIMES)
		complain(pods, true, "kubelet does not list its pods: %s", why);
	else /* nothing has changed for the better: do not repeat messages */
		out_printf(&pods->round, "%s", out_text(&pods->before));
	pods->failed |= status != RPC_OK;
	if (!pods->writing)
		plan_next(pods);
	rpc_channel_free(ch);
}

/* kubelet makes these directories at its first start. Watching one again is harmless. */
static void watch_dirs(struct pods *pods)
{
	static const char *const dirs[] = { "", "/pods", "/pod-resources" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s%s", pods->p->o->kubelet, dirs[i]);
		if (inotify_add_watch(pods->watch.fd, path,
				      IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_ONLYDIR) < 0 &&
		    errno != ENOENT && errno != ENOTDIR)
			complain(pods, true,
				 "%s cannot be watched: %s; kubelet is asked every %d s", path,
				 strerror(errno), EVERY_MS / 1000);
	}
}

static void ask(struct pods *pods)
{
	struct err err = { 0 };
	struct stat st;
	char path[256];
	int fd;

	if (pods->channel || pods->writing) {
		pods->again = true;
		return;
	}
	/* The checkpoint must be read right before kubelet is asked, else it lacks newer pods. */
	if (memory_read(pods->memory))
		return;
	pods->asked = now_ms();
	watch_dirs(pods);
	if (pods->held)
		mirror_look(pods->p->tree); /* closing a node makes no event */
	snprintf(path, sizeof(path), "%s/pod-resources/kubelet.sock", pods->p->o->kubelet);
	/* kubelet lists pods before it asks for registrations, so its own socket identifies it. */
	if (!stat(path, &st) && !file_is_same(&st, &pods->socket)) {
		pods->socket = st;
		pods->kubelet++;
		pods->cut = 0;
		pods->new_until = pods->asked + NEW_MS;
	}
	fd = socket_connect(path, &err);
	if (fd < 0 || rpc_channel_new(pods->p->rpc, fd, &pods->channel, &err) ||
	    rpc_ask(pods->channel, "/v1.PodResourcesLister/List", (const uint8_t *)"", 0,
		    plugin_deadline(pods->p, LIST_MS), on_list, pods, &err)) {
		rpc_channel_free(pods->channel);
		pods->channel = NULL;
		plan_next(pods); /* without kubelet, its pods still run */
	}
}

static void on_timer(struct source *s)
{
	ask(container_of(s, struct pods, timer));
}

/* Later requests share this question and do not delay it: starting containers wait for it. */
static void ask_soon(struct pods *pods)
{
	source_by(&pods->timer, now_ms() + SOON_MS);
}

static void on_watch(struct source *s)
{
	struct pods *pods = container_of(s, struct pods, watch);
	char buf[4096];

	while (read(s->fd, buf, sizeof(buf)) > 0)
		;
	ask_soon(pods);
}

void pods_ask(struct pods *pods)
{
	pods->pause = 0;
	ask_soon(pods);
}

void pods_count(struct pods *pods, const struct devices *t)
{
	size_t before = pods->allocated + pods->held;

	pods->offered = pods->allocated = pods->pending = pods->held = 0;
	for (size_t i = 0; i < t->n; i++) {
		pods->offered += dev_offered(t->v[i]);
		pods->allocated += dev_allocated(t->v[i]);
		pods->pending += !strcmp(t->v[i]->allocated, "pending");
		pods->held += !strcmp(t->v[i]->state, "held");
	}
	if (!before && pods->allocated + pods->held && pods->timer.at == UINT64_MAX)
		pods->timer.at = now_ms() + EVERY_MS;
	/* A device that came or was given back may belong to a pod. */
	if (t->n && (t->shape != pods->shape || t->freed != pods->freed)) {
		pods->new_until = now_ms() + NEW_MS;
		ask_soon(pods);
	}
	pods->shape = t->shape;
	pods->freed = t->freed;
}

int pods_new(struct plugin *p, struct pods **ret, struct err *err)
{
	struct pods *pods = calloc(1, sizeof(*pods));
	int fd;

	if (!pods || !(pods->memory = calloc(1, sizeof(*pods->memory)))) {
		free(pods);
		return fail_nomem(err);
	}
	pods->p = pods->memory->p = p;
	*ret = pods;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return fail(err, errno, "no inotify: %s", strerror(errno));
	/* At the start: learn what pods have already. */
	loop_timer(&p->loop, &pods->timer, on_timer, now_ms() + SOON_MS);
	return loop_watch(&p->loop, &pods->watch, fd, on_watch, err);
}

void pods_stop(struct pods *pods)
{
	if (!pods)
		return;
	rpc_channel_free(pods->channel);
	pods->channel = NULL;
	memory_free(pods->memory);
	loop_remove(&pods->p->loop, &pods->watch);
	loop_remove(&pods->p->loop, &pods->timer);
	closep(&pods->watch.fd);
}

void pods_free(struct pods *pods)
{
	if (!pods)
		return;
	out_free(&pods->round);
	out_free(&pods->before);
	free(pods);
}
