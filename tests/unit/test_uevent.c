// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <string.h>

#include "pcidevfs/key.h"
#include "pcidevfs/uevent.h"
#include "pcidevfs/util.h"

static char buf[UEVENT_MAX];

static int parse(const char *text, size_t len, struct uevent *ev)
{
	memcpy(buf, text, len);
	return uevent_parse(buf, len, ev);
}

#define PARSE(text, ev) parse(text, sizeof(text), ev)
#define PATH "/devices/pci0000:00/0000:00:03.0/0000:05:02.1"

DEFINE_TEST(uevent_gives_its_fields)
{
	struct uevent ev;
	struct key key;

	CHECK_EQ(PARSE("bind@" PATH "\0ACTION=bind\0DEVPATH=" PATH
		       "\0SUBSYSTEM=pci\0DRIVER=vfio-pci\0"
		       "PCI_CLASS=20000\0PCI_SLOT_NAME=0000:05:02.1\0SEQNUM=4711",
		       &ev),
		 0);
	CHECK_STR(ev.action, "bind");
	CHECK_STR(ev.devpath, PATH);
	CHECK_STR(ev.subsystem, "pci");
	CHECK_STR(ev.slot, "0000:05:02.1");
	CHECK_EQ(ev.seqnum, 4711);
	CHECK(uevent_function(&ev, &key));
	CHECK_STR(key.name, "0000:05:02.1");
}

DEFINE_TEST(uevent_finds_the_last_function_of_a_path)
{
	static const struct {
		const char *path, *slot, *name;
	} rows[] = {
		{ PATH "/net/eth0", "", "0000:05:02.1" },
		{ PATH, "0000:05:02.0", "0000:05:02.0" },
		{ PATH, "../../x", "0000:05:02.1" },
		{ "/devices/pci10000:e0/10000:e1:00.0", "", "10000:e1:00.0" },
		{ "/devices/pci0000:00", "", NULL },
		{ "/devices/virtual/vfio/7", "", NULL },
		{ "/", "", NULL },
		{ "/0000:05:02.1/../0000:05:02.9", "", "0000:05:02.1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct uevent ev = { .devpath = rows[i].path, .slot = rows[i].slot };
		struct key key;

		CHECK_EQ(uevent_function(&ev, &key), rows[i].name != NULL);
		if (rows[i].name)
			CHECK_STR(key.name, rows[i].name);
	}
}

DEFINE_TEST(uevent_finds_the_usb_device_of_a_path)
{
	struct uevent ev = { .devpath = PATH "/usb1/1-1/1-1.2/1-1.2:1.0/host6/block/sdd" };
	struct key key;

	CHECK(uevent_usb(&ev, &key));
	CHECK_STR(key.name, "1-1.2");
	ev.devpath = PATH "/host0/target0:0:0/0:0:0:0/block/sda";
	CHECK(!uevent_usb(&ev, &key));
}

DEFINE_TEST(uevent_refuses_what_is_none)
{
	struct uevent ev;

	CHECK_EQ(uevent_parse(buf, 0, &ev), -EINVAL);
	CHECK_EQ(PARSE("", &ev), -EINVAL);
	CHECK_EQ(PARSE("libudev\0\xfe\xed\xca\xfe", &ev), -EINVAL);
	CHECK_EQ(PARSE("add@/a", &ev), -EINVAL);
	CHECK_EQ(PARSE("add@/a\0ACTION=add", &ev), -EINVAL);
	CHECK_EQ(PARSE("add@/a\0ACTION=add\0DEVPATH=/b", &ev), -EINVAL);
	CHECK_EQ(PARSE("add@/a\0ACTION=remove\0DEVPATH=/a", &ev), -EINVAL);
	CHECK_EQ(PARSE("@/a\0ACTION=\0DEVPATH=/a", &ev), -EINVAL);
	CHECK_EQ(PARSE("add@a\0ACTION=add\0DEVPATH=a", &ev), -EINVAL);
	CHECK_EQ(PARSE("add@/a\0ACTION=add\0DEVPATH=/a\0SEQNUM=1x", &ev), -EINVAL);
	CHECK_EQ(uevent_parse(buf, UEVENT_MAX + 1, &ev), -EINVAL);
}

DEFINE_TEST(uevent_first_field_of_a_name_counts)
{
	struct uevent ev;

	CHECK_EQ(PARSE("add@/a\0ACTION=add\0DEVPATH=/a\0SUBSYSTEM=pci\0SUBSYSTEM=net\0\0\0=", &ev),
		 0);
	CHECK_STR(ev.subsystem, "pci");
	CHECK_EQ(ev.seqnum, 0);
}

DEFINE_TEST(uevent_trusts_the_kernel_only)
{
	struct sockaddr_nl from = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	struct ucred cred = { .pid = 99 };

	CHECK(uevent_trusted(&from, NULL));
	CHECK(uevent_trusted(&from, &cred));
	cred.uid = 1000;
	CHECK(!uevent_trusted(&from, &cred));
	from.nl_pid = 4242;
	CHECK(!uevent_trusted(&from, NULL));
	from.nl_pid = 0;
	from.nl_groups = 0;
	CHECK(!uevent_trusted(&from, NULL));
	from.nl_groups = 2;
	CHECK(!uevent_trusted(&from, NULL));
}
