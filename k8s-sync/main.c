// SPDX-License-Identifier: GPL-2.0-or-later
/* pcidevfs-sync: the tree and the cluster's objects agree. */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "k8s-sync/agree/inventory.h"
#include "k8s-sync/api/access.h"
#include "k8s-sync/api/http.h"
#include "k8s-sync/cluster/cluster.h"
#include "k8s-sync/nvidia/labels.h"
#include "client/mirror.h"
#include "client/start.h"
#include "pcidevfs/err.h"
#include "pcidevfs/notify.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "events.h"
#include "sync.h"

enum {
	/* From a decision to the next: SHARE times as long as it took, between these. */
	GAP_MS = 10,
	LONG_MS = 200,
	SHARE = 4,
	TRIM_MS = 3000,
};

static int parse_options(int argc, char **argv, struct options *ret)
{
	const struct option_row rows[] = {
		{ "tree", "DIR", "where the tree is mounted (/run/pcidevfs)", &ret->tree },
		{ "kubeconfig", "FILE", "how to reach the cluster (from inside a pod: its own)",
		  &ret->kubeconfig },
		{ "node", "NAME",
		  "this node's name in the cluster ($NODE_NAME, or the host's in lower case)",
		  &ret->node },
		{ "print", NULL, "print the objects as YAML and end; needs no cluster",
		  &ret->print },
		{ "cluster", NULL,
		  "keep KubeVirt's list of permitted devices, for all nodes; needs no tree",
		  &ret->cluster },
		{ "vgpu-configs", "FILE",
		  "make the vGPUs that the Node's label nvidia.com/vgpu.config names, as FILE says",
		  &ret->vgpu_configs },
		{ "default-vgpu-config", "NAME", "what counts without that label (nothing)",
		  &ret->default_vgpu_config },
		{ "mig-configs", "FILE", "likewise MIG instances, by nvidia.com/mig.config",
		  &ret->mig_configs },
		{ "default-workload", "VALUE",
		  "heed nvidia.com/gpu.workload.config; without it VALUE counts, or nothing: keep",
		  &ret->default_workload },
		{ "with-nvswitches", NULL, "vm-passthrough claims NVSwitches as well as GPUs",
		  &ret->with_nvswitches },
		{ 0 },
	};

	*ret = (struct options){ .tree = "/run/pcidevfs" };
	ret->node = node_name(ret->host);
	if (client_options(argc, argv,
			   "Keeps the devices of a pcidevfs tree and a cluster's objects the same.",
			   rows))
		return -EINVAL;
	if (ret->cluster && ret->print) {
		say("--print and --cluster exclude each other");
		return -EINVAL;
	}
	if (ret->default_workload && strcmp(ret->default_workload, "keep") &&
	    !label_is_workload(ret->default_workload)) {
		say("--default-workload: \"%s\" is not one of keep, container, vm-passthrough and vm-vgpu",
		    ret->default_workload);
		return -EINVAL;
	}
	if (ret->default_vgpu_config && (strlen(ret->default_vgpu_config) > LABEL_VALUE ||
					 strchr(ret->default_vgpu_config, ' '))) {
		say("--default-vgpu-config: \"%s\" has a space, or is longer than a label's value, %d bytes",
		    ret->default_vgpu_config, LABEL_VALUE);
		return -EINVAL;
	}
	if (ret->cluster || node_is_name(ret->node))
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
	source_soon(&s->work, s->decided, s->gap);
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
		s->world.left_out[k] = s->stores[k].left_out;
		if (!s->stores[k].left_out)
			continue;
		roll_review(s->rolls[k]);
		snprintf(
			ret_said, ERR_TEXT,
			"of the %s of node %s more than %d mean no device that is here, or are larger than %d KiB; the others are not looked at",
			kinds[k].plural, s->o->node, APART_MAX, CLAIM_MAX >> 10);
	}
}

static void on_work(struct source *source)
{
	struct sync *s = container_of(source, struct sync, work);
	char now[24], left_out[ERR_TEXT];
	struct action *list;
	uint64_t gap;
	bool gpus;

	if (!s->node_known || !decide_ready(&s->world) || former_waits(s) || !open_world(s))
		return;
	time_text(now);
	s->world.now = now;
	s->world.now_ms = s->decided = now_ms();
	asks_remind(s);
	writes_mark(s->writes);
	review(s, left_out);
	list = decide(&s->world);
	gpus = kind_wanted(&s->world, GPU_DEVICE);
	mirror_unlock(s->tree);
	sync_say(s, SAY_LEFT_OUT, left_out);
	left_keep(&s->world, list);
	writes_do(s->writes, list);
	actions_free(list);
	label_ensure(s, gpus);
	labels_touch(s);
	gap = SHARE * (now_ms() - s->decided);
	s->gap = gap < GAP_MS ? GAP_MS : gap > LONG_MS ? LONG_MS : (unsigned int)gap;
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
	if (mirror_orphaned(s->tree)) {
		say("the daemon that served %s has ended, and a new one's mount does not appear in its place; "
		    "this process ends, so that it is started anew where that mount is",
		    s->o->tree);
		s->status = 1;
		s->loop.ended = true;
		return;
	}
	if (!s->told_ready)
		notify_manager("READY=1");
	s->told_ready = true;
	if (!s->following && mirror_known(s->tree)) {
		s->following = true;
		for (enum kind_id k = 0; k < KINDS; k++)
			roll_start(s->rolls[k]);
	}
	sync_touch(s);
	labels_touch(s);
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

static void tell_events(void *ctx, const char *sentence)
{
	sync_say(ctx, SAY_EVENTS, sentence);
}

static void tell_certificate(void *ctx, const char *sentence)
{
	sync_say(ctx, SAY_CERTIFICATE, sentence);
}

static int start_cluster(struct sync *s, struct access *access, struct err *err)
{
	int r = api_new(&s->loop, access, &s->api, err);

	if (r)
		return r;
	if (!(s->writes = writes_new(s)) ||
	    !(s->events = events_new(&s->loop, s->api, tell_events, s)))
		return fail_nomem(err);
	for (enum kind_id k = 0; k < KINDS; k++)
		if (!(s->rolls[k] = roll_new(s, k)))
			return fail_nomem(err);
	node_open(s);
	api_tell_expiry(s->api, tell_certificate, s);
	return labels_open(s, err);
}

static int start(struct sync *s, const struct options *o, struct access *access, struct err *err)
{
	int r;

	s->o = o;
	s->world.node = o->node;
	s->world.node_uid = s->node_uid;
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
		roll_free(s->rolls[k]);
	labels_close(s);
	writes_free(s->writes);
	events_free(s->events);
	node_close(s);
	api_free(s->api);
	for (enum kind_id k = 0; k < KINDS; k++) {
		store_close(&s->stores[k]);
		json_object_put(s->world.left[k]);
		json_object_put(s->world.writing[k]);
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
	r = o.print ? 0 : access_load(o.kubeconfig, &access, &err);
	confine();
	if (!r)
		r = o.cluster ? cluster_run(&access, &err) : start(&s, &o, &access, &err);
	access_free(&access);
	if (r) {
		say("%s", err.text);
		return 1;
	}
	if (o.cluster)
		return 0;
	loop_run(&s.loop);
	stop(&s);
	return s.status;
}
