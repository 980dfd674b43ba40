// SPDX-License-Identifier: GPL-2.0-or-later
/* pcidevfs-sync: the tree and the cluster's objects agree. */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#include "k8s-sync/agree/inventory.h"
#include "k8s-sync/api/access.h"
#include "k8s-sync/api/http.h"
#include "client/mirror.h"
#include "client/start.h"
#include "pcidevfs/err.h"
#include "pcidevfs/notify.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "sync.h"

enum {
	GAP_MS = 10,
	TRIM_MS = 3000,
	NODE_MS = 60000,
	NODE_MAX_MS = 600000,
	CERTIFICATE_MS = 20000, /* another one may be there */
	WARN_S = 30 * 86400,
};

static const char *node_name(void)
{
	static char host[256];
	const char *name = getenv("NODE_NAME");

	if (name && *name)
		return name;
	return gethostname(host, sizeof(host) - 1) ? "" : host;
}

/* A name of an object, which goes into paths. */
static bool is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	return n && !name[n] && n < 200 && name[0] != '.' && name[0] != '-';
}

static int parse_options(int argc, char **argv, struct options *ret)
{
	const struct option_row rows[] = {
		{ "tree", "DIR", "where the tree is mounted (/run/pcidevfs)", &ret->tree },
		{ "kubeconfig", "FILE", "how to reach the cluster (from inside a pod: its own)",
		  &ret->kubeconfig },
		{ "node", "NAME",
		  "this node's name in the cluster ($NODE_NAME, or the host's name)", &ret->node },
		{ "print", NULL, "print the objects as YAML and end; needs no cluster",
		  &ret->print },
		{ 0 },
	};

	*ret = (struct options){ .tree = "/run/pcidevfs", .node = node_name() };
	if (client_options(argc, argv,
			   "Keeps the devices of a pcidevfs tree and a cluster's objects the same.",
			   rows))
		return -EINVAL;
	if (is_name(ret->node))
		return 0;
	say("--node: \"%s\" is not the name of a node; give the one in kubectl get nodes",
	    ret->node);
	return -EINVAL;
}

_Static_assert((int)LINES_MAX <= (int)WRITERS_MAX, "each line needs a writer");

/* The devices, as the mirror keeps them. */
static const struct mirror_table table = {
	.name = "pcidevfs-sync",
	.size = sizeof(struct inventory),
	.writers = LINES_MAX,
	.begin = inventory_begin,
	.take = inventory_take,
	.drop = inventory_drop,
	.settle = inventory_settle,
	.clear = inventory_free,
};

/* ---- what is known */

void sync_touch(struct sync *s)
{
	uint64_t now = now_ms(), at = s->decided + GAP_MS;

	source_by(&s->work, at < now ? now : at);
}

void sync_say(struct sync *s, enum say_slot slot, const char *sentence)
{
	const char *first = "";
	bool new = *sentence;

	if (!strcmp(s->said[slot], sentence))
		return;
	for (size_t i = 0; i < SAY_SLOTS && new; i++)
		new = strcmp(s->said[i], sentence);
	STR_COPY(s->said[slot], sentence);
	if (new)
		say("%s", sentence);
	for (size_t i = 0; i < SAY_SLOTS && !*first; i++)
		first = s->said[i];
	mirror_say(s->tree, first);
}

static void print_all(struct sync *s)
{
	json_object *all = decide_print(&s->world);
	struct out text = { 0 };

	for (size_t i = 0; i < json_object_array_length(all); i++) {
		out_printf(&text, "---\n");
		js_yaml(json_object_array_get_idx(all, i), &text);
	}
	fputs(out_text(&text), stdout);
	out_free(&text);
	json_object_put(all);
}

/* The tree is there and whole. Its devices are ours to look at until mirror_unlock(). */
static bool open_world(struct sync *s)
{
	const char *why;

	if (!mirror_known(s->tree))
		return false;
	s->world.inv = mirror_lock(s->tree);
	if (!mirror_lost(s->tree, &why))
		return true;
	mirror_unlock(s->tree);
	return false;
}

/* Of what was left out some may have to be looked at by now. */
static void review(struct sync *s, char ret_said[static ERR_TEXT])
{
	*ret_said = '\0';
	for (enum kind_id k = 0; k < KINDS; k++) {
		if (!s->stores[k].left_out)
			continue;
		follow_review(s->follows[k]);
		snprintf(ret_said, ERR_TEXT,
			 "of the %s of node %s more than %d mean no device that is here, or are larger than %d KiB; the others are not looked at",
			 kinds[k].plural, s->o->node, APART_MAX, CLAIM_MAX >> 10);
	}
}

static void on_work(struct source *source)
{
	struct sync *s = container_of(source, struct sync, work);
	char now[24], left_out[ERR_TEXT];
	struct action *list;
	bool gpus;

	if (!s->node_known || !decide_ready(&s->world) || !open_world(s))
		return;
	time_text(now);
	s->world.now = now;
	s->decided = now_ms();
	writes_remind(s->writes);
	review(s, left_out);
	list = decide(&s->world);
	gpus = kind_wanted(&s->world, GPU_DEVICE);
	mirror_unlock(s->tree);
	sync_say(s, SAY_LEFT_OUT, left_out);
	left_keep(&s->world, list);
	writes_do(s->writes, list);
	actions_free(list);
	label_ensure(s, gpus);
	s->trim.at = s->decided + TRIM_MS; /* after the first lists and writes much is free */
}

