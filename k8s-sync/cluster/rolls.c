// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "cluster.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/agree/kinds.h"
#include "k8s-sync/api/follow.h"
#include "k8s-sync/api/http.h"

enum { PAGE = 50 /* of all nodes: what an answer takes in memory is small */ };

static void begin(void *ctx)
{
	struct pick_roll *r = ctx;

	r->listing = picks_table();
}

static void drop(void *ctx)
{
	struct pick_roll *r = ctx;

	if (r->listing)
		lh_table_free(r->listing);
	r->listing = NULL;
}

static void know(void *ctx)
{
	struct pick_roll *r = ctx;
	struct picks *picks = &r->c->picks;

	if (!r->listing)
		return;
	lh_table_free(picks->table[r->kind]);
	picks->table[r->kind] = r->listing;
	r->listing = NULL;
	picks->listed[r->kind] = true;
	cluster_say(r->c, SLOT_PICKS + r->kind, NULL, NULL, "", "");
	cluster_touch(r->c);
}

static int take(void *ctx, json_object *o, bool listing, struct err *err)
{
	struct pick_roll *r = ctx;
	struct lh_table *t = listing ? r->listing : r->c->picks.table[r->kind];
	int n = t ? picks_put(t, r->kind, o) : -ENOMEM;

	if (n > 0 && !listing)
		cluster_touch(r->c);
	if (n >= 0)
		return 0;
	r->c->picks.listed[r->kind] = false;
	return fail(err, -n,
		    n == -E2BIG ? "there are more than %d, which is the bound" : "%d: no memory",
		    PICKS_MAX);
}

static void lose(void *ctx, json_object *o, bool listing)
{
	struct pick_roll *r = ctx;
	struct lh_table *t = listing ? r->listing : r->c->picks.table[r->kind];

	if (t && picks_drop(t, js_text(o, "metadata.name")) && !listing)
		cluster_touch(r->c);
}

/* Nothing is decided without them: whoever takes our kinds away, or the right to read them, does
 * not take the devices. */
static bool none(void *ctx, const struct reply *reply, struct err *err)
{
	struct pick_roll *r = ctx;

	r->c->picks.listed[r->kind] = false;
	if (reply->status == 404)
		fail(err, ENOENT, "the cluster has no %s: apply deploy/kubernetes/crds.yaml",
		     pick_rows[r->kind].plural);
	return false;
}

/* "": a watch goes on from where the last one ended. */
static void tell(void *ctx, const char *sentence)
{
	struct pick_roll *r = ctx;
	bool *listed = &r->c->picks.listed[r->kind];

	if (!*sentence && !*listed) {
		*listed = true;
		cluster_touch(r->c);
	}
	cluster_say(r->c, SLOT_PICKS + r->kind, NULL, NULL, "", sentence);
}

/* ---- objects of namespaces */

void space_begin(void *ctx)
{
	struct space_roll *r = ctx;

	r->listing = json_object_new_object();
}

void space_drop(void *ctx)
{
	struct space_roll *r = ctx;

	json_object_put(r->listing);
	r->listing = NULL;
}

void space_know(void *ctx)
{
	struct space_roll *r = ctx;

	json_object_put(r->objects);
	r->objects = r->listing;
	r->listing = NULL;
	r->listed = true;
	cluster_touch(r->c);
}

void space_lose(void *ctx, json_object *o, bool listing)
{
	struct space_roll *r = ctx;
	char key[PICKS_KEY];

	json_object_object_del(listing ? r->listing : r->objects, picks_key(o, key));
	if (!listing)
		cluster_touch(r->c);
}

void space_empty(struct space_roll *r)
{
	json_object_put(r->objects);
	r->objects = json_object_new_object();
	r->listed = true;
	cluster_touch(r->c);
}

/* ---- start and end */

int rolls_open(struct cluster *c, struct err *err)
{
	static const struct follow_ops ops = {
		.begin = begin,
		.know = know,
		.drop = drop,
		.take = take,
		.gone = lose,
		.none = none,
		.say = tell,
	};

	for (enum pick_kind k = 0; k < PICK_KINDS; k++) {
		const struct follow_what what = { .api = GROUP_VERSION,
						  .plural = pick_rows[k].plural,
						  .page = PAGE,
						  .ops = &ops };
		struct pick_roll *r = &c->rolls[k];

		r->c = c;
		r->kind = k;
		c->picks.table[k] = picks_table();
		r->follow = follow_new(&c->loop, c->api, &what, r);
		if (!c->picks.table[k] || !r->follow)
			return fail_nomem(err);
		follow_start(r->follow);
	}
	return 0;
}

void rolls_close(struct cluster *c)
{
	for (enum pick_kind k = 0; k < PICK_KINDS; k++) {
		follow_free(c->rolls[k].follow);
		if (c->picks.table[k])
			lh_table_free(c->picks.table[k]);
	}
}
