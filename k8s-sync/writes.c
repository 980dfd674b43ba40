// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "k8s-sync/api/brake.h"
#include "k8s-sync/api/http.h"
#include "k8s-sync/api/intake.h"
#include "k8s-sync/agree/agree.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "sync.h"

enum {
	SOON_MS = 1000,
	HOOK_MS = 10000, /* a webhook may take as long */
	AGAIN_MS = CALM_MS,
};

/* The last request of each kind. */
struct deed {
	uint64_t what;	    /* its body, and the object that it was decided for */
	uint64_t again;	    /* ms: when it may be repeated nevertheless; 0: never */
	char *why;	    /* it was refused, or NULL */
	uint64_t wanted;    /* by the decision of this number, the last one */
	struct brake brake; /* of the body alone, of whichever version of the object */
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
	struct lh_table *table;	    /* key: struct write */
	uint64_t round;		    /* number of the present decision, from 1 */
	uint32_t told[KINDS];	    /* of world.lacks, what the log has */
	struct write *first[KINDS]; /* a status that goes first is on its way */
};

/* NULL: there is none, or no memory for it. */
static struct write *find(struct writes *w, enum kind_id kind, const char *name, bool status,
			  bool make)
{
	char key[OBJECT_NAME + 8];
	struct write *x;
	void *found;
	int n = snprintf(key, sizeof(key), "%c%d/", status ? 's' : 'p', (int)kind);

	str_copy(key + n, sizeof(key) - (size_t)n, name);
	if (lh_table_lookup_ex(w->table, key, &found) || !make)
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
	if (x->all->first[x->kind] == x)
		x->all->first[x->kind] = NULL;
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
				 "/status?fieldManager=" STATUS_MANAGER "&force=true" },
		[ACT_STRIP] = { "PATCH", "application/merge-patch+json",
				"/status?fieldManager=" STATUS_MANAGER },
		[ACT_CREATE] = { "POST", "application/json", "?fieldManager=" SPEC_MANAGER },
		[ACT_PATCH] = { "PATCH", "application/merge-patch+json",
				"?fieldManager=" SPEC_MANAGER },
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

/* A CRD of another version may lack fields: they are left out from then on. Other writes may have
 * been under way with them. False: the refusal is not about such fields. */
static bool is_undeclared(struct write *x, const struct reply *r)
{
	uint32_t lacks = kind_undeclared(x->kind, js_text(r->doc, "message"));
	struct writes *w = x->all;

	for (uint32_t bit = 1; bit; bit <<= 1)
		if (lacks & ~w->told[x->kind] & bit)
			say("the cluster's CRD of %s has no status.%s: it is left out%s",
			    kinds[x->kind].plural, kind_field(x->kind, bit),
			    bit == LACKS_CONDITIONS ? ", and refusals are told by Events alone"
						    : "");
	w->told[x->kind] |= lacks;
	w->s->world.lacks[x->kind] |= lacks;
	return lacks;
}

/* The same is repeated at once when the server is back, soon when it is not whole yet or the watch
 * ought to tell what was wrong with it, and else after a while: the cause of a refusal may be in no
 * object that we see. */
static void refused(struct write *x, const struct reply *r)
{
	/* A name that is taken: if it is by an object of ours, the watch will tell. */
	bool late = r->back || r->status == 404 || (r->status == 409 && x->act != ACT_CREATE);
	bool hook = answer_lacks_webhook(r->doc, "");
	struct deed *d = &x->deeds[x->act];
	struct err err = r->err;

	if (is_undeclared(x, r)) { /* when the CRD changes it is sent as it was */
		d->what = 0;
		return;
	}
	if (r->away || r->status == 401)
		d->what = 0;
	else
		d->again = now_ms() + (late ? SOON_MS : hook ? HOOK_MS : AGAIN_MS);
	if (r->status == 409 || r->status == 404) {
		sync_gone(x->all->s, x->kind, x->name); /* nor is it the one that left */
		return;					/* the watch will tell */
	}
	if (answer_lacks_webhook(r->doc, FORMER_WEBHOOK))
		fail(&err, EIO,
		     "the webhook of Harvester's former controller does not answer and is in the way; deploy/kubernetes/swap-in.yaml takes it away");
	if (!r->away)
		fail_wrap(&err, "%s/%s", kinds[x->kind].plural, x->name);
	d->why = strdup(err.text);
}