static void on_news(void *ctx)
{
	struct sync *s = ctx;

	if (s->o->print) {
		s->status = !open_world(s);
		if (!s->status) {
			print_all(s);
			mirror_unlock(s->tree);
		}
		s->loop.ended = true;
		return;
	}
	if (!s->told_ready)
		notify_manager("READY=1");
	s->told_ready = true;
	if (!s->following && mirror_known(s->tree)) {
		s->following = true;
		for (enum kind_id k = 0; k < KINDS; k++)
			follow_start(s->follows[k]);
	}
	sync_touch(s);
}

/* ---- the core Node, the owner of our objects */

static void on_node(struct call *c, const struct reply *r)
{
	struct sync *s = c->ctx;
	const char *uid = js_text(r->doc, "metadata.uid");

	if (r->away || r->status == 401) {
		sync_say(s, SAY_NODE, r->err.text);
		api_send(s->api, c);
		return;
	}
	call_free(c);
	sync_say(s, SAY_NODE, "");
	if (r->err.code && !s->node_known)
		say("objects get no owner: %s", r->err.text);
	if (r->err.code) /* it may come */
		s->core.at = now_ms() + back_off(&s->core_pause, NODE_MS, NODE_MAX_MS);
	else
		s->core_pause = 0;
	STR_COPY(s->node_uid, r->err.code ? "" : uid);
	s->world.node_uid = s->node_uid;
	s->node_known = true;
	s->label = LABEL_UNKNOWN;
	if (!r->err.code)
		label_read(s, r->doc);
	sync_touch(s);
}

static void ask_node(struct source *source)
{
	struct sync *s = container_of(source, struct sync, core);
	struct out path = { 0 };
	struct call *c;

	out_printf(&path, "/api/v1/nodes/%s", s->o->node);
	c = call_new("GET", &path, NULL, NULL);
	if (!c) {
		s->core.at = now_ms() + NODE_MS;
		return;
	}
	c->done = on_node;
	c->ctx = s;
	c->rank = RANK_URGENT;
	api_send(s->api, c);
}

/* ---- the end of our client certificate, of which nobody hears until it is too late */

static void on_certificate(struct source *source)
{
	struct sync *s = container_of(source, struct sync, certificate);
	uint64_t now = now_real_ns() / 1000000000, ends = expiry_of(api_certificate(s->api));
	char text[ERR_TEXT] = "", day[16];
	time_t t = (time_t)ends;
	struct tm tm;

	if (ends && ends < now + WARN_S && gmtime_r(&t, &tm)) {
		strftime(day, sizeof(day), "%Y-%m-%d", &tm);
		snprintf(text, sizeof(text),
			 "the client certificate of pcidevfs-sync %s on %s; make another one with sync-credential",
			 ends > now ? "ends" : "ended", day);
	}
	sync_say(s, SAY_CERTIFICATE, text);
	source->at = now_ms() + CERTIFICATE_MS;
}

/* ---- start and end */

/* The kernel lets several write to one file of FUSE at a time since 6.2 (DESIGN 4). */
static bool is_one_writer(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname un;

	if (uname(&un) || sscanf(un.release, "%u.%u", &major, &minor) != 2)
		return true;
	return major < 6 || (major == 6 && minor < 2);
}

/* Before there are threads. It has a token and reads what comes from the network: another process
 * of its user must not read its memory, nor may what it is made to do go further than it has to. */
static void confine(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0);
	client_confine();
}

static int start_cluster(struct sync *s, struct access *access, struct err *err)
{
	int r = api_new(&s->loop, access, &s->api, err);

	if (r)
		return r;
	if (!(s->writes = writes_new(s)) || !(s->events = events_new(s)))
		return fail_nomem(err);
	for (enum kind_id k = 0; k < KINDS; k++)
		if (!(s->follows[k] = follow_new(s, k)))
			return fail_nomem(err);
	loop_timer(&s->loop, &s->core, ask_node, 0);
	loop_timer(&s->loop, &s->certificate, on_certificate, 0);
	return 0;
}

static int start(struct sync *s, const struct options *o, struct access *access, struct err *err)
{
	int r = o->print ? 0 : access_load(o->kubeconfig, access, err);

	if (r)
		return r;
	confine();

	s->o = o;
	s->world.node = o->node;
	s->world.node_uid = "";
	s->world.one_line = is_one_writer();
	r = loop_open(&s->loop, err);
	if (r)
		return r;
	loop_timer(&s->loop, &s->work, on_work, UINT64_MAX);
	loop_timer(&s->loop, &s->trim, client_trim, UINT64_MAX);
	r = mirror_new(o->tree, &s->loop, &table, on_news, s, &s->tree, err);
	return r || o->print ? r : start_cluster(s, access, err);
}

static void stop(struct sync *s)
{
	notify_manager("STOPPING=1");
	mirror_free(s->tree);
	for (enum kind_id k = 0; k < KINDS; k++)
		follow_free(s->follows[k]);
	writes_free(s->writes);
	events_free(s->events);
	if (s->labelling)
		api_cancel(s->api, s->labelling);
	api_free(s->api);
	for (enum kind_id k = 0; k < KINDS; k++) {
		store_close(&s->stores[k]);
		json_object_put(s->world.left[k]);
	}
	for (struct verdict *v = s->world.verdicts, *next; v; v = next) {
		next = v->next;
		free(v);
	}
	loop_close(&s->loop);
}

const char say_as[] = "pcidevfs-sync";

int main(int argc, char **argv)
{
	/* Static, because a thread that hangs at the tree uses them to the end. */
	static struct sync s;
	static struct options o;
	struct access access = { 0 };
	struct err err = { 0 };
	int r;

	if (parse_options(argc, argv, &o))
		return 2;
	r = start(&s, &o, &access, &err);
	access_free(&access);
	if (r) {
		say("%s", err.text);
		return 1;
	}
	loop_run(&s.loop);
	stop(&s);
	return s.status;
}
