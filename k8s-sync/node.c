// SPDX-License-Identifier: GPL-2.0-or-later
/* The core Node: it owns our objects, and goes with them. Asked for, watched and written here
 * alone; what its labels mean is label.c's and labels.c's. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "k8s-sync/api/follow.h"
#include "k8s-sync/api/http.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "sync.h"

enum {
	NODE_MS = 60000,
	NODE_MAX_MS = 600000,
	MISSING_MS = 10000,
	/* Of a node's name, by what a label takes: its own, and NODE-000005000 of a parent; and by
	 * what a resource name takes: NODE-0627-0001-001002. */
	NAME_MAX_ALL = LABEL_VALUE,
	NAME_MAX_VF = LABEL_VALUE - 10,
	NAME_MAX_USB = LABEL_VALUE - 17,
};

/* As kubelet makes it of the host's. */
const char *node_name(char host[static 256])
{
	const char *name = getenv("NODE_NAME");

	if (name && *name)
		return name;
	host[255] = '\0';
	if (gethostname(host, 255))
		return "";
	for (char *c = host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return host;
}

/* A name of an object, which goes into paths. */
bool node_is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	return n && !name[n] && n < 200 && name[0] != '.' && name[0] != '-';
}

/* Before anybody meets them in a sentence of the server's. */
static void say_limits(struct sync *s)
{
	static const struct {
		size_t max;
		const char *what;
	} rows[] = {
		{ NAME_MAX_ALL,
		  "a label takes no more, so the cluster takes no objects of this node" },
		{ NAME_MAX_VF, "the objects of VFs lack the label with their parent's name, and "
			       "USB devices cannot be claimed, as the names would be too long" },
		{ NAME_MAX_USB,
		  "USB devices cannot be claimed, as their resource names would be too long" },
	};
	size_t n = strlen(s->o->node);
	char text[ERR_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (n <= rows[i].max)
			continue;
		snprintf(text, sizeof(text), "the name of node %s has %zu bytes; above %zu %s",
			 s->o->node, n, rows[i].max, rows[i].what);
		sync_say(s, SAY_LIMITS, text);
		return;
	}
}

/* ---- another host of this name */

