// SPDX-License-Identifier: GPL-2.0-or-later
/* How often a record is tried, and the last answer; the restore job, which is the operation of a
 * try; and what a clean end undoes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "intents.h"
#include "persist.h"
#include "model/diff.h"
#include "pcidevfs/model.h"

#define TRIES_MAX 16 /* of one request, while its device moves between drivers and holders */

/* From 2 s on, each time twice as long as before; 64 s at most. */
#define DUE_MS UINT64_C(1000)
#define DUE_MAX 6

/* Fields that people write to look at the device, and results of the last try: no operation is
 * refused because of them. */
#define CH_TOLD (CH_WRITTEN | CH_STATE | CH_REASON | CH_CLAIMABLE | CH_BEHIND | CH_UNSATISFIED)

void sight_add(struct sight *s, const struct device *dev)
{
	s->all += device_digest(dev, ~CH_TOLD);
	s->rough += device_digest(dev, ~(CH_TOLD | CH_HOLDERS)) + (dev->facts.holder[0] != '\0');
}

bool record_has_tries(const struct record *r)
{
	return r->tries < TRIES_MAX;
}

/* Each operation looks for holders. If that finds another process each time, it must not trigger
 * the next operation for ever. */
static bool looks_same(const struct record *r, const struct sight *now)
{
	return r->busy_tries < TRIES_MAX ? r->tried_for.all == now->all
					 : r->tried_for.rough == now->rough;
}

bool record_would_try(const struct record *r, const struct sight *now)
{
	return record_has_tries(r) && !looks_same(r, now);
}

bool record_may_try(struct record *r, const struct sight *now)
{
	if (!record_would_try(r, now))
		return false;
	r->tries++;
	r->tried_for = *now;
	return true;
}

void record_say(struct record *r, enum record_state state, const char *text)
{
	char whole[ERR_TEXT];

	r->state = state;
	STR_COPY(whole, text);
	STR_FIT(r->reason, whole);
}

/* The text loses its middle, never the way out behind it. */
static void say_way_out(struct record *r, const char *text, const char *way_out)
{
	char whole[ERR_TEXT];

	STR_COPY(whole, text);
	str_fit(whole, sizeof(r->reason) - strlen(way_out));
	snprintf(r->reason, sizeof(r->reason), "%.*s%s",
		 (int)(sizeof(r->reason) - strlen(way_out)) - 1, whole, way_out);
}

void record_tried(struct record *r, const struct persist *k, const struct err *err)
{
	bool busy = err->code == EBUSY, passes = busy || err->code == EAGAIN;
	char way_out[100];
	unsigned int n;

	r->busy_tries = busy ? r->busy_tries + 1 : 0;
	n = busy ? r->busy_tries : r->tries;
	r->due = passes ? now_ms() + (DUE_MS << (n < DUE_MAX ? n : DUE_MAX)) : 0;
	r->tries -= busy && r->tries;
	/* A device in use may be free later: the next change triggers another try. */
	record_say(r, passes || err->code == ENODEV ? RECORD_WAITING : RECORD_REFUSED, err->text);
	r->full = err->code == ENOSPC; /* what is full may get room */
	snprintf(way_out, sizeof(way_out),
		 "; it comes when there is room: write %s to its %s to give it up", k->none,
		 k->file);
	if (r->full)
		say_way_out(r, err->text, way_out);
	if (record_has_tries(r))
		return;
	r->due = 0;
	snprintf(way_out, sizeof(way_out),
		 "; given up after %d tries, until it is written again or the device comes back",
		 TRIES_MAX);
	say_way_out(r, err->text, way_out);
}

void record_say_busy(struct record *r)
{
	r->tried_for = (struct sight){ 0 };
	if (r->state != RECORD_REFUSED)
		record_say(r, RECORD_WAITING, "another operation runs on it");
}

struct restore_job *job_add(struct pass *p, const struct record *r, const struct persist *k,
			    const struct key *dev)
{
	struct restore_job *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct restore_job){ .in = p->in,
				   .next = p->jobs,
				   .request = { .dev = *dev, .restores = true } };
	if (r->id.child.bus && !key_eq(dev, &r->id.child)) {
		f->request.dev = r->id.child;
		f->request.parent = *dev;
		STR_COPY(f->request.made_by, k->made_by);
	}
	STR_COPY(f->request.file, k->file);
	persist_value(k, r, f->request.value);
	p->jobs = f;
	return f;
}

/* ---- the operation */

#define LIFT_MS 10000

/* A faster operation requests something else, which is refused when it is to be stored: ours is
 * retried within the usual number of tries. */
static void land_record(struct record *r, const struct persist *k, const struct err *err)
{
	bool passing = err->passing && record_has_tries(r);
	bool yields = err->code && !passing && k->yields && persist_is_missing(&persist_claim, r) &&
		      !(r->yielded & persist_bit(k));
	/* A vGPU is made first, and is nobody's until its claim is there too. */
	bool more = (!err->code || yields) && persist_is_missing(&persist_claim, r);

	r->restoring = NULL;
	r->full = false;
	if (r->state == RECORD_MISMATCH) { /* the other card in its place was given back */
		r->lifted = passing ? 0 : r->lifted;
		return;
	}
	r->decided |= !passing && !more;
	/* What is restored behind it, although the device reads the same. */
	if (!err->code || yields)
		r->tried_for = (struct sight){ 0 };
	if (yields) {
		r->yielded |= persist_bit(k);
		r->tries = r->busy_tries = 0;
	}
	if (!err->code)
		record_say(r, RECORD_HELD, "");
	else if (passing)
		record_say_busy(r);
	else
		record_tried(r, k, err);
}

static void land(void *ctx, const struct err *err)
{
	struct restore_job *f = ctx;
	struct intents *in = f->in;

	pthread_mutex_lock(&in->save);
	pthread_mutex_lock(&in->lock);
	for (size_t i = 0; i < in->rs.n; i++)
		if (in->rs.v[i]->restoring == f)
			land_record(in->rs.v[i], persist_find(f->request.file), err);
	pthread_mutex_unlock(&in->lock);
	pthread_mutex_unlock(&in->save);
	/* Its nodes may still be those of the claim's users, from before the daemon began anew. */
	if (err->code && !f->request.parent.bus && in->world.give_nodes)
		in->world.give_nodes(in->world.backend, &f->request.dev, NULL);
	intents_kick(in); /* before it is quiet: a PF's VFs are next */
	pthread_mutex_lock(&in->turn);
	in->restoring--;
	pthread_cond_broadcast(&in->quiet);
	pthread_mutex_unlock(&in->turn);
	free(f);
}

void job_launch(struct intents *in, struct restore_job *f)
{
	struct actor self = { .pid = getpid(),
			      .comm = "pcidevfsd-restore",
			      .opener.reserve = true };

	pthread_mutex_lock(&in->turn);
	in->restoring++;
	pthread_mutex_unlock(&in->turn);
	txn_submit(in->e, &f->request, 1, &self, land, f);
}

void intents_lift(struct intents *in)
{
	const struct device *dev;
	size_t pos = 0;

	while (in->world.lift) {
		char former[FORMER_TEXT];
		struct key key;

		model_lock(in->m);
		while ((dev = model_next(in->m, &pos)))
			if (!dev->busy[0] &&
			    (device_is_astray(dev) ||
			     (dev->intent.claim[0] && dev->facts.use == USE_GUEST)))
				break;
		if (dev) {
			key = dev->key;
			STR_COPY(former, dev->intent.former);
		}
		model_unlock(in->m);
		if (!dev)
			return;
		in->world.lift(in->world.backend, &key, former, LIFT_MS);
	}
}
