// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "k8s-sync/api/http.h"
#include "k8s-sync/api/intake.h"
#include "client/mirror.h"
#include "k8s-sync/agree/agree.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "sync.h"

enum {
	SOON_MS = 1000,
	LANDS_MS = 1000, /* the tree's news come behind its answer */
	PASSING_MS = 5000,
	AGAIN_MS = 60000,
	AGAIN_MAX_MS = 600000,
};

/* The last request of each kind. */
struct deed {
	uint64_t what;	/* its body, and the object that it was decided for */
	uint64_t again; /* ms: when it may be repeated nevertheless; 0: never */
	char *why;	/* it was refused, or NULL */
	uint64_t wanted; /* by the decision of this number, the last one */
};

/* What was written of each object, of its main part or its status. */
struct write {
	struct writes *all;
	enum kind_id kind;
	enum action_kind act;
	char *key; /* in the table: "p", or "s" for its status, the kind, the name */
	const char *name;
	struct deed deeds[ACT_CTL];
	const char *reason; /* of the Event that the running one causes */
	char *sentence;	    /* NULL: none */
	bool there;	    /* the object has been there */
	struct call *call;  /* NULL: it is over */
};

struct writes {
	struct sync *s;
	struct lh_table *table; /* key: struct write */
	uint64_t round; /* number of the present decision, from 1 */
	uint64_t turns; /* how many lines the tree got */
	bool told;	/* that there are no conditions */
};

struct write_asked {
	struct job job;
	struct writes *all;
	struct verdict *verdict;
	enum kind_id kind;
	json_object *about;
};

static struct write *find_or_make(struct writes *w, enum kind_id kind, const char *name,
				  bool status)
{
	char key[OBJECT_NAME + 8];
	struct write *x;
	void *found;
	int n = snprintf(key, sizeof(key), "%c%d/", status ? 's' : 'p', (int)kind);

	str_copy(key + n, sizeof(key) - (size_t)n, name);
	if (lh_table_lookup_ex(w->table, key, &found))
		return found;
	x = calloc(1, sizeof(*x));
	if (!x || !(x->key = strdup(key)) || lh_table_insert(w->table, x->key, x)) {
		free(x ? x->key : NULL);
		free(x);
		return NULL;
	}
	x->all = w;
	x->kind = kind;
	x->name = x->key + n;
	return x;
}

static void write_free(struct lh_entry *e)
{
	struct write *x = (void *)lh_entry_v(e);

	if (x->call)
		api_cancel(x->all->s->api, x->call);
	for (enum action_kind act = 0; act < ACT_CTL; act++)
		free(x->deeds[act].why);
	free(x->sentence);
	free(x->key);
	free(x);
}

/* Of an object that has gone nothing is remembered: what made it may make it anew. */
static void drop_gone(struct writes *w)
{
	struct lh_entry *e, *next;

	lh_foreach_safe(w->table, e, next)
	{
		struct write *x = (void *)lh_entry_v(e);
		bool here = object_find(&w->s->world, x->kind, x->name);

		if (x->there && !here && !x->call)
			lh_table_delete_entry(w->table, e);
		else
			x->there |= here;
	}
}

/* ---- requests */

static struct call *call_of(const struct action *a)
{
	static const struct {
		const char *method, *type, *end; /* of the path */
	} rows[] = {
		[ACT_APPLY] = { "PATCH", "application/apply-patch+yaml",
				"?fieldManager=pcidevfs&force=true" },
		[ACT_STATUS] = { "PATCH", "application/apply-patch+yaml",
				 "/status?fieldManager=pcidevfs-status&force=true" },
		[ACT_CREATE] = { "POST", "application/json", "?fieldManager=pcidevfs-spec" },
		[ACT_PATCH] = { "PATCH", "application/merge-patch+json",
				"?fieldManager=pcidevfs-spec" },
		[ACT_DELETE] = { "DELETE", "application/json", "" },
	};
	struct out path = { 0 };

	out_printf(&path, "/apis/" GROUP_VERSION "/%s", kinds[a->kind].plural);
	if (a->act != ACT_CREATE) {
		out_printf(&path, "/");
		path_put(&path, a->name);
	}
	out_printf(&path, "%s", rows[a->act].end);
	return call_new(rows[a->act].method, &path, rows[a->act].type, strdup(js_line(a->body)));
}

