// SPDX-License-Identifier: GPL-2.0-or-later
/* Restores intents. A pass matches records with devices, notes what needs no operation, and starts
 * operations for the rest. Each relevant change of a device triggers another pass. */
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"
#include "pcidevfs/thread.h"

#define QUIET_MS 10000
#define OVER_US 3000000
#define ASK_MS 1000
#define ASK_MAX_MS 8000

/* Whoever has made room may need it for something else, which comes with the next write. */
static bool waits_for_quiet(struct pass *p, struct record *r, const struct device *dev,
			    const struct sight *now)
{
	uint64_t quiet = r->full ? model_written(p->in->m, dev) + QUIET_MS : 0;

	if (quiet <= now_ms() || !record_would_try(r, now))
		return false;
	r->due = quiet;
	return true;
}

static bool may_try_alone(struct pass *p, struct record *r, const struct device *dev)
{
	struct sight now = { 0 };

	sight_add(&now, dev);
	return !waits_for_quiet(p, r, dev, &now) && record_may_try(r, &now);
}

/* An operation on a device touches its children. */
static bool children_busy(const struct pass *p, const struct device *dev)
{
	const struct device *children[INTENT_VFS];
	size_t n = model_children(p->in->m, &dev->key, BUS_NONE, children, INTENT_VFS);
	bool busy = false;

	for (size_t i = 0; i < n && i < INTENT_VFS && !busy; i++)
		busy = pass_is_busy(p, children[i]);
	return busy;
}

/* A vGPU may need an instance of its card that is not there yet, or a setting. */
static const char *parent_lacks(const struct pass *p, const struct device *dev)
{
	const struct device *parent = model_parent(p->in->m, dev);
	const struct record *r = parent ? pass_record(p, &parent->key) : NULL;

	if (!r)
		return NULL;
	if (persist_is_missing(&persist_mig_layout, r))
		return "the MIG instances of its card are not restored yet";
	/* These change only before the first one; where that is refused it comes without. */
	return r->state != RECORD_REFUSED && (persist_is_missing(&persist_mixed_sizes, r) ||
					      persist_is_missing(&persist_scheduler, r))
		       ? "mixed_sizes or scheduler of its card is not restored yet"
		       : NULL;
}

/* Starts an operation on dev: the record's device, or the parent that makes it. */
static void start_op(struct pass *p, const struct persist *k, struct record *r,
		     const struct device *dev)
{
	const char *wait = (k->waits ? k->waits(dev) : NULL) ?: parent_lacks(p, dev);

	/* The driver's own tool says that somebody is in the way; who that is, nobody may see. */
	if (r->due && now_ms() >= r->due)
		r->tried_for = (struct sight){ 0 };
	if (dev->busy[0] || children_busy(p, dev) || pass_parent_busy(p, dev)) {
		record_say_busy(r);
	} else if (wait) {
		r->decided = true;
		record_say(r, RECORD_WAITING, wait);
	} else if (may_try_alone(p, r, dev)) {
		r->due = 0;
		r->restoring = job_add(p, r, k, &dev->key);
	}
	p->asks |= r->due ? ASK_DUE : 0;
}

/* Starts an operation for this device alone. */
static void apply_alone(struct pass *p, const struct persist *k, struct record *r,
			const struct device *dev)
{
	struct device *edit;

	if (!k->is_there || !k->is_there(dev)) {
		start_op(p, k, r, dev);
		return;
	}
	edit = model_edit(p->in->m, &r->dev, false);
	if (edit) {
		persist_copy(k, &edit->intent, &r->intent);
		r->in |= persist_bit(k);
	}
	r->state = RECORD_HELD;
}

static void note_parent(struct record *r, const struct device *parent)
{
	r->parent_birth = parent ? parent->birth : 0;
	r->parent_unbinds = parent ? parent->unbinds : 0;
}

/* A missing device is made by its parent: once per life of the parent and its driver, because
 * afterwards somebody else has removed it. */
static void apply_through_parent(struct pass *p, struct record *r)
{
	struct identity id = r->id;
	const struct device *parent;
	const struct candidate *s;
	size_t i = 0;

	while (persists[i] && !(persists[i]->made_by && persist_is_missing(persists[i], r)))
		i++;
	id.child = (struct key){ 0 };
	if (!persists[i] || pass_lookup(p, &id, &s) != MATCH_HERE)
		return;
	parent = model_find(p->in->m, &s->key);
	if (!parent)
		return;
	if (r->parent_birth != parent->birth || r->parent_unbinds != parent->unbinds ||
	    (persists[i]->waits && persists[i]->waits(parent))) {
		record_leave(r);
		r->was_there = false;
	}
	note_parent(r, parent);
	if (r->was_there)
		record_say(r, RECORD_WAITING,
			   "others have removed it; create it again, or forget it");
	else
		start_op(p, persists[i], r, parent);
}

