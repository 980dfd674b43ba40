// SPDX-License-Identifier: GPL-2.0-or-later
/* What is stored comes back, once and to the right device. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts.h"
#include "fakerequest.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define NIC REQUEST_NIC
#define nic request_nic

DEFINE_TEST(restore_after_reboot_and_after_crash)
{
	request_boot(&nic);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_expect_line("claim=alice", "former_driver=igb");
	request_end();

	request_boot(&nic); /* a reboot */
	CHECK_EQ(t.ops, 1);
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	CHECK_STR(former_of(request_state_of(NIC).intent, "driver"), "igb");
	request_expect_line("claim=alice", "state=held");
	/* Somebody takes it: drift, also for the process after a crash. */
	request_plug(&nic);
	request_end();
	request_begin(true);
	request_restore();
	request_calm();
	CHECK_EQ(t.ops, 1);
	request_expect_line("claim=alice", "state=drifted");
	/* It comes again: another appearance. */
	request_unplug(NIC);
	request_calm();
	request_expect_line("claim=alice", "state=waiting");
	request_plug(&nic);
	request_calm();
	CHECK_EQ(t.ops, 2);
	request_expect_line("claim=alice", "state=held");
	CHECK_EQ(request_ask(NIC, "claim", ""), 0);
	CHECK_STR(request_state_of(NIC).facts.driver, "igb");
	request_end();
	request_boot(&nic);
	CHECK_EQ(t.ops, 0);
	request_end();
}

