// SPDX-License-Identifier: GPL-2.0-or-later
/* What sync decides: inventory and objects in, writes and lines out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "syncworld.h"
#include "test.h"

static void expect_in(struct syncworld *s, const char *part)
{
	char *got = syncworld_decide(s);

	CHECK_IN(got, part);
	free(got);
}

DEFINE_TEST(sync_a_device_gets_its_object_and_then_its_status)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_device(&s, "0000:00:01.0", "class=0x060400 kind=bridge");
	expect(syncworld_decide(&s),
	       "apply pcidevices/" NAME " {\"apiVersion\":\"devices.harvesterhci.io/v1beta1\","
	       "\"kind\":\"PCIDevice\",\"metadata\":{\"name\":\"" NAME
	       "\",\"labels\":{\"nodename\":\"node1\"},"
	       "\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"nvme\"},\"ownerReferences\":"
	       "[{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"node1\",\"uid\":\"N\"}]},\"spec\":{}}\n");
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(object_find(&s.w, PCI_DEVICE, NAME), "status.classId"), "0108");
	CHECK_STR(js_text(object_find(&s.w, PCI_DEVICE, NAME), "status.kernelDriverInUse"), "nvme");
	expect(syncworld_decide(&s), "");
	syncworld_free(&s);
}

DEFINE_TEST(sync_nothing_is_made_or_dropped_of_what_is_not_listed)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_object(&s, PCI_DEVICE, "{\"metadata\":{\"name\":\"node1-000006000\"}}");
	s.w.listed[PCI_DEVICE] = false;
	expect(syncworld_decide(&s), "");
	s.w.listed[PCI_DEVICE] = true;
	expect_in(&s, "delete pcidevices/node1-000006000 ");
	syncworld_free(&s);
}

DEFINE_TEST(sync_a_claim_of_the_cluster_is_written_to_the_tree)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	expect(syncworld_settle(&s), "ctl pcideviceclaims/" NAME " " NVME "/claim alice\n");
	CHECK_STR(note_of(&s), "none>alice");
	CHECK_STR(js_meta(claim_of(&s), "labels", "nodename"), "node1");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "type"), "");
	syncworld_device(&s, NVME, CLAIMED("alice"));
	expect(syncworld_settle(&s), "");
	CHECK_STR(note_of(&s), "alice");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "status"), "True");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "message"), "claimed by alice");
	CHECK(json_object_get_boolean(js_get(claim_of(&s), "status.passthroughEnabled")));
	CHECK_STR(js_text(claim_of(&s), "status.kernelDriverToUnbind"), "nvme");
	syncworld_free(&s);
}

/* A tree that is claimed by one refuses another. */
DEFINE_TEST(sync_another_user_of_the_cluster_ends_the_former_claim_first)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, CLAIMED("bob"));
	expect(syncworld_settle(&s), "");
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	expect(syncworld_settle(&s), "ctl pcideviceclaims/" NAME " " NVME "/claim none\n");
	CHECK_STR(note_of(&s), "bob>alice");
	syncworld_device(&s, NVME, UNCLAIMED);
	expect(syncworld_settle(&s), "ctl pcideviceclaims/" NAME " " NVME "/claim alice\n");
	syncworld_device(&s, NVME, CLAIMED("alice"));
	expect(syncworld_settle(&s), "");
	CHECK_STR(note_of(&s), "alice");
	syncworld_free(&s);
}

DEFINE_TEST(sync_a_claim_of_the_shell_makes_changes_and_ends_the_object)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, CLAIMED("bob"));
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(claim_of(&s), "spec.userName"), "bob");
	CHECK_STR(js_text(claim_of(&s), "spec.address"), NVME);
	syncworld_device(&s, NVME, CLAIMED("carol"));
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(claim_of(&s), "spec.userName"), "carol");
	syncworld_device(&s, NVME, UNCLAIMED);
	expect(syncworld_settle(&s), "");
	CHECK(!claim_of(&s) && !note_of(&s));
	syncworld_free(&s);
}

