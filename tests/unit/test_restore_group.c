// SPDX-License-Identifier: GPL-2.0-or-later
/* Restore of what is claimed as one IOMMU group, whose members come, go and stay away. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts.h"
#include "fakewish.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakewish

#define NIC WISH_NIC
#define nic wish_nic

static int may_not(void *ctx, const struct key *dev, bool owned, struct err *err)
{
	(void)ctx;
	CHECK(dev && !strcmp(dev->name, NIC) && !owned);
	return fail(err, EACCES, "not his");
}

DEFINE_TEST(restore_leaves_a_changed_group_alone)
{
	static const struct plug guest = {
		"0000:02:00.1", "0000:00/03.0/00.1", "snd", NULL, 0x1522, 0, 1, 0
	};
	struct settler mine = { .may = may_not };
	struct key k = wish_key(NIC);

	wish_store_claim(&nic);
	wish_begin(false);
	wish_plug(&nic);
	wish_plug(&guest);
	t.acts = 0;
	wish_restore();
	CHECK_EQ(t.acts, 0);
	CHECK_IN(wish_state_of(NIC).reason, "0000:02:00.1 is in its IOMMU group now");
	wish_expect_line("claim=alice", "state=refused");
	CHECK_EQ(intents_accept(t.in, &k, &mine, NULL), -EACCES);
	wish_expect_line("claim=alice", "state=refused");
	CHECK_STR(wish_state_of(NIC).want.claim, "");
	t.acts = 0;
	CHECK_EQ(intents_accept(t.in, &k, NULL, NULL), 0);
	wish_calm();
	CHECK(t.acts > 0);
	CHECK_STR(wish_state_of(NIC).want.claim, "alice");
	wish_end();
}

/* ... and leaves what somebody else holds of it. */
DEFINE_TEST(restore_takes_no_claim_from_a_changed_group)
{
	static const struct plug guest = {
		"0000:02:00.1", "0000:00/03.0/00.1", "snd", NULL, 0x1522, 0, 1, 0
	};
	struct key k = wish_key(NIC);
	struct err err = { 0 };

	wish_store_claim(&nic);
	wish_boot(&guest);
	CHECK_EQ(wish_ask("0000:02:00.1", "claim", "bob"), 0);
	wish_plug(&nic);
	wish_calm();
	wish_expect_line("claim=alice", "state=refused");
	CHECK_EQ(intents_accept(t.in, &k, NULL, &err), -EBUSY);
	CHECK_IN(err.text, "0000:02:00.1 of its IOMMU group is claimed by bob");
	wish_calm();
	wish_expect_line("claim=bob", "state=held");
	wish_expect_line("claim=alice", "state=refused");
	CHECK_STR(wish_state_of(NIC).want.claim, "");
	wish_end();
}

static const struct plug mate = {
	"0000:02:00.1", "0000:00/03.0/00.1", "snd", NULL, 0x1522, 0, 1, 0
};

static void mate_comes(void)
{
	wish_plug(&mate);
}

/* Restore has looked, and found the group as it was claimed. */
DEFINE_TEST(restore_takes_no_member_that_comes_before_its_plan)
{
	wish_store_claim(&nic);
	wish_begin(false);
	wish_plug(&nic);
	t.before_plan = mate_comes;
	wish_restore();
	wish_calm();
	CHECK(!t.before_plan);
	CHECK_IN(wish_state_of(NIC).reason, "0000:02:00.1 is in its IOMMU group now");
	wish_expect_line("claim=alice", "state=refused");
	CHECK_STR(wish_state_of(NIC).want.claim, "");
	CHECK_STR(wish_state_of(mate.name).want.claim, "");
	wish_end();
}

/* This engine takes one device; the model has the claim of both, as the real method leaves it. */
static void both_claimed(struct device *dev)
{
	STR_COPY(dev->want.claim, "alice");
	set_driver(&dev->facts, "vfio-pci");
}

static void begin_with_group(void)
{
	wish_begin(false);
	wish_plug(&nic);
	wish_plug(&mate);
	wish_restore();
	wish_edit(mate.name, both_claimed);
	CHECK_EQ(wish_ask(NIC, "claim", "alice"), 0);
	wish_expect_line("at=0000:02:00.1 claim=alice", "state=held");
	wish_unplug(mate.name);
	wish_calm();
}

