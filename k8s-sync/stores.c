// SPDX-License-Identifier: GPL-2.0-or-later
/* This node's objects of each kind: what a list and a watch tell goes into a store. */
#include <errno.h>
#include <string.h>

#include "client/mirror.h"
#include "k8s-sync/api/follow.h"
#include "k8s-sync/api/http.h"
#include "pcidevfs/util.h"
#include "sync.h"

enum {
	PAGE = 500,
	CHOICE_MS = 5000, /* between two lists for what was left out */
	ROOM_MS = 60000,  /* where it can mean no device yet */
};

struct roll {
	struct sync *s;
	enum kind_id kind;
	struct follow *follow;
	struct store listing; /* what the list has had so far */
	uint64_t at;	      /* ms: when it began */
	uint64_t ground;      /* store_ground() then; 0: not known */
	bool barred;	      /* the last answer was a 403 */
};

static void begin(void *ctx)
{
	struct roll *l = ctx;
	struct sync *s = l->s;

	store_open(&l->listing);
	l->at = now_ms();
	s->world.inv = mirror_lock(s->tree);
	l->ground = store_ground(&s->world, l->kind);
	mirror_unlock(s->tree);
}

static void drop(void *ctx)
{
	struct roll *l = ctx;

	store_close(&l->listing);
}

static void know(void *ctx)
{
	struct roll *l = ctx;
	struct sync *s = l->s;
	struct store was = s->stores[l->kind];

	s->stores[l->kind] = l->listing;
	l->listing = (struct store){ 0 };
	s->world.objects[l->kind] = s->stores[l->kind].objects;
	if (s->world.listed[l->kind])
		sync_relisted(s, l->kind, was.objects);
	store_close(&was);
	s->world.listed[l->kind] = true;
	l->barred = false;
	/* A server that comes up may have refused the one, and not the other. */
	if (l->kind == PCI_DEVICE)
		roll_start(s->rolls[FORMER_POD]);
	sync_say(s, SAY_KIND + l->kind, "");
	sync_touch(s);
}

/* There is more than can be kept: nothing is decided by a part of it. */
static int fill(struct roll *l, struct err *err)
{
	struct sync *s = l->s;

	s->world.listed[l->kind] = false;
	s->world.objects[l->kind] = NULL;
	store_close(&s->stores[l->kind]);
	return fail(err, E2BIG, "the objects of node %s take more than %d MiB, which is the bound",
		    s->o->node, STORES_MAX >> 20);
}

static int take(void *ctx, json_object *o, bool listing, struct err *err)
{
	struct roll *l = ctx;
	struct sync *s = l->s;
	bool ours = object_is_ours(&s->world, l->kind, o);
	const char *name = js_text(o, "metadata.name");

	if (!listing && ours)
		sync_store(s, l->kind, o);
	else if (!listing)
		sync_forget(s, l->kind, o);
	else if (*name && ours)
		sync_put(s, &l->listing, l->kind, o);
	else
		store_drop(&l->listing, name);
	return l->listing.full || s->stores[l->kind].full ? fill(l, err) : 0;
}

static void lose(void *ctx, json_object *o, bool listing)
{
	struct roll *l = ctx;

	if (listing)
		store_drop(&l->listing, js_text(o, "metadata.name"));
	else
		sync_forget(l->s, l->kind, o);
}

/* A kind that is only read, and that is not here, or not for us to see: the server tells who has no
 * right to it nothing else. What we knew while we had the right stays. */
static void take_none(struct roll *l, const struct reply *r)
{
	bool unsaid = kinds[l->kind].unsaid;
	/* know() asks again: until then a server that comes up may refuse all. */
	bool early = l->kind == FORMER_POD && !l->s->world.listed[PCI_DEVICE];
	struct err err = r->err;

	if (r->status == 404 || !(l->s->world.listed[l->kind] || early)) {
		store_open(&l->listing);
		know(l);
	}
	l->barred = r->status == 403;
	sync_touch(l->s);
	fail_wrap(&err, "goes on without %s", kinds[l->kind].plural);
	sync_say(l->s, SAY_KIND + l->kind, r->status == 403 && !unsaid ? err.text : "");
}

static bool none(void *ctx, const struct reply *r, struct err *err)
{
	struct roll *l = ctx;

	if (kinds[l->kind].api) {
		take_none(l, r);
		return true;
	}
	if (r->status == 404) { /* nothing is to be written */
		l->s->world.listed[l->kind] = false;
		fail(err, ENOENT, "the cluster has no %s: apply deploy/kubernetes/crds.yaml",
		     kinds[l->kind].plural);
	}
	return false;
}

static void tell(void *ctx, const char *sentence)
{
	struct roll *l = ctx;

	sync_say(l->s, SAY_KIND + l->kind, sentence);
}

static void afresh(void *ctx)
{
	struct roll *l = ctx;

	if (l->s->world.lacks[l->kind])
		sync_touch(l->s);
	l->s->world.lacks[l->kind] = 0;
	l->s->declared[l->kind] = false;
}

static bool partial(void *ctx)
{
	struct roll *l = ctx;

	return l->s->stores[l->kind].left_out;
}

struct roll *roll_new(struct sync *s, enum kind_id kind)
{
	static const struct follow_ops ops = { begin, know, drop,   take,   lose,
					       none,  tell, afresh, partial };
	const struct follow_what what = {
		.api = kinds[kind].api ?: GROUP_VERSION,
		.plural = kinds[kind].plural,
		.selectors = kinds[kind].selectors,
		.value = s->world.node,
		.page = PAGE,
		.ops = &ops,
	};
	struct roll *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->s = s;
	l->kind = kind;
	l->follow = follow_new(&s->loop, s->api, &what, l);
	if (l->follow)
		return l;
	free(l);
	return NULL;
}

void roll_start(struct roll *l)
{
	follow_start(l->follow);
}

bool roll_barred(const struct roll *l)
{
	return l->barred;
}

void roll_review(struct roll *l)
{
	struct sync *s = l->s;
	const struct store *store = &s->stores[l->kind];
	bool moved = store_ground(&s->world, l->kind) != l->ground;
	uint64_t at = l->at + (moved ? CHOICE_MS : ROOM_MS);

	if (!store->left_out || l->listing.objects || (!moved && !store_has_room(store)))
		return;
	if (moved)
		s->world.listed[l->kind] = false;
	if (now_ms() < at)
		source_by(&s->work, at);
	else
		follow_relist(l->follow); /* which begins later, without the mirror's lock */
}

uint64_t roll_version(const struct roll *l)
{
	return follow_version(l->follow);
}

void roll_free(struct roll *l)
{
	if (l)
		follow_free(l->follow);
	free(l);
}
