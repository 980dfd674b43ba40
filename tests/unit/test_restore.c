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
#include "fakewish.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakewish

#define NIC WISH_NIC
#define nic wish_nic

DEFINE_TEST(restore_after_reboot_and_after_crash)
{
	wish_boot(&nic);
	CHECK_EQ(wish_ask(NIC, "claim", "alice"), 0);
	wish_expect_line("claim=alice", "former_driver=igb");
	wish_end();

	wish_boot(&nic); /* a reboot */
	CHECK_EQ(t.acts, 1);
	CHECK_STR(wish_state_of(NIC).want.claim, "alice");
	CHECK_STR(former_of(wish_state_of(NIC).want, "driver"), "igb");
	wish_expect_line("claim=alice", "state=held");
	/* Somebody takes it: drift, also for the process after a crash. */
	wish_plug(&nic);
	wish_end();
	wish_begin(true);
	wish_restore();
	wish_calm();
	CHECK_EQ(t.acts, 1);
	wish_expect_line("claim=alice", "state=drifted");
	/* It comes again: another appearance. */
	wish_unplug(NIC);
	wish_calm();
	wish_expect_line("claim=alice", "state=waiting");
	wish_plug(&nic);
	wish_calm();
	CHECK_EQ(t.acts, 2);
	wish_expect_line("claim=alice", "state=held");
	CHECK_EQ(wish_ask(NIC, "claim", ""), 0);
	CHECK_STR(wish_state_of(NIC).facts.driver, "igb");
	wish_end();
	wish_boot(&nic);
	CHECK_EQ(t.acts, 0);
	wish_end();
}

DEFINE_TEST(restore_knows_strangers_and_followers)
{
	static const struct plug carded = {
		NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 77, 1, 0
	};
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
	struct key k = wish_key(NIC);

	wish_store_claim(&carded);

	wish_boot(&renumbered); /* another bus number */
	CHECK_STR(wish_state_of("0000:05:00.0").want.claim, "alice");
	wish_end();

	wish_begin(false); /* in another slot, and another of its kind where it was */
	wish_plug(&moved);
	wish_plug(&other);
	wish_restore();
	CHECK_STR(wish_state_of("0000:09:00.0").want.claim, "alice");
	CHECK_STR(wish_state_of(NIC).want.claim, "");
	wish_end();

	wish_boot(&replacement); /* gone, and another in its new place */
	CHECK_EQ(t.acts, 0);
	CHECK_IN(wish_state_of(NIC).reason, "accept " NIC);
	wish_expect_line("claim=alice", "state=stranger");
	CHECK_EQ(intents_accept(t.in, &k, NULL, NULL), 0);
	wish_calm();
	CHECK_STR(wish_state_of(NIC).want.claim, "alice");
	CHECK_STR(wish_state_of(NIC).unmet, "");
	CHECK_EQ(intents_accept(t.in, &k, NULL, NULL), -EINVAL);
	wish_end();
}

DEFINE_TEST(restore_makes_vfs_and_then_claims_them)
{
	static const struct plug vf = {
		"0000:02:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 2
	};
	static const struct plug late = { NIC, "0000:00/03.0/00.0", "", NULL, 0x1521, 0, 1, 0 };

	wish_boot(&nic);
	CHECK_EQ(wish_ask(NIC, "sriov_numvfs", "4"), 0);
	wish_plug(&vf);
	CHECK_EQ(wish_ask("0000:02:10.2", "claim", "bob"), 0);
	wish_end();
	wish_boot(&late);
	CHECK_EQ(t.acts, 0);
	wish_expect_line("numvfs=4", "state=waiting");
	CHECK_IN(wish_state_of(NIC).reason, "has not come yet");
	wish_plug(&nic); /* its driver comes */
	wish_calm();
	CHECK_EQ(t.acts, 1);
	CHECK_EQ(wish_state_of(NIC).facts.num_vfs, 4);
	CHECK_EQ(wish_state_of(NIC).want.vf_claims[0], 1 << 2);
	wish_plug(&vf);
	wish_calm();
	CHECK_STR(wish_state_of("0000:02:10.2").want.claim, "bob");
	wish_plug(&nic); /* somebody took the VFs away */
	wish_calm();
	wish_expect_line("numvfs=4", "state=drifted");
	CHECK_IN(wish_state_of(NIC).reason, "0 VFs although 4 are stored");
	CHECK_EQ(t.acts, 2);
	wish_end();
}

