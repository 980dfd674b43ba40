// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How what is stored comes back: a pass matches records with devices, notes what needs no act and starts
 * acts for the rest; each change of a device that may matter brings another pass.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "intents.h"
#include "pcidevfs/model.h"

#define TRIES_MAX 16 /* of one wish, while its device comes and goes between drivers and holders */

/* An act for a claim (with its group's records) or a number of VFs (group 0). */
struct flight {
	struct intents *in;
	struct flight *next;
	struct wish wish;
	uint64_t birth;
	uint64_t group;
	bool adopt; /* in use as it should be: nothing is touched but the override */
};

struct pass {
	struct intents *in;
	struct seat *seats; /* by key */
	const char **unmet; /* by seat: why what is stored for it is not applied */
	size_t n, n_unknown;
	bool incomplete; /* a card that is looked for may be one whose serial is not known yet */
	bool loose;	 /* a serial that is not known yet does not matter: nothing is bound */
	bool rewrite;	 /* the file says something that no longer is */
	struct flight *flights;
};

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct seat *)a)->key.name, ((const struct seat *)b)->key.name);
}

/* A serial is read some time after the device was seen. */
static bool is_known(const struct device *dev)
{
	return dev->facts.serial_known || dev->facts.serial;
}

/* With the model locked. */
static int find_seats(struct pass *p)
{
	struct model *m = p->in->m;
	const struct device *dev;
	size_t pos = 0, cap = model_count(m);

	p->seats = calloc(cap ? cap : 1, sizeof(*p->seats));
	p->unmet = calloc(cap ? cap : 1, sizeof(*p->unmet));
	if (!p->seats || !p->unmet)
		return -ENOMEM;
	while ((dev = model_next(m, &pos)) && p->n < cap) {
		struct seat *s = &p->seats[p->n];

		device_identity(m, dev, &s->id);
		s->key = dev->key;
		s->birth = dev->birth;
		s->serial_unknown = !is_known(dev);
		p->n_unknown += s->serial_unknown;
		p->n++;
	}
	qsort(p->seats, p->n, sizeof(*p->seats), by_key);
	return 0;
}

static struct seat *seat_of(const struct pass *p, const struct key *key)
{
	struct seat wanted = { .key = *key };

	return p->n ? bsearch(&wanted, p->seats, p->n, sizeof(*p->seats), by_key) : NULL;
}

static void say_unmet(struct pass *p, const struct key *key, const char *text)
{
	struct seat *s = seat_of(p, key);

	if (s)
		p->unmet[s - p->seats] = text;
}

static const struct device *device_of(const struct intents *in, const struct record *r)
{
	const struct device *dev = r->birth ? model_find(in->m, &r->dev) : NULL;

	return dev && dev->birth == r->birth ? dev : NULL;
}

static void leave_device(struct record *r)
{
	r->birth = 0;
	r->noted = r->claim_in = r->vfs_in = false;
	r->tries = 0;
	r->state = RECORD_WAITING;
}

static void seat_stranger(struct record *r, const struct seat *s)
{
	char text[IDENTITY_TEXT];

	r->state = RECORD_STRANGER;
	r->dev = s->key;
	snprintf(r->reason, sizeof(r->reason),
		 "%.32s is not the device that was here: it is %.80s; accept %.32s in ctl if it replaces that one",
		 s->key.name, identity_text(&s->id, text), s->key.name);
}

static void match_record(struct pass *p, struct record *r)
{
	struct intents *in = p->in;
	enum match match;
	size_t at;

	if (device_of(in, r))
		return;
	if (r->birth)
		leave_device(r);
	match = identity_match(&r->id, p->seats, p->n, &at);
	if (match == MATCH_NONE && p->loose) {
		struct identity loose = r->id;

		loose.serial = 0;
		match = identity_match(&loose, p->seats, p->n, &at);
	}
	if (match == MATCH_STRANGER) {
		seat_stranger(r, &p->seats[at]);
		return;
	}
	r->state = RECORD_WAITING;
	STR_COPY(r->reason, "its device is not there");
	p->incomplete |= match == MATCH_NONE && r->id.serial && p->n_unknown;
	if (match == MATCH_NONE)
		return;
	r->reason[0] = '\0';
	r->dev = p->seats[at].key;
	r->birth = p->seats[at].birth;
	p->rewrite |= strcmp(r->at, r->dev.name) != 0;
}

/* ---- what needs no act */

