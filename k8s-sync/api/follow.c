// SPDX-License-Identifier: GPL-2.0-or-later
#include "follow.h"

#include <errno.h>
#include <string.h>

#include "client/loop.h"
#include "http.h"
#include "intake.h"
#include "k8s-sync/agree/js.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

enum {
	PAGES_MAX = 500, /* of as many objects: more than a hundred nodes have */
	WATCH_S = 300,	 /* and up to as much more */
	AGAIN_MS = 500,
	AGAIN_MAX_MS = 30000,
	SHORT_MS = 2000, /* a watch that ends sooner has met trouble */
	EARLY_MS = 5000, /* so long before its time it has an outer cause */
};

/* A watch that begins with what is there lists as well, where the server has that; else the list
 * comes in pages. */
struct follow {
	struct follow_what what;
	void *ctx;
	struct loop *loop;
	struct api *api;
	unsigned int selector; /* of what.selectors */
	char version[64];      /* resourceVersion to watch from; "": list first */
	bool paged;
	unsigned int pages; /* that have come */
	bool listing;	    /* a list is under way */
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

static struct call *call_with(struct follow *f, const char *query)
{
	const struct follow_what *w = &f->what;
	const char *selector = w->selectors ? w->selectors[f->selector] : NULL;
	struct out path = { 0 };

	out_printf(&path, "/%s/%s/%s?", strchr(w->api, '/') ? "apis" : "api", w->api, w->plural);
	if (selector)
		out_printf(&path, "%s%s&", selector, w->value);
	out_printf(&path, "%s", query);
	return call_new("GET", &path, NULL, NULL);
}

static void go(struct follow *f, struct call *c)
{
	f->call = c;
	if (c) {
		c->ctx = f;
		c->rank = RANK_URGENT;
		api_send(f->api, c);
	} else {
		later(f);
	}
}

static int some_time(void)
{
	return WATCH_S + (int)(now_us() % WATCH_S);
}

static void begin(struct follow *f)
{
	f->listing = true;
	f->what.ops->begin(f->ctx);
}

static void know(struct follow *f)
{
	f->listing = false;
	f->what.ops->know(f->ctx);
}

static void drop(struct follow *f)
{
	f->listing = false;
	f->what.ops->drop(f->ctx);
}

/* The CRDs may be other ones: their change ends the watch, as a new server does. What was refused
 * is tried again. */
static void afresh(struct follow *f)
{
	f->selector = 0;
	if (f->what.ops->afresh)
		f->what.ops->afresh(f->ctx);
}

/* Says once what is in the way, and tries the next way if there is one. */
static void trouble(struct follow *f, const struct reply *r)
{
	const struct follow_what *w = &f->what;
	struct err err = r->err;

	if (r->status == 400 || r->status == 404)
		f->version[0] = '\0'; /* of another selector it tells nothing */
	if (r->status == 400 && w->selectors && w->selectors[f->selector]) {
		f->selector++;
		f->again.at = 0;
		return;
	}
	if ((r->status == 404 || r->status == 403) && w->ops->none(f->ctx, r, &err)) {
		f->version[0] = '\0';
		f->again.at = now_ms() + 1000 * (uint64_t)some_time();
		return;
	}
	if (r->status == 404) /* what comes later is all new */
		afresh(f);
	else if (!r->away)
		fail_wrap(&err, "%s", w->plural);
	w->ops->say(f->ctx, err.text);
	later(f);
}

/* ---- list */

static bool has_version(json_object *o)
{
	return path_is_version(js_text(o, "metadata.resourceVersion"));
}

/* What has no metadata is no object, and is passed over. */
static int take(struct follow *f, json_object *o, struct err *err)
{
	if (!json_object_is_type(js_get(o, "metadata"), json_type_object))
		return 0;
	return f->what.ops->take(f->ctx, o, f->listing, err);
}

static int take_items(struct follow *f, json_object *doc, struct err *err)
{
	json_object *items = js_get(doc, "items");
	int r = 0;

	for (size_t i = 0; i < js_length(items) && !r; i++)
		r = take(f, json_object_array_get_idx(items, i), err);
	return r;
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
		take_items(f, r->doc, &why.err);
	if (!why.err.code && *from) {
		list_page(f, from);
	} else if (!why.err.code) {
		know(f);
		STR_COPY(f->version, js_text(r->doc, "metadata.resourceVersion"));
		watch(f);
	} else {
		drop(f);
		if (r->err.code == E2BIG && f->what.page > 1) {
			f->what.page /= 2;
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

	if (!f->listing) {
		begin(f);
		f->pages = 0;
	}
	f->pages++;
	out_printf(&query, "limit=%u", f->what.page);
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

	if (!f->listing)
		f->what.ops->say(f->ctx, "");
}

static void on_event(void *call, json_object *doc)
{
	struct follow *f = ((struct call *)call)->ctx;
	bool over = false;
	const char *ends;
	json_object *o;

	switch (watch_event(doc, &o, &f->err)) {
	case WATCHED_ADDED:
		over = take(f, o, &f->err);
		break;
	case WATCHED_DELETED:
		f->what.ops->gone(f->ctx, o, f->listing);
		break;
	case WATCHED_BOOKMARK:
		ends = js_meta(o, "annotations", "k8s.io/initial-events-end");
		if (f->listing && has_version(o) && ends && !strcmp(ends, "true"))
			know(f);
		break;
	case WATCHED_GONE:
	case WATCHED_ERROR:
		over = true;
	}
	if (!over && !f->listing && !has_version(o))
		over = fail(&f->err, EPROTO,
			    "the API server tells a change without its resourceVersion");
	if (over)
		f->gone = ((struct call *)call)->over = true;
	else if (!f->listing)
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
	if (f->listing) {
		drop(f);
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
			say("%s: %s", f->what.plural, f->err.text);
		f->err.code = 0;
		later(f);
	} else if (why.err.code) {
		trouble(f, &why);
	} else if (now_ms() - f->since < SHORT_MS) {
		later(f);
	} else {
		f->what.ops->say(f->ctx, "");
		if (f->what.ops->partial && f->what.ops->partial(f->ctx))
			f->version[0] = '\0';
		f->again.at = 0;
	}
}

static void watch(struct follow *f)
{
	int seconds = some_time();
	char query[256];
	struct call *c;

	if (!f->version[0] && !f->listing)
		begin(f);
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

struct follow *follow_new(struct loop *loop, struct api *api, const struct follow_what *what,
			  void *ctx)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->what = *what;
	f->ctx = ctx;
	f->loop = loop;
	f->api = api;
	loop_timer(loop, &f->again, on_again, UINT64_MAX);
	return f;
}

bool follow_start(struct follow *f)
{
	if (f->call)
		return false;
	f->again.at = 0;
	return true;
}

void follow_relist(struct follow *f)
{
	if (f->call)
		api_cancel(f->api, f->call);
	f->call = NULL;
	if (f->listing)
		drop(f);
	f->version[0] = '\0';
	f->again.at = 0;
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
		api_cancel(f->api, f->call);
	if (f->listing)
		drop(f);
	loop_remove(f->loop, &f->again);
	free(f);
}
