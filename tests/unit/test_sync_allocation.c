// SPDX-License-Identifier: GPL-2.0-or-later
/* Which VM has which device: what is written on the VM and on the device, and that a node cannot
 * claim devices or pods of other nodes. */
#include <string.h>

#include "k8s-sync/agree/js.h"
#include "k8s-sync/cluster/allocation.h"
#include "pcidevfs/util.h"
#include "test.h"

#define POD "virt-launcher-vm2-x7"
#define LATER "virt-launcher-vm2-x8"
#define VM_PATH "/apis/kubevirt.io/v1/namespaces/default/virtualmachines/vm2"
#define DETAILS_PATH "/metadata/annotations/harvesterhci.io~1deviceAllocationDetails"
#define POD_PATH "/metadata/annotations/pcidevfs-cluster~1pod"
#define NIC(n) "{\"name\":\"" n "\",\"deviceName\":\"intel.com/NIC\"}"

struct scene {
	struct picks picks;
	json_object *pods, *vms, *changes;
};

static void begin(struct scene *s)
{
	*s = (struct scene){ .pods = json_object_new_object(), .vms = json_object_new_object() };
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		s->picks.table[k] = picks_table();
}

static void end(struct scene *s)
{
	for (enum pick_kind k = 0; k < PICK_KINDS; k++)
		lh_table_free(s->picks.table[k]);
	json_object_put(s->pods);
	json_object_put(s->vms);
	json_object_put(s->changes);
}

static json_object *parsed(const char *text)
{
	json_object *o = json_tokener_parse(text);

	CHECK(o != NULL);
	return o;
}

/* pod: "NAMESPACE/POD"; vm: what was told on it; both "": not there. */
static void device(struct scene *s, enum pick_kind kind, const char *name, const char *resource,
		   const char *pod, const char *vm)
{
	_json_ json_object *o = json_object_new_object();

	js_set_text(o, "metadata.name", name);
	js_set_text(o, "metadata.labels.nodename", "node1");
	js_set_text(o, "status.resourceName", resource);
	js_set_meta(o, "annotations", "pcidevfs/allocated-to", *pod ? pod : NULL);
	js_set_meta(o, "annotations", "pcidevfs-cluster/vm", *vm ? vm : NULL);
	CHECK(picks_put(s->picks.table[kind], kind, o) >= 0);
}

/* One that has been told. */
static void nic(struct scene *s, const char *name, const char *pod)
{
	char allocated[128] = "", vm[128] = "";

	if (*pod) {
		snprintf(allocated, sizeof(allocated), "default/%s", pod);
		snprintf(vm, sizeof(vm), "default/%s vm2", pod);
	}
	device(s, PICK_PCI_DEVICE, name, "intel.com/NIC", allocated, vm);
}

static void claim(struct scene *s, const char *name, const char *address)
{
	_json_ json_object *o = json_object_new_object();

	js_set_text(o, "metadata.name", name);
	js_set_text(o, "spec.nodeName", "node1");
	js_set_text(o, "spec.address", address);
	CHECK(picks_put(s->picks.table[PICK_PCI_CLAIM], PICK_PCI_CLAIM, o) >= 0);
}

static void pod(struct scene *s, const char *key, const char *node, const char *vm)
{
	json_object *digest = json_object_new_object();

	js_set_text(digest, "node", node);
	js_set_text(digest, "vm", vm);
	json_object_object_add(s->pods, key, digest);
}

static void vm(struct scene *s, const char *key, const char *text)
{
	_json_ json_object *o = parsed(text);

	json_object_object_add(s->vms, key, vm_digest(o));
}

/* annotations: in JSON, or "" for none. */
static void vm2(struct scene *s, const char *annotations, const char *devices, bool runs)
{
	char text[2048];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"resourceVersion\":\"7\"%s%s},\"spec\":{\"template\":{\"spec\":{"
		 "\"domain\":{\"devices\":%s}}}},\"status\":{\"created\":%s}}",
		 *annotations ? ",\"annotations\":" : "", annotations, devices,
		 runs ? "true" : "false");
	vm(s, "default/vm2", text);
}

