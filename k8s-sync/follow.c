// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "client/mirror.h"
#include "k8s-sync/api/http.h"
#include "k8s-sync/api/intake.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "sync.h"

enum {
	PAGE = 500,
	PAGES_MAX = 500, /* of as many objects: more than a hundred nodes have */
	WATCH_S = 300, /* and up to as much more */
	AGAIN_MS = 500,
	AGAIN_MAX_MS = 30000,
	SHORT_MS = 2000, /* a watch that ends sooner has met trouble */
	EARLY_MS = 5000, /* so long before its time it has an outer cause */
	CHOICE_MS = 5000, /* between two lists for what was left out */
	ROOM_MS = 60000,  /* where it can mean no device yet */
};

/* One kind: listed, then watched from there. A watch that begins with what is there does both,
 * where the server has that; else the list comes in pages. */
struct follow {
	struct sync *s;
	enum kind_id kind;
	unsigned int selector; /* of kinds[] */
	char version[64];      /* resourceVersion to watch from; "": list first */
	bool paged;
	unsigned int page;    /* objects that one answer may hold */
	unsigned int pages;   /* that have come */
	struct store listing; /* what the list has had so far; closed: none is under way */
	uint64_t listed_at;   /* ms: when it began */
	uint64_t ground;      /* store_ground() when the last one began; 0: not known */
	struct call *call;
	struct source again;
	unsigned int pause;
	uint64_t since, ends; /* ms; the watch began, and is to end */
	bool gone;	      /* what we know is too old: list again */
	struct err err;
};

static void list_page(struct follow *f, const char *from);
static void watch(struct follow *f);

static void later(struct follow *f)
{
	f->again.at = now_ms() + back_off(&f->pause, AGAIN_MS, AGAIN_MAX_MS);
}

static void on_again(struct source *s)
{
	struct follow *f = container_of(s, struct follow, again);

	if (f->version[0] || !f->paged)
		watch(f);
	else
		list_page(f, "");
}

/* The query selects this node's objects, as far as the server can. */
static struct call *call_with(struct follow *f, const char *query)
{
	const struct kind *k = &kinds[f->kind];
	const char *selector = k->selectors[f->selector];
	struct out path = { 0 };

	out_printf(&path, "/apis/%s/%s?", k->api ?: GROUP_VERSION, k->plural);
	if (selector)
		out_printf(&path, "%s%s&", selector, f->s->world.node);
	out_printf(&path, "%s", query);
	return call_new("GET", &path, NULL, NULL);
}

static void go(struct follow *f, struct call *c)
{
	f->call = c;
	if (c) {
		c->ctx = f;
		c->rank = RANK_URGENT;
		api_send(f->s->api, c);
	} else {
		later(f);
	}
}

static int some_time(void)
{
	return WATCH_S + (int)(now_us() % WATCH_S);
}

/* Replaces all that is known of the kind. */
static void know(struct follow *f, struct store *store)
{
	struct sync *s = f->s;
	struct store was = s->stores[f->kind];

	s->stores[f->kind] = *store;
	*store = (struct store){ 0 };
	s->world.objects[f->kind] = s->stores[f->kind].objects;
	if (s->world.listed[f->kind])
		sync_relisted(s, f->kind, was.objects);
	store_close(&was);
	s->world.listed[f->kind] = true;
	sync_say(s, SAY_KIND + f->kind, "");
	sync_touch(s);
}

/* There is more than can be kept: nothing is decided by a part of it. */
static void fill(struct follow *f, struct err *err)
{
	struct sync *s = f->s;

	s->world.listed[f->kind] = false;
	s->world.objects[f->kind] = NULL;
	store_close(&s->stores[f->kind]);
	fail(err, E2BIG, "the objects of node %s take more than %d MiB, which is the bound",
	     s->o->node, STORES_MAX >> 20);
}

/* The CRDs may be other ones: their change ends the watch, as a new server does. What was refused
 * is tried again. */
static void afresh(struct follow *f)
{
	f->selector = 0;
	if (f->s->world.no_conditions)
		sync_touch(f->s);
	f->s->world.no_conditions = false;
}

/* A kind that is only read, and that is not here, or not for us to see: the server tells who has no
 * right to it nothing else. What we knew while we had the right stays. */
static void take_none(struct follow *f, const struct reply *r)
{
	struct store none;
	char text[ERR_TEXT];

	if (r->status == 404 || !f->s->world.listed[f->kind]) {
		store_open(&none);
		know(f, &none);
	}
	snprintf(text, sizeof(text), "goes on without %s: %.400s", kinds[f->kind].plural,
		 r->err.text);
	sync_say(f->s, SAY_KIND + f->kind, r->status == 403 ? text : "");
	f->version[0] = '\0';
	f->again.at = now_ms() + 1000 * (uint64_t)some_time();
}

