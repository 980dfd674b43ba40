// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <time.h>

#include "k8s-sync/agree/agree.h"
#include "k8s-sync/agree/words.h"
#include "k8s-sync/api/http.h"
#include "k8s-sync/api/intake.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "sync.h"

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
	struct sync *s;
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

/* A claim whose user gave it a name of another form is not known as one of this node: its Event is
 * about the device's object, which owns it. */
static json_object *owner_of(const struct world *w, enum kind_id kind, json_object *about)
{
	if (kind != PCI_CLAIM || object_is_named(w, js_text(about, "metadata.name")))
		return NULL;
	return claim_owner(about, PCI_DEVICE);
}

static json_object *event_new(const struct world *w, enum kind_id kind, json_object *about,
			      const char *reason, const char *sentence, uint64_t hash)
{
	json_object *o = json_object_new_object(), *owner = owner_of(w, kind, about);
	json_object *involved = owner ?: js_get(about, "metadata");
	_free_ char *message = words_for_cluster(sentence);
	char name[OBJECT_NAME + 32], now[24];

	time_text(now);
	snprintf(name, sizeof(name), "%.220s.%llx", js_text(involved, "name"),
		 (unsigned long long)(hash ^ now_real_ns()));
	js_set_text(o, "apiVersion", "v1");
	js_set_text(o, "kind", "Event");
	js_set_text(o, "metadata.name", name);
	js_set_text(o, "metadata.namespace", "default");
	js_set_text(o, "involvedObject.apiVersion", GROUP_VERSION);
	js_set_text(o, "involvedObject.kind", kinds[owner ? PCI_DEVICE : kind].kind);
	js_set_text(o, "involvedObject.name", js_text(involved, "name"));
	js_set_text(o, "involvedObject.uid", js_text(involved, "uid"));
	js_set_text(o, "reason", reason);
	js_set_text(o, "message", message ?: sentence);
	js_set_text(o, "type", "Warning");
	js_set_text(o, "source.component", "pcidevfs-sync");
	js_set_text(o, "firstTimestamp", now);
	js_set_text(o, "lastTimestamp", now);
	js_set(o, "count", json_object_new_int(1));
	return o;
}

/* It is told again a few times, each a longer time later. */
static void missed(struct events *e, struct event *v, const struct reply *r)
{
	char text[ERR_TEXT];

	if (r->status == 404) /* it was there, and has expired */
		v->sent = 0;
	if (++v->tries < TRIES)
		return;
	v->tries = 0;
	v->sent = v->count;
	snprintf(text, sizeof(text),
		 "%u Events about devices could not be told, the last one: %.300s", ++e->lost,
		 r->err.text);
	sync_say(e->s, SAY_EVENTS, text);
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
		sync_say(e->s, SAY_EVENTS, "");
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
	out_printf(&path, "/api/v1/namespaces/default/events%s", v->sent ? "/" : "");
	if (v->sent)
		path_put(&path, js_text(v->body, "metadata.name"));
	if (!v->sent)
		return call_new("POST", &path, "application/json", strdup(js_line(v->body)));
	if (asprintf(&body, "{\"count\":%u,\"lastTimestamp\":\"%s\"}", v->count, now) < 0)
		body = NULL;
	return call_new("PATCH", &path, "application/merge-patch+json", body);
}

/* The oldest one that is not told. */
static struct event *untold(struct events *e)
{
	struct event *found = NULL;

	for (struct event *v = e->first; v; v = v->next)
		if (v->sent < v->count)
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
	api_send(e->s->api, e->call);
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

void events_add(struct events *e, enum kind_id kind, json_object *about, const char *reason,
		const char *sentence)
{
	const char *uid = js_text(about, "metadata.uid");
	uint64_t hash = fnv1a(fnv1a(FNV1A, uid, strlen(uid)), sentence, strlen(sentence));
	struct event *v;

	trim(e);
	for (v = e->first; v && v->hash != hash; v = v->next)
		;
	if (!v) {
		v = calloc(1, sizeof(*v));
		if (!v)
			return;
		v->body = event_new(&e->s->world, kind, about, reason, sentence, hash);
		v->hash = hash;
		v->next = e->first;
		e->first = v;
	}
	v->count++;
	v->at = now_ms();
	source_by(&e->turn, e->free_at);
}

struct events *events_new(struct sync *s)
{
	struct events *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->s = s;
	loop_timer(&s->loop, &e->turn, on_turn, UINT64_MAX);
	return e;
}

void events_free(struct events *e)
{
	if (!e)
		return;
	if (e->call)
		api_cancel(e->s->api, e->call);
	loop_remove(&e->s->loop, &e->turn);
	for (struct event *v = e->first, *next; v; v = next) {
		next = v->next;
		event_free(v);
	}
	free(e);
}