static const char *decided(struct scene *s)
{
	json_object_put(s->changes);
	s->changes = allocation_decide(&s->picks, s->pods, s->vms);
	return js_line(s->changes);
}

#define TEST_VERSION "{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"7\"}"
#define PATCH(ops) "{\"" VM_PATH "\":[" TEST_VERSION ops "]}"
#define TELLS(text) ",{\"op\":\"add\",\"path\":\"" DETAILS_PATH "\",\"value\":\"" text "\"}"
#define TELLS_NOTHING ",{\"op\":\"remove\",\"path\":\"" DETAILS_PATH "\"}"
#define NOTES(pod) ",{\"op\":\"add\",\"path\":\"" POD_PATH "\",\"value\":\"" pod "\"}"
#define NOTES_NOTHING ",{\"op\":\"remove\",\"path\":\"" POD_PATH "\"}"
#define NAMES(list, i, name)                                                                       \
	",{\"op\":\"replace\",\"path\":\"/spec/template/spec/domain/devices/" list "/" i           \
	"/name\",\"value\":\"" name "\"}"
#define BOTH                                                                                       \
	"{\\\"hostdevices\\\":{\\\"intel.com/NIC\\\":[\\\"node1-000002100\\\",\\\"node1-000002101\\\"]}}"
#define SECOND "{\\\"hostdevices\\\":{\\\"intel.com/NIC\\\":[\\\"node1-000002101\\\"]}}"
#define HAS(details) "\"harvesterhci.io/deviceAllocationDetails\":\"" details "\""
#define HAD(pod) ",\"pcidevfs-cluster/pod\":\"" pod "\""
#define TWO_NICS "{\"hostDevices\":[" NIC("a") "," NIC("b") "]}"

DEFINE_TEST(allocation_is_told_on_the_device_and_on_the_vm)
{
	struct scene s;

	begin(&s);
	pod(&s, "default/" POD, "node1", "vm2");
	device(&s, PICK_PCI_DEVICE, "node1-000002101", "intel.com/NIC", "default/" POD, "");
	CHECK_STR(decided(&s),
		  "{\"/apis/devices.harvesterhci.io/v1beta1/pcidevices/node1-000002101\":["
		  "{\"op\":\"test\",\"path\":\"/metadata/annotations/pcidevfs~1allocated-to\","
		  "\"value\":\"default/" POD "\"},"
		  "{\"op\":\"add\",\"path\":\"/metadata/annotations/pcidevfs-cluster~1vm\","
		  "\"value\":\"default/" POD " vm2\"}]}");
	nic(&s, "node1-000002101", POD);
	nic(&s, "node1-000002100", POD);
	vm2(&s, "", TWO_NICS, true);
	CHECK_STR(decided(&s),
		  PATCH(",{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}}" TELLS(
			  BOTH) NOTES(POD)));
	vm2(&s, "{" HAS(BOTH) HAD(POD) "}", TWO_NICS, true);
	CHECK_STR(decided(&s), "{}");
	/* It is over: on the device nothing is told any more. */
	device(&s, PICK_PCI_DEVICE, "node1-000002101", "intel.com/NIC", "", "default/" POD " vm2");
	claim(&s, "mine", "0000:02:10.1");
	CHECK_STR(decided(&s),
		  "{\"/apis/devices.harvesterhci.io/v1beta1/pcidevices/node1-000002101\":["
		  "{\"op\":\"test\",\"path\":\"/metadata/annotations/pcidevfs-cluster~1vm\","
		  "\"value\":\"default/" POD " vm2\"},"
		  "{\"op\":\"remove\",\"path\":\"/metadata/annotations/pcidevfs-cluster~1vm\"}]}");
	end(&s);
}

