// SPDX-License-Identifier: GPL-2.0-or-later
/* USB devices: where they sit, lines of their interfaces, names, what they do not say. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "backend/bus.h"
#include "backend/ids.h"
#include "backend/internal.h"
#include "backend/usb/usb.h"
#include "fakehost.h"
#include "pcidevfs/device.h"
#include "pcidevfs/facts.h"
#include "pcidevfs/util.h"
#include "test.h"

DEFINE_TEST(usb_place_has_no_number_of_the_moment)
{
	static const struct {
		const char *target, *speed, *path;
	} rows[] = {
		{ "../../../devices/pci0000:00/0000:00:14.0/usb1/1-1", "480", "0000:00/14.0/hs/1" },
		{ "../../../devices/pci0000:00/0000:00:14.0/usb3/3-1", "480", "0000:00/14.0/hs/1" },
		{ "../../../devices/pci0000:00/0000:00:14.0/usb2/2-1", "5000",
		  "0000:00/14.0/ss/1" },
		{ "../../../devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1.4/1-1.4.2", "480",
		  "0000:00/14.0/hs/1-4-2" },
		{ "../../../devices/pci0000:00/0000:00:14.0/usb1", "480", "0000:00/14.0/hs/root" },
		{ "../../../devices/pci0000:00/0000:00:1c.0/0000:02:00.0/usb1/1-1", "12",
		  "0000:00/1c.0/00.0/fs/1" },
		{ "../../../devices/platform/dummy_hcd.0/usb5/5-1", "480", "dummy_hcd.0/hs/1" },
		{ "../../../devices/virtual/net/lo", "480", "" },
		{ "", "", "" },
		{ "/usb", "x", "" },
		{ "/usb1", "x", "/fs/root" },
	};
	char path[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		usb_path(rows[i].target, rows[i].speed, path, sizeof(path));
		CHECK_STR(path, rows[i].path);
	}
}

DEFINE_TEST(usb_interfaces_are_lines)
{
	const char *text = "1.0 030101 usbhid\n1.1 0e0200 -\n1.12 ff0000 a-driver\n...";
	struct usb_interface u;

	CHECK(usb_interface_next(&text, &u));
	CHECK_STR(u.number, "1.0");
	CHECK_STR(u.driver, "usbhid");
	CHECK_EQ(u.class_code, 0x030101);
	CHECK(usb_interface_next(&text, &u));
	CHECK_STR(u.driver, "");
	CHECK(usb_interface_next(&text, &u));
	CHECK_STR(u.number, "1.12");
	CHECK(!usb_interface_next(&text, &u));
	CHECK_STR(text, "...");
	text = "../.. 0 x";
	CHECK(!usb_interface_next(&text, &u));
	text = "";
	CHECK(!usb_interface_next(&text, &u));
	CHECK(usb_is_host("usbhid") && !usb_is_host("usbfs") && !usb_is_host(""));
}

static void name(const char *path, const struct facts *f, struct names *ret)
{
	struct ids *ids;

	CHECK_EQ(ids_open((const char *const[]){ path, NULL }, &ids), 0);
	CHECK_EQ(ids != NULL, !strcmp(path, "usb.ids"));
	usb_names(ids, f, ret);
	ids_close(ids);
}

DEFINE_TEST(usb_names_come_from_usb_ids)
{
	struct facts f = { .vendor = 0x0951, .device = 0x1666, .class_code = 0x080650 };
	struct names n;
	FILE *ids = fopen("usb.ids", "w");

	CHECK(ids);
	fputs("# comment\n0950  Other\n\t1666  Not this\n0951  Kingston Technology\n\t1665  X\n"
	      "\t1666  DataTraveler\n\t\t01  interface\n0952  Next\n\t1667  Not that\n"
	      "HUT 01  Generic Desktop\n\t000  Undefined\n",
	      ids);
	fclose(ids);
	name("usb.ids", &f, &n);
	CHECK_STR(n.description, "Mass Storage: Kingston Technology DataTraveler");
	CHECK_STR(n.resource, "kubevirt.io/usb-0951-1666");
	f.device = 0x1667;
	name("usb.ids", &f, &n);
	CHECK_STR(n.description, "Mass Storage: Kingston Technology Device 1667");
	STR_COPY(f.manufacturer, "King");
	STR_COPY(f.product, "Traveler \"3\"");
	name("usb.ids", &f, &n);
	CHECK_STR(n.description, "Mass Storage: Kingston Technology Traveler \"3\"");
	name("/nonexistent/usb.ids", &f, &n);
	CHECK_STR(n.description, "Mass Storage: King Traveler \"3\"");
	f.manufacturer[0] = f.product[0] = '\0';
	f.class_code = 0x420000;
	f.vendor = 0xffff;
	name("usb.ids", &f, &n);
	CHECK_STR(n.description, "Unknown (0x42): Vendor ffff Device 1667");
	unlink("usb.ids");
}

/* A device that says less than it should: bad firmware, or a moment of its removal. */
DEFINE_TEST(usb_with_missing_descriptors)
{
	struct backend *b = calloc(1, sizeof(*b));
	struct facts f;
	struct key key;

	CHECK(b && key_make(BUS_USB, "1-1", &key));
	host_open(&b->sys);
	CHECK_EQ(usb_bus.observe(b, &key, &f), -ENODEV);
	host_file("", "sys/bus/usb/devices/1-1/urbnum");
	CHECK_EQ(usb_bus.observe(b, &key, &f), 0);
	CHECK_STR(f.garbled, "there is no idVendor");
	host_file("0627\n", "sys/bus/usb/devices/1-1/idVendor");
	CHECK_EQ(usb_bus.observe(b, &key, &f), 0);
	CHECK_STR(f.garbled, "there is no idProduct");
	host_file("0001\n", "sys/bus/usb/devices/1-1/idProduct");
	CHECK_EQ(usb_bus.observe(b, &key, &f), 0);
	CHECK_STR(f.garbled, "");
	CHECK_EQ(f.serial, 0);
	CHECK_STR(f.usb_serial, "");
	CHECK_STR(f.nodes, "");
	CHECK_STR(f.interfaces, "");
	CHECK_STR(f.path, "");
	CHECK_EQ(f.use, USE_GUEST);
	/* Interfaces of which nothing can be read, and names that are none. */
	host_file("", "sys/bus/usb/devices/1-1/1-1:1.0/uevent");
	host_file("", "sys/bus/usb/devices/1-1/1-1:x/uevent");
	host_file("", "sys/bus/usb/devices/1-1/1-1:1.99999999999/uevent");
	host_file("zz\n", "sys/bus/usb/devices/1-1/1-1:1.2/bInterfaceClass");
	host_link("../../drivers/usbfs", "sys/bus/usb/devices/1-1/1-1:1.2/driver");
	host_link("../../drivers/cdc_acm", "sys/bus/usb/devices/1-1/1-1:1.10/driver");
	CHECK_EQ(usb_bus.observe(b, &key, &f), 0);
	CHECK_STR(f.interfaces, "1.0 000000 -\n1.2 000000 -\n1.10 000000 cdc_acm");
	CHECK_STR(f.driver, "cdc_acm");
	CHECK_EQ(f.use, USE_HOST);
	sysfs_close(&b->sys);
	free(b);
}