DEFINE_TEST(sync_spec_is_written_with_the_version_that_was_seen)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, CLAIMED("alice"));
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	expect(syncworld_settle(&s), "");
	syncworld_device(&s, NVME, CLAIMED("bob"));
	expect_in(&s, "apply pcidevices/" NAME);
	js_set_meta(object_find(&s.w, PCI_DEVICE, NAME), "annotations", "pcidevfs/claim",
		    "alice<bob");
	expect_in(&s,
		  "patch pcideviceclaims/" NAME
		  " {\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"userName\":\"bob\"}}\n");
	syncworld_free(&s);
}

DEFINE_TEST(sync_what_was_overruled_is_an_event)
{
	struct syncworld s;
	char *said;

	syncworld_init(&s);
	syncworld_device(&s, NVME, CLAIMED("alice"));
	free(syncworld_settle(&s));
	syncworld_device(&s, NVME, CLAIMED("bob"));
	json_object_object_del(s.w.objects[PCI_CLAIM], NAME);
	syncworld_object(&s, PCI_CLAIM, CLAIM("carol"));
	said = syncworld_decide(&s);
	CHECK_IN(said, "event pcidevices/" NAME " Overruled: " NVME
		       "/claim was changed in the tree to bob and in the cluster to carol");
	free(said);
	expect(syncworld_settle(&s), "ctl pcideviceclaims/" NAME " " NVME "/claim none\n");
	syncworld_free(&s);
}

DEFINE_TEST(sync_claims_that_contradict_themselves_do_nothing)
{
	static const char *const rows[][2] = {
		{ "\"spec\":{\"address\":\"../../etc\",\"nodeName\":\"node1\",\"userName\":\"x\"}",
		  "\"../../etc\" is not a PCI address" },
		{ "\"spec\":{\"address\":\"0000:06:00.0\",\"nodeName\":\"node1\"}",
		  "must be called node1-000006000" },
		{ "\"spec\":{\"address\":7,\"nodeName\":\"node1\"}", "\"\" is not a PCI address" },
		{ "\"spec\":[]", "is not a PCI address" },
		{ "\"x\":0", "is not a PCI address" },
	};
	struct syncworld s;
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		syncworld_init(&s);
		syncworld_device(&s, NVME, CLAIMED("alice"));
		free(syncworld_settle(&s));
		snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"" NAME "\"},%s}",
			 rows[i][0]);
		syncworld_object(&s, PCI_CLAIM, text);
		expect(syncworld_settle(&s), "");
		CHECK_STR(condition(&s, PCI_CLAIM, NAME, "reason"), "Invalid");
		CHECK_IN(condition(&s, PCI_CLAIM, NAME, "message"), rows[i][1]);
		syncworld_free(&s);
	}
}

DEFINE_TEST(sync_a_claim_owned_by_another_device_does_nothing)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_object(&s, PCI_CLAIM,
			 "{\"metadata\":{\"name\":\"" NAME
			 "\",\"ownerReferences\":[{\"kind\":\"PCIDevice\","
			 "\"name\":\"node1-000006000\"}]},\"spec\":{\"address\":\"" NVME
			 "\",\"nodeName\":\"node1\",\"userName\":\"x\"}}");
	expect(syncworld_settle(&s), "");
	CHECK_IN(condition(&s, PCI_CLAIM, NAME, "message"), "owned by PCIDevice node1-000006000");
	syncworld_free(&s);
}

DEFINE_TEST(sync_a_claim_without_its_device_waits_and_can_be_deleted)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	expect(syncworld_settle(&s), "");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "reason"), "NoDevice");
	json_object_object_del(s.w.objects[PCI_CLAIM], NAME);
	syncworld_object(
		&s, PCI_CLAIM,
		"{\"metadata\":{\"name\":\"" NAME
		"\",\"resourceVersion\":\"9\",\"deletionTimestamp\":\"now\","
		"\"finalizers\":[\"wrangler.cattle.io/PCIDeviceClaimOnRemove\",\"example.com/mine\"]},"
		"\"spec\":{\"address\":\"" NVME "\"}}");
	expect(syncworld_decide(&s),
	       "patch pcideviceclaims/" NAME " {\"metadata\":{\"resourceVersion\":\"9\","
	       "\"finalizers\":[\"example.com/mine\"]}}\n");
	syncworld_free(&s);
}