/* By which name its spec asks for it; Harvester tells of no USB device. */
DEFINE_TEST(allocation_of_a_vgpu_is_told_where_the_vm_asks_for_it)
{
	struct scene s;

	begin(&s);
	pod(&s, "default/" POD, "node1", "vm2");
	nic(&s, "node1-000002100", POD);
	device(&s, PICK_PCI_DEVICE, "node1-000008004", "nvidia.com/NVIDIA_A2-4Q", "default/" POD,
	       "default/" POD " vm2");
	device(&s, PICK_USB_DEVICE, "node1-0951-1666-001004", "kubevirt.io/x", "default/" POD,
	       "default/" POD " vm2");
	vm2(&s, "{}", "{\"gpus\":[{\"name\":\"g\",\"deviceName\":\"nvidia.com/NVIDIA_A2-4Q\"}]}",
	    true);
	CHECK_IN(decided(&s),
		 "\\\"gpus\\\":{\\\"nvidia.com/NVIDIA_A2-4Q\\\":[\\\"node1-000008004\\\"]}");
	CHECK_IN(decided(&s),
		 "\\\"hostdevices\\\":{\\\"intel.com/NIC\\\":[\\\"node1-000002100\\\"]}");
	CHECK(!strstr(decided(&s), "kubevirt.io/x"));
	end(&s);
}

/* Devices go one after another, and each stays as long as it is claimed. */
DEFINE_TEST(allocation_is_kept_when_the_vm_stops)
{
	struct scene s;

	begin(&s);
	pod(&s, "default/" POD, "node1", "vm2");
	claim(&s, "node1-000002100", "0000:02:10.0");
	claim(&s, "whatever", "0000:02:10.1");
	nic(&s, "node1-000002100", "");
	nic(&s, "node1-000002101", POD);
	vm2(&s, "{" HAS(BOTH) HAD(POD) "}", TWO_NICS, true);
	CHECK_STR(decided(&s), "{}");
	nic(&s, "node1-000002101", "");
	CHECK_STR(decided(&s), "{}");
	json_object_object_del(s.pods, "default/" POD);
	vm2(&s, "{" HAS(BOTH) "}", TWO_NICS, false);
	CHECK_STR(decided(&s), "{}");
	CHECK(picks_drop(s.picks.table[PICK_PCI_CLAIM], "node1-000002100"));
	CHECK_STR(decided(&s), PATCH(TELLS(SECOND)));
	CHECK(picks_drop(s.picks.table[PICK_PCI_CLAIM], "whatever"));
	CHECK_STR(decided(&s), PATCH(TELLS_NOTHING));
	end(&s);
}

#define VGPUS                                                                                      \
	"{\\\"gpus\\\":{\\\"nvidia.com/A2-4Q\\\":[\\\"node1-000008004\\\",\\\"node1-000008005\\\"]}}"
#define ONE_VGPU "{\\\"gpus\\\":{\\\"nvidia.com/A2-4Q\\\":[\\\"node1-000008004\\\"]}}"

/* It tells of mediated devices by the names of their objects, and claims nothing for them. */
DEFINE_TEST(allocation_of_the_former_controller_stays)
{
	_json_ json_object *o = parsed(
		"{\"metadata\":{\"name\":\"node1-000008004\"},\"spec\":{\"enabled\":true}}");
	struct scene s;

	begin(&s);
	vm2(&s, "{" HAS(VGPUS) "}", "{}", true);
	CHECK_STR(decided(&s), "{}");
	vm2(&s, "{" HAS(VGPUS) "}", "{}", false);
	CHECK_STR(decided(&s), PATCH(TELLS_NOTHING));
	CHECK(picks_put(s.picks.table[PICK_VGPU], PICK_VGPU, o) > 0);
	CHECK_STR(decided(&s), PATCH(TELLS(ONE_VGPU)));
	end(&s);
}

