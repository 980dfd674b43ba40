// SPDX-License-Identifier: GPL-2.0-or-later
/* The intents of a device before an operation. An undo puts back those that the operation itself
 * changed. The rest belongs to others: owners may be set while it runs, and a device without steps
 * is not even busy. Call all with the model locked. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "operation.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

enum whose { EARLY, SETTLED, OTHERS };

static const struct snapshot_part {
	size_t at, size;
	enum whose whose;
} parts[] = {
#define PART(field, whose)                                                                         \
	{ offsetof(struct intent, field), sizeof(((struct intent *)0)->field), whose },
#define INTENT(type, name, bit, whose) PART(name, whose)
#define INTENT_TEXT(name, size, bit, whose) PART(name, whose)
#define INTENT_ARRAY(type, name, n, bit, whose) PART(name, whose)
#include "pcidevfs/intents.def"
};

_Static_assert(ARRAY_SIZE(parts) < 64, "a bit for each part");
#define ALL_PARTS ((UINT64_C(1) << ARRAY_SIZE(parts)) - 1)

bool snapshot_knows(size_t offset)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (offset >= parts[i].at && offset < parts[i].at + parts[i].size)
			return true;
	return false;
}

static void copy_part(const struct snapshot_part *p, struct intent *to, const struct intent *from)
{
	memcpy((char *)to + p->at, (const char *)from + p->at, p->size);
}

static bool part_differs(const struct snapshot_part *p, const struct intent *a,
			 const struct intent *b)
{
	return memcmp((const char *)a + p->at, (const char *)b + p->at, p->size);
}

static uint64_t ids_of(const struct device *d)
{
	const struct facts *f = &d->facts;

	return (uint64_t)f->vendor << 48 | (uint64_t)f->device << 32 |
	       (uint64_t)f->subvendor << 16 | f->subdevice;
}

static void save(struct snapshot *s, const struct txn *t, const struct device *d)
{
	s->dev = d->key;
	s->birth = d->birth;
	s->parent = d->facts.parent;
	s->ids = ids_of(d);
	s->intent = s->noted = d->intent;
	s->mine = t->noting ? ALL_PARTS : 0;
}

int snapshot_add(struct txn *t, const struct key *dev, struct err *err)
{
	const struct device *d = model_find(model_of(t), dev);
	struct op_log *log = t->log;
	uint32_t n = atomic_load(&log->n_snapshots), i = 0;

	while (i < n && !key_eq(&log->snapshots[i].dev, dev))
		i++;
	/* Intents of a card that is gone do not apply to the one in its place. */
	if (!d || (i < n && (log->snapshots[i].birth == d->birth || op_remakes(t, d))))
		return 0;
	if (i == PLAN_DEVICES)
		return fail(err, E2BIG, "this concerns more than %d devices", PLAN_DEVICES);
	if (logs_reserve(&t->engine->logs, &log->snapshots[i], sizeof(*log->snapshots), err))
		return -ENOMEM;
	save(&log->snapshots[i], t, d);
	atomic_store(&log->n_snapshots, i < n ? n : n + 1);
	return 0;
}

static const struct device *still_there(const struct txn *t, const struct snapshot *s)
{
	const struct device *d = model_find(model_of(t), &s->dev);

	return d && d->birth == s->birth ? d : NULL;
}

void snapshot_note(struct txn *t)
{
	struct op_log *log = t->log;

	for (uint32_t i = 0; i < atomic_load(&log->n_snapshots); i++) {
		const struct device *d = still_there(t, &log->snapshots[i]);

		if (d)
			log->snapshots[i].noted = d->intent;
	}
}

static void forget_steps(struct op_log *log, const struct key *dev)
{
	for (uint32_t i = 0; i < atomic_load(&log->n_steps); i++)
		log->steps[i].done &= !key_eq(&log->steps[i].dev, dev);
}

