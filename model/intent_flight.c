// SPDX-License-Identifier: GPL-2.0-or-later
/* One act by which a record is applied: its start, its end, and what needs no act because a guest has it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "intents.h"
#include "kept.h"
#include "pcidevfs/model.h"

struct flight *flight_add(struct pass *p, const struct record *r, const struct kept *k)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct flight){ .in = p->in, .next = p->flights, .wish = { .dev = r->dev, .restores = true } };
	STR_COPY(f->wish.file, k->file);
	k->value(r, f->wish.value);
	p->flights = f;
	return f;
}

void record_say(struct record *r, enum record_state state, const char *text)
{
	r->state = state;
	STR_COPY(r->reason, text);
}

static void land_record(struct record *r, const struct err *err)
{
	r->flying = NULL;
	if (!err->code) {
		record_say(r, RECORD_HELD, "");
		return;
	}
	/* What is in use now may be free later: the next change of it brings another try. */
	record_say(r, err->code == EBUSY || err->code == ENODEV || err->code == EAGAIN ? RECORD_WAITING
										   : RECORD_REFUSED,
	       err->text);
}

static void land(struct flight *f, const struct err *err)
{
	struct intents *in = f->in;

	pthread_mutex_lock(&in->save);
	pthread_mutex_lock(&in->lock);
	for (size_t i = 0; i < in->rs.n; i++)
		if (in->rs.v[i]->flying == f)
			land_record(in->rs.v[i], err);
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

/* Says in the model that the records' devices are claimed, where that is still what is stored. Returns how many. */
static size_t note_adopted(struct flight *f, struct key keys[GROUP_MAX])
{
	struct intents *in = f->in;
	size_t n = 0;

	pthread_mutex_lock(&in->save);
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n && n < GROUP_MAX; i++) {
		struct record *r = in->rs.v[i];

		if (r->flying != f || strcmp(r->want.claim, f->wish.value) || !device_of(in, r))
			continue;
		record_note_claim(in, r);
		keys[n++] = r->dev;
	}
	model_publish(in->m);
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	pthread_mutex_unlock(&in->save);
	return n;
}

/* A guest has it: it is claimed as it was, by nothing but saying so. */
static void adopt(struct engine *e, void *ctx)
{
	static const struct err fine;
	struct flight *f = ctx;
	struct intents *in = f->in;
	char driver[DRIVER_NAME] = "";
	struct key keys[GROUP_MAX];
	size_t n = note_adopted(f, keys);

	(void)e;
	for (size_t i = 0; i < n; i++) {
		const struct device *dev;

		model_lock(in->m);
		dev = model_find(in->m, &keys[i]);
		STR_COPY(driver, dev ? dev->facts.driver : "");
		model_unlock(in->m);
		if (driver_is_vfio(driver))
			set_override(in, &keys[i], driver);
	}
	land(f, &fine);
}

void flight_launch(struct intents *in, struct flight *f)
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

void intents_lift(struct intents *in)
{
	const struct device *dev;
	size_t pos = 0;

	for (;;) {
		char value[DRIVER_NAME];
		struct key key;

		model_lock(in->m);
		while ((dev = model_next(in->m, &pos)))
			if (dev->want.claim[0] && !dev->busy[0] && driver_is_vfio(dev->facts.driver) &&
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
