// SPDX-License-Identifier: GPL-2.0-or-later
/* Restore of what is claimed as one IOMMU group, whose members come, go and stay away. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts.h"
#include "fakerequest.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define NIC REQUEST_NIC
#define nic request_nic

static int may_not(void *ctx, const struct key *dev, bool owned, struct err *err)
{
	CHECK(dev && !strcmp(dev->name, NIC) && !owned);
	return fail(err, EACCES, "not his");
}

DEFINE_TEST(restore_leaves_a_changed_group_alone)
{
	static const struct plug guest = {
		"0000:02:00.1", "0000:00/03.0/00.1", "snd", NULL, 0x1522, 0, 1, 0
	};
	struct settler mine = { .may = may_not };
	struct key k = request_key(NIC);

	request_store_claim(&nic);
	request_begin(false);
	request_plug(&nic);
	request_plug(&guest);
	t.ops = 0;
	request_restore();
	CHECK_EQ(t.ops, 0);
	CHECK_IN(request_state_of(NIC).reason, "0000:02:00.1 is in its IOMMU group now");
	request_expect_line("claim=alice", "state=refused");
	CHECK_EQ(intents_accept(t.in, &k, &mine, NULL), -EACCES);
	request_expect_line("claim=alice", "state=refused");
	CHECK_STR(request_state_of(NIC).intent.claim, "");
	t.ops = 0;
	CHECK_EQ(intents_accept(t.in, &k, NULL, NULL), 0);
	request_calm();
	CHECK(t.ops > 0);
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_end();
}

/* ... and leaves what somebody else holds of it. */
DEFINE_TEST(restore_takes_no_claim_from_a_changed_group)
{
	static const struct plug guest = {
		"0000:02:00.1", "0000:00/03.0/00.1", "snd", NULL, 0x1522, 0, 1, 0
	};
	struct key k = request_key(NIC);
	struct err err = { 0 };

	request_store_claim(&nic);
	request_boot(&guest);
	CHECK_EQ(request_ask("0000:02:00.1", "claim", "bob"), 0);
	request_plug(&nic);
	request_calm();
	request_expect_line("claim=alice", "state=refused");
	CHECK_EQ(intents_accept(t.in, &k, NULL, &err), -EBUSY);
	CHECK_IN(err.text, "0000:02:00.1 of its IOMMU group is claimed by bob");
	request_calm();
	request_expect_line("claim=bob", "state=held");
	request_expect_line("claim=alice", "state=refused");
	CHECK_STR(request_state_of(NIC).intent.claim, "");
	request_end();
}

static const struct plug peer = {
	"0000:02:00.1", "0000:00/03.0/00.1", "snd", NULL, 0x1522, 0, 1, 0
};

static void peer_comes(void)
{
	request_plug(&peer);
}

/* Restore has looked, and found the group as it was claimed. */
DEFINE_TEST(restore_takes_no_member_that_comes_before_its_plan)
{
	request_store_claim(&nic);
	request_begin(false);
	request_plug(&nic);
	t.before_plan = peer_comes;
	request_restore();
	request_calm();
	CHECK(!t.before_plan);
	CHECK_IN(request_state_of(NIC).reason, "0000:02:00.1 is in its IOMMU group now");
	request_expect_line("claim=alice", "state=refused");
	CHECK_STR(request_state_of(NIC).intent.claim, "");
	CHECK_STR(request_state_of(peer.name).intent.claim, "");
	request_end();
}

/* This engine takes one device; the model has the claim of both, as the real method leaves it. */
static void both_claimed(struct device *dev)
{
	STR_COPY(dev->intent.claim, "alice");
	set_driver(&dev->facts, "vfio-pci");
}

static void claim_both(void)
{
	request_begin(false);
	request_plug(&nic);
	request_plug(&peer);
	request_restore();
	request_edit(peer.name, both_claimed);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
}

static void begin_with_group(void)
{
	claim_both();
	request_expect_line("at=0000:02:00.1 ", "state=held device=0000:02:00.1 claim=alice");
	request_unplug(peer.name);
	request_calm();
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
	CHECK_EQ(request_ask(NIC, "claim", ""), 0);
	text = intents_text();
	CHECK(!text || !strstr(text, "claim="));
	free(text);
	request_plug(&peer);
	request_calm();
	CHECK_STR(request_state_of(peer.name).unmet, "");
	CHECK_STR(request_state_of(peer.name).facts.driver, "snd");
	request_end();
}

DEFINE_TEST(a_group_repaired_while_a_member_is_away_stays_one)
{
	static const struct plug third = {
		"0000:02:00.2", "0000:00/03.0/00.2", "vfio-pci", NULL, 0x1523, 0, 1, 0
	};

	begin_with_group();
	request_plug(&nic); /* drift */
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_plug(&peer);
	request_calm();
	request_expect_line("at=0000:02:00.1 ", "state=held device=0000:02:00.1 claim=alice");
	/* So does one that a new member has joined. */
	request_unplug(peer.name);
	request_plug(&third);
	request_edit(third.name, both_claimed);
	request_plug(&nic);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_plug(&peer);
	request_calm();
	request_expect_line("at=0000:02:00.1 ", "state=held device=0000:02:00.1 claim=alice");
	request_expect_line("at=0000:02:00.2 ", "state=held device=0000:02:00.2 claim=alice");
	request_end();
}

static void release_beside_another(bool seen)
{
	struct plug alone = peer;

	alone.group = 9;
	request_begin(false);
	request_plug(&nic);
	request_plug(&alone);
	request_restore();
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	CHECK_EQ(request_ask(alone.name, "claim", "bob"), 0);
	request_end();
	request_begin(false);
	request_plug(&nic);
	request_plug(&peer);
	if (seen) {
		request_restore();
		request_expect_line("claim=alice", "state=refused");
		request_expect_line("claim=bob", "state=refused");
	}
	if (!seen) {
		CHECK_EQ(request_ask(NIC, "claim", ""), -EBUSY);
		request_restore();
	}
	CHECK_EQ(request_ask(NIC, "claim", ""), 0);
	request_calm();
	request_expect_line("at=0000:02:00.1 ", "state=refused device=0000:02:00.1 claim=bob");
	CHECK_EQ(request_ask(peer.name, "claim", ""), 0);
	request_calm();
	CHECK(!strstr(request_state_of(peer.name).unmet, "IOMMU group"));
	request_end();
}

/* Two were claimed separately and are now in one group: neither is applied, and giving up one does
 * not give up the other; before a pass has seen them nothing can be given up. */
DEFINE_TEST(a_release_leaves_what_another_has_stored_of_a_peer)
{
	release_beside_another(true);
	release_beside_another(false);
}

/* They were claimed as one, and the firmware has split their IOMMU group since: each is released
 * alone, whether or not the other's claim is applied by now. */
DEFINE_TEST(a_release_leaves_who_is_in_another_group_by_now)
{
	struct plug apart = peer;

	apart.group = 9;
	for (int refused = 0; refused < 2; refused++) {
		claim_both();
		request_end();
		request_begin(false);
		request_plug(&nic);
		request_restore();
		t.refuse = refused ? EIO : 0;
		request_plug(&apart);
		request_calm();
		t.refuse = 0;
		if (!refused)
			CHECK_EQ(request_ask(peer.name, "claim", "alice"), 0);
		CHECK_EQ(request_ask(NIC, "claim", ""), 0);
		request_calm();
		request_end();
		request_boot(&apart);
		request_calm();
		CHECK_STR(request_state_of(peer.name).intent.claim, "alice");
		CHECK_EQ(request_ask(peer.name, "claim", ""), 0);
		request_end();
	}
}
