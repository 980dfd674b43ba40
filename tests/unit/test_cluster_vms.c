// SPDX-License-Identifier: GPL-2.0-or-later
/* What is followed, what is told on VMs, and when again: this is the rest of the role, and the API
 * server. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fakeapi.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/cluster/allocation.h"
#include "k8s-sync/cluster/cluster.h"
#include "k8s-sync/events.h"
#include "pcidevfs/util.h"
#include "test.h"

static struct cluster c;
static unsigned int said;

void cluster_touch(struct cluster *cluster)
{
}

void time_text(char ret[static 24])
{
	snprintf(ret, 24, "2026-11-29T02:00:00Z");
}

void cluster_say(struct cluster *cluster, enum cluster_slot slot, const struct dialect *d,
		 json_object *o, const char *reason, const char *sentence)
{
	said += *sentence != 0;
	STR_COPY(c.told[slot], sentence);
}

static struct {
	unsigned int n;
	bool normal;
	char about[64], reason[32], text[ERR_TEXT];
} event;

void events_add(struct events *e, const struct involved *about, const char *reason,
		const char *sentence)
{
	event.n++;
	event.normal = about->normal;
	snprintf(event.about, sizeof(event.about), "%s %s %s/%s %s", about->api, about->kind,
		 about->space, about->name, about->uid);
	STR_COPY(event.reason, reason);
	STR_COPY(event.text, sentence);
}

static void begin(void)
{
	CHECK_EQ(loop_open(&c.loop, NULL), 0);
	loop_timer(&c.loop, &c.work, NULL, UINT64_MAX);
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		c.picks.table[k] = picks_table();
	CHECK_EQ(vms_open(&c, NULL), 0);
	for (size_t i = 0; i < VM_ROLLS; i++)
		c.vms[i].listed = true;
}

static void end(void)
{
	vms_close(&c);
	CHECK_EQ(n_queued, 0);
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		lh_table_free(c.picks.table[k]);
	loop_close(&c.loop);
}

/* One that tells a device that is not claimed. */
static void vm(const char *name)
{
	_json_ json_object *o = json_object_new_object();
	char key[64];

	js_set_text(o, "metadata.resourceVersion", "7");
	js_set_meta(o, "annotations", DETAILS, "{\"gpus\":{\"a.com/B\":[\"x\"]}}");
	snprintf(key, sizeof(key), "default/%s", name);
	json_object_object_add(c.vms[ROLL_VMS].objects, key, vm_digest(o));
}

static void answer(unsigned int status, int code)
{
	struct reply r = { .status = status, .err.code = code };
	struct call *call = queued[0];

	if (code)
		STR_COPY(r.err.text, "a webhook refuses it");
	fakeapi_leave(call);
	call->done(call, &r);
}

static void work_when_due(void)
{
	while (now_ms() < c.work.at)
		usleep(1000);
	c.work.at = UINT64_MAX;
	vms_work(&c);
}

DEFINE_TEST(cluster_a_vm_that_is_refused_waits_and_is_told_once)
{
	begin();
	vm("vm1");
	vms_work(&c);
	for (unsigned int i = 1; i <= PATCHING_TOLD + 1; i++) {
		CHECK_EQ(n_queued, 1);
		answer(422, EINVAL);
		CHECK_EQ(said, i >= PATCHING_TOLD);
		vms_work(&c);
		CHECK_EQ(n_queued, 0);
		CHECK(c.work.at != UINT64_MAX);
		if (i <= PATCHING_TOLD)
			work_when_due();
	}
	CHECK_IN(
		c.told[SLOT_TELLING],
		"who has which device cannot be told in /apis/kubevirt.io/v1/namespaces/default/virtualmachines/vm1: a webhook refuses it");
	/* It is over. */
	json_object_object_del(c.vms[ROLL_VMS].objects, "default/vm1");
	vms_work(&c);
	CHECK_STR(c.told[SLOT_TELLING], "");
	end();
}