DEFINE_TEST(restore_knows_claims_of_far_vfs)
{
	static const struct plug far = {
		"0000:05:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 700
	};

	wish_begin(false);
	wish_plug(&nic);
	wish_plug(&far);
	wish_restore();
	CHECK_EQ(wish_ask("0000:05:10.2", "claim", "bob"), 0);
	wish_unplug("0000:05:10.2");
	wish_calm();
	CHECK_EQ(wish_state_of(NIC).want.vf_claims[700 / 64], 1ull << 700 % 64);
	wish_end();
}

static void says_vf1_is_claimed(struct device *dev)
{
	dev->want.vf_claims[0] = 1 << 1;
}

/* Nor after a crash, when another process's records said so: the VF would come without its
 * driver. */
DEFINE_TEST(no_vf_is_for_a_guest_once_nothing_is_stored)
{
	static const struct plug vf = {
		"0000:02:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 1
	};

	wish_begin(false);
	wish_plug(&nic);
	wish_plug(&vf);
	wish_restore();
	CHECK_EQ(wish_ask("0000:02:10.2", "claim", "bob"), 0);
	wish_calm();
	CHECK_EQ(wish_state_of(NIC).want.vf_claims[0], 1 << 1);
	CHECK_EQ(wish_ask("0000:02:10.2", "claim", ""), 0);
	wish_calm();
	CHECK_EQ(wish_state_of(NIC).want.vf_claims[0], 0);
	wish_edit(NIC, says_vf1_is_claimed);
	wish_end();
	wish_begin(true);
	wish_restore();
	CHECK_EQ(wish_state_of(NIC).want.vf_claims[0], 0);
	wish_end();
}

DEFINE_TEST(restore_keeps_a_vf_whose_pf_went_first)
{
	static const struct plug vf = {
		"0000:02:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 1
	};

	wish_begin(false);
	wish_plug(&nic);
	wish_plug(&vf);
	wish_restore();
	CHECK_EQ(wish_ask("0000:02:10.2", "claim", "bob"), 0);
	wish_unplug(NIC);
	wish_calm();
	wish_expect_line("claim=bob", ",vf1 ");
	wish_unplug("0000:02:10.2");
	wish_calm();
	wish_expect_line("claim=bob", ",vf1 state=waiting");
	wish_end();
}

DEFINE_TEST(restore_tells_the_vfs_of_one_card_apart)
{
	static const struct plug ports[] = {
		{ NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 7, 1, 0 },
		{ "0000:02:00.1", "0000:00/03.0/00.1", "igb", NULL, 0x1521, 7, 2, 0 },
		{ "0000:02:10.2", "0000:00/03.0/00.0", "", NIC, 0x1520, 0, 9, 1 },
	};

	wish_begin(false);
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		wish_plug(&ports[i]);
	wish_restore();
	CHECK_EQ(wish_ask("0000:02:10.2", "claim", "bob"), 0);
	wish_calm();
	CHECK_EQ(wish_state_of(NIC).want.vf_claims[0], 1 << 1);
	CHECK_EQ(wish_state_of("0000:02:00.1").want.vf_claims[0], 0);
	wish_end();
}

DEFINE_TEST(restore_refused_is_tried_when_it_may_go)
{
	struct plug other = nic;

	other.driver = "igbx";
	wish_boot_refused(EBUSY);
	CHECK_IN(wish_state_of(NIC).reason, "the kernel says no");
	t.refuse = 0;
	wish_plug(&other);
	wish_calm();
	CHECK_EQ(t.acts, 2);
	CHECK_STR(wish_state_of(NIC).want.claim, "alice");
	wish_end();
}

static void pod_has_it(struct device *dev)
{
	STR_COPY(dev->want.allocated, "pending");
}

static void node_comes(struct device *dev)
{
	pci_nodes(-1, "vfio0", false, dev->facts.nodes);
}

static void pod_ends(struct device *dev)
{
	dev->want.allocated[0] = '\0';
}

static void refused_write(struct device *dev)
{
	STR_COPY(dev->last_error, "claim: the kernel says no");
	STR_COPY(dev->plan_query, "claim alice");
}

