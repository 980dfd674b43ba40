// SPDX-License-Identifier: GPL-2.0-or-later
#include "events.h"

#include <string.h>
#include <time.h>

#include "client/loop.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/agree/words.h"
#include "k8s-sync/api/http.h"
#include "k8s-sync/api/intake.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

enum {
	GAP_MS = 1000,	  /* between two requests */
	SAME_MS = 600000, /* as long, an equal one is counted and not told anew */
	EVENTS_MAX = 128,
	TRIES = 5, /* in half a minute */
};

struct event {
	json_object *body;	  /* as it was first sent */
	uint64_t hash, at;	  /* ms, of the last time */
	unsigned int count, sent; /* how often it came, and is told */
	unsigned int tries;	  /* that failed */
	struct event *next;
};

struct events {
	struct loop *loop;
	struct api *api;
	void (*tell)(void *ctx, const char *sentence);
	void *ctx;
	struct event *first; /* the newest first */
	struct source turn;
	struct call *call;
	struct event *telling;	/* by the call; NULL: none */
	unsigned int now, lost; /* its count; how many Events were given up */
	uint64_t free_at;
};

void time_text(char ret[static 24])
{
	time_t now = (time_t)(now_real_ns() / 1000000000);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(ret, 24, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static json_object *event_new(const struct involved *about, const char *reason,
			      const char *sentence, uint64_t hash)
{
	json_object *o = json_object_new_object();
	_free_ char *message = words_for_cluster(sentence);
	char name[256], now[24];

	time_text(now);
	snprintf(name, sizeof(name), "%.220s.%llx", about->name,
		 (unsigned long long)(hash ^ now_real_ns()));
	js_set_text(o, "apiVersion", "v1");
	js_set_text(o, "kind", "Event");
	js_set_text(o, "metadata.name", name);
	js_set_text(o, "metadata.namespace", *about->space ? about->space : "default");
	js_set_text(o, "involvedObject.apiVersion", about->api);
	js_set_text(o, "involvedObject.kind", about->kind);
	js_set_text(o, "involvedObject.name", about->name);
	js_set_text(o, "involvedObject.uid", about->uid);
	if (*about->space)
		js_set_text(o, "involvedObject.namespace", about->space);
	js_set_text(o, "reason", reason);
	js_set_text(o, "message", message ?: sentence);
	js_set_text(o, "type", about->normal ? "Normal" : "Warning");
	js_set_text(o, "source.component", "pcidevfs-sync");
	js_set_text(o, "firstTimestamp", now);
	js_set_text(o, "lastTimestamp", now);
	js_set(o, "count", json_object_new_int(1));
	return o;
}

/* It is told again a few times, each a longer time later. */
static void missed(struct events *e, struct event *v, const struct reply *r)
{
	struct err err = r->err;

	if (r->status == 404) /* it was there, and has expired */
		v->sent = 0;
	if (++v->tries < TRIES)
		return;
	v->tries = 0;
	v->sent = v->count;
	fail_wrap(&err, "%u Events about devices could not be told, the last one", ++e->lost);
	e->tell(e->ctx, err.text);
}

static void on_told(struct call *c, const struct reply *r)
{
	struct events *e = c->ctx;
	struct event *v = e->telling;

	call_free(c);
	e->call = NULL;
	e->telling = NULL;
	if (!r->err.code || (r->status == 409 && !v->sent)) { /* or a try before has made it */
		v->sent = e->now;
		v->tries = 0;
		e->tell(e->ctx, "");
	} else if (!r->away) {
		missed(e, v, r);
	}
	e->free_at = now_ms() + ((uint64_t)GAP_MS << v->tries);
	e->turn.at = e->free_at;
}

static struct call *call_for(const struct event *v)
{
	struct out path = { 0 };
	char now[24], *body;

	time_text(now);
	out_printf(&path, "/api/v1/namespaces/");
	path_put(&path, js_text(v->body, "metadata.namespace"));
	out_printf(&path, "/events%s", v->sent ? "/" : "");
	if (v->sent)
		path_put(&path, js_text(v->body, "metadata.name"));
	if (!v->sent)
		return call_new("POST", &path, "application/json", strdup(js_line(v->body)));
	if (asprintf(&body, "{\"count\":%u,\"lastTimestamp\":\"%s\"}", v->count, now) < 0)
		body = NULL;
	return call_new("PATCH", &path, "application/merge-patch+json", body);
}

/* The oldest one that is not told, before those that have only come again, which may be for ever. */
static struct event *untold(struct events *e)
{
	struct event *found = NULL;

	for (struct event *v = e->first; v; v = v->next)
		if (v->sent < v->count && (!found || found->sent || !v->sent))
			found = v;
	return found;
}

static void on_turn(struct source *s)
{
	struct events *e = container_of(s, struct events, turn);
	struct event *v = untold(e);

	if (!v || e->call)
		return;
	e->call = call_for(v);
	if (!e->call)
		return;
	e->telling = v;
	e->now = v->count;
	e->call->ctx = e;
	e->call->done = on_told;
	api_send(e->api, e->call);
}

static void event_free(struct event *v)
{
	json_object_put(v->body);
	free(v);
}

/* Keeps what may come again; the others made room. */
static void trim(struct events *e)
{
	size_t n = 0;

	for (struct event **at = &e->first, *v; (v = *at);) {
		if (v != e->telling &&
		    (++n > EVENTS_MAX || (v->sent && now_ms() - v->at > SAME_MS))) {
			*at = v->next;
			event_free(v);
		} else {
			at = &v->next;
		}
	}
}

void events_add(struct events *e, const struct involved *about, const char *reason,
		const char *sentence)
{
	uint64_t hash =
		fnv1a(fnv1a(FNV1A, about->uid, strlen(about->uid)), sentence, strlen(sentence));
	struct event *v;

	trim(e);
	for (v = e->first; v && v->hash != hash; v = v->next)
		;
	if (!v) {
		v = calloc(1, sizeof(*v));
		if (!v)
			return;
		v->body = event_new(about, reason, sentence, hash);
		v->hash = hash;
		v->next = e->first;
		e->first = v;
	}
	v->count++;
	v->at = now_ms();
	source_by(&e->turn, e->free_at);
}

struct events *events_new(struct loop *loop, struct api *api,
			  void (*tell)(void *ctx, const char *sentence), void *ctx)
{
	struct events *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->loop = loop;
	e->api = api;
	e->tell = tell;
	e->ctx = ctx;
	loop_timer(loop, &e->turn, on_turn, UINT64_MAX);
	return e;
}

void events_free(struct events *e)
{
	if (!e)
		return;
	if (e->call)
		api_cancel(e->api, e->call);
	loop_remove(e->loop, &e->turn);
	for (struct event *v = e->first, *next; v; v = next) {
		next = v->next;
		event_free(v);
	}
	free(e);
}