/* With the model locked. What the model knows already, from before a crash, is newer than the file. */
static void note_record(struct intents *in, struct record *r)
{
	struct device *dev = model_edit(in->m, &r->dev, false);
	struct want *w = dev ? &dev->want : NULL;

	if (!w)
		return;
	r->noted = true;
	r->claim_in |= w->claim[0] || !r->claim[0];
	r->vfs_in |= w->vfs_wanted || !r->vfs_wanted;
	w->single |= r->single;
	if (!w->resource[0])
		STR_COPY(w->resource, r->resource);
	if (!w->former_known && r->former_known && (r->claim[0] || driver_is_vfio(dev->facts.driver))) {
		w->former_known = true;
		STR_COPY(w->former_driver, r->former_driver);
		STR_COPY(w->former_override, r->former_override);
	}
	record_note_owner(r, w);
}

/* Which VFs of each PF a stored wish claims, so that they never meet a host driver. */
static void note_vf_claims(struct pass *p)
{
	struct intents *in = p->in;

	for (size_t i = 0; i < p->n; i++) {
		const struct identity *pf = &p->seats[i].id;
		uint64_t claims[ARRAY_SIZE(((struct want *)0)->vf_claims)] = { 0 };
		const struct device *dev = model_find(in->m, &p->seats[i].key);
		struct device *edit;

		if (pf->vf >= 0 || !dev || dev->facts.total_vfs < 0)
			continue;
		for (size_t k = 0; k < in->rs.n; k++) {
			const struct record *r = in->rs.v[k];
			bool its = r->claim[0] && r->id.vf >= 0 && r->id.ids == pf->ids &&
				   r->id.serial == pf->serial &&
				   (r->id.serial || !strcmp(r->id.path, pf->path));

			if (its && (size_t)r->id.vf < 64 * ARRAY_SIZE(claims))
				claims[r->id.vf / 64] |= 1ull << r->id.vf % 64;
		}
		if (!memcmp(claims, dev->want.vf_claims, sizeof(claims)))
			continue;
		edit = model_edit(in->m, &p->seats[i].key, false);
		if (edit)
			memcpy(edit->want.vf_claims, claims, sizeof(claims));
	}
}

/* ---- what does */

static uint64_t mix(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return h * 31;
}

/* Everything an act may have been refused for, as one number: the same means the same answer. */
static uint64_t digest(const struct device *dev)
{
	const struct facts *f = &dev->facts;
	uint64_t h = 0xcbf29ce484222325ull;

	h = mix(mix(mix(mix(h, f->driver), f->holders), f->critical), f->vfio_driver);
	return h + (uint64_t)f->num_vfs * 7 + f->vfio_ready + 3 * (uint64_t)f->iommu_group + 2 * dev->caps;
}

static bool may_try(struct record *r, uint64_t now)
{
	if (r->tries >= TRIES_MAX || (r->tries && r->tried_for == now))
		return false;
	r->tries++;
	r->tried_for = now;
	return true;
}

static void refuse(struct record *r, enum record_state state, const char *text)
{
	r->state = state;
	STR_COPY(r->reason, text);
}

static struct flight *add_flight(struct pass *p, const struct record *r, const char *file, const char *value)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct flight){ .in = p->in, .next = p->flights, .birth = r->birth };
	f->wish.dev = r->dev;
	STR_COPY(f->wish.file, file);
	STR_COPY(f->wish.value, value);
	p->flights = f;
	return f;
}

static void apply_vfs(struct pass *p, struct record *r, const struct device *dev)
{
	char number[16];
	struct device *edit;

	if (dev->facts.num_vfs > 0) { /* never undone: another number is drift */
		edit = model_edit(p->in->m, &r->dev, false);
		if (edit) {
			edit->want.vfs_wanted = r->vfs_in = true;
			edit->want.num_vfs = r->num_vfs;
		}
		r->state = RECORD_HELD;
		return;
	}
	if (dev->busy[0]) {
		refuse(r, RECORD_WAITING, "another act runs on it");
		return;
	}
	if (!dev->facts.driver[0] || dev->facts.total_vfs < 0) {
		refuse(r, RECORD_WAITING, "the driver that makes its VFs has not come yet");
		return;
	}
	if (!may_try(r, digest(dev)))
		return;
	snprintf(number, sizeof(number), "%d", r->num_vfs);
	r->flying = add_flight(p, r, "sriov_numvfs", number);
}

struct group {
	const struct device *devs[GROUP_MAX];
	struct record *records[GROUP_MAX];
	size_t n;
	const struct device *new; /* a member that was not there when it was claimed */
	const struct device *busy;
	uint64_t digest;
	bool all_vfio, held;
};

