// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#include "plugin/kubelet/answer.h"
#include "plugin/kubelet/cdi.h"
#include "plugin/kubelet/listing.h"
#include "plugin.h"
#include "plugin/rpc/rpc.h"
#include "client/mirror.h"

enum { PATIENCE_MS = 2000, NEWS_MS = 500, RETRY_MS = 20 };

/* An Allocate. A PreStartContainer needs what comes before `job`, and the resource. */
struct allocation {
	struct plugin *p;
	struct rpc_call *call; /* NULL: answered already, because the tree took too long */
	struct kubelet_request request;
	struct source news;
	LIST_ENTRY(allocation) next; /* in plugin.waiting */
	uint64_t until;		     /* ms: waits for news until then; 0: not refused yet */
	struct job job;
	struct source patience;
	uint64_t running; /* given_at of its devices until it is answered; unique */
	/* Why it waits: for news of a device whose old name was not seen, or (ENOTCONN) the tree */
	struct err refused;
	bool busy;	 /* an operation ran on one of its devices at the last look */
	/* ms: its lines are tried again then, since the news may have come before the refusal */
	uint64_t again;
	unsigned int pause; /* ms: from the last refusal until then; doubled each time */
	bool marked;	 /* its devices have given_at = `running` */
	char resource[]; /* a copy: its server may be gone when the tree answers */
};

static void refuse(const char *resource, struct rpc_call *call, const struct err *err)
{
	say("%s: refused: %s", resource, err->text);
	rpc_fail(call, err->code == EINVAL ? RPC_INVALID_ARGUMENT : RPC_FAILED_PRECONDITION,
		 err->text);
}

/* kubelet waits without a deadline in the admission of a pod. */
static void on_patience(struct source *s)
{
	struct allocation *a = container_of(s, struct allocation, patience);
	struct err err = { 0 };

	fail(&err, ETIMEDOUT, "pcidevfsd did not record the allocation within %g s; check that it "
			      "is running",
	     plugin_deadline(a->p, PATIENCE_MS) / 1e3);
	refuse(a->resource, a->call, a->refused.code ? &a->refused : &err);
	a->call = NULL;
}

static struct allocation *allocation_new(struct plugin *p, const char *resource,
					 struct rpc_call *call)
{
	struct allocation *a = calloc(1, sizeof(*a) + strlen(resource) + 1);

	if (!a) {
		rpc_fail(call, RPC_INTERNAL, "no memory");
		return NULL;
	}
	strcpy(a->resource, resource);
	a->p = p;
	a->call = call;
	a->patience.fd = -1;
	return a;
}

static void allocation_free(struct allocation *a)
{
	loop_remove(&a->p->loop, &a->patience);
	free(a->job.lines);
	request_free(&a->request);
	free(a);
}

/* Only lists of pods asked for later may speak of this. before: skips devices that another Allocate
 * has taken since; 0: marks all. */
static void mark(const struct allocation *a, uint64_t before, uint64_t given_at)
{
	const struct devices *t = mirror_lock(a->p->tree);
	struct request_at at = { 0 };
	struct dev *d;

	while ((d = request_dev(t, NULL, &a->request, &at)))
		if (!before || d->given_at == before)
			listing_given(d, given_at);
	mirror_unlock(a->p->tree);
}

/* Can a runtime find the device by its name? */
static bool cdi_ready(struct plugin *p)
{
	cdi_check(p->cdi);
	cdi_note(p->cdi, mirror_lock(p->tree));
	mirror_unlock(p->tree);
	return cdi_write(p->cdi);
}

/* Returns whether kubelet was given the devices. */
static bool answer(const struct allocation *a)
{
	const char *cdi = cdi_ready(a->p) ? CDI_KIND : NULL;
	struct devices *t = mirror_lock(a->p->tree);
	struct request_at at = { 0 };
	struct err err = { 0 };
	struct out out = { 0 };
	struct dev *d;

	/* A device may have got another name meanwhile. */
	if (!request_names(t, a->resource, &a->request, &err) &&
	    !answer_allocate(t, a->resource, &a->request, a->p->o->dev, cdi, &out, &err)) {
		while ((d = request_dev(t, a->resource, &a->request, &at)))
			dev_kept(t, d);
		if (out.failed)
			fail_nomem(&err);
	}
	mirror_unlock(a->p->tree);
	if (err.code)
		refuse(a->resource, a->call, &err);
	else
		rpc_reply(a->call, (uint8_t *)out.data, out.len);
	out_free(&out);
	return !err.code;
}

static void cleared(struct job *job, const struct err *err)
{
	(void)err; /* an Allocate that needs this is refused with the reason */
	free(job->lines);
	free(job);
}

/* Submits lines that clear allocated_to, unless a pod was given a device at `since` or later; 0: in
 * any case. Takes over the text. */