/* One that comes or goes may be read in part. */
static bool tells_identity(const struct device *dev, const struct identity *id)
{
	return device_is_known(dev) && id->vf != IDENTITY_HALF && !dev->facts.garbled[0];
}

static void note_lost(struct record *r, const struct device *dev)
{
	bool gone = !dev->facts.driver[0] || r->unbinds != dev->unbinds;

	r->unbinds = dev->unbinds;
	for (size_t i = 0; persists[i]; i++) {
		const struct persist *k = persists[i];

		if (!k->lost || !(r->in & persist_bit(k)) || !persist_has(k, &r->intent) ||
		    !k->lost(dev, gone))
			continue;
		r->in &= ~persist_bit(k);
		r->yielded &= ~persist_bit(k);
		record_renew(r);
	}
}

/* What only had to be noted is followed by the next one at once. True: nothing is missing. */
static bool apply_missing(struct pass *p, struct record *r, const struct device *dev)
{
	const struct persist *k;

	while ((k = persist_missing(r))) {
		uint32_t before = r->in;

		if (k->apply)
			k->apply(p, r, dev);
		else
			apply_alone(p, k, r, dev);
		if (k->apply || r->restoring || !(r->in & ~before & persist_bit(k)))
			return false;
	}
	return true;
}

/* Sets the reason that the device shows, unless it shows drift by itself. */
static void say_drift(struct record *r, const struct device *dev)
{
	r->reason[0] = '\0';
	for (size_t i = 0; persists[i] && !dev->busy[0]; i++)
		if ((!persists[i]->tells_drift || r->elsewhere.bus) &&
		    record_drifted(r, persists[i], dev, r->reason, sizeof(r->reason)))
			return;
}

/* The one that the record is marked with has ended, or nobody resumes it and its device is gone. */
static bool has_no_op(const struct pass *p, const struct record *r)
{
	const struct device *dev = device_of(p->in, r);

	return r->boot[0] && !(dev && dev->busy[0]) && !(r->interrupted && (dev || p->incomplete));
}

/* That a pod has a device is on the disk before the pod has it. That the pod is over is written
 * some seconds later, so the next pod, which mostly comes at once, does not wait for the disk.
 * After a crash in between the device still counts as allocated, to an unknown pod. */
static bool is_over(const struct pass *p, const struct record *r)
{
	return r->over && (p->last || now_us() - r->over >= OVER_US);
}

static void apply_record(struct pass *p, struct record *r)
{
	const struct device *dev = device_of(p->in, r);
	struct identity id, stored = r->id;

	p->rewrite |= has_no_op(p, r) || is_over(p, r);
	p->asks |= r->over ? ASK_OVER : 0;
	r->was_there |= dev != NULL;
	if (!dev && r->id.child.bus && !r->restoring)
		apply_through_parent(p, r);
	if (dev && r->id.child.bus)
		note_parent(r, model_parent(p->in->m, dev));
	if (!dev || r->restoring || !r->noted)
		return;
	device_identity(p->in->m, dev, &id);
	p->rewrite |= tells_identity(dev, &id) && identity_complete(&stored, &id);
	note_lost(r, dev);
	if (apply_missing(p, r, dev))
		r->state = RECORD_HELD;
	if (r->state == RECORD_HELD)
		say_drift(r, dev);
}

static void follow_device(struct intents *in, struct record *r, const struct device *dev)
{
	struct identity id;

	device_identity(in->m, dev, &id);
	if (tells_identity(dev, &id))
		identity_complete(&r->id, &id);
	record_set_at(r, &dev->key);
}

/* Stores serials that were read late or turned out to be cloned, pods that are over, and operations
 * that ended without a result. The next pass tries it again. Call it with save held. */
static void bring_up_to_date(const struct pass *p)
{
	struct intents *in = p->in;
	struct rewrite w;

	if (rewrite_begin(&w, in, NULL))
		return;
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n; i++) {
		struct record *r = in->rs.v[i];
		const struct device *dev = device_of(in, r);
		bool cloned = pass_is_cloned(p, r) || r->shares_serial, over = is_over(p, r);

		r = dev || cloned || over || r->boot[0] ? rewrite_edit(&w, i) : NULL;
		if (!r)
			continue;
		if (over) {
			r->intent.given_as[0] = '\0';
			r->over = 0;
		}
		r->id.cloned = cloned;
		if (dev)
			follow_device(in, r, dev);
		if (has_no_op(p, r))
			r->boot[0] = '\0';
		if (!r->intent.claim[0] && !r->boot[0] && !(dev && dev->facts.use == USE_GUEST))
			r->intent.former_known = false;
	}
	model_unlock(in->m);
	rewrite_end(&w, 0, NULL);
}

/* In a new model an operation on the device is one that is being undone: it notes there what it
 * knew itself, and takes that back. */
static bool may_note(const struct intents *in, const struct record *r)
{
	const struct device *dev = r->noted ? NULL : device_of(in, r);

	return dev && (in->goes_on || !dev->busy[0]);
}

