// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "cluster.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/follow.h"
#include "k8s-sync/api/http.h"
#include "k8s-sync/api/intake.h"
#include "pcidevfs/say.h"

enum {
	PAGE = 1,	 /* one may have ten thousand entries */
	HOLDERS_MAX = 8, /* more than one is an error in any case */
};

static const struct dialect *const dialects[HOLDER_KINDS] = { &dialect_kubevirt,
							      &dialect_hyperconverged };

static const struct dialect *dialect_of(const struct space_roll *r)
{
	return dialects[r - r->c->holders];
}

static uint64_t version_of(json_object *o)
{
	return strtoull(js_text(o, "metadata.resourceVersion"), NULL, 10);
}

/* Keeps an object, if it is not older than what is there: an answer to a patch may come behind what
 * the watch tells. Of what it has besides much decides nothing. */
static void keep(json_object *objects, const char *key, json_object *o)
{
	if (version_of(o) < version_of(json_object_object_get(objects, key)))
		return;
	json_object_object_del(o, "status");
	json_object_object_del(js_get(o, "metadata"), "managedFields");
	json_object_object_add(objects, key, json_object_get(o));
}

static void know(void *ctx)
{
	struct space_roll *r = ctx;

	space_know(r);
	cluster_say(r->c, SLOT_HOLDERS + (enum holder_id)(r - r->c->holders), NULL, NULL, "", "");
}

static int take(void *ctx, json_object *o, bool listing, struct err *err)
{
	struct space_roll *r = ctx;
	json_object *objects = listing ? r->listing : r->objects;
	struct space_roll *operators = &r->c->holders[HOLDER_HYPERCONVERGED];
	char key[PICKS_KEY];

	picks_key(o, key);
	if (!json_object_object_get_ex(objects, key, NULL)) {
		if (json_object_object_length(objects) >= HOLDERS_MAX)
			return fail(err, E2BIG, "there are more than %d of them", HOLDERS_MAX);
		/* An operator that was installed just now may have made this: until that is known
		 * nothing is decided. */
		if (operators->follow && operators != r && follow_start(operators->follow))
			operators->listed = false;
	}
	keep(objects, key, o);
	if (!listing)
		cluster_touch(r->c);
	return 0;
}

/* The cluster has no such operator, or KubeVirt in no version that we know. */
static bool none(void *ctx, const struct reply *reply, struct err *err)
{
	struct space_roll *r = ctx;
	bool operators = dialect_of(r) == &dialect_hyperconverged;

	if (reply->status == 404 || (operators && !r->listed))
		space_empty(r);
	if (reply->status == 404 && !operators)
		fail(err, ENOENT, "the cluster has no %s of %s", dialect_of(r)->plural,
		     dialect_of(r)->api);
	return operators;
}

static void tell(void *ctx, const char *sentence)
{
	struct space_roll *r = ctx;

	cluster_say(r->c, SLOT_HOLDERS + (enum holder_id)(r - r->c->holders), NULL, NULL, "",
		    sentence);
}

/* ---- the one that counts */

/* Returns what the operator has, if there is one; NULL: there is none, or it is not known which. */
static json_object *choose(struct cluster *c, const struct dialect **ret)
{
	struct space_roll *operators = &c->holders[HOLDER_HYPERCONVERGED];
	struct space_roll *r = json_object_object_length(operators->objects)
				       ? operators
				       : &c->holders[HOLDER_KUBEVIRT];
	int n = json_object_object_length(r->objects);
	struct json_object_iterator at = json_object_iter_begin(r->objects);
	char text[ERR_TEXT] = "";

	*ret = dialect_of(r);
	if (n > 1)
		snprintf(
			text, sizeof(text),
			"the cluster has %d %s; nothing is written to any of them until there is one",
			n, dialect_of(r)->plural);
	cluster_say(c, SLOT_TWO, dialect_of(r), n > 1 ? json_object_iter_peek_value(&at) : NULL,
		    "NotAlone", text);
	cluster_say(c, SLOT_NO_KUBEVIRT, NULL, NULL, "",
		    n || *c->told[SLOT_HOLDERS + HOLDER_KUBEVIRT]
			    ? ""
			    : "the cluster has no KubeVirt; its list is written once there is one");
	return n == 1 ? json_object_iter_peek_value(&at) : NULL;
}

