// SPDX-License-Identifier: GPL-2.0-or-later
/* One question about devices of several buses: each gets its own answer. Only PCI is read yet, so
 * the others are published here. */
#include <string.h>

#include "backend/internal.h"
#include "backend/pci/serials.h"
#include "fakehost.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

#define CONTROLLER "0000:00:14.0"
#define LPC "0000:00:1f.0"
#define USB "pci0000:00/" CONTROLLER "/usb2/2-1"
#define DISK_AT USB "/2-1:1.0/host6/target6:0:0/6:0:0:0/block"

static struct world_fake world;

static struct key put_stick(void)
{
	struct device *dev;
	struct key key;

	CHECK(key_parse("usb/2-1", &key));
	model_lock(world.model);
	dev = model_edit(world.model, &key, true);
	CHECK(dev != NULL);
	dev->facts.iommu_group = dev->facts.numa_node = dev->facts.index = -1;
	model_publish(world.model);
	model_unlock(world.model);
	return key;
}

static void check_facts(const struct key *key, const char *critical, const char *holders)
{
	model_lock(world.model);
	CHECK_STR(model_find(world.model, key)->facts.critical, critical);
	CHECK_STR(model_find(world.model, key)->facts.holder, holders);
	model_unlock(world.model);
}

static void put_machine_with_stick(void)
{
	fake_machine();
	fake_add(&(struct fake){ CONTROLLER, "0x8086\n", "0xa36d\n", "0x0c0330\n", "xhci_hcd", 4 });
	fake_add(&(struct fake){ LPC, "0x8086\n", "0xa308\n", "0x060100\n", NULL, 5 });
	host_class("block", DISK_AT, "sda");
	host_file("8:0\n", "sys/devices/" DISK_AT "/sda/dev");
	host_link("../../devices/" DISK_AT "/sda", "sys/dev/block/8:0");
	host_link("../../../../../bus/usb", "sys/devices/" USB "/subsystem");
	host_link("../../devices/" USB "/tty", "sys/dev/char/1:8");
	host_file("36 35 8:0 / / rw,relatime shared:1 - ext4 /dev/sda rw\n", "proc/1/mountinfo");
	host_file("usbip\n", "proc/7/comm");
	host_link("/dev/random", "proc/7/fd/3");
}

DEFINE_TEST(guards_answer_for_each_bus_in_one_question)
{
	static const char root[] = "disk sda is mounted on /", held[] = "pid=7 comm=\"usbip\"";
	struct key devs[3];

	put_machine_with_stick();
	world = fake_open();
	devs[0] = put_stick();
	devs[1] = fake_key(CONTROLLER);
	devs[2] = fake_key(LPC);
	for (int all = 0; all < 2; all++) {
		for (int guard = 0; guard < GUARD_COUNT; guard++)
			CHECK_EQ(guard_run(world.backend, guard, all ? NULL : devs, 3), 0);
		check_facts(&devs[0], root, held);
		check_facts(&devs[1], root, held);
		check_facts(&devs[2], "it is the ISA bridge", "");
	}
	fake_close(&world);
}

DEFINE_TEST(guards_serials_of_functions_asked_about_with_others)
{
	char ids[] = "usb/2-1 " CONTROLLER;
	struct roots roots = fake_roots();
	struct out o = { 0 };
	struct sysfs s;

	put_machine_with_stick();
	fake_attr(CONTROLLER, "config", "\xff\xff\xff\xff\xff\xff\xff\xff");
	CHECK_EQ(sysfs_open(&s, roots.sysfs, roots.dev, roots.proc, NULL), 0);
	CHECK_EQ(serials_scan(&s, ids, &o), 0);
	CHECK_STR(out_text(&o), CONTROLLER " -\n");
	out_free(&o);
	sysfs_close(&s);
}