/* Whatever it may have been refused for, a field of the device tells when that is over. */
DEFINE_TEST(restore_refused_is_tried_when_any_fact_differs)
{
	wish_boot_refused(EBUSY);
	wish_edit(NIC, refused_write);
	CHECK_EQ(t.acts, 1);
	wish_edit(NIC, node_comes);
	CHECK_EQ(t.acts, 2);
	wish_edit(NIC, pod_has_it);
	CHECK_EQ(t.acts, 3);
	t.refuse = 0;
	wish_edit(NIC, pod_ends);
	CHECK_EQ(t.acts, 4);
	CHECK_STR(wish_state_of(NIC).want.claim, "alice");
	wish_end();
}

static void ask_for_bob(void)
{
	CHECK_EQ(wish_ask(NIC, "claim", "bob"), -EBUSY);
}

static void ask_for_none(void)
{
	CHECK_EQ(wish_ask(NIC, "claim", ""), -EBUSY);
}

static void ask_for_two(void)
{
	CHECK_EQ(wish_ask(NIC, "sriov_numvfs", "2"), -EBUSY);
}

/* As an act that needed no step does, which had looked before ours began. */
static void keep_none(void)
{
	struct wish none = { .dev = wish_key(NIC), .file = "claim" };

	CHECK_EQ(intents_keep(t.in, &none, 1, false, NULL), -EBUSY);
}

static void store(const char *file, const char *value)
{
	wish_begin(false);
	wish_plug(&nic);
	wish_restore();
	CHECK_EQ(wish_ask(NIC, file, value), 0);
	wish_end();
}

static void restore_with(void (*_Atomic *hook)(void), void (*call)(void))
{
	wish_begin(false);
	wish_plug(&nic);
	t.acts = 0;
	*hook = call;
	wish_restore();
	wish_calm();
}

static void expect_nothing_stored(void)
{
	struct out o = { 0 };

	intents_print(t.in, &o);
	CHECK_STR(out_text(&o), "");
	out_free(&o);
}

/* Who asks before the first pass, or between its look and its act, does not take what is stored. */
DEFINE_TEST(restore_yields_to_nobody_who_asks_meanwhile)
{
	static void (*const asked[])(void) = { ask_for_bob, ask_for_none, keep_none };

	store("claim", "alice");
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		wish_begin(false);
		wish_plug(&nic);
		asked[i]();
		wish_restore();
		CHECK_STR(wish_state_of(NIC).want.claim, "alice");
		wish_end();
		restore_with(i < 2 ? &t.before_plan : &t.in_step, asked[i]);
		CHECK_STR(wish_state_of(NIC).want.claim, "alice");
		wish_expect_line("claim=alice", "state=held");
		CHECK_EQ(wish_ask(NIC, "claim", "alice"), 0);
		wish_end();
	}
	restore_with(&t.in_step, NULL);
	CHECK_EQ(wish_ask(NIC, "claim", ""), 0);
	expect_nothing_stored();
	wish_end();
	store("sriov_numvfs", "4");
	restore_with(&t.before_plan, ask_for_two);
	wish_expect_line("numvfs=4", "state=held");
	wish_end();
}

/* Another card came to the address while the act waited for its turn. */
static void replace_card(void)
{
	static const struct plug other = {
		NIC, "0000:00/03.0/00.0", "ixgbe", NULL, 0x10fb, 0, 1, 0
	};

	wish_unplug(NIC);
	wish_plug(&other);
}

DEFINE_TEST(restore_touches_no_card_that_came_meanwhile)
{
	store("claim", "alice");
	restore_with(&t.before_plan, replace_card);
	CHECK_EQ(t.acts, 0);
	CHECK_STR(wish_state_of(NIC).facts.driver, "ixgbe");
	CHECK_STR(wish_state_of(NIC).want.claim, "");
	wish_expect_line("claim=alice", "state=stranger");
	wish_end();
}

static void pull_card(void)
{
	wish_unplug(NIC);
}

/* An act that has lost its device has ended, and nothing is left of what it began. */
DEFINE_TEST(a_wish_whose_device_left_in_the_act_is_not_pending)
{
	wish_boot(&nic);
	t.in_step = pull_card;
	CHECK_EQ(wish_ask(NIC, "claim", "alice"), -ENODEV);
	wish_calm();
	expect_nothing_stored();
	wish_plug(&nic);
	CHECK_EQ(wish_ask(NIC, "claim", "alice"), 0);
	t.in_step = pull_card;
	CHECK_EQ(wish_ask(NIC, "claim", ""), -ENODEV);
	wish_calm();
	wish_expect_line("claim=alice", "state=waiting");
	wish_plug(&nic);
	wish_calm();
	wish_expect_line("claim=alice", "state=held");
	wish_end();
}
