// SPDX-License-Identifier: GPL-2.0-or-later
/* The status is the truth, whoever wrote there before and whatever fields the cluster's CRDs
 * have. */
#include <string.h>

#include "pcidevfs/util.h"
#include "syncworld.h"
#include "test.h"

#define VF "0000:08:00.4"
#define VF_NAME "node1-000008004"
#define VGPU(more) "class=0x030200 kind=vgpu driver=nvidia physfn=" GPU " claim=none " more
#define TYPE(name, id) "name=\\\"" name "\\\" id=" id " "
#define NIC "0000:04:00.0"
#define NIC_FACTS(vfs) "class=0x020000 kind=sriov-nic claim=none sriov_totalvfs=63 sriov_numvfs=" vfs " netdev=eno49"
#define META(name) "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"U\",\"resourceVersion\":\"7\"},"
#define AT(address) "\"spec\":{\"address\":\"" address "\",\"nodeName\":\"node1\""

/* A row: an object as another manager left it, its device as it is now, and what its status is
 * then. */
static const struct {
	enum kind_id kind;
	const char *id, *pairs, *object, *name, *status;
} rows[] = {
	{ VGPU_DEVICE, VF, VGPU("profile=none profiles_available=\"" TYPE("A2-4Q", "747") "\""),
	  META(VF_NAME) AT(VF) ",\"enabled\":false},\"status\":{\"vGPUStatus\":\"vGPUConfigured\",\"uuid\":\"747\","
	  "\"configureVGPUTypeName\":\"A2-4Q\",\"availableTypes\":{\"A2-4Q\":\"747\",\"A2-8Q\":\"748\"}}}",
	  VF_NAME, "{\"availableTypes\":{\"A2-4Q\":\"747\"}}" },
	{ VGPU_DEVICE, VF, VGPU("profile=none profiles_available="),
	  META(VF_NAME) AT(VF) ",\"enabled\":false},\"status\":{\"availableTypes\":{\"A2-4Q\":\"747\"}}}", VF_NAME,
	  "{}" },
	{ NET_DEVICE, NIC, NIC_FACTS("0"),
	  META("node1-eno49") AT(NIC) ",\"numVFs\":0},\"status\":{\"status\":\"sriovNetworkDeviceEnabled\","
	  "\"vfAddresses\":[\"0000:04:02.0\"],\"vfPCIDevices\":[\"node1-000004020\"]}}",
	  "node1-eno49", "{\"status\":\"sriovNetworkDeviceDisabled\"}" },
	{ PCI_DEVICE, NVME, "vendor=0x144d device=0xa808 class=0x010802 kind=pci iommu_group=37 claim=none driver=none",
	  META(NAME) "\"status\":{\"kernelDriverInUse\":\"ioatdma\",\"address\":\"" NVME "\"}}", NAME,
	  "{\"address\":\"" NVME "\",\"vendorId\":\"144d\",\"deviceId\":\"a808\",\"classId\":\"0108\","
	  "\"iommuGroup\":\"37\",\"nodeName\":\"node1\",\"resourceName\":\"\",\"description\":\"\"}" },
};

DEFINE_TEST(sync_status_of_another_manager_goes_with_what_it_told)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_json_ json_object *want = json_tokener_parse(rows[i].status);
		struct syncworld s;
		json_object *has;

		syncworld_init(&s);
		s.others = true;
		syncworld_device(&s, rows[i].id, rows[i].pairs);
		syncworld_object(&s, rows[i].kind, rows[i].object);
		expect(syncworld_settle(&s), "");
		has = js_get(object_find(&s.w, rows[i].kind, rows[i].name), "status");
		if (!json_object_equal(has, want))
			CHECK_STR(js_line(has), rows[i].status);
		expect(syncworld_decide(&s), "");
		syncworld_free(&s);
	}
}

DEFINE_TEST(sync_status_loses_conditions_that_are_over_and_keeps_those_of_others)
{
	struct syncworld s;
	json_object *o, *all;

	syncworld_init(&s);
	s.others = true;
	syncworld_device(&s, NVME, UNCLAIMED);
	expect(syncworld_settle(&s), "");
	o = object_find(&s.w, PCI_DEVICE, NAME);
	all = js_get(o, "status.conditions"); /* Claimable, ours */
	json_object_array_add(all, json_tokener_parse("{\"type\":\"Released\",\"status\":\"False\"}"));
	json_object_array_add(all, json_tokener_parse("{\"type\":\"Theirs\",\"status\":\"True\"}"));
	expect(syncworld_settle(&s), "");
	all = js_get(o, "status.conditions");
	CHECK_EQ(js_length(all), 2);
	CHECK(js_find(all, "type", "Claimable") && js_find(all, "type", "Theirs"));
	syncworld_free(&s);
}

