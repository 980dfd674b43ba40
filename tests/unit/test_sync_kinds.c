// SPDX-License-Identifier: GPL-2.0-or-later
/* What sync decides of each kind: see test_sync_decide.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "syncworld.h"
#include "test.h"

#define DEVICE(more)                                                                               \
	"vendor=0x144d device=0xa808 class=0x010802 kind=pci iommu_group=37 driver=nvme "          \
	"claimable=yes state=free reason=none resource_name=samsung.com/SM981 " more
#define VF "0000:08:00.4"
#define VF_NAME "node1-000008004"
#define VGPU(more)                                                                                 \
	"class=0x030200 kind=vgpu driver=nvidia physfn=0000:08:00.0 iommu_group=90 state=free " more
#define TYPES "profiles_available=\"name=\\\"A2-4Q\\\" id=747 name=\\\"A2-8Q\\\" id=748\" "
#define OFF VGPU("claim=none profile=none " TYPES)
#define ON VGPU("claim=admin profile=A2-4Q profile_id=747 resource_name=nvidia.com/A2-4Q")

static const char *plain(json_object *o)
{
	return json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
}

static void set_vgpu(struct syncworld *s, bool on, const char *type)
{
	json_object *o = object(s, VGPU_DEVICE, VF_NAME);

	js_set(o, "spec.enabled", json_object_new_boolean(on));
	js_set(o, "spec.vGPUTypeName", json_object_new_string(type));
}

DEFINE_TEST(sync_kinds_a_vgpu_is_made_from_either_side)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, VF, OFF);
	expect(syncworld_settle(&s), "");
	o = object(&s, VGPU_DEVICE, VF_NAME);
	CHECK_STR(plain(js_get(o, "status.availableTypes")), "{\"A2-4Q\":\"747\",\"A2-8Q\":\"748\"}");
	CHECK(!js_get(o, "status.vGPUStatus"));
	set_vgpu(&s, true, "A2-4Q");
	expect(syncworld_settle(&s), "ctl vgpudevices/" VF_NAME " " VF "/profile A2-4Q\n");
	syncworld_device(&s, VF, ON);
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(o, "status.vGPUStatus"), "vGPUConfigured");
	CHECK_STR(js_text(o, "status.uuid"), "747");
	CHECK_STR(js_text(o, "status.configureVGPUTypeName"), "A2-4Q");
	o = object(&s, PCI_CLAIM, VF_NAME);
	CHECK_STR(js_text(o, "spec.userName"), "admin");
	CHECK_STR(js_meta(o, "annotations", SKIP_BINDING), "true");
	CHECK_STR(js_meta(o, "annotations", RESOURCE_OVERRIDE), "nvidia.com/A2-4Q");
	CHECK_EQ(json_object_array_length(js_get(o, "metadata.ownerReferences")), 3);
	o = object(&s, PCI_DEVICE, VF_NAME);
	CHECK_STR(js_meta(o, "annotations", RESOURCE_OVERRIDE), "nvidia.com/A2-4Q");
	syncworld_device(&s, VF, OFF);
	expect(syncworld_settle(&s), "");
	o = object(&s, VGPU_DEVICE, VF_NAME);
	CHECK(!json_object_get_boolean(js_get(o, "spec.enabled")));
	CHECK(!object_find(&s.w, PCI_CLAIM, VF_NAME));
	CHECK(!js_meta(object(&s, PCI_DEVICE, VF_NAME), "annotations", RESOURCE_OVERRIDE));
	syncworld_free(&s);
}

/* Somebody asks while the object is made, before it has its spec. */
DEFINE_TEST(sync_kinds_a_vgpu_that_is_asked_for_at_once_is_made)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, VF, OFF);
	syncworld_object(&s, VGPU_DEVICE,
			 "{\"metadata\":{\"name\":\"" VF_NAME
			 "\",\"uid\":\"V\"},\"spec\":{\"address\":\"\","
			 "\"enabled\":true,\"vGPUTypeName\":\"A2-4Q\"}}");
	expect(syncworld_settle(&s), "ctl vgpudevices/" VF_NAME " " VF "/profile A2-4Q\n");
	CHECK_STR(js_text(object(&s, VGPU_DEVICE, VF_NAME), "spec.address"), VF);
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_what_is_configured_is_adopted_and_not_wiped)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, VF, ON);
	syncworld_object(&s, VGPU_DEVICE,
			 "{\"metadata\":{\"name\":\"" VF_NAME "\",\"uid\":\"V\"},\"spec\":{\"address\":\"" VF
			 "\",\"nodeName\":\"node1\",\"enabled\":false,\"vGPUTypeName\":\"\"}}");
	expect(syncworld_settle(&s), "");
	CHECK(json_object_get_boolean(js_get(object(&s, VGPU_DEVICE, VF_NAME), "spec.enabled")));
	/* As Harvester 1.7 leaves what it has found. */
	set_vgpu(&s, true, "");
	expect(syncworld_settle(&s), "");
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_a_type_of_any_text_is_one_line)
{
	static const char *const rows[][2] = {
		{ "A2-4Q\n0000:05:00.0/claim x", "A2-4Q_0000:05:00.0/claim x" },
		{ "none", "_" },
		{ "a<b>c\x7f", "a_b_c_" },
		{ "", "" },
	};
	char want[256];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syncworld s;

		syncworld_init(&s);
		syncworld_device(&s, VF, OFF);
		free(syncworld_settle(&s));
		set_vgpu(&s, true, rows[i][0]);
		snprintf(want, sizeof(want), "ctl vgpudevices/" VF_NAME " " VF "/profile %s\n",
			 rows[i][1]);
		expect(syncworld_settle(&s), want);
		syncworld_free(&s);
	}
}