static void taken(struct write *x, struct deed *d)
{
	struct err err = { 0 };

	if (!brake_taken(&d->brake, now_ms()))
		return;
	fail(&err, EBUSY,
	     "%s/%s: somebody else writes its %s, and undoes what pcidevfs-sync writes; that is written once a minute until it stays",
	     kinds[x->kind].plural, x->name, *x->key == 's' ? "status" : "metadata or spec");
	d->why = strdup(err.text);
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
	if (x->all->first[x->kind] == x)
		x->all->first[x->kind] = NULL;
	free(d->why);
	d->why = NULL;
	if (r->err.code) {
		refused(x, r);
	} else {
		/* What is taken out of a status was found to have all that it shall have. */
		s->declared[x->kind] |= x->act == ACT_STATUS || x->act == ACT_STRIP;
		taken(x, d);
		if (x->sentence)
			sync_event(s, x->kind, r->doc, x->reason, x->sentence);
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
	bool wanted = kinds[a->kind].wanted;

	if (a->act == ACT_STATUS || a->act == ACT_STRIP ||
	    (a->act == ACT_APPLY && !(wanted && was)) || (a->act == ACT_DELETE && wanted))
		return RANK_BULK;
	return RANK_SOON;
}

/* It has not been sent, and is not wanted any more. */
static void take_back(struct write *x)
{
	api_cancel(x->all->s->api, x->call);
	x->call = NULL;
	x->deeds[x->act].what = 0;
	if (x->all->first[x->kind] == x)
		x->all->first[x->kind] = NULL;
}

static bool is_sent(const struct write *x)
{
	return x->call && x->call->wire;
}

/* The body without what is of the moment: the version that was seen, and the time of a condition
 * that is new. Quotes in a value have a backslash. */
static uint64_t hash_same(const char *body)
{
	static const char *const keys[] = { "\"resourceVersion\":\"", "\"lastTransitionTime\":\"" };
	uint64_t h = FNV1A;

	while (*body) {
		size_t left_out = 0;

		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			if (!strncmp(body, keys[i], strlen(keys[i])))
				left_out = strlen(keys[i]) + strcspn(body + strlen(keys[i]), "\"");
		if (left_out)
			body += left_out;
		else
			h = fnv1a(h, body++, 1);
	}
	return h;
}

static void send_write(struct writes *w, const struct action *a)
{
	bool status = a->act == ACT_STATUS || a->act == ACT_STRIP;
	struct write *x = find(w, a->kind, a->name, status, true);
	json_object *was = object_find(&w->s->world, a->kind, a->name);
	const char *body = js_line(a->body), *version = js_text(was, "metadata.resourceVersion");
	uint64_t same = hash_same(body), until;
	uint64_t what = fnv1a(same + a->act, version, strlen(version));
	struct deed *d;

	if (!x)
		return;
	d = &x->deeds[a->act];
	/* Two different requests of one kind are wanted; after a refusal both wait. */
	if (d->wanted == w->round && now_ms() < d->again)
		return;
	if (x->call && !is_sent(x) && rank_of(a, was) == RANK_SOON && d->what != what &&
	    (x->act == a->act ? d->wanted != w->round : x->call->rank == RANK_BULK))
		take_back(x);
	d->wanted = w->round;
	if (x->call || (status && w->first[a->kind]))
		return;
	until = d->what == what ? d->again ?: UINT64_MAX : brake_until(&d->brake, same);
	if (now_ms() < until) {
		source_by(&w->s->work, until);
		return;
	}
	x->call = call_of(a);
	if (!x->call)
		return;
	/* Two who change it in turn, in the cluster and in the tree, agree on each change. */
	for (enum action_kind act = 0; act < ACT_CTL && d->brake.same != same; act++)
		x->deeds[act].brake.times = 0;
	brake_send(&d->brake, same);
	d->what = what;
	d->again = 0;
	if (status && !w->s->declared[a->kind])
		w->first[a->kind] = x;
	x->act = a->act;
	x->reason = a->reason;
	free(x->sentence);
	x->sentence = a->lines ? strdup(a->lines) : NULL;
	x->call->ctx = x;
	x->call->done = on_written;
	x->call->rank = rank_of(a, was);
	api_send(w->s->api, x->call);
}

/* Others may have waited for them in this very round. */
static void take_back_others(struct writes *w)
{
	struct lh_entry *e;
	bool any = false;

	lh_foreach(w->table, e)
	{
		struct write *x = (void *)lh_entry_v(e);

		if (x->call && !is_sent(x) && x->deeds[x->act].wanted != w->round) {
			take_back(x);
			any = true;
		}
	}
	if (any)
		sync_touch(w->s);
}

bool writes_deletes(struct writes *w, enum kind_id kind, const char *name)
{
	struct write *x = find(w, kind, name, false, false);

	return x && is_sent(x) && x->act == ACT_DELETE;
}

void writes_mark(struct writes *w)
{
	struct world *world = &w->s->world;
	struct lh_entry *e;

	for (enum kind_id k = 0; k < KINDS; k++) {
		json_object_put(world->writing[k]);
		world->writing[k] = json_object_new_object();
	}
	lh_foreach(w->table, e)
	{
		struct write *x = (void *)lh_entry_v(e);

		if (is_sent(x) && x->call->rank == RANK_SOON)
			json_object_object_add(world->writing[x->kind], x->name, NULL);
	}
}

/* Once, as long as it is asked for without a pause. */
static void tell(struct writes *w, const struct action *a)
{
	struct write *x = find(w, a->kind, a->name, false, true);
	const char *uid = js_text(a->body, "metadata.uid");
	uint64_t what = fnv1a(fnv1a(FNV1A, uid, strlen(uid)), a->lines, strlen(a->lines));
	struct deed *d = x ? &x->deeds[ACT_EVENT] : NULL;

	if (!d)
		return;
	if (d->what != what || d->wanted + 1 < w->round)
		sync_event(w->s, a->kind, a->body, a->reason, a->lines);
	d->what = what;
	d->wanted = w->round;
}

void writes_do(struct writes *w, struct action *list)
{
	const char *late = "";

	drop_gone(w);
	w->round++;
	for (struct action *a = list; a; a = a->next) {
		switch (a->act) {
		case ACT_CTL:
		case ACT_FORGET:
		case ACT_OPEN:
			asks_do(w->s, a);
			break;
		case ACT_LATE:
			late = *late ? late : a->lines;
			tell(w, a);
			break;
		case ACT_EVENT:
			tell(w, a);
			break;
		default:
			send_write(w, a);
		}
	}
	take_back_others(w);
	sync_say(w->s, SAY_LATE, late);
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
