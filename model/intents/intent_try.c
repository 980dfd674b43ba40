// SPDX-License-Identifier: GPL-2.0-or-later
/* How often a record is tried, and the last answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "model/diff.h"
#include "pcidevfs/model.h"

#define TRIES_MAX                                                                                  \
	16 /* of one request, while its device moves between drivers and holders */

/* From 2 s on, each time twice as long as before; 64 s at most. */
#define DUE_MS UINT64_C(1000)
#define DUE_MAX 6

/* Fields that people write to look at the device, and results of the last try: no operation is
 * refused because of them. */
#define CH_TOLD                                                                                    \
	(CH_WRITTEN | CH_STATE | CH_REASON | CH_CLAIMABLE | CH_BEHIND | CH_UNSATISFIED)

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
	if (!r->tries && !r->busy_tries)
		return false;
	return r->busy_tries < TRIES_MAX ? r->tried_for.all == now->all
					 : r->tried_for.rough == now->rough;
}

bool record_would_try(const struct record *r, const struct sight *now)
{
	return record_has_tries(r) && (!looks_same(r, now) || r->retry);
}

bool record_may_try(struct record *r, const struct sight *now)
{
	if (!record_would_try(r, now))
		return false;
	r->retry = false;
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

/* What is full may get room. */
static void say_full(struct record *r, const struct persist *k, const char *text)
{
	char whole[ERR_TEXT], way_out[100];
	int n = snprintf(way_out, sizeof(way_out),
			 "; it comes when there is room: write %s to its %s to give it up", k->none,
			 k->file);

	STR_COPY(whole, text);
	str_fit(whole, sizeof(r->reason) - (size_t)n);
	snprintf(r->reason, sizeof(r->reason), "%.*s%s", (int)sizeof(r->reason) - n - 1, whole,
		 way_out);
}

void record_tried(struct record *r, const struct persist *k, const struct err *err)
{
	bool busy = err->code == EBUSY, passes = busy || err->code == EAGAIN;
	unsigned int n;
	char text[ERR_TEXT];

	r->busy_tries = busy ? r->busy_tries + 1 : 0;
	n = busy ? r->busy_tries : r->tries;
	r->due = passes ? now_ms() + (DUE_MS << (n < DUE_MAX ? n : DUE_MAX)) : 0;
	r->tries -= busy && r->tries;
	/* A device in use may be free later: the next change triggers another try. */
	record_say(r, passes || err->code == ENODEV ? RECORD_WAITING : RECORD_REFUSED, err->text);
	r->full = err->code == ENOSPC;
	if (r->full)
		say_full(r, k, err->text);
	if (record_has_tries(r))
		return;
	r->due = 0;
	STR_COPY(text, err->text);
	str_fit(text, 151);
	snprintf(
		r->reason, sizeof(r->reason),
		"%.150s; given up after %d tries, until it is written again or the device comes "
		"back",
		text, TRIES_MAX);
}

void record_say_busy(struct record *r)
{
	r->retry = true;
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
	k->value(r, f->request.value);
	p->jobs = f;
	return f;
}
