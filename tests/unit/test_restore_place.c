// SPDX-License-Identifier: GPL-2.0-or-later
/* What is restored, and said, where another device is in a place that a record knows. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"
#include "fakerequest.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define NIC REQUEST_NIC
#define nic request_nic
#define ISNT(ids, other) NIC " is 8086:" ids ", not 8086:" other

/* The device after it has got its firmware. */
static const struct plug other_ids = { NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1522, 0, 1, 0 };

static void expect_nothing_stored(void)
{
	struct out o = { 0 };

	intents_print(t.in, &o);
	CHECK_STR(out_text(&o), "");
	out_free(&o);
}

DEFINE_TEST(restore_takes_two_ids_of_one_place_for_one_claim)
{
	request_store_claim(&nic);
	request_boot(&other_ids);
	request_expect_line("claim=alice", "state=stranger");
	CHECK_IN(request_state_of(NIC).reason, ISNT("1522", "1521") "); accept " NIC " in ctl");
	CHECK_IN(request_state_of(NIC).reason, "or claim it for alice too");
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_calm();
	for (int boot = 0; boot < 2; boot++) {
		request_expect_line("8086:1522:0000", "state=held");
		request_expect_line("8086:1521:0000", "state=waiting");
		request_expect_line("8086:1521:0000",
				    ISNT("1522", "1521") "; alice has claimed that");
		CHECK_STR(request_state_of(NIC).unmet, "");
		request_end();

		request_boot(&nic);
		CHECK_EQ(t.ops, 1);
		CHECK_STR(request_state_of(NIC).intent.claim, "alice");
		request_expect_line("8086:1521:0000", "state=held");
		request_expect_line("8086:1522:0000", "state=waiting");
		CHECK_STR(request_state_of(NIC).unmet, "");
		request_end();

		request_boot(&other_ids);
	}
	CHECK_EQ(request_ask(NIC, "claim", ""), 0); /* of both */
	expect_nothing_stored();
	request_end();
}

DEFINE_TEST(restore_advises_no_accept_of_what_somebody_else_claims)
{
	request_store_claim(&nic);
	request_boot(&other_ids);
	CHECK_EQ(request_ask(NIC, "claim", "bob"), 0);
	request_calm();
	request_expect_line("claim=bob", "state=held");
	request_expect_line("claim=alice", "state=stranger");
	request_expect_line("claim=alice", "forget the former one");
	CHECK_EQ(request_ask(NIC, "claim", ""), 0);
	request_calm();
	request_expect_line("claim=alice", "accept " NIC);
	request_end();
}

DEFINE_TEST(restore_tells_cards_of_one_model_by_their_serials)
{
	static const struct plug first = {
		NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 77, 1, 0
	};
	static const struct plug second = {
		NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 78, 1, 0
	};

	request_store_claim(&first);
	request_boot(&nic);
	CHECK_IN(request_state_of(NIC).reason,
		 "another card is in this place (" NIC ", same model, no serial number); accept");
	request_end();
	request_boot(&second);
	CHECK_IN(request_state_of(NIC).reason, "same model, another serial number");
	request_end();
}

/* ---- equal cards, by what the host's drivers read */

#define OTHER "0000:03:00.0"
#define LOWER "0000:01:00.0"
#define PEER "0000:02:00.1"

static void read_guest(struct device *dev)
{
	STR_COPY(dev->facts.host_serial, "GUEST");
}

static void read_host(struct device *dev)
{
	STR_COPY(dev->facts.host_serial, "HOST");
}

static void take_guest(struct device *dev)
{
	set_driver(&dev->facts, "igb");
	read_guest(dev);
}

static void take_host(struct device *dev)
{
	set_driver(&dev->facts, "igb");
	read_host(dev);
}

/* In both places; no driver: --early has kept it, or none has come yet. */
static void plug_equal(const char *name, const char *driver, void (*reads)(struct device *dev))
{
	struct plug p = nic;
	struct key k;

	p.name = name;
	p.driver = driver;
	if (strcmp(name, NIC)) {
		p.path = "0000:00/04.0/00.0";
		p.group = 2;
	}
	request_plug(&p);
	k = request_key(name);
	model_lock(t.m);
	if (reads)
		reads(model_edit(t.m, &k, false));
	model_publish(t.m);
	model_unlock(t.m);
}

static int unlink_state(void)
{
	char file[300];

	snprintf(file, sizeof(file), "%s/state/" INTENT_FILE, test_dir());
	return unlink(file);
}

static void store_equal(void)
{
	request_begin(false);
	plug_equal(NIC, "igb", read_guest);
	plug_equal(OTHER, "igb", read_host);
	request_restore();
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_expect_line("claim=alice", "former_serial=GUEST");
	request_end();
}

/* Boots with an equal card on each place, of which the claimed one's has no driver. */
static void boot_equal(const char *other_driver, void (*other_reads)(struct device *dev))
{
	request_begin(false);
	plug_equal(NIC, "", NULL);
	plug_equal(OTHER, other_driver, other_reads);
	t.ops = 0;
	intents_restore(t.in, t.e, false);
	CHECK(model_sync(t.m, model_generation(t.m), 30000));
}

static void expect_given_back(void)
{
	request_expect_line("claim=alice", "state=stranger");
	CHECK_IN(request_state_of(NIC).unmet, "the claimed one, GUEST, is " OTHER " now");
	CHECK_STR(request_state_of(NIC).intent.claim, "");
	CHECK_STR(request_state_of(NIC).facts.driver, "igb");
	CHECK_STR(request_state_of(OTHER).facts.driver, "igb");
}