DEFINE_TEST(sync_kinds_nothing_is_agreed_while_an_operation_runs)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, VF, ON);
	expect(syncworld_settle(&s), "");
	syncworld_device(&s, VF, "state=busy " OFF);
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(object(&s, VGPU_DEVICE, VF_NAME), "spec.vGPUTypeName"), "A2-4Q");
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_an_object_whose_device_is_gone_tells_only_what_it_is)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, VF, ON);
	syncworld_device(&s, NVME, DEVICE("claim=none"));
	expect(syncworld_settle(&s), "");
	inventory_drop(&s.inv, VF);
	inventory_drop(&s.inv, NVME);
	expect(syncworld_settle(&s), "");
	CHECK(!object_find(&s.w, PCI_DEVICE, NAME));
	CHECK_STR(condition(&s, VGPU_DEVICE, VF_NAME, "type"), "Present");
	CHECK_STR(condition(&s, PCI_DEVICE, VF_NAME, "status"), "False");
	CHECK_STR(condition(&s, PCI_CLAIM, VF_NAME, "reason"), "NoDevice");
	syncworld_device(&s, VF, ON);
	expect(syncworld_settle(&s), "");
	CHECK_STR(condition(&s, VGPU_DEVICE, VF_NAME, "type"), "");
	syncworld_free(&s);
}

static void is_vgpu_object(struct syncworld *s, bool there)
{
	CHECK_EQ(object_find(&s->w, VGPU_DEVICE, VF_NAME) != NULL, there);
}

/* Harvester's UI offers every VGPUDevice that is enabled, by the name of a type that one whose VF
 * is away does not have. */