/* The label of a card that is not at this address any more, and which another manager has set. */
DEFINE_TEST(sync_labels_of_another_manager_go_with_what_they_told)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	expect(syncworld_settle(&s), "");
	o = object_find(&s.w, PCI_DEVICE, NAME);
	js_set_meta(o, "labels", "harvesterhci.io/parentSRIOVGPUDevice", GPU_NAME);
	js_set_meta(o, "labels", "theirs", "yes");
	expect(syncworld_settle(&s), "");
	CHECK(!js_meta(o, "labels", "harvesterhci.io/parentSRIOVGPUDevice"));
	CHECK_STR(js_meta(o, "labels", "theirs"), "yes");
	CHECK_STR(js_meta(o, "labels", "nodename"), "node1");
	syncworld_free(&s);
}

#define ONE(field) "failed to create typed patch object (/x; v1, Kind=Y): " field
#define LACKS(field) ".status." field ": field not declared in schema"

static uint32_t bit_of(enum kind_id kind, const char *field)
{
	for (uint32_t bit = 1; bit; bit <<= 1)
		if (kind_field(kind, bit) && !strcmp(kind_field(kind, bit), field))
			return bit;
	return 0;
}

DEFINE_TEST(sync_status_fields_that_the_server_does_not_know_are_read_from_its_sentence)
{
	uint32_t class = bit_of(USB_DEVICE, "classType"), status = bit_of(USB_DEVICE, "status");

	CHECK(class && status && class != status);
	CHECK_EQ(bit_of(USB_DEVICE, "conditions"), LACKS_CONDITIONS);
	CHECK_EQ(kind_undeclared(USB_DEVICE, ONE(LACKS("classType"))), class);
	CHECK_EQ(kind_undeclared(USB_DEVICE, ONE(LACKS("status"))), status);
	CHECK_EQ(kind_undeclared(USB_DEVICE, ONE("errors:\n  " LACKS("classType") "\n  " LACKS("conditions"))),
		 class | LACKS_CONDITIONS);
	CHECK_EQ(kind_undeclared(USB_CLAIM, ONE(LACKS("classType"))), 0);
	CHECK_EQ(kind_undeclared(PCI_CLAIM, ONE(LACKS("userName"))), 0); /* of spec */
	CHECK_EQ(kind_undeclared(USB_DEVICE, ONE(LACKS("classTyp"))), 0);
	CHECK_EQ(kind_undeclared(USB_DEVICE, ""), 0);
	for (enum kind_id k = 0; k < KINDS; k++)
		CHECK(kinds[k].n_fields < 32);
}

DEFINE_TEST(sync_status_is_without_what_the_crds_do_not_have)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	s.w.lacks[USB_DEVICE] = kind_undeclared(USB_DEVICE, LACKS("classType"));
	s.w.lacks[PCI_CLAIM] = LACKS_CONDITIONS;
	syncworld_device(&s, "usb/1-1",
			 "kind=usb vendor=0627 device=0001 class=030000 busnum=1 devnum=2 claim=none state=free");
	syncworld_device(&s, NVME, CLAIMED("alice"));
	expect(syncworld_settle(&s), "");
	o = object_find(&s.w, USB_DEVICE, "node1-0627-0001-001002");
	CHECK_STR(js_text(o, "status.vendorID"), "0627");
	CHECK(!js_get(o, "status.classType"));
	CHECK(json_object_get_boolean(js_get(claim_of(&s), "status.passthroughEnabled")));
	CHECK(!js_get(claim_of(&s), "status.conditions"));
	/* The CRDs have changed. */
	memset(s.w.lacks, 0, sizeof(s.w.lacks));
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(o, "status.classType"), "HID");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "status"), "True");
	syncworld_free(&s);
}

/* A label takes 63 bytes, and a server refuses the whole object for a longer one. */
DEFINE_TEST(sync_objects_go_without_a_label_that_is_too_long)
{
	static const char *const nodes[] = {
		"a.name.of.53.bytes.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"a.name.of.54.bytes.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct syncworld s;
		char name[128];
		json_object *o;

		CHECK_EQ(strlen(nodes[i]), 53 + i);
		syncworld_init(&s);
		s.w.node = nodes[i];
		syncworld_device(&s, GPU, GPU_FACTS("1"));
		syncworld_device(&s, VF, VGPU("profile=none"));
		expect(syncworld_settle(&s), "");
		snprintf(name, sizeof(name), "%s-000008004", nodes[i]);
		o = object_find(&s.w, VGPU_DEVICE, name);
		CHECK(o != NULL);
		CHECK_EQ(!js_meta(o, "labels", "harvesterhci.io/parentSRIOVGPUDevice"), i == 1);
		syncworld_free(&s);
	}
}