/* The watch may tell of it later. */
DEFINE_TEST(cluster_what_was_taken_is_not_written_again_at_once)
{
	begin();
	vm("vm1");
	vms_work(&c);
	answer(200, 0);
	vms_work(&c);
	CHECK_EQ(n_queued, 0);
	CHECK(c.work.at != UINT64_MAX);
	CHECK_EQ(said, 0);
	end();
}

DEFINE_TEST(cluster_vms_that_are_refused_hold_up_no_other)
{
	begin();
	for (unsigned int i = 0; i <= QUEUED_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "vm%u", i);
		vm(name);
	}
	vms_work(&c);
	CHECK_EQ(n_queued, QUEUED_MAX);
	while (n_queued)
		answer(422, EINVAL);
	vms_work(&c);
	CHECK_EQ(n_queued, 1);
	CHECK_IN(queued[0]->path, "/vm8?");
	end();
}

static void end_turn(void *ctx)
{
	c.loop.ended = true;
}

static void turn(void)
{
	c.loop.ended = false;
	loop_run(&c.loop);
}

static struct call *watch_of(const char *plural)
{
	for (unsigned int i = 0; i < n_queued; i++)
		if (strstr(queued[i]->path, plural))
			return queued[i];
	return NULL;
}

/* What is known may be old: claims that are not seen have not ended. */
DEFINE_TEST(cluster_kinds_that_may_not_be_read_do_not_count)
{
	_json_ json_object *listed = json_tokener_parse(
		"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}");
	const struct reply refused = { .status = 403, .err.code = EACCES };
	struct call *call;

	CHECK_EQ(loop_open(&c.loop, NULL), 0);
	c.loop.after = end_turn;
	CHECK_EQ(rolls_open(&c, NULL), 0);
	turn();
	call = watch_of("pcideviceclaims");
	CHECK(call);
	call->document(call, listed);
	CHECK(c.picks.listed[PICK_PCI_CLAIM]);
	fakeapi_leave(call);
	call->done(call, &refused);
	CHECK(!c.picks.listed[PICK_PCI_CLAIM]);
	turn();
	call = watch_of("pcideviceclaims");
	CHECK(call);
	CHECK_IN(call->path, "resourceVersion=8");
	call->begun(call);
	CHECK(c.picks.listed[PICK_PCI_CLAIM]);
	rolls_close(&c);
	CHECK_EQ(n_queued, 0);
	loop_close(&c.loop);
}

/* ---- VMs that name the old kind */

#define PCI_VGPU "nvidia.com/NVIDIA_A2-4C"
#define MEDIATED "nvidia.com/NVIDIA_A2-2C"

/* The type NVIDIA A2-4C is that of a VF, or of a mediated device by its UUID. */
static void vgpu(const char *name, const char *type, const char *id)
{
	_json_ json_object *device = json_object_new_object(), *o = json_object_new_object();

	js_set_text(device, "metadata.name", name);
	js_set_text(device, "status.vendorId", "10de");
	js_set_text(device, "status.deviceId", "25b6");
	CHECK(picks_put(c.picks.table[PICK_PCI_DEVICE], PICK_PCI_DEVICE, device) >= 0);
	js_set_text(o, "metadata.name", name);
	js_set(o, "spec.enabled", json_object_new_boolean(true));
	js_set_text(o, "spec.vGPUTypeName", type);
	js_set_text(o, "status.configureVGPUTypeName", type);
	js_set_text(o, "status.uuid", id);
	CHECK(picks_put(c.picks.table[PICK_VGPU], PICK_VGPU, o) >= 0);
}

/* list: the one that has the device. */
static void asks(const char *name, const char *uid, const char *list, const char *resource)
{
	_json_ json_object *o = json_object_new_object();
	json_object *devices = json_object_new_array(), *d = json_object_new_object();
	char path[64], key[64];

	js_set_text(d, "name", "a");
	js_set_text(d, "deviceName", resource);
	json_object_array_add(devices, d);
	js_set_text(o, "metadata.uid", uid);
	snprintf(path, sizeof(path), "spec.template.spec.domain.devices.%s", list);
	js_set(o, path, devices);
	snprintf(key, sizeof(key), "default/%s", name);
	json_object_object_add(c.vms[ROLL_VMS].objects, key, vm_digest(o));
}