static char *intents_text(void)
{
	struct out o = { 0 };

	intents_print(t.in, &o);
	return o.data;
}

DEFINE_TEST(a_group_is_released_with_the_member_that_is_away)
{
	char *text;

	begin_with_group();
	CHECK_EQ(wish_ask(NIC, "claim", ""), 0);
	text = intents_text();
	CHECK(!text || !strstr(text, "claim="));
	free(text);
	wish_plug(&mate);
	wish_calm();
	CHECK_STR(wish_state_of(mate.name).unmet, "");
	CHECK_STR(wish_state_of(mate.name).facts.driver, "snd");
	wish_end();
}

DEFINE_TEST(a_group_repaired_while_a_member_is_away_stays_one)
{
	static const struct plug third = {
		"0000:02:00.2", "0000:00/03.0/00.2", "vfio-pci", NULL, 0x1523, 0, 1, 0
	};

	begin_with_group();
	wish_plug(&nic); /* drift */
	CHECK_EQ(wish_ask(NIC, "claim", "alice"), 0);
	wish_plug(&mate);
	wish_calm();
	wish_expect_line("at=0000:02:00.1 claim=alice", "state=held");
	/* So does one that a new member has joined. */
	wish_unplug(mate.name);
	wish_plug(&third);
	wish_edit(third.name, both_claimed);
	wish_plug(&nic);
	CHECK_EQ(wish_ask(NIC, "claim", "alice"), 0);
	wish_plug(&mate);
	wish_calm();
	wish_expect_line("at=0000:02:00.1 claim=alice", "state=held");
	wish_expect_line("at=0000:02:00.2 claim=alice", "state=held");
	wish_end();
}

static void release_beside_another(bool seen)
{
	struct plug alone = mate;

	alone.group = 9;
	wish_begin(false);
	wish_plug(&nic);
	wish_plug(&alone);
	wish_restore();
	CHECK_EQ(wish_ask(NIC, "claim", "alice"), 0);
	CHECK_EQ(wish_ask(alone.name, "claim", "bob"), 0);
	wish_end();
	wish_begin(false);
	wish_plug(&nic);
	wish_plug(&mate);
	if (seen) {
		wish_restore();
		wish_expect_line("claim=alice", "state=refused");
		wish_expect_line("claim=bob", "state=refused");
	}
	if (!seen) {
		CHECK_EQ(wish_ask(NIC, "claim", ""), -EBUSY);
		wish_restore();
	}
	CHECK_EQ(wish_ask(NIC, "claim", ""), 0);
	wish_calm();
	wish_expect_line("at=0000:02:00.1 claim=bob", "state=refused");
	CHECK_EQ(wish_ask(mate.name, "claim", ""), 0);
	wish_calm();
	CHECK(!strstr(wish_state_of(mate.name).unmet, "IOMMU group"));
	wish_end();
}

/* Two were claimed separately and are now in one group: neither is applied, and giving up one does
 * not give up the other; before a pass has seen them nothing can be given up. */
DEFINE_TEST(a_release_leaves_what_another_has_stored_of_a_mate)
{
	release_beside_another(true);
	release_beside_another(false);
}

/* They were claimed as one, and the firmware has split their IOMMU group since: each is released
 * alone, whether or not the other's claim is applied by now. */
DEFINE_TEST(a_release_leaves_who_is_in_another_group_by_now)
{
	struct plug apart = mate;

	apart.group = 9;
	for (int refused = 0; refused < 2; refused++) {
		wish_begin(false);
		wish_plug(&nic);
		wish_plug(&mate);
		wish_restore();
		wish_edit(mate.name, both_claimed);
		CHECK_EQ(wish_ask(NIC, "claim", "alice"), 0);
		wish_end();
		wish_begin(false);
		wish_plug(&nic);
		wish_restore();
		t.refuse = refused ? EIO : 0;
		wish_plug(&apart);
		wish_calm();
		t.refuse = 0;
		if (!refused)
			CHECK_EQ(wish_ask(mate.name, "claim", "alice"), 0);
		CHECK_EQ(wish_ask(NIC, "claim", ""), 0);
		wish_calm();
		wish_end();
		wish_boot(&apart);
		wish_calm();
		CHECK_STR(wish_state_of(mate.name).want.claim, "alice");
		CHECK_EQ(wish_ask(mate.name, "claim", ""), 0);
		wish_end();
	}
}