static bool pf_flies(const struct intents *in, const struct device *dev)
{
	struct key key;
	const struct device *pf = key_make(BUS_PCI, dev->facts.physfn, &key) ? model_find(in->m, &key) : NULL;
	size_t at = pf ? records_of_device(&in->rs, pf) : RECORD_NONE;

	return (pf && pf->busy[0]) || (at != RECORD_NONE && in->rs.v[at]->flying);
}

/* With the model locked. */
static void look_at_group(const struct intents *in, const struct record *r, const struct device *dev,
			  struct group *g)
{
	g->n = claim_members(in->m, dev, g->devs);
	g->new = g->busy = NULL;
	g->digest = 0;
	g->all_vfio = true;
	g->held = false;
	for (size_t i = 0; i < g->n; i++) {
		const struct device *d = g->devs[i];
		size_t at = records_of_device(&in->rs, d);

		g->records[i] = at == RECORD_NONE ? NULL : in->rs.v[at];
		if (r->group && (!g->records[i] || g->records[i]->group != r->group))
			g->new = d;
		if (d->busy[0] || pf_flies(in, d))
			g->busy = d;
		g->digest += digest(d);
		g->all_vfio &= driver_is_vfio(d->facts.driver);
		g->held |= d->facts.holders[0];
	}
}

static void apply_claim(struct pass *p, struct record *r, const struct device *dev)
{
	struct group g;
	struct flight *f;

	look_at_group(p->in, r, dev, &g);
	if (g.new) {
		bool unknown = !is_known(g.new);

		r->state = unknown ? RECORD_WAITING : RECORD_REFUSED;
		snprintf(r->reason, sizeof(r->reason),
			 unknown ? "%.40s of its IOMMU group is not known yet"
				 : "%.40s is in its IOMMU group now and was not when it was claimed; accept %.40s in "
				   "ctl, or write the claim again",
			 g.new->key.name, dev->key.name);
		return;
	}
	if (g.busy) {
		refuse(r, RECORD_WAITING, "another act runs on it");
		return;
	}
	if (!may_try(r, g.digest))
		return;
	f = add_flight(p, r, "claim", r->claim);
	if (!f)
		return;
	f->group = r->group;
	f->adopt = g.all_vfio && g.held;
	r->flying = true;
	for (size_t i = 0; i < g.n; i++)
		if (g.records[i])
			g.records[i]->flying = true;
}

static void apply_record(struct pass *p, struct record *r)
{
	const struct device *dev = device_of(p->in, r);
	struct identity id;

	if (!dev || r->flying)
		return;
	device_identity(p->in->m, dev, &id);
	p->rewrite |= is_known(dev) && !identity_eq(&id, &r->id);
	p->rewrite |= r->pending && !dev->busy[0];
	if (r->vfs_wanted && !r->vfs_in)
		apply_vfs(p, r, dev);
	else if (r->claim[0] && !r->claim_in)
		apply_claim(p, r, dev);
	else
		r->state = RECORD_HELD;
	if (r->state == RECORD_HELD)
		r->reason[0] = '\0';
}

static void publish_unmet(struct pass *p)
{
	struct intents *in = p->in;

	for (size_t i = 0; i < in->rs.n; i++) {
		const struct record *r = in->rs.v[i];

		if (r->reason[0] && (r->birth || r->state == RECORD_STRANGER) && !r->flying)
			say_unmet(p, &r->dev, r->reason);
	}
	for (size_t i = 0; i < p->n; i++) {
		const struct device *dev = model_find(in->m, &p->seats[i].key);
		const char *text = p->unmet[i] ? p->unmet[i] : "";

		if (dev && strcmp(dev->unmet, text)) {
			struct device *edit = model_edit(in->m, &p->seats[i].key, false);

			if (edit)
				STR_COPY(edit->unmet, text);
		}
	}
}

/* ---- the end of an act */

static bool flies_in(const struct flight *f, const struct record *r)
{
	if (!r->flying)
		return false;
	return f->group ? r->group == f->group : r->birth == f->birth && key_eq(&r->dev, &f->wish.dev);
}

/* With the model locked: what a claim without acts leaves to be written there. */
static void note_claim(struct intents *in, struct record *r, const char *claim)
{
	struct device *dev = model_edit(in->m, &r->dev, false);
	struct want *w = dev ? &dev->want : NULL;

	if (!w || !device_of(in, r))
		return;
	STR_COPY(w->claim, claim);
	if (!w->former_driver[0])
		STR_COPY(w->former_driver, r->former_driver);
	if (!w->former_override[0])
		STR_COPY(w->former_override, r->former_override);
	w->former_known |= r->former_known;
	r->claim_in = true;
}

