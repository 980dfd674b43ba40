// SPDX-License-Identifier: GPL-2.0-or-later
/* Pods that run VMs, VMs, and nodes: followed, and told who has what. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "allocation.h"
#include "cluster.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/follow.h"
#include "k8s-sync/api/http.h"
#include "k8s-sync/events.h"
#include "lost.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

enum {
	DIGESTS_MAX = 20000, /* of one kind */
	AT_A_TIME = 8,
	SOON_MS = 2000, /* by then the watch tells what was taken: the same is not written again */
	GPUS_MS = 1000, /* between two VMs: no more Events come in that time */
};

/* A change of one object, while it is wanted and for a while after. */
struct teller {
	struct patching patching;
	bool told; /* that it is refused, or undone */
	char path[];
};

static const struct {
	const char *api, *plural;
	const char *const *selectors;
	const char *value;
	unsigned int page;
	json_object *(*digest)(json_object *o);
} kinds_of[VM_ROLLS] = {
	[ROLL_PODS] = { "v1", "pods", (const char *const[]){ "labelSelector=kubevirt.io%3D", NULL },
			"virt-launcher", 50, pod_digest },
	[ROLL_VMS] = { "kubevirt.io/v1", "virtualmachines", NULL, NULL, 50, vm_digest },
	/* Each has the names of some fifty images. */
	[ROLL_NODES] = { "v1", "nodes", NULL, NULL, 10, node_digest },
};

/* ---- what is known */

/* Only its version is another one: it is not looked at. */
static bool is_same(json_object *was, json_object *digest)
{
	if (was && js_get(was, "version"))
		js_set_text(was, "version", js_text(digest, "version"));
	return json_object_equal(was, digest);
}

static int take(void *ctx, json_object *o, bool listing, struct err *err)
{
	struct space_roll *r = ctx;
	json_object *digests = listing ? r->listing : r->objects;
	json_object *digest = kinds_of[r - r->c->vms].digest(o);
	char key[PICKS_KEY];

	if (is_same(json_object_object_get(digests, picks_key(o, key)), digest)) {
		json_object_put(digest);
		return 0;
	}
	if (digest)
		json_object_object_add(digests, key, digest);
	else
		json_object_object_del(digests, key);
	if (!listing)
		cluster_touch(r->c);
	if (json_object_object_length(digests) <= DIGESTS_MAX)
		return 0;
	r->listed = false;
	return fail(err, E2BIG, "there are more than %d, which is the bound", DIGESTS_MAX);
}

/* The cluster has no KubeVirt. */
static bool none(void *ctx, const struct reply *reply, struct err *err)
{
	struct space_roll *r = ctx;

	(void)err;
	if (reply->status != 404)
		return false;
	space_empty(r);
	return true;
}

static void tell(void *ctx, const char *sentence)
{
	struct space_roll *r = ctx;

	cluster_say(r->c, SLOT_VMS + (enum cluster_slot)(r - r->c->vms), NULL, NULL, "", sentence);
}

/* ---- what is written */

static void on_told(struct patching *p, const struct reply *r)
{
	struct teller *t = container_of(p, struct teller, patching);
	struct err err = r->err;

	if (r->away || r->status == 401)
		return;
	if (p->brake.calm) {
		fail(&err, EBUSY,
		     "somebody else undoes it; it is written once a minute until it stays");
	} else if (!r->err.code) {
		t->told = false;
		p->brake.calm = now_ms() + SOON_MS;
	}
	if (t->told || (!p->brake.calm && p->tries < PATCHING_TOLD) || !err.code)
		return;
	t->told = true;
	fail_wrap(&err, "who has which device cannot be told in %s", t->path);
	cluster_say(p->c, SLOT_TELLING, NULL, NULL, "", err.text);
}

static struct teller *teller_of(struct cluster *c, const char *path)
{
	struct teller *t;
	void *found;

	if (lh_table_lookup_ex(c->tellings, path, &found))
		return found;
	t = calloc(1, sizeof(*t) + strlen(path) + 1);
	if (!t)
		return NULL;
	t->patching = (struct patching){ .c = c, .done = on_told };
	strcpy(t->path, path);
	if (!lh_table_insert(c->tellings, t->path, t))
		return t;
	free(t);
	return NULL;
}

/* Without the test, its first member, which is another one with each version, and without times. */
static uint64_t hash_of(json_object *patch)
{
	uint64_t h = FNV1A;

	for (size_t i = 1; i < js_length(patch); i++) {
		json_object *o = json_object_array_get_idx(patch, i);
		const char *op = js_line(o);

		if (!strstr(js_text(o, "path"), "/lastTransitionTime"))
			h = fnv1a(h, op, strlen(op));
	}
	return h;
}

static void send(struct cluster *c, const char *path, json_object *patch, unsigned int *running)
{
	struct teller *t = teller_of(c, path);
	struct out where = { 0 };

	if (!t || t->patching.call || *running >= AT_A_TIME)
		return;
	out_printf(&where, "%s?fieldManager=pcidevfs-cluster", path);
	*running += patching_send(&t->patching, &where, patch, hash_of(patch));
}

/* What is not wanted any more is remembered as long as somebody may be undoing it. Returns how many
 * are under way. */