static bool clear(struct plugin *p, struct out *lines, uint64_t since)
{
	struct job *job = lines->len ? calloc(1, sizeof(*job)) : NULL;

	if (!lines->len)
		return true;
	if (!job || lines->failed) {
		free(job);
		out_free(lines);
		return false;
	}
	job->lines = lines->data;
	job->since = since;
	job->urgent = true;
	job->done = cleared;
	mirror_commit(p->tree, job);
	return true;
}

/* kubelet got a refusal and will never name a pod, so without this the devices would be free only
 * after PENDING_MS. */
static void take_back(const struct allocation *a, uint64_t given_at)
{
	const struct devices *t = mirror_lock(a->p->tree);
	struct request_at at = { 0 };
	struct out lines = { 0 };
	const struct dev *d;

	while ((d = request_dev(t, NULL, &a->request, &at)))
		if (d->given_at == given_at)
			out_printf(&lines, "%s/allocated_to none\n", d->id);
	mirror_unlock(a->p->tree);
	clear(a->p, &lines, given_at + 1);
}

static void finish(struct allocation *a, const struct err *failed)
{
	uint64_t now = now_ms();
	bool given = false;

	mark(a, a->running, now);
	if (a->call && failed)
		refuse(a->resource, a->call, failed);
	else if (a->call)
		given = answer(a);
	if (!failed && !given)
		take_back(a, now);
	/* Asks for the pod's name. A record that came too late will not be confirmed by kubelet. */
	if (!a->call || !failed)
		pods_ask(a->p->pods);
	allocation_free(a);
}

/* Does the tree, as far as we know, hold a pod's name that this allocation has not cleared? It must
 * not clear names that come after. */
static bool in_the_way(const struct allocation *a, const struct dev *d)
{
	return dev_named(d) && d->ended_by != a->running;
}

/* The tree may still hold a pod that is over for kubelet. kubelet's word counts; a process that
 * still holds the device blocks `pending`. */
static void lines_for(const struct devices *t, const struct allocation *a, struct out *done,
		      struct out *set)
{
	struct request_at at = { 0 };
	struct dev *d;

	while ((d = request_dev(t, a->resource, &a->request, &at))) {
		if (in_the_way(a, d)) {
			out_printf(done, "%s/allocated_to none\n", d->id);
			d->ended_by = a->running;
		}
		out_printf(set, "%s/allocated_to pending\n", d->id);
	}
}

static int without_tree(struct err *err)
{
	return fail(err, ENOTCONN, "nothing can be given to a pod while the tree is not mounted");
}

/* Makes the lines for the tree from what it is known to hold. */
static int plan(struct allocation *a, struct err *err)
{
	struct out done = { 0 }, set = { 0 };
	struct devices *t = mirror_lock(a->p->tree);
	const char *why;
	int e;

	if (mirror_lost(a->p->tree, &why))
		e = without_tree(err);
	else
		e = request_check(t, a->resource, &a->request, now_ms(), err)
			    ?: request_names(t, a->resource, &a->request, err);
	if (!e)
		lines_for(t, a, &done, &set);
	mirror_unlock(a->p->tree);
	free(a->job.lines);
	a->job.lines = set.data;
	a->job.err = (struct err){ 0 };
	if (!e && (set.failed || !clear(a->p, &done, 0)))
		e = fail_nomem(err);
	return e;
}

static bool any_dev(const struct allocation *a,
		    bool (*fits)(const struct allocation *a, const struct dev *d))
{
	const struct devices *t = mirror_lock(a->p->tree);
	struct request_at at = { 0 };
	const struct dev *d;
	bool any = false;

	while (!any && (d = request_dev(t, a->resource, &a->request, &at)))
		any = fits(a, d);
	mirror_unlock(a->p->tree);
	return any;
}

/* Do we know by now that a pod has one more of them? Names of a later Allocate do not count. */
static bool is_named(const struct allocation *a, const struct dev *d)
{
	return d->given_at == a->running && in_the_way(a, d);
}

static bool is_busy(const struct allocation *a, const struct dev *d)
{
	return !strcmp(d->state, "busy");
}

/* Has an operation on one of them, for example a restore after the daemon's start, ended since? */
static bool has_ended(struct allocation *a)
{
	bool was = a->busy;

	a->busy = any_dev(a, is_busy);
	return was && !a->busy;
}

static void wait_for_news(struct allocation *a, void (*due)(struct source *news))
{
	loop_timer(&a->p->loop, &a->news, due, now_ms() + RETRY_MS);
	LIST_INSERT_HEAD(&a->p->waiting, a, next);
}

static void stop_waiting(struct allocation *a)
{
	LIST_REMOVE(a, next);
	loop_remove(&a->p->loop, &a->news);
}

static void commit(struct allocation *a)
{
	if (!a->marked)
		mark(a, 0, a->running);
	a->marked = true;
	a->refused = (struct err){ 0 };
	mirror_commit(a->p->tree, &a->job);
}