static void land_record(const struct flight *f, struct record *r, const struct err *err)
{
	bool claim = !strcmp(f->wish.file, "claim");

	r->flying = false;
	if (!err->code) {
		refuse(r, RECORD_HELD, "");
		if (claim)
			note_claim(f->in, r, r->claim);
		else
			r->vfs_in = true;
		return;
	}
	/* What is in use now may be free later: the next change of it brings another try. */
	refuse(r, err->code == EBUSY || err->code == ENODEV || err->code == EAGAIN ? RECORD_WAITING
										   : RECORD_REFUSED,
	       err->text);
}

static void land(struct flight *f, const struct err *err)
{
	struct intents *in = f->in;

	pthread_mutex_lock(&in->save);
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n; i++)
		if (flies_in(f, in->rs.v[i]))
			land_record(f, in->rs.v[i], err);
	model_publish(in->m);
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	pthread_mutex_unlock(&in->save);
	intents_kick(in); /* before it is quiet: a PF's VFs are next */
	pthread_mutex_lock(&in->turn);
	in->flying--;
	pthread_cond_broadcast(&in->quiet);
	pthread_mutex_unlock(&in->turn);
	free(f);
}

static void flight_done(void *ctx, const struct err *err)
{
	land(ctx, err);
}

static void set_override(const struct intents *in, const struct key *key, const char *value)
{
	const struct verb *const *v = in->world.verbs;
	struct step s = { .dev = *key };

	while (v && *v && strcmp((*v)->name, "driver_override"))
		v++;
	if (!v || !*v)
		return;
	s.verb = *v;
	STR_COPY(s.verb_name, (*v)->name);
	STR_COPY(s.value, value);
	(*v)->run(in->world.backend, &s, (*v)->deadline_ms, NULL);
}

/* A guest has it: it is claimed as it was, by nothing but saying so. */
static void adopt(struct engine *e, void *ctx)
{
	static const struct err fine;
	struct flight *f = ctx;
	struct intents *in = f->in;
	const struct device *devs[GROUP_MAX];
	char driver[DRIVER_NAME] = "";
	struct key keys[GROUP_MAX];
	const struct device *dev;
	size_t n = 0;

	(void)e;
	model_lock(in->m);
	dev = model_find(in->m, &f->wish.dev);
	n = dev ? claim_members(in->m, dev, devs) : 0;
	for (size_t i = 0; i < n; i++)
		keys[i] = devs[i]->key;
	if (dev)
		STR_COPY(driver, dev->facts.driver);
	model_unlock(in->m);
	for (size_t i = 0; i < n && driver_is_vfio(driver); i++)
		set_override(in, &keys[i], driver);
	land(f, &fine);
}

static void launch(struct intents *in, struct flight *f)
{
	struct actor self = { .pid = getpid(), .comm = "pcidevfsd" };

	pthread_mutex_lock(&in->turn);
	in->flying++;
	pthread_mutex_unlock(&in->turn);
	if (!f->adopt) {
		txn_submit(in->e, &f->wish, 1, &self, flight_done, f);
	} else if (engine_defer(in->e, adopt, f)) {
		const struct err none = { .code = EAGAIN, .text = "no memory to look at it" };

		land(f, &none);
	}
}

/* ---- the pass */

/* With save held. Serials that came late, acts that ended without a result. */
static void bring_up_to_date(struct intents *in)
{
	struct rewrite w;

	if (rewrite_begin(&w, in, NULL))
		return;
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n; i++) {
		const struct device *dev = device_of(in, in->rs.v[i]);
		struct record *r = dev ? rewrite_edit(&w, i) : NULL;

		if (!r)
			continue;
		if (is_known(dev))
			device_identity(in->m, dev, &r->id);
		STR_COPY(r->at, dev->key.name);
		r->pending &= dev->busy[0] != '\0';
		if (!r->claim[0] && !r->pending && !driver_is_vfio(dev->facts.driver))
			r->former_known = false;
		if (record_is_empty(r))
			rewrite_drop(&w, i);
	}
	model_unlock(in->m);
	rewrite_commit(&w, NULL);
}