DEFINE_TEST(restore_tells_equal_cards_that_have_changed_places)
{
	struct key k = request_key(NIC);

	store_equal();
	boot_equal("igb", read_guest);
	request_calm();
	expect_given_back();
	CHECK_EQ(t.ops, 1);
	request_edit(NIC, read_host);
	CHECK_IN(request_state_of(NIC).unmet, "same model, serial number HOST); the claimed one");
	CHECK_EQ(t.ops, 1);
	request_end();

	request_begin(false); /* met by its driver, and nobody has the claimed one */
	plug_equal(NIC, "igb", read_host);
	request_restore();
	request_calm();
	CHECK_IN(request_state_of(NIC).reason, "serial number HOST, not GUEST); accept " NIC);
	CHECK_STR(request_state_of(NIC).facts.driver, "igb");
	CHECK_EQ(intents_accept(t.in, &k, NULL, NULL), 0);
	request_calm();
	request_expect_line("claim=alice", "state=held");
	request_expect_line("claim=alice", "former_serial=HOST");
	request_end();
}

DEFINE_TEST(restore_takes_the_same_card_among_equal_ones)
{
	store_equal();
	boot_equal("igb", read_host);
	request_calm();
	CHECK_EQ(t.ops, 1);
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_expect_line("claim=alice", "former_serial=GUEST");
	request_end();
}

/* Whichever comes first: nothing is bound while the other may tell. */
DEFINE_TEST(restore_waits_until_equal_cards_are_read)
{
	store_equal();
	for (int swapped = 0; swapped < 2; swapped++) {
		boot_equal("", NULL);
		for (int i = 0; i < 5000 && !request_state_of(NIC).unmet[0]; i++)
			usleep(1000);
		CHECK_IN(request_state_of(NIC).unmet, "so may " OTHER ", which no driver");
		request_expect_line("claim=alice", "state=waiting");
		CHECK_STR(request_state_of(NIC).intended, "alice");
		CHECK_EQ(t.ops, 0);
		request_edit(OTHER, swapped ? take_guest : take_host);
		request_calm();
		CHECK_EQ(t.ops, 1);
		if (swapped)
			expect_given_back();
		else
			request_expect_line("claim=alice", "state=held");
		request_end();
	}
}

static const struct plug peer = { PEER, "0000:00/03.0/00.1", "igb", NULL, 0x1522, 0, 1, 0 };

static void plug_busy_peer(void)
{
	struct key k = request_key(PEER);

	request_plug(&peer);
	model_lock(t.m);
	STR_COPY(model_edit(t.m, &k, false)->busy, "claim carol");
	model_publish(t.m);
	model_unlock(t.m);
}

static void end_claim(struct device *dev)
{
	dev->busy[0] = '\0';
}

/* Asking again at once would keep a processor busy for as long as that operation runs. */
DEFINE_TEST(restore_gives_a_card_back_when_its_group_is_free)
{
	store_equal();
	request_begin(false);
	plug_busy_peer();
	plug_equal(NIC, "", NULL);
	plug_equal(OTHER, "igb", read_guest);
	t.ops = 0;
	intents_restore(t.in, t.e, false);
	for (int i = 0; i < 5000 && !request_state_of(NIC).unmet[0]; i++)
		usleep(1000);
	CHECK(intents_settled(t.in, 30000));
	request_expect_line("claim=alice", "state=stranger");
	CHECK_STR(request_state_of(NIC).facts.driver, "");
	CHECK_EQ(t.ops, 0);
	request_edit(PEER, end_claim);
	CHECK_EQ(t.ops, 1);
	expect_given_back();
	request_end();
}

/* The claimed card is put in later: the guest has another one. */
DEFINE_TEST(restore_says_that_an_equal_card_was_bound)
{
	store_equal();
	request_begin(false);
	plug_equal(NIC, "", NULL);
	request_restore();
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	plug_equal(OTHER, "igb", read_guest);
	request_calm();
	request_expect_line("claim=alice", "state=drifted");
	CHECK_IN(request_state_of(NIC).unmet, "GUEST, is " OTHER ", so this is another one");
	CHECK_STR(request_state_of(NIC).facts.driver, "vfio-pci");
	request_end();
}

/* A card that tells another's serial number, by mistake or not, ends only its use. */
DEFINE_TEST(restore_goes_by_the_place_of_cards_with_one_serial)
{
	store_equal();
	boot_equal("igb", read_guest);
	request_calm();
	expect_given_back();
	request_edit(NIC, read_guest); /* by its driver */
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_expect_line("claim=alice", "cloned=1");
	request_end();

	CHECK(!unlink_state());
	store_equal();
	boot_equal("igb", read_host);
	request_calm();
	request_edit(NIC, read_guest); /* as if claimed since */
	request_edit(OTHER, read_guest);
	request_expect_line("claim=alice", "cloned=1");
	request_expect_line("claim=alice", "state=held");
	request_end();
	boot_equal("igb", read_guest);
	request_calm();
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_end();
}

/* Whichever came first. */
DEFINE_TEST(restore_names_the_first_of_equal_cards)
{
	store_equal();
	request_begin(false);
	plug_equal(NIC, "", NULL);
	plug_equal(OTHER, "igb", read_guest);
	plug_equal(LOWER, "igb", read_guest);
	intents_restore(t.in, t.e, false);
	request_calm();
	CHECK_IN(request_state_of(NIC).unmet, "the claimed one, GUEST, is " LOWER " now");
	request_end();
}