static void on_patched(struct patching *p, const struct reply *r)
{
	struct cluster *c = p->c;
	const struct dialect *d;
	json_object *o = choose(c, &d);
	struct err err = r->err;

	if (!r->err.code && o &&
	    !strcmp(js_text(r->doc, "metadata.uid"), js_text(o, "metadata.uid"))) {
		char key[PICKS_KEY];

		keep(c->holders[d == &dialect_hyperconverged].objects, picks_key(r->doc, key),
		     r->doc);
		o = r->doc;
	}
	if (p->brake.calm)
		fail(&err, EBUSY,
		     "somebody else undoes what pcidevfs-sync writes into permittedHostDevices; it is written once a minute until it stays");
	else if (r->err.code && !r->away)
		fail_wrap(&err, "permittedHostDevices cannot be written");
	if (p->brake.calm || !r->err.code || p->tries >= PATCHING_TOLD)
		cluster_say(c, SLOT_PATCH, d, o, p->brake.calm ? "Undone" : "Refused", err.text);
}

static void send(struct cluster *c, const struct dialect *d, json_object *o,
		 const struct permitted *p)
{
	const char *uid = js_text(o, "metadata.uid");
	uint64_t change = fnv1a(p->change, uid, strlen(uid));
	struct out path = { 0 };

	out_printf(&path, "/apis/%s/namespaces/", d->api);
	path_put(&path, js_text(o, "metadata.namespace"));
	out_printf(&path, "/%s/", d->plural);
	path_put(&path, js_text(o, "metadata.name"));
	out_printf(&path, "?fieldManager=pcidevfs-cluster");
	if (patching_send(&c->permitted, &path, p->patch, change) && p->log.len)
		say("%s %s/%s: %s", d->kind, js_text(o, "metadata.namespace"),
		    js_text(o, "metadata.name"), p->log.data);
}

void holders_work(struct cluster *c)
{
	const struct dialect *d;
	json_object *o = choose(c, &d);
	struct permitted p = { 0 };

	if (o && !js_get(o, "metadata.deletionTimestamp"))
		permitted_decide(d, o, &c->picks, &c->unoffered, now_ms(), &p);
	for (enum note_id n = 0; n < NOTES; n++) /* that it was made holds for ever */
		if (n != NOTE_MADE || *p.notes[n])
			cluster_say(c, SLOT_NOTES + n, d, o, note_reasons[n], p.notes[n]);
	if (p.patch)
		send(c, d, o, &p);
	if (p.again)
		source_by(&c->work, p.again);
	permitted_free(&p);
}

bool holders_known(const struct cluster *c)
{
	return c->holders[HOLDER_KUBEVIRT].listed && c->holders[HOLDER_HYPERCONVERGED].listed;
}

int holders_open(struct cluster *c, struct err *err)
{
	static const struct follow_ops ops = {
		.begin = space_begin,
		.know = know,
		.drop = space_drop,
		.take = take,
		.gone = space_lose,
		.none = none,
		.say = tell,
	};

	c->permitted = (struct patching){ .c = c, .done = on_patched };
	for (enum holder_id h = 0; h < HOLDER_KINDS; h++) {
		const struct follow_what what = { .api = dialects[h]->api,
						  .plural = dialects[h]->plural,
						  .page = PAGE,
						  .ops = &ops };
		struct space_roll *r = &c->holders[h];

		*r = (struct space_roll){ .c = c, .objects = json_object_new_object() };
		r->follow = follow_new(&c->loop, c->api, &what, r);
		if (!r->objects || !r->follow)
			return fail_nomem(err);
		follow_start(r->follow);
	}
	return 0;
}

void holders_close(struct cluster *c)
{
	patching_close(&c->permitted);
	json_object_put(c->unoffered);
	for (enum holder_id h = 0; h < HOLDER_KINDS; h++) {
		follow_free(c->holders[h].follow);
		json_object_put(c->holders[h].objects);
	}
}