static void on_harvester(const char *namespace)
{
	char key[64];

	json_object_put(c.holders[HOLDER_KUBEVIRT].objects);
	c.holders[HOLDER_KUBEVIRT].objects = json_object_new_object();
	snprintf(key, sizeof(key), "%s/kubevirt", namespace);
	json_object_object_add(c.holders[HOLDER_KUBEVIRT].objects, key, NULL);
}

static void end_holders(void)
{
	json_object_put(c.holders[HOLDER_KUBEVIRT].objects);
	end();
}

DEFINE_TEST(cluster_a_vm_with_a_pci_vgpu_in_gpus_is_told_once)
{
	begin();
	vgpu("n1-000008004", "NVIDIA A2-4C", "1145");
	asks("vm1", "u1", "gpus", PCI_VGPU);
	/* Without Harvester `gpus` is right. */
	vms_work(&c);
	on_harvester("kubevirt");
	vms_work(&c);
	CHECK_EQ(event.n, 0);
	on_harvester("harvester-system");
	vms_work(&c);
	CHECK_EQ(event.n, 1);
	CHECK(event.normal);
	CHECK_STR(event.about, "kubevirt.io/v1 VirtualMachine default/vm1 u1");
	CHECK_STR(event.reason, "NamedInGpus");
	CHECK_IN(event.text, "this VM starts with " PCI_VGPU " in gpus");
	CHECK_IN(event.text, "move the entry from gpus to hostDevices");
	/* Once, also where its vGPU goes and comes. */
	c.gpus_at = 0;
	vms_work(&c);
	CHECK(picks_drop(c.picks.table[PICK_VGPU], "n1-000008004"));
	vms_work(&c);
	vgpu("n1-000008004", "NVIDIA A2-4C", "1145");
	vms_work(&c);
	CHECK_EQ(event.n, 1);
	/* One of the same name is another VM. */
	asks("vm1", "u2", "gpus", PCI_VGPU);
	vms_work(&c);
	CHECK_EQ(event.n, 2);
	/* What was told of VMs that are gone is forgotten. */
	CHECK_EQ(json_object_object_length(c.gpus_told), 1);
	end_holders();
}

DEFINE_TEST(cluster_what_names_the_right_kind_is_not_told)
{
	begin();
	on_harvester("harvester-system");
	vgpu("n1-000008004", "NVIDIA A2-4C", "1145");
	vgpu("n1-000008005", "NVIDIA A2-2C", "8ff3f6b2-8d0c-4c57-9f5b-0a5a9f4a0a3c");
	asks("vm1", "u1", "hostDevices", PCI_VGPU);
	asks("vm2", "u2", "gpus", MEDIATED);
	asks("vm3", "u3", "gpus", "nvidia.com/NOBODY_OFFERS");
	vms_work(&c);
	CHECK_EQ(event.n, 0);
	CHECK(c.work.at == UINT64_MAX);
	/* In the middle of an upgrade one node makes it in the one way, another one in the other. */
	vgpu("n2-000008004", "NVIDIA A2-2C", "1143");
	vms_work(&c);
	CHECK_EQ(event.n, 0);
	CHECK(picks_drop(c.picks.table[PICK_VGPU], "n1-000008005"));
	vms_work(&c);
	CHECK_EQ(event.n, 1);
	CHECK_STR(event.about, "kubevirt.io/v1 VirtualMachine default/vm2 u2");
	end_holders();
}

/* Events that come faster than they go are lost. */
DEFINE_TEST(cluster_vms_are_told_of_their_gpus_one_a_second)
{
	begin();
	on_harvester("harvester-system");
	vgpu("n1-000008004", "NVIDIA A2-4C", "1145");
	asks("vm1", "u1", "gpus", PCI_VGPU);
	asks("vm2", "u2", "gpus", PCI_VGPU);
	vms_work(&c);
	vms_work(&c);
	CHECK_EQ(event.n, 1);
	CHECK(c.work.at != UINT64_MAX && c.work.at > now_ms() + 500);
	c.gpus_at = 0;
	vms_work(&c);
	CHECK_EQ(event.n, 2);
	end_holders();
}