/* The same is repeated at once when the server is back, soon when the watch ought to tell what was
 * wrong with it, and else after a while: the cause of a refusal may be in no object that we see. */
static void refused(struct write *x, const struct reply *r)
{
	struct world *w = &x->all->s->world;
	/* A name that is taken: if it is by an object of ours, the watch will tell. */
	bool late = r->status == 404 || (r->status == 409 && x->act != ACT_CREATE);
	struct deed *d = &x->deeds[x->act];

	if (strstr(r->err.text, "field not declared in schema") && !w->no_conditions) {
		w->no_conditions = true;
		if (!x->all->told)
			say("the cluster's CRDs have no conditions: refusals are told by Events "
			    "alone");
		x->all->told = true;
		return;
	}
	if (r->away || r->status == 401)
		d->what = 0;
	else
		d->again = now_ms() + (late ? SOON_MS : AGAIN_MS);
	if (r->status == 409 || r->status == 404) {
		sync_gone(x->all->s, x->kind, x->name); /* nor is it the one that left */
		return;					/* the watch will tell */
	}
	if (r->away)
		d->why = strdup(r->err.text);
	else if (asprintf(&d->why, "%s/%s: %.300s", kinds[x->kind].plural, x->name, r->err.text) <
		 0)
		d->why = NULL;
}

/* A refusal stands in health until that very write is taken, or wanted no more. */
static void say_refused(struct writes *w)
{
	const char *why = "";
	struct lh_entry *e;

	lh_foreach(w->table, e)
	{
		struct write *x = (void *)lh_entry_v(e);

		for (enum action_kind act = 0; act < ACT_CTL; act++)
			if (!*why && x->deeds[act].wanted == w->round && x->deeds[act].why)
				why = x->deeds[act].why;
	}
	sync_say(w->s, SAY_WRITES, why);
}

static void on_written(struct call *c, const struct reply *r)
{
	struct write *x = c->ctx;
	struct sync *s = x->all->s;
	struct deed *d = &x->deeds[x->act];

	call_free(c);
	x->call = NULL;
	free(d->why);
	d->why = NULL;
	if (r->err.code) {
		refused(x, r);
	} else {
		if (x->sentence)
			events_add(s->events, x->kind, r->doc, x->reason, x->sentence);
		if (x->act == ACT_DELETE && !strcmp(js_text(r->doc, "kind"), "Status"))
			sync_deleted(s, x->kind, x->name, js_text(r->doc, "details.uid"));
		else if (!strcmp(js_text(r->doc, "metadata.name"), x->name))
			sync_store(s, x->kind, r->doc);
		/* It has gone meanwhile, or is not ours: the same write leads nowhere now. */
		if (object_find(&s->world, x->kind, x->name))
			x->there = true;
		else if (x->act != ACT_DELETE)
			d->again = now_ms() + AGAIN_MS;
	}
	sync_touch(s);
}

/* Notes and claims lead from a user to the device and back; the bulk makes and describes, and ends
 * what no device has. */
static enum rank rank_of(const struct action *a, json_object *was)
{
	bool ends = a->act == ACT_DELETE && kinds[a->kind].wanted;

	return ends || a->act == ACT_STATUS || (a->act == ACT_APPLY && !was) ? RANK_BULK
									     : RANK_SOON;
}

static void send_write(struct writes *w, const struct action *a)
{
	struct write *x = find_or_make(w, a->kind, a->name, a->act == ACT_STATUS);
	json_object *was = object_find(&w->s->world, a->kind, a->name);
	const char *body = js_line(a->body), *version = js_text(was, "metadata.resourceVersion");
	uint64_t what = fnv1a(fnv1a(FNV1A + a->act, body, strlen(body)), version, strlen(version));
	struct deed *d;

	if (!x)
		return;
	d = &x->deeds[a->act];
	/* Two different requests of one kind are wanted; after a refusal both wait. */
	if (d->wanted == w->round && now_ms() < d->again)
		return;
	d->wanted = w->round;
	if (x->call)
		return;
	if (d->what == what && (!d->again || now_ms() < d->again)) {
		source_by(&w->s->work, d->again ?: UINT64_MAX);
		return;
	}
	x->call = call_of(a);
	if (!x->call)
		return;
	d->what = what;
	d->again = 0;
	x->act = a->act;
	x->reason = a->reason;
	free(x->sentence);
	x->sentence = a->lines ? strdup(a->lines) : NULL;
	x->call->ctx = x;
	x->call->done = on_written;
	x->call->rank = rank_of(a, was);
	api_send(w->s->api, x->call);
}