static void *take_ids_away(void *ctx)
{
	int *watch = ctx;
	char events[4096];

	if (read(*watch, events, sizeof(events)) > 0)
		unlink("sys/bus/usb/devices/1-1/idVendor");
	return NULL;
}

/* The kernel takes its attributes away before its directory, in the middle of our look. Entries
 * that say nothing make that look last. */
DEFINE_TEST(usb_that_goes_while_it_is_read_is_gone)
{
	struct backend *b = calloc(1, sizeof(*b));
	int rc = 0;

	CHECK(b && !chdir(test_dir()));
	host_open(&b->sys);
	host_file("0001\n", "sys/bus/usb/devices/1-1/idProduct");
	host_file("480\n", "sys/bus/usb/devices/1-1/speed");
	for (int i = 0; i < 3000; i++)
		host_file("", "sys/bus/usb/devices/1-1/entry%d", i);
	for (int i = 0; i < 50 && !rc; i++) {
		int watch = inotify_init1(IN_CLOEXEC);
		pthread_t thread;
		struct facts f;
		struct key key;

		CHECK(watch >= 0 && key_make(BUS_USB, "1-1", &key));
		host_file("0627\n", "sys/bus/usb/devices/1-1/idVendor");
		CHECK(inotify_add_watch(watch, "sys/bus/usb/devices/1-1/speed", IN_OPEN) >= 0);
		CHECK(!pthread_create(&thread, NULL, take_ids_away, &watch));
		rc = usb_bus.observe(b, &key, &f);
		CHECK(!pthread_join(thread, NULL));
		close(watch);
	}
	CHECK_EQ(rc, -ENODEV);
	sysfs_close(&b->sys);
	free(b);
}

DEFINE_TEST(usb_node_is_the_pods_then_the_claimants)
{
	static const struct {
		const char *allocated, *given;
		bool owned;
		const char *to;
	} rows[] = {
		{ "", "", false, "former" },
		{ "", "", true, "claim" },
		{ "", "/dev/bus/usb/001/002", false, "former" },
		{ "pending", "/dev/bus/usb/001/002", false, "pod" },
		{ "a/b/c", "/dev/bus/usb/001/002", true, "pod" },
		{ "a/b/c", "", true, "pod" }, /* given before anybody recorded it */
		{ "a/b/c", "/dev/bus/usb/001/009", true, "claim" }, /* plugged in again */
		{ "pending", "/dev/bus/usb/001/009", false, "former" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct intent w = { .owned = rows[i].owned };

		STR_COPY(w.allocated, rows[i].allocated);
		STR_COPY(w.given, rows[i].given);
		CHECK_STR(usb_node_goes_to(&w, "/dev/bus/usb/001/002"), rows[i].to);
		CHECK_EQ(usb_node_was_given(&w), rows[i].owned || rows[i].allocated[0]);
		STR_COPY(w.former, "i0=usbhid\nowner=0:46");
		CHECK(usb_node_was_given(&w));
	}
}