/* Says once what is in the way, and tries the next way if there is one. */
static void trouble(struct follow *f, const struct reply *r)
{
	const struct kind *k = &kinds[f->kind];
	char text[ERR_TEXT];

	if (r->status == 400 && k->selectors[f->selector]) {
		f->selector++;
		f->again.at = 0;
		return;
	}
	if (r->status == 400)
		f->version[0] = '\0';
	if (k->api && (r->status == 404 || r->status == 403)) {
		take_none(f, r);
		return;
	}
	if (r->status == 404) { /* nothing is to be written, and what comes later is all new */
		f->s->world.listed[f->kind] = false;
		f->version[0] = '\0';
		afresh(f);
		snprintf(text, sizeof(text),
			 "the cluster has no %s: apply deploy/kubernetes/crds.yaml", k->plural);
	} else {
		snprintf(text, sizeof(text), "%s%s%.400s", r->away ? "" : k->plural,
			 r->away ? "" : ": ", r->err.text);
	}
	sync_say(f->s, SAY_KIND + f->kind, text);
	later(f);
}

/* ---- list */

static bool has_version(json_object *o)
{
	return path_is_version(js_text(o, "metadata.resourceVersion"));
}

static void keep(struct follow *f, json_object *o)
{
	const char *name = js_text(o, "metadata.name");

	if (!*name)
		return;
	if (!object_is_ours(&f->s->world, f->kind, o)) {
		store_drop(&f->listing, name);
		return;
	}
	json_object_object_del(js_get(o, "metadata"), "managedFields");
	sync_put(f->s, &f->listing, f->kind, o);
}

static void keep_items(struct follow *f, json_object *doc)
{
	json_object *items = js_get(doc, "items");

	for (size_t i = 0; i < js_length(items); i++)
		keep(f, json_object_array_get_idx(items, i));
}

static void open_listing(struct follow *f)
{
	struct sync *s = f->s;

	store_open(&f->listing);
	f->listed_at = now_ms();
	s->world.inv = mirror_lock(s->tree);
	f->ground = store_ground(&s->world, f->kind);
	mirror_unlock(s->tree);
}

static void on_page(struct call *c, const struct reply *r)
{
	struct follow *f = c->ctx;
	const char *from = js_text(r->doc, "metadata.continue");
	struct reply why = *r;

	call_free(c);
	f->call = NULL;
	if (!why.err.code && (!js_get(r->doc, "items") || !has_version(r->doc)))
		fail(&why.err, EPROTO, "the API server answered with what is not a list");
	if (!why.err.code && f->pages > PAGES_MAX)
		fail(&why.err, EPROTO, "the API server's list has no end");
	if (!why.err.code)
		keep_items(f, r->doc);
	if (!why.err.code && f->listing.full)
		fill(f, &why.err);
	if (!why.err.code && *from) {
		list_page(f, from);
	} else if (!why.err.code) {
		know(f, &f->listing);
		STR_COPY(f->version, js_text(r->doc, "metadata.resourceVersion"));
		watch(f);
	} else {
		store_close(&f->listing);
		if (r->err.code == E2BIG && f->page > 1) {
			f->page /= 2;
			f->again.at = 0;
		} else {
			trouble(f, &why);
		}
	}
}

static void list_page(struct follow *f, const char *from)
{
	struct out query = { 0 };
	struct call *c;

	if (!f->listing.objects) {
		open_listing(f);
		f->pages = 0;
	}
	f->pages++;
	out_printf(&query, "limit=%u", f->page);
	if (*from) {
		out_printf(&query, "&continue=");
		path_put(&query, from);
	}
	c = call_with(f, out_text(&query));
	out_free(&query);
	if (c)
		c->done = on_page;
	go(f, c);
}

/* ---- watch */

static void on_begun(struct call *c)
{
	struct follow *f = c->ctx;

	if (!f->listing.objects)
		sync_say(f->s, SAY_KIND + f->kind, "");
}