/* Another of us has told it. */
DEFINE_TEST(allocation_is_not_undone_by_who_knows_the_pod_later)
{
	struct scene s;

	begin(&s);
	nic(&s, "node1-000002100", POD);
	CHECK_STR(decided(&s), "{}");
	device(&s, PICK_PCI_DEVICE, "node1-000002100", "intel.com/NIC", "default/" LATER,
	       "default/" POD " vm2");
	CHECK_IN(decided(&s), "\"op\":\"remove\"");
	end(&s);
}

DEFINE_TEST(allocation_of_the_next_start_takes_its_place)
{
	struct scene s;

	begin(&s);
	pod(&s, "default/" POD, "node1", "vm2");
	pod(&s, "default/" LATER, "node1", "vm2");
	claim(&s, "node1-000002100", "0000:02:10.0");
	nic(&s, "node1-000002100", "");
	nic(&s, "node1-000002101", LATER);
	vm2(&s, "{" HAS(BOTH) HAD(POD) "}", TWO_NICS, true);
	CHECK_STR(decided(&s), PATCH(TELLS(SECOND) NOTES(LATER)));
	end(&s);
}

DEFINE_TEST(allocation_names_the_devices_of_a_vm_once_it_has_stopped)
{
	struct scene s;

	begin(&s);
	claim(&s, "node1-000002100", "0000:02:10.0");
	claim(&s, "node1-000002101", "0000:02:10.1");
	vm2(&s, "{" HAS(BOTH) HAD(POD) "}", TWO_NICS, true);
	CHECK_STR(decided(&s), "{}");
	vm2(&s, "{" HAS(BOTH) HAD(POD) "}", TWO_NICS, false);
	CHECK_STR(decided(&s), PATCH(NOTES_NOTHING NAMES("hostDevices", "0", "node1-000002100")
					     NAMES("hostDevices", "1", "node1-000002101")));
	/* A user names them otherwise: once is enough. */
	vm2(&s, "{" HAS(BOTH) "}", TWO_NICS, false);
	CHECK_STR(decided(&s), "{}");
	/* It asks for another number of them by now. */
	vm2(&s, "{" HAS(BOTH) HAD(POD) "}", "{\"hostDevices\":[" NIC("a") "]}", false);
	CHECK_STR(decided(&s), PATCH(NOTES_NOTHING));
	end(&s);
}

/* Harvester's former controller writes the names in another order. */
DEFINE_TEST(allocation_that_is_told_in_another_form_stays)
{
	struct scene s;

	begin(&s);
	pod(&s, "default/" POD, "node1", "vm2");
	nic(&s, "node1-000002100", POD);
	nic(&s, "node1-000002101", POD);
	vm2(&s,
	    "{" HAS("{\\\"hostdevices\\\": {\\\"intel.com/NIC\\\": [\\\"node1-000002101\\\","
		    "\\\"node1-000002100\\\"]}}") HAD(POD) "}",
	    TWO_NICS, true);
	CHECK_STR(decided(&s), "{}");
	end(&s);
}

/* A node may speak of its own devices and its own pods alone. */
DEFINE_TEST(allocation_believes_no_node_about_others)
{
	static const char *const liars[][2] = {
		{ "node1-000002100", "default/of-node2" },
		{ "node1-000002100", "default/none" },
		{ "node1-000002100", "default/" POD " vm2" },
		{ "node1-000002100", "default" },
		{ "node1-000002100", "\",\"op\":\"add" },
		{ "node1-000002100", "../../../pods" },
		{ "node2-000002100", "default/" POD },
		{ "node10-00002100", "default/" POD },
		{ "node1", "default/" POD },
	};
	char huge[70000];

	for (size_t i = 0; i <= ARRAY_SIZE(liars); i++) {
		bool last = i == ARRAY_SIZE(liars);
		struct scene s;

		begin(&s);
		memset(huge, 'a', sizeof(huge));
		huge[sizeof(huge) - 1] = '\0';
		pod(&s, "default/" POD, "node1", "vm2");
		pod(&s, "default/of-node2", "node2", "vm2");
		pod(&s, huge, "node1", "vm2");
		device(&s, PICK_PCI_DEVICE, last ? "node1-000002100" : liars[i][0], "intel.com/NIC",
		       last ? huge : liars[i][1], "");
		vm2(&s, "", TWO_NICS, true);
		CHECK_STR(decided(&s), "{}");
		end(&s);
	}
}

