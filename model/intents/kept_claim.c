// SPDX-License-Identifier: GPL-2.0-or-later
/* A claim as it is kept: with the driver that has the device for it, what the device had before, and the
 * IOMMU group that it was claimed with. The whole group comes back by one act, or none of it. */
#include <errno.h>
#include <string.h>

#include "intents.h"
#include "kept.h"
#include "pcidevfs/model.h"

/* ---- in the file */

/* A pair has a key of its own (record_set()); this one is of what had nothing. */
static int former_parse(struct record *r, const char *text)
{
	r->want.former_known = true;
	return text[0] ? -EINVAL : 0;
}

static void former_print(const struct record *r, struct out *o)
{
	char key[sizeof(FORMER_KEY) + FORMER_NAME], name[FORMER_NAME], value[FORMER_TEXT];
	const char *text = r->want.former;

	if (!r->want.former_known)
		return;
	if (!text[0])
		kept_print(o, "former", "");
	while (former_next(&text, name, value)) {
		snprintf(key, sizeof(key), FORMER_KEY "%s", name);
		kept_print(o, key, value);
	}
}

static int group_parse(struct record *r, const char *text)
{
	struct identity id;
	int rc = identity_parse_serial(text[0] ? text : "none", &id);

	if (!rc)
		r->group = id.serial;
	return rc;
}

static void group_print(const struct record *r, struct out *o)
{
	if (r->group)
		out_printf(o, " group=%016llx", (unsigned long long)r->group);
}

/* ---- what the model says, and is told */

/* A device that came back without its host driver had one all the same. */
static void follow_former(struct record *r, const struct want *want, bool same_claim)
{
	char former[FORMER_TEXT];

	STR_COPY(former, want->former);
	if (same_claim)
		former_fill(former, r->want.former);
	STR_COPY(r->want.former, former);
	r->want.former_known = want->former_known || (same_claim && r->want.former_known);
}

static void claim_follow(struct model *m, struct record *r, const struct device *dev)
{
	bool same = r->want.claim[0] && !strcmp(r->want.claim, dev->want.claim);

	kept_copy(&kept_claim, &r->want, &dev->want);
	if (!same) /* a member that is away just now stays of it */
		r->group = r->want.claim[0] ? claim_group(m, dev) : 0;
	if (dev->facts.use == USE_GUEST)
		STR_COPY(r->driver, r->want.claim[0] ? dev->facts.driver : "");
	follow_former(r, &dev->want, same);
	if (!r->want.claim[0] && !r->pending)
		r->want.former_known = false;
}

static void claim_note(struct record *r, struct device *dev)
{
	struct want *w = &dev->want;

	if (r->want.claim[0] && !w->pinned[0])
		STR_COPY(w->pinned, r->want.pinned);
	if (!w->former_known && r->want.former_known &&
	    (r->want.claim[0] || r->cut || dev->facts.use == USE_GUEST)) {
		w->former_known = true;
		STR_COPY(w->former, r->want.former);
	}
}

void record_note_claim(struct intents *in, struct record *r)
{
	struct device *dev = model_edit(in->m, &r->dev, false);
	struct want *w = dev ? &dev->want : NULL;

	if (!w || !device_of(in, r))
		return;
	STR_COPY(w->claim, r->want.claim);
	if (!w->pinned[0])
		STR_COPY(w->pinned, r->want.pinned[0] ? r->want.pinned : dev->names.resource);
	former_fill(w->former, r->want.former);
	w->former_known |= r->want.former_known;
	r->in |= kept_bit(&kept_claim);
}

/* ---- the act that brings it back */

static void claim_value(const struct record *r, char ret[static WISH_VALUE])
{
	str_copy(ret, WISH_VALUE, r->want.claim);
}

struct group {
	const struct device *devs[CLAIM_MEMBERS];
	struct record *records[CLAIM_MEMBERS];
	size_t n;
	const struct device *new; /* a member that was not there when it was claimed */
	const struct device *busy;
	struct sight sight;
	bool all_guest, held;
};

static bool pf_flies(const struct pass *p, const struct device *dev)
{
	const struct device *pf = model_parent(p->in->m, dev);
	const struct record *r = pf ? pass_record(p, &pf->key) : NULL;

	return (pf && pf->busy[0]) || (r && r->flying);
}

/* With the model locked. */
static void look_at_group(const struct pass *p, const struct record *r, const struct device *dev,
			  struct group *g)
{
	g->n = model_claim_members(p->in->m, dev, g->devs, NULL);
	g->new = g->busy = NULL;
	g->sight = (struct sight){ 0 };
	g->all_guest = true;
	g->held = false;
	for (size_t i = 0; i < g->n; i++) {
		const struct device *d = g->devs[i];

		g->records[i] = pass_record(p, &d->key);
		if (r->group && (!g->records[i] || g->records[i]->group != r->group))
			g->new = d;
		if (d->busy[0] || pf_flies(p, d))
			g->busy = d;
		sight_add(&g->sight, d);
		g->all_guest &= d->facts.use == USE_GUEST;
		g->held |= d->facts.holder[0];
	}
}