/* A card with a serial; and one with the same serial in another slot: moved there, or its twin. */
static const struct plug carded = { NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 77, 1, 0 };
static const struct plug elsewhere = {
	"0000:09:00.0", "0000:00/04.0/00.0", "igb", NULL, 0x1521, 77, 2, 0
};
static const struct plug vf1 = { "0000:02:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 1 };
static const struct plug vf2 = { "0000:02:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 2 };

DEFINE_TEST(restore_knows_strangers_and_followers)
{
	static const struct plug moved = {
		"0000:09:00.0", "0000:00/04.0/00.0", "igb", NULL, 0x1521, 77, 1, 0
	};
	static const struct plug other = {
		NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 78, 2, 0
	};
	static const struct plug renumbered = {
		"0000:05:00.0", "0000:00/03.0/00.0", "igb", NULL, 0x1521, 77, 7, 0
	};
	static const struct plug replacement = {
		NIC, "0000:00/04.0/00.0", "igb", NULL, 0x1521, 79, 2, 0
	};
	struct key k = request_key(NIC);

	request_store_claim(&carded);

	request_boot(&renumbered); /* another bus number */
	CHECK_STR(request_state_of("0000:05:00.0").intent.claim, "alice");
	request_end();

	request_begin(false); /* in another slot, and another of its kind where it was */
	request_plug(&moved);
	request_plug(&other);
	request_restore();
	CHECK_STR(request_state_of("0000:09:00.0").intent.claim, "alice");
	CHECK_STR(request_state_of(NIC).intent.claim, "");
	request_end();

	request_boot(&replacement); /* gone, and another in its new place */
	CHECK_EQ(t.ops, 0);
	CHECK_IN(request_state_of(NIC).reason, "accept " NIC);
	request_expect_line("claim=alice", "state=stranger");
	CHECK_EQ(intents_accept(t.in, &k, NULL, NULL), 0);
	request_calm();
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	CHECK_STR(request_state_of(NIC).unmet, "");
	CHECK_EQ(intents_accept(t.in, &k, NULL, NULL), -EINVAL);
	request_end();
}

/* Two cards with one serial: the other one is no card that moved, in this run or the next. */
DEFINE_TEST(restore_takes_no_twin_of_a_card_that_was_pulled)
{
	request_store_claim(&carded);
	request_boot(&carded);
	request_plug(&elsewhere);
	request_calm();
	request_unplug(NIC);
	request_calm();
	CHECK_EQ(t.ops, 1);
	CHECK_STR(request_state_of("0000:09:00.0").intent.claim, "");
	request_expect_line("claim=alice", "state=waiting");
	request_expect_line("claim=alice", "another had the same serial number");
	request_end();

	request_boot(&elsewhere);
	CHECK_EQ(t.ops, 0);
	request_expect_line("claim=alice", "state=waiting");
	CHECK_EQ(request_ask("0000:09:00.0", "claim", "bob"), 0); /* a record of its own */
	request_plug(&carded);
	request_calm();
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	CHECK_STR(request_state_of("0000:09:00.0").intent.claim, "bob");
	request_end();
}

static void read_in_part(struct device *dev)
{
	dev->facts.serial = 0;
	dev->facts.path[0] = '\0';
	STR_COPY(dev->facts.garbled, "there is no idVendor");
}

/* A look in the middle of its removal is no news about which device it is. */
DEFINE_TEST(restore_follows_a_card_that_was_read_in_part)
{
	request_store_claim(&carded);
	request_boot(&carded);
	request_edit(NIC, read_in_part);
	request_unplug(NIC);
	request_calm();
	request_plug(&elsewhere);
	request_calm();
	CHECK_STR(request_state_of("0000:09:00.0").intent.claim, "alice");
	request_end();
}

DEFINE_TEST(restore_makes_vfs_and_then_claims_them)
{
	static const struct plug late = { NIC, "0000:00/03.0/00.0", "", NULL, 0x1521, 0, 1, 0 };

	request_boot(&nic);
	CHECK_EQ(request_ask(NIC, "sriov_numvfs", "4"), 0);
	request_plug(&vf2);
	CHECK_EQ(request_ask("0000:02:10.2", "claim", "bob"), 0);
	request_end();
	request_boot(&late);
	CHECK_EQ(t.ops, 0);
	request_expect_line("numvfs=4", "state=waiting");
	CHECK_IN(request_state_of(NIC).reason, "is not bound yet");
	CHECK_EQ(request_state_of(NIC).intended_vfs, 4);
	request_expect_line("claim=bob", "its VF is not there yet; the VFs of " NIC " are being restored");
	request_unplug(NIC);
	request_calm();
	request_plug(&late);
	CHECK_EQ(request_state_of(NIC).intended_vfs, 4); /* from its appearance */
	request_calm();
	request_plug(&nic); /* its driver comes */
	request_calm();
	CHECK_EQ(t.ops, 1);
	CHECK_EQ(request_state_of(NIC).facts.num_vfs, 4);
	CHECK_EQ(request_state_of(NIC).intent.num_vfs, 4);
	CHECK_EQ(request_state_of(NIC).intended_vfs, 0);
	CHECK_EQ(request_state_of(NIC).intent.vf_claims[0], 1 << 2);
	request_plug(&vf2);
	request_calm();
	CHECK_STR(request_state_of("0000:02:10.2").intent.claim, "bob");
	request_plug(&nic); /* somebody took the VFs away */
	request_calm();
	request_expect_line("numvfs=4", "state=drifted");
	CHECK_IN(request_state_of(NIC).reason, "0 VFs although 4 are stored");
	CHECK_EQ(t.ops, 2);
	request_end();
}

static void driver_goes(struct device *dev)
{
	set_driver(&dev->facts, "");
	dev->facts.num_vfs = 0;
}

static void driver_comes(struct device *dev)
{
	set_driver(&dev->facts, "igb");
}

/* The kernel was faster than the event. */
static void driver_was_away(struct device *dev)
{
	dev->unbinds++;
	dev->facts.num_vfs = 0;
}

static void others_write_0(struct device *dev)
{
	dev->facts.num_vfs = 0;
}

DEFINE_TEST(vfs_that_went_with_the_driver_come_back_with_it)
{
	request_boot(&nic);
	CHECK_EQ(request_ask(NIC, "sriov_numvfs", "4"), 0);
	request_plug(&vf2);
	CHECK_EQ(request_ask("0000:02:10.2", "claim", "bob"), 0);
	request_unplug("0000:02:10.2");
	request_edit(NIC, driver_goes);
	request_calm();
	request_expect_line("numvfs=4", "state=waiting");
	CHECK_IN(request_state_of(NIC).reason, "the driver that makes its VFs is not bound");
	request_edit(NIC, driver_comes);
	request_calm();
	CHECK_EQ(request_state_of(NIC).facts.num_vfs, 4);
	request_expect_line("numvfs=4", "state=held");
	request_plug(&vf2);
	request_calm();
	CHECK_STR(request_state_of("0000:02:10.2").intent.claim, "bob");
	request_edit(NIC, driver_was_away);
	request_calm();
	CHECK_EQ(request_state_of(NIC).facts.num_vfs, 4);
	request_edit(NIC, others_write_0);
	request_calm();
	CHECK_EQ(request_state_of(NIC).facts.num_vfs, 0);
	request_expect_line("numvfs=4", "state=drifted");
	request_end();
}

static void begin_with_claimed(const struct plug *vf)
{
	request_begin(false);
	request_plug(&nic);
	request_plug(vf);
	request_restore();
	CHECK_EQ(request_ask(vf->name, "claim", "bob"), 0);
}

DEFINE_TEST(restore_knows_claims_of_far_vfs)
{
	static const struct plug far = {
		"0000:05:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 700
	};

	begin_with_claimed(&far);
	request_unplug("0000:05:10.2");
	request_calm();
	CHECK_EQ(request_state_of(NIC).intent.vf_claims[700 / 64], 1ull << 700 % 64);
	request_end();
}

static void says_vf1_is_claimed(struct device *dev)
{
	dev->intent.vf_claims[0] = 1 << 1;
}

/* Nor after a crash, when another process's records said so: the VF would come without its
 * driver. */
DEFINE_TEST(no_vf_is_for_a_guest_once_nothing_is_stored)
{
	begin_with_claimed(&vf1);
	request_calm();
	CHECK_EQ(request_state_of(NIC).intent.vf_claims[0], 1 << 1);
	CHECK_EQ(request_ask("0000:02:10.2", "claim", ""), 0);
	request_calm();
	CHECK_EQ(request_state_of(NIC).intent.vf_claims[0], 0);
	request_edit(NIC, says_vf1_is_claimed);
	request_end();
	request_begin(true);
	request_restore();
	CHECK_EQ(request_state_of(NIC).intent.vf_claims[0], 0);
	request_end();
}

DEFINE_TEST(restore_keeps_a_vf_whose_pf_went_first)
{
	begin_with_claimed(&vf1);
	request_unplug(NIC);
	request_calm();
	request_expect_line("claim=bob", ",vf1 ");
	request_unplug("0000:02:10.2");
	request_calm();
	request_expect_line("claim=bob", "state=waiting");
	request_end();
}

DEFINE_TEST(restore_tells_the_vfs_of_one_card_apart)
{
	static const struct plug ports[] = {
		{ NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 7, 1, 0 },
		{ "0000:02:00.1", "0000:00/03.0/00.1", "igb", NULL, 0x1521, 7, 2, 0 },
		{ "0000:02:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 1 },
	};

	request_begin(false);
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		request_plug(&ports[i]);
	request_restore();
	CHECK_EQ(request_ask("0000:02:10.2", "claim", "bob"), 0);
	request_calm();
	CHECK_EQ(request_state_of(NIC).intent.vf_claims[0], 1 << 1);
	CHECK_EQ(request_state_of("0000:02:00.1").intent.vf_claims[0], 0);
	request_end();
}

DEFINE_TEST(restore_refused_is_tried_when_it_may_go)
{
	struct plug other = nic;

	other.driver = "igbx";
	request_boot_refused(EBUSY);
	CHECK_IN(request_state_of(NIC).reason, "the kernel says no");
	t.refuse = 0;
	request_plug(&other);
	request_calm();
	CHECK_EQ(t.ops, 2);
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_end();
}

static void pod_has_it(struct device *dev)
{
	STR_COPY(dev->intent.allocated, "pending");
}

static void node_comes(struct device *dev)
{
	pci_nodes(-1, "vfio0", false, dev->facts.nodes);
}

static void pod_ends(struct device *dev)
{
	dev->intent.allocated[0] = '\0';
}

static void refused_write(struct device *dev)
{
	STR_COPY(dev->last_error, "claim: the kernel says no");
	STR_COPY(dev->plan_query, "claim alice");
}

/* Whatever it may have been refused for, a field of the device tells when that is over. */
DEFINE_TEST(restore_refused_is_tried_when_any_fact_differs)
{
	request_boot_refused(EBUSY);
	request_edit(NIC, refused_write);
	CHECK_EQ(t.ops, 1);
	request_edit(NIC, node_comes);
	CHECK_EQ(t.ops, 2);
	request_edit(NIC, pod_has_it);
	CHECK_EQ(t.ops, 3);
	t.refuse = 0;
	request_edit(NIC, pod_ends);
	CHECK_EQ(t.ops, 4);
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_end();
}