DEFINE_TEST(sync_kinds_a_stored_vgpu_has_an_object_when_its_vf_is_back)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, GPU, GPU_FACTS("1"));
	syncworld_device(&s, VF, ON);
	expect(syncworld_settle(&s), "");
	/* At boot the VFs are still to come, and the card may be away for a while. */
	inventory_drop(&s.inv, VF);
	expect(syncworld_settle(&s), "");
	is_vgpu_object(&s, true);
	inventory_drop(&s.inv, GPU);
	expect(syncworld_settle(&s), "");
	is_vgpu_object(&s, true);
	/* What was asked and not agreed yet would be lost with it. */
	syncworld_device(&s, GPU, GPU_FACTS("0"));
	set_vgpu(&s, false, "");
	expect(syncworld_settle(&s), "");
	is_vgpu_object(&s, true);
	set_vgpu(&s, true, "A2-4Q");
	expect(syncworld_settle(&s), "");
	is_vgpu_object(&s, false);
	CHECK_STR(condition(&s, PCI_CLAIM, VF_NAME, "reason"), "NoDevice");
	/* The tree's intent has waited. */
	syncworld_device(&s, GPU, GPU_FACTS("1"));
	syncworld_device(&s, VF, VGPU("claim=admin profile=none asked=\"profile=A2-4Q\" unsatisfied=soon"));
	expect(syncworld_settle(&s), "");
	syncworld_device(&s, VF, ON);
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(object(&s, VGPU_DEVICE, VF_NAME), "spec.vGPUTypeName"), "A2-4Q");
	CHECK_STR(js_text(object(&s, VGPU_DEVICE, VF_NAME), "status.configureVGPUTypeName"), "A2-4Q");
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_a_resource_is_renamed_from_either_side)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, NVME, DEVICE("claim=none resource_override=none"));
	expect(syncworld_settle(&s), "");
	o = object(&s, PCI_DEVICE, NAME);
	CHECK(!js_meta(o, "annotations", RESOURCE_OVERRIDE));
	js_set_meta(o, "annotations", RESOURCE_OVERRIDE, "a.com/DISK");
	expect(syncworld_settle(&s), "ctl pcidevices/" NAME " " NVME "/resource_name a.com/DISK\n");
	syncworld_device(&s, NVME, DEVICE("claim=none resource_override=a.com/DISK"));
	expect(syncworld_settle(&s), "");
	syncworld_device(&s, NVME, DEVICE("claim=none resource_override=b.com/DISK"));
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_meta(o, "annotations", RESOURCE_OVERRIDE), "b.com/DISK");
	json_object_object_del(js_get(o, "metadata.annotations"), RESOURCE_OVERRIDE);
	expect(syncworld_settle(&s), "ctl pcidevices/" NAME " " NVME "/resource_name none\n");
	syncworld_free(&s);
}

#define OWNED(owner) "\"ownerReferences\":[{\"kind\":\"PCIDevice\",\"name\":\"" owner "\"}]"
#define OWNED_CLAIM(name, owner, more)                                                             \
	"{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" name "\"," OWNED(owner) more             \
	"},\"spec\":{\"address\":\"" NVME "\",\"nodeName\":\"node1\",\"userName\":\"alice\"}}"

