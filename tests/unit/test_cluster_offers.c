// SPDX-License-Identifier: GPL-2.0-or-later
/* What the nodes offer: vGPUs, USB devices, and objects of any form. */
#include "cluster.h"

static void vgpu(const char *name, const char *enabled, const char *type, const char *id)
{
	char rest[256];

	snprintf(
		rest, sizeof(rest),
		"\"spec\":{\"enabled\":%s,\"vGPUTypeName\":\"%s\"},\"status\":{\"availableTypes\":{\"X\":\"%s\"}}",
		enabled, type, id);
	put(PICK_VGPU, name, rest);
}

#define MDEV                                                                                       \
	"{\"mdevNameSelector\":\"NVIDIA A2-4Q\",\"resourceName\":\"nvidia.com/NVIDIA_A2-4Q\",\"externalResourceProvider\":true}"
#define VFIO ENTRY("10de:25b6", "nvidia.com/NVIDIA_A2-4Q")

DEFINE_TEST(cluster_vgpus_are_named_before_they_are_made)
{
	begin();
	device("n1-000008004", "10de:25b6", "nvidia.com/GA107GL_A2___A16");
	claim("n1", "0000:08:00.4");
	vgpu("n1-000008004", "false", "NVIDIA A2-4Q", "745");
	stands("{}", NULL);
	CHECK(!settle());
	vgpu("n1-000008004", "true", " NVIDIA A2-4Q ", "745");
	CHECK(settle());
	CHECK_STR(list("pciHostDevices"), "[" VFIO "]");
	vgpu("n1-000008004", "true", "NVIDIA A2-4Q", "nvidia-745");
	CHECK(settle());
	CHECK_STR(list("mediatedDevices"), "[" MDEV "]");
	CHECK_STR(list("pciHostDevices"), "[]");
	vgpu("n1-000008004", "true", "NVIDIA A2-4Q", ""); /* it cannot be told */
	CHECK(settle());
	CHECK_STR(list("mediatedDevices"), "[" MDEV "]");
	CHECK_STR(list("pciHostDevices"), "[" VFIO "]");
	/* KubeVirt removes a mediated device that no list names. */
	vgpu("n1-000008004", "true", "NVIDIA A2-4Q", "nvidia-745");
	stands("", NULL);
	decide(&dialect_kubevirt);
	CHECK(*decided.notes[NOTE_MADE]);
	permitted_free(&decided);
	CHECK(settle());
	CHECK_STR(list("mediatedDevices"), "[" MDEV "]");
	json_object_object_del(js_get(cr, "spec"), "configuration");
	CHECK(settle());
	CHECK_STR(list("mediatedDevices"), "[" MDEV "]");
	end();
}

static void mdev_that_stands(const char *enabled, const char *asked)
{
	char rest[256];

	snprintf(
		rest, sizeof(rest),
		"\"spec\":{\"enabled\":%s,\"vGPUTypeName\":\"%s\"},\"status\":{\"uuid\":\"c0ffee00-0000-4000-8000-000000000001\",\"configureVGPUTypeName\":\"NVIDIA A2-4Q\"}",
		enabled, asked);
	put(PICK_VGPU, "n1-000008004", rest);
}

/* The node refuses to end one that is in use. */
DEFINE_TEST(cluster_vgpus_that_stand_keep_their_name)
{
	begin();
	stands("{}", NULL);
	mdev_that_stands("true", "NVIDIA A2-4Q");
	CHECK(settle());
	CHECK_STR(list("mediatedDevices"), "[" MDEV "]");
	mdev_that_stands("false", "NVIDIA A2-4Q");
	CHECK(!settle());
	mdev_that_stands("true", "NVIDIA A2-8Q");
	CHECK(settle());
	CHECK_IN(list("mediatedDevices"), "[" MDEV ",{\"mdevNameSelector\":\"NVIDIA A2-8Q\"");
	mdev_that_stands("false", "");
	CHECK(settle());
	CHECK_STR(list("mediatedDevices"), "[" MDEV "]");
	vgpu("n1-000008004", "false", "", "nvidia-745");
	CHECK(settle());
	CHECK_STR(list("mediatedDevices"), "[]");
	end();
}

DEFINE_TEST(cluster_usb_devices_are_permitted_by_the_name_of_their_object)
{
	begin();
	put(PICK_USB_DEVICE, "n1-0951-1666-002004",
	    "\"status\":{\"vendorID\":\"0951\",\"productID\":\"1666\",\"resourceName\":\"kubevirt.io/n1-0951-1666-002004\"}");
	stands("{'usb':[{'resourceName':'kubevirt.io/x','selectors':[{'vendor':'1','product':'2'},{'vendor':'3','product':'4'}]}]}",
	       NULL);
	CHECK(!settle());
	put(PICK_USB_CLAIM, "n1-0951-1666-002004", "\"spec\":{\"userName\":\"alice\"}");
	CHECK(settle());
	CHECK_IN(
		list("usb"),
		"{\"selectors\":[{\"vendor\":\"0951\",\"product\":\"1666\"}],\"resourceName\":\"kubevirt.io/n1-0951-1666-002004\",\"externalResourceProvider\":true}");
	put(PICK_USB_CLAIM, "n1-0951-1666-002004", "\"metadata2\":1");
	CHECK(!settle());
	CHECK(picks_drop(cluster.table[PICK_USB_CLAIM], "n1-0951-1666-002004"));
	CHECK(settle());
	CHECK_EQ(js_length(js_get(cr, "spec.configuration.permittedHostDevices.usb")), 1);
	end();
}

DEFINE_TEST(cluster_objects_that_make_no_sense_offer_nothing)
{
	begin();
	device("n1-000005000", "8086:153", "intel.com/A");
	claim("n1", "0000:05:00.0");
	device("n1-000006000", "8086:1533", "no name");
	claim("n1", "0000:06:00.0");
	device("n1-000007000", "8086:1533", "devices.kubernetes.io/x");
	claim("n1", "0000:07:00.0");
	claim("n1", "0000:0a:00.0"); /* has no device */
	device("n1-000009000", "8086:1533", "intel.com/DELETED");
	put(PICK_PCI_CLAIM, "c", "\"spec\":{\"nodeName\":\"n1\",\"address\":\"0000:09:00.0\"}");
	CHECK(picks_find(&cluster, PICK_PCI_CLAIM, "c"));
	{
		_json_ json_object *o = json_tokener_parse(
			"{\"metadata\":{\"name\":\"c\",\"deletionTimestamp\":\"2026\"},\"spec\":{\"nodeName\":\"n1\",\"address\":\"0000:09:00.0\"}}");

		CHECK_EQ(picks_put(cluster.table[PICK_PCI_CLAIM], PICK_PCI_CLAIM, o), 1);
	}
	vgpu("n1-00000b004", "true", "", "745");
	vgpu("n1-00000c004", "true", "a type/\\u00e9", "nvidia-1");
	stands("{}", NULL);
	CHECK(!settle());
	CHECK(!*decided.notes[NOTE_GATE]);
	end();
}