static void refuse_new(struct record *r, const struct device *new, const struct device *dev)
{
	bool unknown = !device_is_known(new);

	r->decided |= !unknown;
	r->state = unknown ? RECORD_WAITING : RECORD_REFUSED;
	snprintf(
		r->reason, sizeof(r->reason),
		unknown ? "%.40s of its IOMMU group is not known yet"
			: "%.40s is in its IOMMU group now and was not when it was claimed; accept %.40s in "
			  "ctl, or write the claim again",
		new->key.name, dev->key.name);
}

static void claim_apply(struct pass *p, struct record *r, const struct device *dev)
{
	struct group g;
	struct flight *f;

	look_at_group(p, r, dev, &g);
	if (g.new) {
		refuse_new(r, g.new, dev);
		return;
	}
	if (g.busy) {
		record_say_busy(r);
		return;
	}
	if (!record_may_try(r, &g.sight)) {
		p->in_use |= g.held && !g.all_guest && record_has_tries(r);
		return;
	}
	f = flight_add(p, r, &kept_claim, &r->dev);
	r->flying = f;
	for (size_t i = 0; f && i < g.n; i++)
		if (g.records[i]) { /* one for all */
			g.records[i]->flying = f;
			g.records[i]->tries = r->tries;
			g.records[i]->busy_tries = r->busy_tries;
			g.records[i]->retry = false;
			g.records[i]->tried_for = r->tried_for;
		}
}

/* Of a PF it is not known which of its acts it was, unless it tells what it had before. A VF that had no driver
 * tells nothing; what is on vfio-pci by now may have been so, unless it was not there at all. */
static enum half claim_half(const struct record *r, const struct device *dev)
{
	bool guest = dev->facts.use == USE_GUEST, former = r->want.former_known;

	if (r->want.claim[0] || !(former || guest || dev->facts.total_vfs < 0))
		return HALF_NOT;
	return former || !guest || r->unborn ? HALF_MENDS : HALF_STAYS;
}

static bool claim_drifted(const struct record *r, const struct device *dev, char *ret, size_t size)
{
	if (dev->facts.use == USE_GUEST)
		return false;
	(void)r;
	snprintf(ret, size, "its driver is %s; write the claim again to take it back",
		 dev->facts.driver[0] ? dev->facts.driver : "none");
	return true;
}

static const char *claim_early(const struct record *r)
{
	return r->driver;
}

const struct kept kept_claim = {
	.file = "claim",
	.keys = { KEPT_KEY("claim", KEY_TEXT, false, want.claim), KEPT_KEY("driver", KEY_TEXT, true, driver),
		  KEPT_OTHER("former", former_parse, former_print), KEPT_OTHER("group", group_parse, group_print),
		  KEPT_KEY("offered_as", KEY_TEXT, true, want.pinned) },
	.fields = { KEPT_TEXT(claim), KEPT_TEXT(pinned) },
	.of_group = true,
	.with_claim = true,
	.ends = &kept_vfs,
	.follow = claim_follow,
	.note = claim_note,
	.value = claim_value,
	.none = "none",
	.apply = claim_apply,
	.half = claim_half,
	.drifted = claim_drifted,
	.tells_drift = true,
	.early = claim_early,
};

/* ---- what a pod was given with it */

/* That a pod has it must be on the disk before the pod does. That it is over may be there later, so that the next pod
 * waits for no disk; a crash before that takes it for a pod's, whose it is not known. */
static void given_follow(struct model *m, struct record *r, const struct device *dev)
{
	bool over = r->want.given_as[0] && dev->want.claim[0] && !dev->want.given_as[0];

	(void)m;
	STR_COPY(r->want.given, dev->want.given);
	if (!over)
		STR_COPY(r->want.given_as, dev->want.given_as);
	r->over = over ? r->over ?: now_us() : 0;
}

static void given_note(struct record *r, struct device *dev)
{
	struct want *w = &dev->want;

	if (w->claim[0] || w->given[0] || w->given_as[0]) {
		given_follow(NULL, r, dev);
		return;
	}
	kept_copy(&kept_given, w, &r->want);
	STR_COPY(w->allocated, r->want.claim[0] && w->given_as[0] ? "pending" : "");
}

const struct kept kept_given = {
	.file = "allocated_to",
	.keys = { KEPT_KEY("allocated_nodes", KEY_TEXT, true, want.given),
		  KEPT_KEY("allocated_as", KEY_TEXT, true, want.given_as) },
	.fields = { KEPT_TEXT(given), KEPT_TEXT(given_as) },
	.of_group = true,
	.with_claim = true,
	.follow = given_follow,
	.note = given_note,
};
