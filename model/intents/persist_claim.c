// SPDX-License-Identifier: GPL-2.0-or-later
/* A claim as an intent: with the driver that has the device for it, the former state of the device,
 * and the IOMMU group that was claimed. One operation restores the whole group, or nothing. */
#include <errno.h>
#include <string.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"

/* ---- in the file */

/* Pairs have keys of their own; this key is for a device that had nothing. */
static int former_parse(struct record *r, const char *text)
{
	r->intent.former_known = true;
	return text[0] ? -EINVAL : 0;
}

static void former_print(const struct record *r, struct out *o)
{
	char key[sizeof(FORMER_KEY) + FORMER_NAME], name[FORMER_NAME], value[FORMER_TEXT];
	const char *text = r->intent.former;

	if (!r->intent.former_known)
		return;
	if (!text[0])
		persist_print(o, "former", "");
	while (former_next(&text, name, value)) {
		snprintf(key, sizeof(key), FORMER_KEY "%s", name);
		persist_print(o, key, value);
	}
}

static int group_parse(struct record *r, const char *text)
{
	struct identity id;
	int rc = identity_parse_serial(text, &id);

	if (!rc)
		r->group = id.serial;
	return rc;
}

static void group_print(const struct record *r, struct out *o)
{
	if (r->group)
		out_printf(o, " group=%016llx", (unsigned long long)r->group);
}

/* ---- from and to the model */

/* A device that came back without its host driver still had one before. */
static void follow_former(struct record *r, const struct intent *want, bool same_claim)
{
	char former[FORMER_TEXT];

	STR_COPY(former, want->former);
	if (same_claim)
		former_fill(former, r->intent.former);
	STR_COPY(r->intent.former, former);
	r->intent.former_known = want->former_known || (same_claim && r->intent.former_known);
}

static void claim_follow(struct model *m, struct record *r, const struct device *dev)
{
	bool same = r->intent.claim[0] && !strcmp(r->intent.claim, dev->intent.claim);

	persist_copy(&persist_claim, &r->intent, &dev->intent);
	if (!same) /* a member that is absent now still belongs to it */
		r->group = r->intent.claim[0] ? claim_group(m, dev) : 0;
	if (dev->facts.use == USE_GUEST)
		STR_COPY(r->driver, r->intent.claim[0] ? dev->facts.driver : "");
	follow_former(r, &dev->intent, same);
	if (!r->intent.claim[0] && !r->boot[0])
		r->intent.former_known = false;
}

static void claim_note(const struct persist *k, struct record *r, struct device *dev, bool ended)
{
	struct intent *w = &dev->intent;

	if (ended)
		return;
	if (r->intent.claim[0] && !w->pinned[0])
		STR_COPY(w->pinned, r->intent.pinned);
	if (r->intent.claim[0] && !w->claim[0])
		STR_COPY(w->forced, r->intent.forced);
	if (!w->former_known && r->intent.former_known &&
	    (r->intent.claim[0] || r->interrupted || dev->facts.use == USE_GUEST)) {
		w->former_known = true;
		STR_COPY(w->former, r->intent.former);
	}
}

/* ---- the restore job */

struct group {
	const struct device *devs[CLAIM_MEMBERS];
	struct record *records[CLAIM_MEMBERS];
	size_t n;
	const struct device *new; /* a member that was not part of the claimed group */
	const struct device *busy;
	struct sight sight;
	bool all_guest, held;
};

/* Call it with the model locked. */
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
		if (d->busy[0] || pass_parent_busy(p, d))
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
	struct restore_job *f;

	look_at_group(p, r, dev, &g);
	if (g.new) {
		refuse_new(r, g.new, dev);
		return;
	}
	if (g.busy) {
		record_say_busy(r);
		return;
	}
	for (size_t i = 0; i < g.n; i++)
		if (g.records[i] && record_awaits_serial(p, g.records[i], g.devs[i])) {
			record_say(r, RECORD_WAITING, g.records[i]->reason);
			return;
		}
	if (!record_may_try(r, &g.sight)) {
		if (g.held && !g.all_guest && record_has_tries(r))
			p->asks |= ASK_USE;
		return;
	}
	f = job_add(p, r, &persist_claim, &r->dev);
	r->restoring = f;
	for (size_t i = 0; f && i < g.n; i++)
		if (g.records[i]) { /* one operation for all */
			g.records[i]->restoring = f;
			g.records[i]->tries = r->tries;
			g.records[i]->busy_tries = r->busy_tries;
			g.records[i]->tried_for = r->tried_for;
		}
}

