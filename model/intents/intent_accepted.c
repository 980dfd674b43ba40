// SPDX-License-Identifier: GPL-2.0-or-later
/* Whoever has accepted a device is answered once what it was accepted for has been tried. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "intents.h"
#include "pcidevfs/model.h"

struct accepted {
	struct key dev;
	struct settler by;
	uint64_t looks; /* at that time: no earlier pass has seen it */
	struct accepted *next;
};

bool accepted_add(struct intents *in, const struct key *dev, const struct settler *by)
{
	struct accepted *a = by->done ? malloc(sizeof(*a)) : NULL;
	bool waits = false;

	if (!a)
		return false;
	*a = (struct accepted){ .dev = *dev, .by = *by, .looks = in->looks };
	pthread_mutex_lock(&in->turn);
	if (in->e && !in->stopped) {
		a->next = in->accepted;
		in->accepted = a;
		waits = true;
	}
	pthread_mutex_unlock(&in->turn);
	if (!waits)
		free(a);
	return waits;
}

/* False: an operation for it runs, or has to wait for another one. */
static bool is_tried(struct intents *in, const struct accepted *a, struct err *ret)
{
	const struct key *key = &a->dev;
	const struct device *dev;
	const struct record *r = NULL;
	bool tried;
	size_t at;

	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	dev = model_find(in->m, key);
	at = dev ? records_of_device(&in->rs, dev) : RECORD_NONE;
	r = at == RECORD_NONE ? NULL : in->rs.v[at];
	tried = in->looks > a->looks && !(r && (r->restoring || dev->busy[0]));
	if (!dev && tried)
		fail(ret, ENODEV, "%s is gone", key->name);
	else if (tried && r && r->state != RECORD_HELD)
		fail(ret, EBUSY, "%s is accepted, but what is stored for it is not applied: %s",
		     key->name, r->reason);
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
	return tried;
}

void accepted_answer(struct intents *in, bool last)
{
	struct accepted *all, *next;

	pthread_mutex_lock(&in->turn);
	all = in->accepted;
	in->accepted = NULL;
	pthread_mutex_unlock(&in->turn);
	for (; all; all = next) {
		struct err err = { 0 };
		bool tried = is_tried(in, all, &err), waits = !tried && !last;

		next = all->next;
		pthread_mutex_lock(&in->turn);
		waits &= !in->stopped;
		if (waits) {
			all->next = in->accepted;
			in->accepted = all;
		}
		pthread_mutex_unlock(&in->turn);
		if (waits)
			continue;
		if (!tried)
			fail(&err, EBUSY, "%s is accepted, but the daemon ends before its claim",
			     all->dev.name);
		all->by.done(all->by.ctx, &err);
		free(all);
	}
}