static void on_event(void *call, json_object *doc)
{
	struct follow *f = ((struct call *)call)->ctx;
	bool over = false;
	const char *ends;
	json_object *o;

	switch (watch_event(doc, &o, &f->err)) {
	case WATCHED_ADDED:
		if (f->listing.objects)
			keep(f, o);
		else if (object_is_ours(&f->s->world, f->kind, o))
			sync_store(f->s, f->kind, o);
		else
			sync_forget(f->s, f->kind, o);
		over = f->listing.full || f->s->stores[f->kind].full;
		if (over)
			fill(f, &f->err);
		break;
	case WATCHED_DELETED:
		if (f->listing.objects)
			store_drop(&f->listing, js_text(o, "metadata.name"));
		else
			sync_forget(f->s, f->kind, o);
		break;
	case WATCHED_BOOKMARK:
		ends = js_meta(o, "annotations", "k8s.io/initial-events-end");
		if (f->listing.objects && has_version(o) && ends && !strcmp(ends, "true"))
			know(f, &f->listing);
		break;
	case WATCHED_GONE:
	case WATCHED_ERROR:
		over = true;
	}
	if (!over && !f->listing.objects && !has_version(o))
		over = fail(&f->err, EPROTO,
			    "the API server tells a change without its resourceVersion");
	if (over)
		f->gone = ((struct call *)call)->over = true;
	else if (!f->listing.objects)
		STR_COPY(f->version, js_text(o, "metadata.resourceVersion"));
}

/* Does the server not know a watch that begins with a list? Before 1.32, and in 1.33, it answers
 * 422, with an old etcd by an error inside. */
static bool is_refused(struct follow *f, const struct reply *r)
{
	bool refused = r->status == 422 || f->err.code;

	f->err.code = 0;
	f->gone = f->gone && !refused;
	return refused;
}

static void on_watched(struct call *c, const struct reply *r)
{
	struct follow *f = c->ctx;
	struct reply why = *r;

	call_free(c);
	f->call = NULL;
	if (f->listing.objects) {
		store_close(&f->listing);
		if (is_refused(f, r)) {
			f->paged = true;
			f->again.at = 0;
			return;
		}
		if (!why.err.code)
			fail(&why.err, EPROTO,
			     "the API server's list ended before it was complete");
	}
	if (r->status != 400 && now_ms() + EARLY_MS < f->ends)
		afresh(f);
	if (now_ms() - f->since >= SHORT_MS)
		f->pause = 0;
	if (f->gone || r->status == 410) {
		f->version[0] = '\0';
		f->gone = false;
		if (f->err.code)
			say("%s: %s", kinds[f->kind].plural, f->err.text);
		f->err.code = 0;
		later(f);
	} else if (why.err.code) {
		trouble(f, &why);
	} else if (now_ms() - f->since < SHORT_MS) {
		later(f);
	} else {
		sync_say(f->s, SAY_KIND + f->kind, "");
		if (f->s->stores[f->kind].left_out)
			f->version[0] = '\0';
		f->again.at = 0;
	}
}

static void watch(struct follow *f)
{
	int seconds = some_time();
	char query[256];
	struct call *c;

	if (!f->version[0] && !f->listing.objects)
		open_listing(f);
	snprintf(query, sizeof(query), "watch=1&allowWatchBookmarks=true&%s%s&timeoutSeconds=%d",
		 f->version[0] ? "resourceVersion="
			       : "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		 f->version, seconds);
	c = call_with(f, query);
	f->since = now_ms();
	f->ends = f->since + 1000 * (uint64_t)seconds;
	if (c) {
		c->begun = on_begun;
		c->document = on_event;
		c->done = on_watched;
	}
	go(f, c);
}

struct follow *follow_new(struct sync *s, enum kind_id kind)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->s = s;
	f->kind = kind;
	f->page = PAGE;
	loop_timer(&s->loop, &f->again, on_again, UINT64_MAX);
	return f;
}

void follow_start(struct follow *f)
{
	f->again.at = 0;
}

void follow_review(struct follow *f)
{
	struct sync *s = f->s;
	const struct store *store = &s->stores[f->kind];
	bool moved = store_ground(&s->world, f->kind) != f->ground;
	uint64_t at = f->listed_at + (moved ? CHOICE_MS : ROOM_MS);

	if (!store->left_out || f->listing.objects || (!moved && !store_has_room(store)))
		return;
	if (moved)
		s->world.listed[f->kind] = false;
	if (now_ms() < at) {
		source_by(&s->work, at);
		return;
	}
	if (f->call)
		api_cancel(s->api, f->call);
	f->call = NULL;
	f->version[0] = '\0';
	f->again.at = 0; /* without the mirror's lock */
}

uint64_t follow_version(const struct follow *f)
{
	return strtoull(f->version, NULL, 10);
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	if (f->call)
		api_cancel(f->s->api, f->call);
	loop_remove(&f->s->loop, &f->again);
	store_close(&f->listing);
	free(f);
}