/* As Harvester's controller left it, before anybody adopts the device. */
DEFINE_TEST(sync_a_claim_without_its_device_keeps_its_former_driver)
{
	struct syncworld s;

	syncworld_init(&s);
	s.others = true;
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	js_set_text(claim_of(&s), "status.kernelDriverToUnbind", "nvme");
	expect(syncworld_settle(&s), "");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "reason"), "NoDevice");
	CHECK_STR(js_text(claim_of(&s), "status.kernelDriverToUnbind"), "nvme");
	syncworld_free(&s);
}

/* Its node alone may write it. */
DEFINE_TEST(sync_a_claim_named_as_another_nodes_object_is_told_by_an_event_alone)
{
	struct syncworld s;
	char *said;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_object(
		&s, PCI_CLAIM,
		"{\"metadata\":{\"name\":\"node2-000005000\"},\"spec\":{\"address\":\"" NVME
		"\",\"nodeName\":\"node1\",\"userName\":\"alice\"}}");
	said = syncworld_settle(&s);
	CHECK_STR(said, "");
	free(said);
	CHECK(!js_get(object_find(&s.w, PCI_CLAIM, "node2-000005000"), "status"));
	said = syncworld_decide(&s);
	CHECK(strstr(said, "event pcideviceclaims/node2-000005000 Invalid: metadata.name:") ==
	      said);
	CHECK(!strstr(said, "apply") && !strstr(said, "status "));
	free(said);
	syncworld_free(&s);
}

DEFINE_TEST(sync_an_object_whose_device_is_away_moves_to_a_new_node)
{
	struct syncworld s;
	json_object *owners;

	syncworld_init(&s);
	syncworld_device(&s, NVME, CLAIMED("alice"));
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	free(syncworld_settle(&s));
	inventory_drop(&s.inv, NVME);
	free(syncworld_settle(&s));
	s.w.node_uid = "M";
	expect_in(&s, "patch pcidevices/" NAME " ");
	free(syncworld_settle(&s));
	owners = js_get(object_find(&s.w, PCI_DEVICE, NAME), "metadata.ownerReferences");
	CHECK_EQ(js_length(owners), 1);
	CHECK_STR(js_text(js_find(owners, "kind", "Node"), "uid"), "M");
	expect(syncworld_decide(&s), "");
	s.w.node_uid = "";
	expect(syncworld_decide(&s), "");
	syncworld_free(&s);
}

DEFINE_TEST(sync_the_management_network_is_left_out)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(
		&s, NVME,
		"class=0x020000 kind=sriov-nic claim=none sriov_numvfs=0 "
		"host_critical=\"NIC eno50 carries the default route through mgmt-bo and mgmt-br\" "
		"claimable=\"the host needs it: NIC eno50\"");
	syncworld_device(&s, "0000:06:00.0",
			 "class=0x020000 kind=sriov-nic claim=none sriov_numvfs=4");
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	expect(syncworld_settle(&s), "");
	CHECK_EQ(json_object_object_length(s.w.objects[PCI_DEVICE]), 0);
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "message"), "the host needs it: NIC eno50");
	syncworld_device(&s, NVME,
			 "class=0x020000 kind=sriov-nic claim=none sriov_numvfs=0 "
			 "host_critical=\"NIC eno50 is in the bridge mgmt-br\" claimable=\"no\"");
	expect(syncworld_settle(&s), "");
	CHECK_EQ(json_object_object_length(s.w.objects[PCI_DEVICE]), 0);
	syncworld_free(&s);
}

