// SPDX-License-Identifier: GPL-2.0-or-later
/* What sync decides of USB devices, whose objects keep their names. */
#include <string.h>

#include "syncworld.h"
#include "test.h"

#define STICK "usb/1-1"
#define STICK_NAME "node1-0627-0001-001002"
#define STICK_FACTS(devnum, serial, more)                                                          \
	"kind=usb vendor=0627 device=0001 class=030000 controller=0000:03:00.0 busnum=1 devnum="   \
	devnum " serial=" serial " description=HID claimable=yes state=free " more

#define FREE "claim=none resource_name=kubevirt.io/usb-0627-0001"
#define TAKEN "claim=alice resource_name=kubevirt.io/" STICK_NAME
#define STICK_CLAIM "{\"metadata\":{\"name\":\"" STICK_NAME "\"},\"spec\":{\"userName\":\"alice\"}}"

static void claimed_stick(struct syncworld *s, const char *serial)
{
	char text[400];

	syncworld_init(s);
	snprintf(text, sizeof(text), STICK_FACTS("2", "%s", FREE), serial);
	syncworld_device(s, STICK, text);
	syncworld_device(s, "usb/usb1", "kind=hub");
	expect(syncworld_settle(s), "");
	CHECK_EQ(json_object_object_length(s->w.objects[USB_DEVICE]), 1);
	syncworld_object(s, USB_CLAIM, STICK_CLAIM);
	expect(syncworld_settle(s), "ctl usbdeviceclaims/" STICK_NAME " " STICK
				    "/resource_name kubevirt.io/" STICK_NAME "\n" STICK "/claim alice\n");
	snprintf(text, sizeof(text), STICK_FACTS("2", "%s", TAKEN), serial);
	syncworld_device(s, STICK, text);
	expect(syncworld_settle(s), "");
	CHECK_STR(condition(s, USB_CLAIM, STICK_NAME, "status"), "True");
	CHECK(json_object_get_boolean(js_get(object(s, USB_DEVICE, STICK_NAME), "status.enabled")));
}

DEFINE_TEST(sync_kinds_a_usb_device_keeps_its_name_over_a_replug)
{
	struct syncworld s;
	json_object *o;

	claimed_stick(&s, "none");
	inventory_drop(&s.inv, STICK);
	expect(syncworld_settle(&s), "");
	o = object(&s, USB_DEVICE, STICK_NAME);
	CHECK_STR(js_text(o, "status.status"), "orphaned");
	CHECK_STR(js_text(o, "status.resourceName"), "kubevirt.io/" STICK_NAME);
	syncworld_device(&s, STICK, STICK_FACTS("7", "none", TAKEN));
	expect(syncworld_settle(&s), "");
	CHECK_EQ(json_object_object_length(s.w.objects[USB_DEVICE]), 1);
	CHECK_STR(js_text(o, "status.devicePath"), "/dev/bus/usb/001/007");
	CHECK(!js_get(o, "status.status"));
	/* Another one at the port, without a serial number to tell, is another one by its ids. */
	syncworld_device(&s, STICK, "kind=usb vendor=1d6b device=0104 busnum=1 devnum=8 claim=none");
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(object(&s, USB_DEVICE, STICK_NAME), "status.status"), "orphaned");
	CHECK_EQ(json_object_object_length(s.w.objects[USB_DEVICE]), 2);
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_a_usb_device_keeps_its_name_when_its_label_is_taken)
{
	struct syncworld s;
	char *said;

	claimed_stick(&s, "none");
	syncworld_device(&s, STICK, STICK_FACTS("7", "none", TAKEN));
	expect(syncworld_settle(&s), "");
	s.w.left[USB_DEVICE] = s.w.objects[USB_DEVICE];
	s.w.objects[USB_DEVICE] = json_object_new_object();
	said = syncworld_decide(&s);
	CHECK_IN(said, "apply usbdevices/" STICK_NAME " ");
	CHECK(!strstr(said, "001007"));
	free(said);
	json_object_put(s.w.left[USB_DEVICE]);
	s.w.left[USB_DEVICE] = NULL;
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_a_usb_device_is_followed_by_its_serial_number)
{
	struct syncworld s;

	claimed_stick(&s, "S1");
	/* At its port is another one; it is elsewhere, and its old numbers are a third one's. */
	syncworld_device(&s, STICK, STICK_FACTS("9", "S2", FREE));
	syncworld_device(&s, "usb/1-2", STICK_FACTS("5", "S1", TAKEN));
	syncworld_device(&s, "usb/1-3", STICK_FACTS("2", "S3", FREE));
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(object(&s, USB_DEVICE, STICK_NAME), "status.devicePath"),
		  "/dev/bus/usb/001/005");
	CHECK_STR(js_meta(object(&s, USB_DEVICE, STICK_NAME), "annotations", USB_PORT), "usb/1-2");
	object(&s, USB_DEVICE, "node1-0627-0001-001009");
	object(&s, USB_DEVICE, "node1-0627-0001-001502");
	CHECK_EQ(json_object_object_length(s.w.objects[USB_DEVICE]), 3);
	syncworld_free(&s);
}

DEFINE_TEST(sync_kinds_a_released_usb_device_is_named_anew)
{
	struct syncworld s;

	claimed_stick(&s, "none");
	syncworld_device(&s, STICK, STICK_FACTS("7", "none", "claim=none resource_name=kubevirt.io/" STICK_NAME));
	expect(syncworld_settle(&s), "ctl usbdevices/node1-0627-0001-001007 " STICK "/resource_name none\n");
	CHECK(!object_find(&s.w, USB_CLAIM, STICK_NAME));
	CHECK(!object_find(&s.w, USB_DEVICE, STICK_NAME));
	syncworld_free(&s);
}