static void look(struct pass *p)
{
	struct intents *in = p->in;

	pthread_mutex_lock(&in->save);
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	if (in->rs.n && !find_seats(p)) {
		for (size_t i = 0; i < in->rs.n; i++)
			match_record(p, in->rs.v[i]);
		for (size_t i = 0; i < in->rs.n; i++)
			if (in->rs.v[i]->birth && !in->rs.v[i]->noted)
				note_record(in, in->rs.v[i]);
		note_vf_claims(p);
		model_publish(in->m);
		for (size_t i = 0; i < in->rs.n; i++)
			apply_record(p, in->rs.v[i]);
		publish_unmet(p);
		model_publish(in->m);
	}
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	if (p->rewrite)
		bring_up_to_date(in);
	pthread_mutex_unlock(&in->save);
	free(p->seats);
	free(p->unmet);
}

void intents_note(struct intents *in)
{
	struct pass p = { .in = in, .loose = true };

	pthread_mutex_lock(&in->save);
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = find_seats(&p) ? in->rs.n : 0; i < in->rs.n; i++) {
		struct record *r = in->rs.v[i];

		match_record(&p, r);
		if (!r->birth)
			continue;
		note_record(in, r);
		if (r->claim[0] && !r->claim_in)
			note_claim(in, r, r->claim);
	}
	model_publish(in->m);
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	pthread_mutex_unlock(&in->save);
	free(p.seats);
	free(p.unmet);
}

/* False: nothing came meanwhile, and another pass starts with the next kick. */
static bool go_on(struct intents *in, const struct pass *p)
{
	bool again;

	pthread_mutex_lock(&in->turn);
	again = in->again && !in->stopped;
	in->again = false;
	in->passing = again;
	in->passed |= !p->incomplete && !again;
	pthread_cond_broadcast(&in->quiet);
	pthread_mutex_unlock(&in->turn);
	return again;
}

static void run_passes(struct engine *e, void *ctx)
{
	struct intents *in = ctx;
	struct pass p;

	(void)e;
	do {
		p = (struct pass){ .in = in };
		look(&p);
		while (p.flights) {
			struct flight *f = p.flights;

			p.flights = f->next;
			launch(in, f);
		}
	} while (go_on(in, &p));
}

void intents_kick(struct intents *in)
{
	bool start;

	pthread_mutex_lock(&in->turn);
	start = in->e && !in->passing && !in->stopped;
	in->again = !start;
	in->passing |= start;
	pthread_mutex_unlock(&in->turn);
	if (!start || !engine_defer(in->e, run_passes, in))
		return;
	pthread_mutex_lock(&in->turn);
	in->passing = false; /* no memory; the next change tries again */
	pthread_mutex_unlock(&in->turn);
}

void intents_changed(void *ctx, const struct change *changes, size_t n)
{
	const uint32_t matters = CH_IDENTITY | CH_DRIVER | CH_GROUP | CH_VFS | CH_CRITICAL | CH_HOLDERS | CH_CLAIM |
				 CH_STATE | CH_INTERNAL;
	bool kick = false;

	for (size_t i = 0; i < n; i++)
		kick |= changes[i].action != ACTION_CHANGE || (changes[i].bits & matters);
	if (kick)
		intents_kick(ctx);
}

void intents_restore(struct intents *in, struct engine *e)
{
	pthread_mutex_lock(&in->turn);
	in->world = *engine_world(e);
	in->e = e;
	pthread_mutex_unlock(&in->turn);
	intents_kick(in);
}

bool intents_settled(struct intents *in, unsigned int ms)
{
	struct timespec until;
	bool settled;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&in->turn);
	while ((!in->passed || in->passing || in->flying) && !in->stopped && !rc)
		rc = pthread_cond_timedwait(&in->quiet, &in->turn, &until);
	settled = in->passed && !in->passing && !in->flying;
	pthread_mutex_unlock(&in->turn);
	return settled;
}

void intents_stop(struct intents *in)
{
	pthread_mutex_lock(&in->turn);
	in->stopped = true;
	pthread_cond_broadcast(&in->quiet);
	pthread_mutex_unlock(&in->turn);
}

void intents_lift(struct intents *in)
{
	const struct device *dev;
	size_t pos = 0;

	for (;;) {
		char value[DRIVER_NAME];
		struct key key;

		model_lock(in->m);
		while ((dev = model_next(in->m, &pos)))
			if (dev->want.claim[0] && driver_is_vfio(dev->facts.driver) &&
			    !driver_is_vfio(dev->want.former_override))
				break;
		if (dev) {
			key = dev->key;
			STR_COPY(value, dev->want.former_override);
		}
		model_unlock(in->m);
		if (!dev)
			return;
		set_override(in, &key, value);
	}
}