/* What was stored before is noted by the next pass, once the devices are no longer busy. */
void snapshot_adopt(struct txn *t)
{
	struct op_log *log = t->log;

	for (uint32_t i = 0; i < atomic_load(&log->n_snapshots) && log->orphan == ORPHAN_NEW; i++) {
		struct snapshot *s = &log->snapshots[i];
		struct device *d = model_edit(model_of(t), &s->dev, false);

		s->mine = 0;
		s->birth = d && ids_of(d) == s->ids ? d->birth : 0;
		if (d && !s->birth)
			forget_steps(log, &s->dev);
		if (!s->birth)
			continue;
		s->intent = d->intent;
		for (size_t k = 0; k < ARRAY_SIZE(parts); k++)
			if (parts[k].whose == EARLY)
				copy_part(&parts[k], &d->intent, &s->noted);
	}
	log->orphan = log->orphan ? ORPHAN : ORPHAN_NOT;
}

/* A process that died in the middle of this had noted its own parts; others may have changed the
 * rest since. */
void snapshot_begin(struct txn *t)
{
	struct op_log *log = t->log;

	t->noting = true;
	for (uint32_t i = 0; i < atomic_load(&log->n_snapshots); i++) {
		struct snapshot *s = &log->snapshots[i];
		const struct device *d = still_there(t, s);

		for (size_t k = 0; k < ARRAY_SIZE(parts) && d; k++)
			if (!(s->mine & UINT64_C(1) << k) &&
			    (!t->marked || parts[k].whose != EARLY))
				copy_part(&parts[k], &s->intent, &d->intent);
		s->mine = ALL_PARTS;
	}
}

void snapshot_end(struct txn *t)
{
	struct op_log *log = t->log;

	t->noting = false;
	for (uint32_t i = 0; i < atomic_load(&log->n_snapshots); i++) {
		struct snapshot *s = &log->snapshots[i];
		const struct device *d = still_there(t, s);

		for (size_t k = 0; k < ARRAY_SIZE(parts) && d; k++)
			if (!part_differs(&parts[k], &s->intent, &d->intent))
				s->mine &= ~(UINT64_C(1) << k);
	}
}

bool snapshot_is_idle(const struct txn *t)
{
	bool idle = !atomic_load(&t->log->n_steps);

	for (uint32_t i = 0; i < atomic_load(&t->log->n_snapshots) && idle; i++) {
		const struct snapshot *s = &t->log->snapshots[i];
		const struct device *d = model_find(model_of(t), &s->dev);

		idle = !s->mine && !(d && (d->stuck[0] || d->unmet[0] || device_is_coming(d)));
	}
	return idle;
}

static void put_back(const struct txn *t, struct snapshot *s, struct device *d)
{
	for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
		bool noted = s->mine & UINT64_C(1) << k;
		bool early = t->marked && parts[k].whose == EARLY;

		if ((noted || early) && parts[k].whose != OTHERS)
			copy_part(&parts[k], &d->intent, &s->intent);
	}
	s->mine = 0;
}

/* A device that the operation removed and made again starts without intents, except owners, which
 * are set when it appears. */
static void put_all_back(const struct snapshot *s, struct device *d)
{
	const struct intent now = d->intent;

	d->intent = s->intent;
	if (!now.n_owners)
		return;
	d->intent.n_owners = now.n_owners;
	d->intent.owned = now.owned;
	d->intent.uid = now.uid;
	d->intent.gid = now.gid;
}

void snapshot_put_back(struct txn *t)
{
	struct op_log *log = t->log;

	for (uint32_t i = 0; i < atomic_load(&log->n_snapshots); i++) {
		struct snapshot *s = &log->snapshots[i];
		struct device *d = model_edit(model_of(t), &s->dev, false);

		if (d && d->birth == s->birth)
			put_back(t, s, d);
		else if (d && !log->orphan && op_remakes(t, d) && op_holds(t, d))
			put_all_back(s, d);
	}
}