static unsigned int forget(struct cluster *c, json_object *changes)
{
	struct lh_entry *e, *next;
	unsigned int running = 0;
	bool told = false;

	lh_foreach_safe(c->tellings, e, next)
	{
		struct teller *t = (void *)lh_entry_v(e);

		if (!t->patching.call && now_ms() > t->patching.brake.ends &&
		    !json_object_object_get_ex(changes, t->path, NULL)) {
			lh_table_delete_entry(c->tellings, e);
			continue;
		}
		running += t->patching.call != NULL;
		told = told || t->told;
	}
	if (!told)
		cluster_say(c, SLOT_TELLING, NULL, NULL, "", "");
	return running;
}

/* ---- VMs that name the old kind */

/* The first of a VM's `gpus` that is offered as a PCI device alone. NULL: there is none. */
static const char *pci_in_gpus(const struct offers *o, json_object *vm)
{
	json_object *gpus = js_get(vm, "gpus");

	for (size_t i = 0; i < js_length(gpus); i++) {
		const char *name = js_text(json_object_array_get_idx(gpus, i), "deviceName");

		if (offers_of(o, LIST_PCI, name) && !offers_of(o, LIST_MDEV, name))
			return name;
	}
	return NULL;
}

static void tell_gpus(struct cluster *c, const char *key, json_object *vm, const char *resource)
{
	size_t n = strcspn(key, "/");
	_free_ char *space = strndup(key, n);
	char text[ERR_TEXT];

	if (!space)
		return;
	snprintf(
		text, sizeof(text),
		"this VM starts with %s in gpus, but before an upgrade and before its Addon pcidevices-controller is disabled Harvester looks for PCI devices in hostDevices alone; to have this VM found there, move the entry from gpus to hostDevices",
		resource);
	say("VirtualMachine %s: %s", key, text);
	events_add(c->events,
		   &(struct involved){ .api = kinds_of[ROLL_VMS].api,
				       .kind = "VirtualMachine",
				       .name = key + n + 1,
				       .uid = js_text(vm, "uid"),
				       .space = space,
				       .normal = true },
		   "NamedInGpus", text);
}

/* From 1.8 on Harvester has vGPUs in `hostDevices`, and its former controller moved them there
 * (spec/harvester.md 6.2); KubeVirt takes a PCI device in either (spec/peers.md 1.9). */
static void tell_all_gpus(struct cluster *c)
{
	json_object *told = json_object_new_object();
	struct offers offers = { 0 };
	uint64_t now = now_ms();

	json_object_object_foreach(c->vms[ROLL_VMS].objects, key, vm)
	{
		const char *uid = js_text(vm, "uid"), *resource;

		if (!js_length(js_get(vm, "gpus")))
			continue;
		if (json_object_object_get_ex(c->gpus_told, uid, NULL)) {
			json_object_object_add(told, uid, NULL);
			continue;
		}
		if (!offers.names[LIST_PCI])
			offers_fill(&offers, &dialect_kubevirt, &c->picks, false);
		resource = pci_in_gpus(&offers, vm);
		if (resource && now < c->gpus_at) {
			source_by(&c->work, c->gpus_at);
		} else if (resource) {
			tell_gpus(c, key, vm, resource);
			json_object_object_add(told, uid, NULL);
			c->gpus_at = now + GPUS_MS;
		}
	}
	offers_free(&offers);
	json_object_put(c->gpus_told);
	c->gpus_told = told;
}

void vms_work(struct cluster *c)
{
	json_object *changes;
	unsigned int running;
	char now[24];

	if (!c->vms[ROLL_PODS].listed || !c->vms[ROLL_VMS].listed)
		return;
	changes = allocation_decide(&c->picks, c->vms[ROLL_PODS].objects, c->vms[ROLL_VMS].objects);
	time_text(now);
	if (c->vms[ROLL_NODES].listed)
		lost_decide(&c->picks, c->vms[ROLL_NODES].objects, now, changes);
	running = forget(c, changes);
	json_object_object_foreach(changes, path, patch)
	{
		send(c, path, patch, &running);
	}
	json_object_put(changes);
	if (json_object_object_get_ex(c->holders[HOLDER_KUBEVIRT].objects,
				      "harvester-system/kubevirt", NULL))
		tell_all_gpus(c);
}

static void teller_free(struct lh_entry *e)
{
	struct teller *t = (void *)lh_entry_v(e);

	patching_close(&t->patching);
	free(t);
}

int vms_open(struct cluster *c, struct err *err)
{
	static const struct follow_ops ops = {
		.begin = space_begin,
		.know = space_know,
		.drop = space_drop,
		.take = take,
		.gone = space_lose,
		.none = none,
		.say = tell,
	};

	c->tellings = lh_kchar_table_new(64, teller_free);
	for (size_t i = 0; i < VM_ROLLS; i++) {
		const struct follow_what what = { .api = kinds_of[i].api,
						  .plural = kinds_of[i].plural,
						  .selectors = kinds_of[i].selectors,
						  .value = kinds_of[i].value,
						  .page = kinds_of[i].page,
						  .ops = &ops };
		struct space_roll *r = &c->vms[i];

		*r = (struct space_roll){ .c = c, .objects = json_object_new_object() };
		r->follow = follow_new(&c->loop, c->api, &what, r);
		if (!c->tellings || !r->objects || !r->follow)
			return fail_nomem(err);
		follow_start(r->follow);
	}
	return 0;
}

void vms_close(struct cluster *c)
{
	if (c->tellings)
		lh_table_free(c->tellings);
	for (size_t i = 0; i < VM_ROLLS; i++) {
		follow_free(c->vms[i].follow);
		json_object_put(c->vms[i].objects);
	}
	json_object_put(c->gpus_told);
}
