// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "client/start.h"
#include "cluster.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/access.h"
#include "k8s-sync/api/http.h"
#include "k8s-sync/events.h"
#include "pcidevfs/notify.h"
#include "pcidevfs/say.h"

enum { GAP_MS = 50, TRIM_MS = 3000 };

void cluster_touch(struct cluster *c)
{
	source_soon(&c->work, c->decided, GAP_MS);
}

static void tell_event(struct cluster *c, const struct dialect *d, json_object *o,
		       const char *reason, const char *sentence)
{
	events_add(c->events,
		   &(struct involved){ .api = d->api,
				       .kind = d->kind,
				       .name = js_text(o, "metadata.name"),
				       .uid = js_text(o, "metadata.uid"),
				       .space = js_text(o, "metadata.namespace") },
		   reason, sentence);
}

void cluster_say(struct cluster *c, enum cluster_slot slot, const struct dialect *d, json_object *o,
		 const char *reason, const char *sentence)
{
	char cut[ERR_TEXT];
	bool new;

	STR_COPY(cut, sentence);
	new = *cut;
	for (size_t i = 0; i < CLUSTER_SLOTS && new; i++)
		new = strcmp(c->told[i], cut);
	STR_COPY(c->told[slot], cut);
	if (!new)
		return;
	if (o)
		say("%s %s/%s: %s", d->kind, js_text(o, "metadata.namespace"),
		    js_text(o, "metadata.name"), cut);
	else
		say("%s", cut);
	if (o)
		tell_event(c, d, o, reason, cut);
}

static void tell_events(void *ctx, const char *sentence)
{
	cluster_say(ctx, SLOT_EVENTS, NULL, NULL, "", sentence);
}

static bool is_known(const struct cluster *c)
{
	for (enum pick_kind k = 0; k < PICK_DECIDES; k++)
		if (!c->picks.listed[k])
			return false;
	return true;
}

static void on_work(struct source *source)
{
	struct cluster *c = container_of(source, struct cluster, work);

	if (!is_known(c))
		return;
	c->decided = now_ms();
	vms_work(c);
	if (holders_known(c))
		holders_work(c);
	if (!c->told_ready)
		notify_manager("READY=1");
	c->told_ready = true;
	c->trim.at = c->decided + TRIM_MS; /* after the first lists much is free */
}

static void tell_certificate(void *ctx, const char *sentence)
{
	cluster_say(ctx, SLOT_CERTIFICATE, NULL, NULL, "", sentence);
}

static int start(struct cluster *c, struct access *access, struct err *err)
{
	int r = loop_open(&c->loop, err);

	if (!r)
		r = api_new(&c->loop, access, &c->api, err);
	if (r)
		return r;
	loop_timer(&c->loop, &c->work, on_work, UINT64_MAX);
	loop_timer(&c->loop, &c->trim, client_trim, UINT64_MAX);
	api_tell_expiry(c->api, tell_certificate, c);
	c->events = events_new(&c->loop, c->api, tell_events, c);
	if (!c->events)
		return fail_nomem(err);
	r = rolls_open(c, err);
	if (!r)
		r = vms_open(c, err);
	return r ? r : holders_open(c, err);
}

int cluster_run(struct access *access, struct err *err)
{
	static struct cluster c;
	int r = start(&c, access, err);

	if (r)
		return r;
	loop_run(&c.loop);
	notify_manager("STOPPING=1");
	rolls_close(&c);
	holders_close(&c);
	vms_close(&c);
	events_free(c.events);
	api_free(c.api);
	loop_close(&c.loop);
	return 0;
}
