// SPDX-License-Identifier: GPL-2.0-or-later
/* How often what is stored and was refused is tried again. */
#include <errno.h>
#include <string.h>

#include "fakewish.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakewish

#define NIC WISH_NIC

enum { OFTEN = 40, TRIES = 16 };

static int pid;

static void another_has_it(struct device *dev)
{
	snprintf(dev->facts.holder, sizeof(dev->facts.holder), "pid=%d comm=nvidia-smi", ++pid);
}

static void nobody_has_it(struct device *dev)
{
	dev->facts.holder[0] = '\0';
}

static void pod_comes_or_goes(struct device *dev)
{
	STR_COPY(dev->want.allocated, dev->want.allocated[0] ? "" : "pending");
}

static void expect_claimed(void)
{
	CHECK_STR(wish_state_of(NIC).want.claim, "alice");
	wish_expect_line("claim=alice", "state=held");
	wish_end();
}

/* Each act looks for holders anew: it must not bring the next one for ever. */
DEFINE_TEST(restore_waits_however_many_have_the_device)
{
	wish_boot_refused(EBUSY);
	for (int i = 0; i < OFTEN; i++)
		wish_edit(NIC, another_has_it);
	CHECK(t.acts >= TRIES && t.acts <= TRIES + 1);
	wish_expect_line("claim=alice", "state=waiting");
	t.refuse = 0;
	wish_edit(NIC, nobody_has_it);
	expect_claimed();
}

DEFINE_TEST(restore_waits_however_often_the_device_is_in_use)
{
	wish_boot_refused(EBUSY);
	for (int i = 0; i < OFTEN; i++) {
		wish_edit(NIC, pod_comes_or_goes);
		CHECK_EQ(t.acts, 2 + i);
	}
	wish_edit(NIC, another_has_it);
	t.refuse = 0;
	wish_edit(NIC, nobody_has_it);
	expect_claimed();
}

DEFINE_TEST(restore_says_that_it_has_given_up)
{
	wish_boot_refused(EIO);
	for (int i = 0; i < OFTEN; i++)
		wish_edit(NIC, pod_comes_or_goes);
	CHECK_EQ(t.acts, TRIES);
	wish_expect_line("claim=alice", "state=refused");
	CHECK_IN(wish_state_of(NIC).reason, "the kernel says no; after 16 tries it is left");
	t.refuse = 0;
	wish_unplug(NIC);
	wish_calm();
	wish_plug(&wish_nic);
	wish_calm();
	expect_claimed();
}