DEFINE_TEST(sync_kinds_a_claim_of_another_name_counts_if_owner_and_address_agree)
{
	static const struct {
		const char *name, *text, *says;
	} rows[] = {
		{ "mine", OWNED_CLAIM("mine", NAME, ""), "" },
		{ "mine", OWNED_CLAIM("mine", "node1-000006000", ""), "owned by PCIDevice node1-000006000" },
		{ "node1-000006000", OWNED_CLAIM("node1-000006000", NAME, ""), "must be called " NAME },
		{ NAME, OWNED_CLAIM(NAME, NAME, ",\"annotations\":{\"" SKIP_BINDING "\":\"true\"}"),
		  "is for vGPUs" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syncworld s;

		syncworld_init(&s);
		syncworld_device(&s, NVME, DEVICE("claim=none"));
		free(syncworld_settle(&s));
		syncworld_object(&s, PCI_CLAIM, rows[i].text);
		expect(syncworld_settle(&s),
		       *rows[i].says ? "" : "ctl pcideviceclaims/mine " NVME "/claim alice\n");
		CHECK_IN(condition(&s, PCI_CLAIM, rows[i].name, "message"), rows[i].says);
		syncworld_free(&s);
	}
}

DEFINE_TEST(sync_kinds_of_two_claims_of_a_device_one_counts)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, DEVICE("claim=alice"));
	syncworld_object(&s, PCI_CLAIM, OWNED_CLAIM("mine", NAME, ""));
	expect(syncworld_settle(&s), "");
	CHECK_STR(condition(&s, PCI_CLAIM, "mine", "status"), "True");
	CHECK(!object_find(&s.w, PCI_CLAIM, NAME));
	syncworld_object(&s, PCI_CLAIM, OWNED_CLAIM(NAME, NAME, ""));
	expect(syncworld_settle(&s), "");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "status"), "True");
	CHECK_IN(condition(&s, PCI_CLAIM, "mine", "message"), NAME " is the claim of " NVME);
	/* The shell's release ends the claim that counts, and then the other one. */
	syncworld_device(&s, NVME, DEVICE("claim=none"));
	free(syncworld_settle(&s));
	CHECK(!object_find(&s.w, PCI_CLAIM, NAME));
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_the_node_has_an_object)
{
	struct syncworld s;

	syncworld_init(&s);
	json_object_object_del(s.w.objects[NODE], "node1");
	expect(syncworld_settle(&s), "");
	CHECK_STR(plain(js_get(object(&s, NODE, "node1"), "spec")), "{}");
	syncworld_free(&s);
}

#define NIC "0000:04:00.0"
#define NIC_NAME "node1-eno49"
#define PF(vfs, netdev)                                                                            \
	"class=0x020000 kind=sriov-nic claim=none sriov_totalvfs=63 sriov_numvfs=" vfs             \
	" netdev=" netdev " claimable=yes state=free "
#define VLAN                                                                                       \
	"{\"metadata\":{\"name\":\"v\"},\"spec\":{\"clusterNetwork\":\"net1\",\"uplink\":{\"nics\":"    \
	"[7,\"eno4\",\"eno49\"]}}}"

