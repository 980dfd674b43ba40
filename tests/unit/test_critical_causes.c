// SPDX-License-Identifier: GPL-2.0-or-later
/* Each cause for which the host needs a device is told, and their number is bounded. */
#include <stdio.h>
#include <string.h>

#include "fakedisk.h"
#include "pcidevfs/critical.h"
#include "pcidevfs/util.h"
#include "test.h"

#define CAUSE SLOT "cause="

/* No cause hides behind a weightier one: a user who forced the latter did not hear of it. */
DEFINE_TEST(critical_each_cause_is_told)
{
	put_disk(HBA "/block", "sda", 0);
	put_disk(VIRTUAL, "dm-0", 100);
	put_disk(VIRTUAL, "dm-1", 101);
	put_disk(VIRTUAL, "dm-2", 102);
	put_disk(VIRTUAL, "loop0", 103);
	put_disk(VIRTUAL, "loop1", 104);
	for (unsigned int i = 0; i < 3; i++)
		stack(i == 0 ? "dm-0" : i == 1 ? "dm-1" : "dm-2", "sda");
	host_file("/dev/sda\n", "sys/class/block/loop0/loop/backing_file");
	host_file("/dev/sda\n", "sys/class/block/loop1/loop/backing_file");
	host_file("Filename Type\n/dev/dm-1 partition 1 0 -2\n/dev/dm-2 partition 1 0 -3\n"
		  "/dev/sda partition 1 0 -4\n",
		  "proc/swaps");
	EXPECT_CAUSES(MOUNT("8:0", "/srv"), SLOT
		      "disk sda is mounted on /srv\n" CAUSE "mount sda /srv\n" CAUSE
		      "swap sda dm-1\n" CAUSE "swap sda dm-2\n" CAUSE "swap sda\n" CAUSE
		      "held-by sda loop0\n" CAUSE "held-by sda loop1\n" CAUSE
		      "held-by sda dm-0\n" CAUSE "held-by sda dm-1\n" CAUSE "held-by sda dm-2\n");
}

/* The first stands for all: containers have many, and other ones after each boot. */
DEFINE_TEST(critical_mounts_of_a_file_system_are_one_cause)
{
	put_disk(HBA "/block", "sda", 0);
	put_partition(HBA "/block", "sda", "sda1", 1);
	put_partition(HBA "/block", "sda", "sda2", 2);
	EXPECT_CAUSES(MOUNT("8:1", "/srv") MOUNT("8:1", "/run/netns/a") MOUNT("8:2", "/boot")
			      MOUNT("8:2", "/mnt") MOUNT("8:2", "/"),
		      SLOT "disk sda2 is mounted on /\n" CAUSE "mount sda2 /\n" CAUSE
			   "mount sda1 /srv\n");
	EXPECT_CAUSES("36 35 0:31 /@a /a rw - btrfs /dev/sda1 rw\n"
		      "36 35 0:31 /@b /b rw - btrfs /dev/sda1 rw\n",
		      SLOT "disk sda1 is mounted on /a\n" CAUSE "mount sda1 /a\n");
}

DEFINE_SLOW_TEST(critical_any_number_of_mounts_is_one_cause, 60)
{
	struct out mounts = { 0 };

	put_disk(HBA "/block", "sda", 0);
	for (int i = 0; i < 200000; i++)
		out_printf(&mounts, "1 1 8:0 /v%d /m%d rw - ext4 /dev/x rw\n", i, i);
	EXPECT_CAUSES(out_text(&mounts),
		      SLOT "disk sda is mounted on /m0\n" CAUSE "mount sda /m0\n");
	out_free(&mounts);
}

/* The same disk on two ways to one controller. */
DEFINE_TEST(critical_equal_causes_are_told_once)
{
	put_disk("virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", 0);
	for (int i = 0; i < 2; i++) {
		char at[96], link[96];

		snprintf(at, sizeof(at), "../../../" HBA "/nvme/nvme%d", i);
		snprintf(link, sizeof(link),
			 "sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme%d", i);
		host_link(at, "%s", link);
	}
	EXPECT_CAUSES(MOUNT("8:0", "/"),
		      SLOT "disk nvme0n1 is mounted on /\n" CAUSE "mount nvme0n1 /\n");
}

/* So many cannot all be forced, and restore does not know them. */
DEFINE_TEST(critical_causes_of_a_device_are_bounded)
{
	struct out o = { 0 };
	char name[16];
	size_t n = 0;

	put_disk(HBA "/block", "sda", 0);
	for (unsigned int i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "dm-%u", i);
		put_disk(VIRTUAL, name, 100 + i);
		stack(name, "sda");
	}
	host_file(MOUNT("8:0", "/srv"), "proc/1/mountinfo");
	CHECK_EQ(host_critical_causes(NULL, &o), 0);
	for (const char *at = out_text(&o); (at = strstr(at, CAUSE)); at++)
		n++;
	CHECK_EQ(n, 129);
	CHECK_STR(strrchr(out_text(&o), '=') + 1, "more\n");
	out_free(&o);
}
