// SPDX-License-Identifier: GPL-2.0-or-later
/* A restore job: the operation that applies a record, its start and end; and what a clean end
 * undoes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"

#define LIFT_MS 10000

/* A faster operation requests something else, which is refused when it is to be stored: ours is
 * retried within the usual number of tries. */
static void land_record(struct record *r, const struct persist *k, const struct err *err)
{
	bool passing = err->passing && record_has_tries(r);
	bool yields = err->code && !passing && k->yields &&
		      persist_is_missing(&persist_claim, r) && !(r->yielded & persist_bit(k));
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
	r->retry |= !err->code || yields;
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