static void look(struct pass *p)
{
	struct intents *in = p->in;

	pthread_mutex_lock(&in->save);
	pthread_mutex_lock(&in->lock);
	in->looks++;
	model_lock(in->m);
	/* Even without records, to take back what the last pass has told. */
	if ((in->rs.n || in->told) && !pass_find_candidates(p)) {
		pass_match(p);
		pass_judge_serials(p);
		pass_say_mismatches(p);
		for (size_t i = 0; i < in->rs.n; i++)
			if (may_note(in, in->rs.v[i]))
				record_note(in, in->rs.v[i]);
		pass_note_vf_claims(p);
		model_publish(in->m);
		for (size_t i = 0; i < in->rs.n; i++)
			apply_record(p, in->rs.v[i]);
		pass_publish(p);
		pass_lift(p);
		model_publish(in->m);
	}
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	if (p->rewrite)
		bring_up_to_date(p);
	pthread_mutex_unlock(&in->save);
	pass_free(p);
}

/* False: nothing came meanwhile; the next kick starts another pass. */
static bool go_on(struct intents *in, const struct pass *p)
{
	unsigned int asks;
	bool again;

	pthread_mutex_lock(&in->turn);
	again = in->again && !in->stopped;
	in->again = false;
	in->passing = again;
	in->passed |= !p->incomplete && !again;
	in->looked = true;
	asks = p->asks & ~in->asks;
	in->asks = p->asks | (in->asks & ASK_OVER);
	pthread_mutex_unlock(&in->turn);
	pthread_cond_broadcast(&in->quiet);
	if (asks)
		pthread_cond_signal(&in->asked);
	return again;
}

static void run_passes(void *ctx)
{
	struct intents *in = ctx;
	struct pass p;

	do {
		p = (struct pass){ .in = in };
		look(&p);
		while (p.jobs) {
			struct restore_job *f = p.jobs;

			p.jobs = f->next;
			job_launch(in, f);
		}
		accepted_answer(in, false);
	} while (go_on(in, &p));
}

/* Call it with turn held. False: the thread must end. */
static bool wait_for_use(struct intents *in, unsigned int ms)
{
	struct timespec until = in_ms(ms);
	int rc = 0;

	while (!in->asks && !in->stopped)
		pthread_cond_wait(&in->asked, &in->turn);
	while (!in->stopped && !rc)
		rc = pthread_cond_timedwait(&in->asked, &in->turn, &until);
	return !in->stopped;
}

/* No event tells that a process has ended or closed a device, so holders are looked for again while
 * something waits. Tries that are due, and postponed writes, need a pass too. */
static void *ask_again(void *ctx)
{
	struct intents *in = ctx;
	unsigned int ms = ASK_MS;

	pthread_mutex_lock(&in->turn);
	while (wait_for_use(in, ms)) {
		unsigned int asks = in->asks;

		in->asks &= ~(unsigned int)ASK_OVER; /* until a pass says otherwise */
		pthread_mutex_unlock(&in->turn);
		if (asks & ASK_USE && in->world.observe_holders)
			in->world.observe_holders(in->world.backend, NULL, 0, now_us(), NULL);
		if (asks & (ASK_OVER | ASK_DUE))
			intents_kick(in);
		ms = !(asks & (ASK_USE | ASK_DUE)) ? ASK_MS : ms < ASK_MAX_MS ? 2 * ms : ASK_MAX_MS;
		pthread_mutex_lock(&in->turn);
	}
	pthread_mutex_unlock(&in->turn);
	return NULL;
}

void intents_restore(struct intents *in, struct engine *e, bool goes_on)
{
	model_lock(in->m);
	pthread_mutex_lock(&in->turn);
	in->world = *engine_world(e);
	in->goes_on = goes_on;
	in->e = e;
	in->run_passes = run_passes;
	pthread_mutex_unlock(&in->turn);
	model_unlock(in->m);
	pthread_mutex_lock(&in->save);
	copy_unsettle(in);
	pthread_mutex_unlock(&in->save);
	in->asking = !thread_start(&in->asker, ask_again, in);
	intents_kick(in);
}

void intents_stop(struct intents *in)
{
	bool over = false;

	if (!in->m) /* never opened, so nothing runs and nothing waits */
		return;
	pthread_mutex_lock(&in->turn);
	in->stopped = true;
	pthread_cond_broadcast(&in->quiet);
	pthread_cond_signal(&in->asked);
	pthread_mutex_unlock(&in->turn);
	if (in->asking)
		pthread_join(in->asker, NULL);
	in->asking = false;
	accepted_answer(in, true);
	pthread_mutex_lock(&in->save);
	for (size_t i = 0; i < in->rs.n; i++)
		over |= in->rs.v[i]->over;
	if (over)
		bring_up_to_date(&(struct pass){ .in = in, .last = true, .incomplete = true });
	pthread_mutex_unlock(&in->save);
}