DEFINE_TEST(sync_kinds_vfs_are_made_from_either_side)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, NIC, PF("0", "Eno49"));
	expect(syncworld_settle(&s), "");
	o = object(&s, NET_DEVICE, NIC_NAME);
	CHECK_STR(js_text(o, "spec.address"), NIC);
	CHECK_STR(js_meta(o, "annotations", INTERFACE_NAME), "Eno49");
	CHECK(!js_get(o, "status"));
	js_set(o, "spec.numVFs", json_object_new_int(4));
	expect(syncworld_settle(&s), "ctl sriovnetworkdevices/" NIC_NAME " " NIC "/sriov_numvfs 4\n");
	syncworld_device(&s, NIC, PF("4", "Eno49"));
	syncworld_device(&s, "0000:04:10.0", "class=0x020000 kind=vf claim=none physfn=" NIC);
	expect(syncworld_settle(&s), "");
	o = object(&s, NET_DEVICE, NIC_NAME);
	CHECK_STR(js_text(o, "status.status"), "sriovNetworkDeviceEnabled");
	CHECK_STR(plain(js_get(o, "status.vfPCIDevices")), "[\"node1-000004100\"]");
	CHECK(!object_find(&s.w, PCI_DEVICE, "node1-000004000"));
	CHECK_STR(js_meta(object(&s, PCI_DEVICE, "node1-000004100"), "labels",
			  "harvesterhci.io/parent-sriov-network-device"),
		  NIC_NAME);
	/* What is agreed stays where it is when the interface is renamed, or away. */
	syncworld_device(&s, NIC, PF("4", "none"));
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_meta(object(&s, NET_DEVICE, NIC_NAME), "annotations", INTERFACE_NAME), "Eno49");
	inventory_drop(&s.inv, "0000:04:10.0");
	syncworld_device(&s, NIC, PF("0", "Eno49"));
	expect(syncworld_settle(&s), "");
	o = object(&s, NET_DEVICE, NIC_NAME);
	CHECK_EQ(json_object_get_int64(js_get(o, "spec.numVFs")), 0);
	CHECK_STR(plain(js_get(o, "status")), "{\"status\":\"sriovNetworkDeviceDisabled\"}");
	js_set(o, "spec.numVFs", json_object_new_int(-1));
	expect(syncworld_settle(&s), "ctl sriovnetworkdevices/" NIC_NAME " " NIC "/sriov_numvfs -1\n");
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_an_uplink_of_a_network_is_left_out)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NIC, PF("0", "eno49"));
	syncworld_device(&s, "0000:04:00.1", PF("0", "eno50"));
	s.w.listed[VLAN_CONFIG] = false;
	expect(syncworld_decide(&s), "");
	s.w.listed[VLAN_CONFIG] = true;
	syncworld_object(&s, VLAN_CONFIG, VLAN);
	syncworld_object(&s, PCI_CLAIM,
			 "{\"metadata\":{\"name\":\"node1-000004000\"},\"spec\":{\"address\":\"" NIC
			 "\",\"nodeName\":\"node1\",\"userName\":\"alice\"}}");
	expect(syncworld_settle(&s), "");
	CHECK(!object_find(&s.w, NET_DEVICE, NIC_NAME));
	CHECK(object_find(&s.w, NET_DEVICE, "node1-eno50"));
	CHECK(!object_find(&s.w, PCI_DEVICE, "node1-000004000"));
	CHECK_STR(condition(&s, PCI_CLAIM, "node1-000004000", "message"),
		  NIC " (eno49) is an uplink of the network net1; take it out of VlanConfig v first");
	json_object_object_del(s.w.objects[VLAN_CONFIG], "v");
	expect(syncworld_settle(&s), "ctl pcideviceclaims/node1-000004000 " NIC "/claim alice\n");
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_the_former_controller_is_here_until_its_pod_has_ended)
{
	static const struct {
		const char *label, *phase;
		bool here;
	} rows[] = {
		{ FORMER_NAME, "Running", true },    { FORMER_NAME, "Pending", true },
		{ FORMER_NAME, "Unknown", true },    { FORMER_NAME, "", true },
		{ FORMER_NAME, "Succeeded", false }, { FORMER_NAME, "Failed", false },
		{ "another", "Running", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syncworld s;
		char text[256];

		syncworld_init(&s);
		CHECK_STR(former_pod(&s.w), "");
		snprintf(text, sizeof(text),
			 "{\"metadata\":{\"name\":\"p\",\"labels\":{\"" FORMER_LABEL
			 "\":\"%s\"}},\"spec\":{\"nodeName\":\"node1\"},\"status\":{\"phase\":\"%s\"}}",
			 rows[i].label, rows[i].phase);
		syncworld_object(&s, FORMER_POD, text);
		CHECK_STR(former_pod(&s.w), rows[i].here ? "p" : "");
		/* Nothing is decided before it is known. */
		s.w.listed[FORMER_POD] = false;
		CHECK(!decide_ready(&s.w));
		syncworld_free(&s);
	}
}

DEFINE_TEST(sync_kinds_whose_an_object_is)
{
	static const struct {
		enum kind_id kind;
		const char *object;
		bool ours;
	} rows[] = {
		{ PCI_CLAIM, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"nodeName\":\"node1\"}}", true },
		{ PCI_CLAIM, "{\"metadata\":{\"name\":\"" NAME "\"},\"spec\":{\"nodeName\":\"n\"}}", false },
		{ PCI_DEVICE, "{\"metadata\":{\"name\":\"" NAME "\"}}", true },
		{ PCI_DEVICE, "{\"metadata\":{\"name\":\"node1-a-000005000\"}}", false },
		{ PCI_DEVICE, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"nodename\":\"node1\"}}}", true },
		{ USB_CLAIM, "{\"metadata\":{\"name\":\"node1-0627-0001-001002\"}}", true },
		{ USB_CLAIM, "{\"metadata\":{\"name\":\"node1-a-0627-0001-001002\"}}", false },
		{ USB_CLAIM, "{\"metadata\":{\"name\":\"node1-0627-0001-0010020\"}}", false },
		{ NODE, "{\"metadata\":{\"name\":\"node1\"}}", true },
		{ NODE, "{\"metadata\":{\"name\":\"node1-0\"}}", false },
		{ VLAN_CONFIG, "{\"metadata\":{\"annotations\":{\"network.harvesterhci.io/matched-nodes\":"
			       "\"[\\\"node0\\\",\\\"node1\\\"]\"}}}", true },
		{ VLAN_CONFIG, "{\"metadata\":{\"annotations\":{\"network.harvesterhci.io/matched-nodes\":"
			       "\"[\\\"node10\\\",7,null,[\"}}}", false },
		{ VLAN_CONFIG, "{\"metadata\":{\"name\":\"node1-0\"}}", false },
	};
	struct syncworld s;

	syncworld_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_object *o = json_tokener_parse(rows[i].object);

		CHECK(o != NULL);
		CHECK_STR(object_is_ours(&s.w, rows[i].kind, o) == rows[i].ours ? "" : rows[i].object, "");
		json_object_put(o);
	}
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_what_waits_in_the_tree_is_not_undone_in_the_cluster)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, NIC, PF("4", "eno49") "asked=\"sriov_numvfs=4\"");
	expect(syncworld_settle(&s), "");
	/* Its driver goes: first the VFs are gone, then it is known why, and it comes back. */
	syncworld_device(&s, NIC, PF("0", "eno49") "asked=\"sriov_numvfs=4\"");
	expect(syncworld_settle(&s), "");
	o = object(&s, NET_DEVICE, NIC_NAME);
	CHECK_EQ(json_object_get_int64(js_get(o, "spec.numVFs")), 4);
	CHECK_STR(js_text(o, "status.status"), "sriovNetworkDeviceDisabled");
	syncworld_device(&s, NIC, PF("0", "eno49") "unsatisfied=\"it has no driver\"");
	expect(syncworld_settle(&s), "");
	CHECK_EQ(json_object_get_int64(js_get(o, "spec.numVFs")), 4);
	CHECK_STR(condition(&s, NET_DEVICE, NIC_NAME, "message"), "it has no driver");
	syncworld_device(&s, NIC, PF("0", "eno49") "unsatisfied=none asked=none");
	expect(syncworld_settle(&s), "");
	CHECK_EQ(json_object_get_int64(js_get(o, "spec.numVFs")), 0);
	CHECK_STR(condition(&s, NET_DEVICE, NIC_NAME, "type"), "");
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_a_gpu_stays_enabled_while_its_driver_is_away)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, GPU, GPU_FACTS("4") " asked=\"enabled=1\"");
	expect(syncworld_settle(&s), "");
	syncworld_device(&s, GPU, GPU_FACTS("0") " asked=\"enabled=1\"");
	expect(syncworld_settle(&s), "");
	o = object(&s, GPU_DEVICE, GPU_NAME);
	CHECK(json_object_get_boolean(js_get(o, "spec.enabled")));
	/* others have removed the VFs, and 0 was written */
	syncworld_device(&s, GPU, GPU_FACTS("4") " asked=\"enabled=0\"");
	expect(syncworld_settle(&s), "");
	CHECK(!json_object_get_boolean(js_get(o, "spec.enabled")));
	/* a driver that takes a number tells of that */
	syncworld_device(&s, GPU, GPU_FACTS("0") " asked=\"sriov_numvfs=4\"");
	expect(syncworld_settle(&s), "");
	CHECK(json_object_get_boolean(js_get(o, "spec.enabled")));
	syncworld_free(&s);
}