/* ---- transactions */

static struct verdict *verdict_of(struct sync *s, const char *about)
{
	struct verdict *v = verdict_about(&s->world, about);

	if (v || !(v = calloc(1, sizeof(*v))))
		return v;
	STR_COPY(v->about, about);
	v->next = s->world.verdicts;
	s->world.verdicts = v;
	return v;
}

/* The tree went away before it answered: it is asked again when it is back. */
static bool is_unanswered(const struct err *err)
{
	return err && (err->code == ENOTCONN || err->code == ECANCELED);
}

/* What may change although no line of the tree does: who holds the device open, what is short, what
 * the tree says is passing. Returns the first pause in ms; 0: it will be as it is. */
static unsigned int may_pass(const struct err *err)
{
	static const struct {
		int code;
		unsigned int pause;
	} rows[] = {
		{ EBUSY, AGAIN_MS },	{ EIO, AGAIN_MS },	{ ENOSPC, AGAIN_MS },
		{ EAGAIN, PASSING_MS }, { ENOMEM, PASSING_MS }, { EMFILE, PASSING_MS },
		{ ENFILE, PASSING_MS },
	};

	for (size_t i = 0; err && i < ARRAY_SIZE(rows); i++)
		if (rows[i].code == err->code)
			return rows[i].pause;
	return 0;
}

static void on_verdict(struct job *job, const struct err *err)
{
	struct write_asked *a = container_of(job, struct write_asked, job);
	struct sync *s = a->all->s;
	struct verdict *v = a->verdict;
	unsigned int pause = may_pass(err);

	v->running = false;
	v->err = err && !is_unanswered(err) ? *err : (struct err){ 0 };
	v->lands = v->err.code ? 0 : now_ms() + LANDS_MS;
	if (v->err.code)
		events_add(s->events, a->kind, a->about, "Refused", err->text);
	if (is_unanswered(err))
		v->again = now_ms() + SOON_MS;
	else if (pause)
		v->again = now_ms() + back_off(&v->pause, pause, AGAIN_MAX_MS);
	else
		v->pause = 0;
	json_object_put(a->about);
	free(job->lines);
	free(a);
	sync_touch(s);
}

static void ask(struct writes *w, const struct action *act)
{
	struct verdict *v = verdict_of(w->s, act->about);
	struct write_asked *a = calloc(1, sizeof(*a));
	char *lines = act->lines ? strdup(act->lines) : NULL;

	if (!v || !a || !lines) {
		free(a);
		free(lines);
		return;
	}
	v->running = true;
	v->turn = ++w->turns;
	v->seen = act->seen;
	v->was = act->was;
	v->again = v->lands = 0;
	v->err = (struct err){ 0 };
	*a = (struct write_asked){ { .lines = lines, .done = on_verdict }, w, v, act->kind,
				   json_object_get(act->body) };
	mirror_commit(w->s->tree, &a->job);
}

static void forget(struct sync *s, const char *about)
{
	for (struct verdict **at = &s->world.verdicts, *v; (v = *at); at = &v->next) {
		if (strcmp(v->about, about))
			continue;
		*at = v->next;
		free(v);
		break;
	}
}

void writes_remind(struct writes *w)
{
	for (struct verdict *v = w->s->world.verdicts; v; v = v->next) {
		if (v->lands > now_ms())
			source_by(&w->s->work, v->lands);
		else
			v->lands = 0;
		if (v->again > now_ms())
			source_by(&w->s->work, v->again);
		else if (v->again)
			v->seen = v->again = 0;
	}
}

void writes_do(struct writes *w, struct action *list)
{
	drop_gone(w);
	w->round++;
	for (struct action *a = list; a; a = a->next) {
		if (a->act == ACT_CTL)
			ask(w, a);
		else if (a->act == ACT_FORGET)
			forget(w->s, a->about);
		else
			send_write(w, a);
	}
	say_refused(w);
}

struct writes *writes_new(struct sync *s)
{
	struct writes *w = calloc(1, sizeof(*w));

	if (w)
		w->table = lh_kchar_table_new(64, write_free);
	if (!w || !w->table) {
		free(w);
		return NULL;
	}
	w->s = s;
	return w;
}

void writes_free(struct writes *w)
{
	if (w)
		lh_table_free(w->table);
	free(w);
}