DEFINE_TEST(sync_disabled_pooling_gives_the_device_a_name_of_its_own)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, CLAIMED("alice"));
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	js_set(claim_of(&s), "spec.disableResourcePooling", json_object_new_boolean(true));
	expect(syncworld_settle(&s),
	       "ctl pcideviceclaims/" NAME " " NVME "/resource_name samsung.com/" NAME "\n");
	syncworld_device(&s, NVME, CLAIMED("alice") " resource_name=samsung.com/" NAME);
	syncworld_free(&s);
}

DEFINE_TEST(sync_a_huge_name_is_cut)
{
	struct syncworld s;
	struct out text = { 0 };
	char *said;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	out_printf(&text, "{\"metadata\":{\"name\":\"" NAME "\"},\"spec\":{\"address\":\"" NVME
			  "\",\"nodeName\":\"node1\",\"userName\":\"");
	for (size_t i = 0; i < 1 << 20; i++)
		out_put(&text, "a", 1);
	out_printf(&text, "\"}}");
	syncworld_object(&s, PCI_CLAIM, out_text(&text));
	said = syncworld_settle(&s);
	CHECK_EQ(strlen(said), strlen("ctl pcideviceclaims/" NAME " " NVME "/claim \n") + 253);
	free(said);
	out_free(&text);
	syncworld_free(&s);
}

DEFINE_TEST(sync_a_gpu_is_enabled_from_either_side)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, GPU, GPU_FACTS("0"));
	expect(syncworld_settle(&s), "");
	o = object_find(&s.w, GPU_DEVICE, GPU_NAME);
	CHECK(!json_object_get_boolean(js_get(o, "spec.enabled")));
	js_set(o, "spec.enabled", json_object_new_boolean(true));
	expect(syncworld_settle(&s), "ctl sriovgpudevices/" GPU_NAME " " GPU "/enabled 1\n");
	syncworld_device(&s, GPU, GPU_FACTS("1"));
	syncworld_device(&s, "0000:08:00.4", "class=0x030200 kind=vgpu claim=none physfn=" GPU);
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_meta(o, "annotations", "pcidevfs/enabled"), "1");
	CHECK_STR(json_object_to_json_string_ext(js_get(o, "status.vGPUDevices"),
						 JSON_C_TO_STRING_PLAIN),
		  "[\"node1-000008004\"]");
	syncworld_device(&s, GPU, GPU_FACTS("0"));
	expect(syncworld_settle(&s), "");
	CHECK(!json_object_get_boolean(js_get(o, "spec.enabled")));
	syncworld_free(&s);
}

/* Somebody has written into the status: it is ours to the last member. */
DEFINE_TEST(sync_a_status_that_says_more_loses_that)
{
	static const char vf[] = "class=0x030200 kind=vgpu driver=nvidia claim=none profile=none "
				 "profiles_available=\"name=\\\"A2-4Q\\\" id=747\" physfn=" GPU;
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, "0000:08:00.4", vf);
	expect(syncworld_settle(&s), "");
	expect(syncworld_decide(&s), "");
	o = object_find(&s.w, VGPU_DEVICE, "node1-000008004");
	js_set(o, "status.availableTypes.A2-16Q", json_object_new_string("749"));
	expect_in(
		&s,
		"strip vgpudevices/node1-000008004 {\"status\":{\"availableTypes\":{\"A2-16Q\":null}},"
		"\"metadata\":{\"resourceVersion\":\"\",\"uid\":\"U\"}}");
	json_object_object_del(js_get(o, "status.availableTypes"), "A2-16Q");
	expect(syncworld_decide(&s), "");
	js_set(o, "status.uuid", json_object_new_string("747"));
	expect_in(&s, "\"status\":{\"uuid\":null}");
	syncworld_free(&s);
}

/* A server refuses the whole object for a control character, also one that the tree has quoted. */
DEFINE_TEST(sync_text_that_is_not_clean_does_not_reach_the_cluster)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME,
			 FACTS
			 "driver=vfio-pci claim=alice reason=\"held by q\\xc2\\x9bx\302\233\"");
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	free(syncworld_settle(&s));
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "message"), "held by q??x??");
	syncworld_free(&s);
}