/* Waits for the tree until on_patience() ends the allocation. */
static bool waits_on(const struct allocation *a, int e, uint64_t now)
{
	return a->call && (e == -ENOTCONN || (e == -EBUSY && now < a->until));
}

static void on_news(struct source *source)
{
	struct allocation *a = container_of(source, struct allocation, news);
	uint64_t now = now_ms();
	bool news = a->call && (a->refused.code == ENOTCONN || any_dev(a, is_named) ||
				has_ended(a) || now >= a->again);
	int e = news ? plan(a, &a->refused) : -EBUSY;

	if (waits_on(a, e, now)) {
		source->at = now + RETRY_MS;
		return;
	}
	stop_waiting(a);
	if (e)
		finish(a, &a->refused);
	else
		commit(a);
}

/* The tree may have committed this, or the lines that clear old names; both may be repeated. */
static void on_cut(struct allocation *a)
{
	uint64_t before = a->running;

	a->running = GIVEN_RUNNING + a->p->allocations++;
	mark(a, before, a->running);
	without_tree(&a->refused);
	wait_for_news(a, on_news);
}

/* The tree may hold the name of a pod that is over while the line that says so is under way, for
 * several devices one after another. kubelet asks only once. */
static void on_recorded(struct job *job, const struct err *failed)
{
	struct allocation *a = container_of(job, struct allocation, job);

	if (a->call && failed && failed->code == ENOTCONN) {
		on_cut(a);
		return;
	}
	if (!failed || failed->code != EBUSY || !a->call) {
		finish(a, failed);
		return;
	}
	a->refused = *failed;
	a->busy = any_dev(a, is_busy);
	a->until = a->until ?: now_ms() + plugin_deadline(a->p, NEWS_MS);
	a->pause = a->pause ? 2 * a->pause : RETRY_MS;
	a->again = now_ms() + a->pause;
	wait_for_news(a, on_news);
}

void allocate_begin(struct plugin *p, const char *resource, struct rpc_call *call,
		    const uint8_t *msg, size_t len)
{
	struct allocation *a = allocation_new(p, resource, call);
	struct err err = { 0 };
	int e;

	if (!a)
		return;
	a->job.done = on_recorded;
	a->job.urgent = true;
	a->running = GIVEN_RUNNING + p->allocations++;
	loop_timer(&p->loop, &a->patience, on_patience, now_ms() + plugin_deadline(p, PATIENCE_MS));
	e = request_allocate(msg, len, &a->request, &err) ?: plan(a, &err);
	if (!e) {
		commit(a);
		return;
	}
	if (e == -ENOTCONN) {
		a->refused = err;
		wait_for_news(a, on_news);
		return;
	}
	refuse(resource, call, &err);
	allocation_free(a);
}

/* ---- PreStartContainer */

static void end_start(struct allocation *s, const struct err *err)
{
	if (err->code)
		refuse(s->resource, s->call, err);
	else
		/* PreStartContainerResponse has no fields. */
		rpc_reply(s->call, (const uint8_t *)"", 0);
	allocation_free(s);
}

/* Returns true if it must be judged again, after kubelet's next list or the tree's next line. */
static bool judge(const struct allocation *s, struct err *err)
{
	uint64_t now = now_ms();
	const struct devices *t = mirror_lock(s->p->tree);
	int e = request_alone(t, s->resource, &s->request, now, err);

	e = e ?: request_check(t, s->resource, &s->request, now, err);
	if (!e)
		request_nodes(t, s->resource, &s->request, err);
	mirror_unlock(s->p->tree);
	return (e == -EAGAIN || e == -EBUSY) && now < s->until;
}

static void on_retry(struct source *source)
{
	struct allocation *s = container_of(source, struct allocation, news);
	struct err err = { 0 };

	if (judge(s, &err)) {
		source->at = now_ms() + RETRY_MS;
		return;
	}
	stop_waiting(s);
	end_start(s, &err);
}

/* kubelet allows 30 s, once the sandbox is made: it may first have to list the group's pods. */
void allocate_prestart(struct plugin *p, const char *resource, struct rpc_call *call,
		       const uint8_t *msg, size_t len)
{
	struct allocation *s = allocation_new(p, resource, call);
	struct err err = { 0 };

	if (!s)
		return;
	s->until = now_ms() + plugin_deadline(p, PATIENCE_MS);
	if (!request_prestart(msg, len, &s->request, &err) && judge(s, &err))
		wait_for_news(s, on_retry);
	else
		end_start(s, &err);
	/* After a reboot this is the first sign of a pod whose directory was there before. */
	pods_ask(p->pods);
}

void allocate_stop(struct plugin *p)
{
	struct err err = { 0 };

	fail(&err, ECANCELED, "pcidevfs-plugin ends");
	for (struct allocation *a; (a = LIST_FIRST(&p->waiting));) {
		stop_waiting(a);
		if (a->call)
			refuse(a->resource, a->call, &err);
		allocation_free(a);
	}
}