static bool claim_drifted(const struct persist *k, const struct record *r, const struct device *dev,
			  char *ret, size_t size)
{
	char serial[FORMER_TEXT];

	if (r->elsewhere.bus && record_host_serial(r, serial)) {
		snprintf(
			ret, size,
			"the claimed card, serial number %.44s, is %.48s, so this is another one; write none to its claim",
			serial, r->elsewhere.name);
		return true;
	}
	if (dev->facts.use == USE_GUEST)
		return false;
	snprintf(ret, size, "its driver is %s; write the claim again to take it back",
		 dev->facts.driver[0] ? dev->facts.driver : "none");
	return true;
}

/* A driver that meets a claimed USB device is no decision of others: it comes with a configuration, a
 * reset or a module. */
static bool claim_lost(const struct device *dev, bool gone)
{
	return dev->caps & CAP_USB && dev->facts.use == USE_HOST;
}

const struct persist persist_claim = {
	.file = "claim",
	.keys = { PERSIST_KEY("claim", KEY_TEXT, false, intent.claim),
		  PERSIST_KEY("driver", KEY_TEXT, true, driver),
		  PERSIST_OTHER("former", former_parse, former_print),
		  PERSIST_OTHER("group", group_parse, group_print),
		  PERSIST_KEY("offered_as", KEY_TEXT, true, intent.pinned),
		  PERSIST_KEY("forced", KEY_TEXT, true, intent.forced) },
	.fields = { PERSIST_TEXT(claim), PERSIST_TEXT(pinned), PERSIST_TEXT(forced) },
	.of_group = true,
	.with_claim = true,
	.ends = &persist_vfs,
	.follow = claim_follow,
	.note = claim_note,
	.none = "none",
	.apply = claim_apply,
	.lost = claim_lost,
	.drifted = claim_drifted,
	.tells_drift = true,
};

/* ---- what a pod got with it */

/* That a pod has it must be on the disk before the pod has it. That the pod is over may be written
 * later, so that the next pod does not wait for the disk; after a crash in between the device
 * counts as allocated to an unknown pod. */
static void given_follow(struct model *m, struct record *r, const struct device *dev)
{
	bool over = r->intent.given_as[0] && dev->intent.claim[0] && !dev->intent.given_as[0];

	STR_COPY(r->intent.given, dev->intent.given);
	if (!over)
		STR_COPY(r->intent.given_as, dev->intent.given_as);
	r->over = over ? r->over ?: now_us() : 0;
}

static void given_note(const struct persist *k, struct record *r, struct device *dev, bool ended)
{
	struct intent *w = &dev->intent;

	if (w->claim[0] || w->given[0] || w->given_as[0] || ended) {
		given_follow(NULL, r, dev);
		return;
	}
	persist_copy(k, w, &r->intent);
	if (r->over) /* that pod had ended before the device went, and only the file does not say so */
		w->given_as[0] = '\0';
	STR_COPY(w->allocated, r->intent.claim[0] && w->given_as[0] ? "pending" : "");
}

const struct persist persist_given = {
	.file = "allocated_to",
	.keys = { PERSIST_KEY("allocated_nodes", KEY_TEXT, true, intent.given),
		  PERSIST_KEY("allocated_as", KEY_TEXT, true, intent.given_as) },
	.fields = { PERSIST_TEXT(given), PERSIST_TEXT(given_as) },
	.of_group = true,
	.with_claim = true,
	.follow = given_follow,
	.note = given_note,
};