DEFINE_TEST(allocation_takes_no_name_that_is_no_resource)
{
	struct scene s;

	begin(&s);
	pod(&s, "default/" POD, "node1", "vm2");
	device(&s, PICK_PCI_DEVICE, "node1-000002100", "\"}}", "default/" POD,
	       "default/" POD " vm2");
	vm2(&s, "", TWO_NICS, true);
	CHECK_STR(decided(&s), "{}");
	end(&s);
}

/* What a user has written there counts as nothing until the VM has devices. */
DEFINE_TEST(allocation_survives_any_annotation)
{
	static const char *const texts[] = {
		"",
		"x",
		"[]",
		"{}",
		"null",
		"{\\\"gpus\\\":7}",
		"{\\\"gpus\\\":{\\\"a\\\":{}}}",
		"{\\\"gpus\\\":{\\\"a\\\":[7,null]}}",
		"{\\\"hostdevices\\\":[[[[",
		"\\\\u0000",
	};
	char annotations[512];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct scene s;

		begin(&s);
		snprintf(annotations, sizeof(annotations), "{" HAS("%s") "}", texts[i]);
		vm2(&s, annotations, "{}", false);
		decided(&s);
		pod(&s, "default/" POD, "node1", "vm2");
		nic(&s, "node1-000002101", POD);
		CHECK_STR(decided(&s), PATCH(TELLS(SECOND) NOTES(POD)));
		end(&s);
	}
}

DEFINE_TEST(allocation_knows_the_vm_of_a_pod_by_its_owner)
{
#define OWNER(api, kind, name, control)                                                            \
	"\"ownerReferences\":[{\"apiVersion\":\"" api "\",\"kind\":\"" kind "\",\"name\":\"" name  \
	"\",\"controller\":" control "}]"
#define POD_TEXT(owner, node, phase)                                                               \
	"{\"metadata\":{\"labels\":{\"vm.kubevirt.io/name\":\"host\"}," owner                      \
	"},\"spec\":{\"nodeName\":\"" node "\"},\"status\":{\"phase\":\"" phase "\"}}"
#define VMI OWNER("kubevirt.io/v1", "VirtualMachineInstance", "vm2", "true")
	static const char *const none[] = {
		"{}",
		POD_TEXT("\"x\":1", "node1", "Running"),
		POD_TEXT(OWNER("v1", "VirtualMachineInstance", "vm2", "true"), "node1", "Running"),
		POD_TEXT(OWNER("kubevirt.io/v1", "ReplicaSet", "vm2", "true"), "node1", "Running"),
		POD_TEXT(OWNER("kubevirt.io/v1", "VirtualMachineInstance", "vm2", "false"), "node1",
			 "Running"),
		POD_TEXT(OWNER("kubevirt.io/v1", "VirtualMachineInstance", "a b", "true"), "node1",
			 "Running"),
		POD_TEXT(VMI, "", "Pending"),
		POD_TEXT(VMI, "node1", "Succeeded"),
		POD_TEXT(VMI, "node1", "Failed"),
	};
	json_object *o = parsed(POD_TEXT(VMI, "node1", "Running")), *digest = pod_digest(o);

	CHECK_STR(js_line(digest), "{\"node\":\"node1\",\"vm\":\"vm2\"}");
	json_object_put(digest);
	json_object_put(o);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		o = parsed(none[i]);
		CHECK(!pod_digest(o));
		json_object_put(o);
	}
}

/* Most VMs have no devices: nothing is kept of them. */
DEFINE_TEST(allocation_keeps_no_vm_without_devices)
{
	_json_ json_object *o = parsed("{\"metadata\":{\"name\":\"a\"},\"spec\":{}}");

	CHECK(!vm_digest(o));
}