static bool is_machine_id(const char *text)
{
	return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

/* "": there is none that counts. In a pod, also one with a kubeconfig, it may be the image's, and
 * there kubelet has chosen the node. It may be another one than a while ago: a clone was
 * repaired. */
static void machine_id(const struct sync *s, char ret[static 33])
{
	bool pod = !s->o->kubeconfig || getenv("KUBERNETES_SERVICE_HOST");
	FILE *f = pod ? NULL : fopen("/etc/machine-id", "re");

	if (!f || !fgets(ret, 33, f) || !is_machine_id(ret))
		*ret = '\0';
	if (f)
		fclose(f);
}

static bool is_missing(struct sync *s, const struct reply *r, char ret_why[static ERR_TEXT])
{
	const char *id = js_text(r->doc, "status.nodeInfo.machineID");
	char here[33];

	*ret_why = '\0';
	machine_id(s, here);
	if (r->status == 404 && !s->node_uid[0])
		STR_COPY(s->node_uid, s->owner_uid);
	if (r->status == 404 && s->node_uid[0])
		snprintf(
			ret_why, ERR_TEXT,
			"node %s is no longer in the cluster; its objects go, and nothing is made or decided until it is back",
			s->o->node);
	else if (!r->err.code && *here && is_machine_id(id) && strcmp(id, here))
		snprintf(
			ret_why, ERR_TEXT,
			"node %s is another host: its machineID is %s, /etc/machine-id here is %s; nothing is done, give --node the name of this host",
			s->o->node, id, here);
	return *ret_why;
}

static void say_never(struct sync *s, bool never)
{
	char text[ERR_TEXT];

	snprintf(text, sizeof(text),
		 "node %s is not in the cluster; its objects have no owner and outlive it",
		 s->o->node);
	sync_say(s, SAY_OWNER, never ? text : "");
}

static bool is_never_asked(const struct sync *s)
{
	return strlen(s->o->node) > NAME_MAX_ALL;
}

/* ---- what is known of it */

/* Each copy of it that comes, whichever way it comes, but none that is older than another. */
static void note(struct sync *s, json_object *o)
{
	uint64_t version = strtoull(js_text(o, "metadata.resourceVersion"), NULL, 10);

	if (version < s->core_version)
		return;
	s->core_version = version;
	label_read(s, o);
	labels_note(s, o);
}

/* Which copy is the newest is not known any more: it may be made anew. */
static void lose(struct sync *s)
{
	s->core_version = 0;
	s->label = LABEL_UNKNOWN;
	labels_note(s, NULL);
}

/* ---- is it there? */

/* Nothing of a former Node's is made as the same: it was collected. */
static void take_owner(struct sync *s, const char *uid)
{
	for (enum kind_id k = 0; k < KINDS && s->node_uid[0] && strcmp(s->node_uid, uid); k++) {
		json_object_put(s->world.left[k]);
		s->world.left[k] = NULL;
	}
	STR_COPY(s->node_uid, uid);
}

static void on_node(struct call *c, const struct reply *r)
{
	struct sync *s = c->ctx;
	char why[ERR_TEXT];

	if (r->away || r->status == 401) {
		sync_say(s, SAY_NODE, r->err.text);
		api_send(s->api, c);
		return;
	}
	s->node_missing = is_missing(s, r, why);
	sync_say(s, SAY_NODE, why);
	say_never(s, r->status == 404 && !s->node_missing);
	s->asking = NULL;
	if (s->node_missing) {
		lose(s);
		s->node_known = s->ask_again = false;
		s->core.at = now_ms() + MISSING_MS;
	} else {
		if (r->err.code && r->status != 404 && !s->node_known && !s->node_uid[0])
			say("objects get no owner: %s", r->err.text);
		if (s->ask_again) /* as long as objects leave one behind another */
			s->core.at = 0;
		else if (r->err.code) /* it may come */
			s->core.at = now_ms() + back_off(&s->core_pause, NODE_MS, NODE_MAX_MS);
		else
			s->core_pause = 0;
		if (!r->err.code) {
			take_owner(s, js_text(r->doc, "metadata.uid"));
			if (s->core_version == s->asked_version) /* nothing has come meanwhile */
				s->core_version = 0; /* a restored cluster counts from less */
			note(s, r->doc);
		} else {
			s->label = LABEL_UNKNOWN;
		}
		s->node_known = true;
		sync_touch(s);
	}
	call_free(c);
}

static void ask(struct source *source)
{
	struct sync *s = container_of(source, struct sync, core);
	struct out path = { 0 };

	if (s->asking)
		return;
	out_printf(&path, "/api/v1/nodes/%s", s->o->node);
	s->asking = call_new("GET", &path, NULL, NULL);
	if (!s->asking) {
		s->core.at = now_ms() + NODE_MS;
		return;
	}
	s->ask_again = false;
	s->asked_version = s->core_version;
	s->asking->done = on_node;
	s->asking->ctx = s;
	s->asking->rank = RANK_URGENT;
	api_send(s->api, s->asking);
}

void node_ask(struct sync *s)
{
	s->node_known = false;
	if (s->node_missing || is_never_asked(s))
		return;
	s->ask_again = s->asking;
	if (!s->asking)
		s->core.at = 0;
}

void node_note_owner(struct sync *s, enum kind_id kind, json_object *o)
{
	json_object *owner = js_find(js_get(o, "metadata.ownerReferences"), "kind", "Node");

	if (s->owner_uid[0] || !kinds[kind].wanted || strcmp(js_text(owner, "name"), s->o->node))
		return;
	STR_COPY(s->owner_uid, js_text(owner, "uid"));
	if (s->node_known && !s->node_uid[0])
		node_ask(s);
}

/* ---- watched, where somebody wants to know what its labels are */

static void begin(void *ctx)
{
}

static void know(void *ctx)
{
	sync_say(ctx, SAY_LABELS, "");
}

static int take(void *ctx, json_object *o, bool listing, struct err *err)
{
	struct sync *s = ctx;

	if (!strcmp(js_text(o, "metadata.name"), s->o->node))
		note(s, o);
	return 0;
}

static void gone(void *ctx, json_object *o, bool listing)
{
	lose(ctx);
	node_ask(ctx);
}

static bool none(void *ctx, const struct reply *r, struct err *err)
{
	fail_wrap(err, "NVIDIA's labels of node %s are not heeded", ((struct sync *)ctx)->o->node);
	return false;
}

static void tell(void *ctx, const char *sentence)
{
	sync_say(ctx, SAY_LABELS, sentence);
}

int node_watch(struct sync *s, struct err *err)
{
	static const struct follow_ops ops = { begin, know, begin, take, gone, none, tell };
	static const char *const selectors[] = { "fieldSelector=metadata.name%3D", NULL };
	const struct follow_what what = {
		.api = "v1",
		.plural = "nodes",
		.selectors = selectors,
		.value = s->o->node,
		.page = 1,
		.ops = &ops,
	};

	if (!(s->core_follow = follow_new(&s->loop, s->api, &what, s)))
		return fail_nomem(err);
	follow_start(s->core_follow);
	return 0;
}

/* ---- written */

static void on_patched(struct call *c, const struct reply *r)
{
	struct sync *s = c->ctx;

	call_free(c);
	s->patching = NULL;
	if (!r->err.code)
		note(s, r->doc);
	s->patched(s, r);
	sync_touch(s); /* who comes next */
	labels_touch(s);
}

bool node_patch(struct sync *s, json_object *body,
		void (*done)(struct sync *s, const struct reply *r))
{
	struct out path = { 0 };

	if (s->patching)
		return false;
	out_printf(&path, "/api/v1/nodes/%s?fieldManager=pcidevfs", s->o->node);
	s->patching =
		call_new("PATCH", &path, "application/merge-patch+json", strdup(js_line(body)));
	if (!s->patching)
		return false;
	s->patched = done;
	s->patching->done = on_patched;
	s->patching->ctx = s;
	s->patching->rank = RANK_SOON;
	api_send(s->api, s->patching);
	return true;
}

/* ---- start and end */

void node_open(struct sync *s)
{
	say_limits(s);
	loop_timer(&s->loop, &s->core, ask, is_never_asked(s) ? UINT64_MAX : 0);
}

void node_close(struct sync *s)
{
	if (s->asking)
		api_cancel(s->api, s->asking);
	if (s->patching)
		api_cancel(s->api, s->patching);
	follow_free(s->core_follow);
}
