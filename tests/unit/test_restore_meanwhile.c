// SPDX-License-Identifier: GPL-2.0-or-later
/* What comes between restore's look at a device and its operation. */
#include <errno.h>

#include "facts.h"
#include "fakerequest.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define NIC REQUEST_NIC
#define nic request_nic

static void ask_for_bob(void)
{
	CHECK_EQ(request_ask(NIC, "claim", "bob"), -EBUSY);
}

static void ask_for_none(void)
{
	CHECK_EQ(request_ask(NIC, "claim", ""), -EBUSY);
}

static void ask_for_two(void)
{
	CHECK_EQ(request_ask(NIC, "sriov_numvfs", "2"), -EBUSY);
}

/* As an operation that needed no step does, which had looked before ours began. */
static void keep_none(void)
{
	struct request none = { .dev = request_key(NIC), .file = "claim" };

	CHECK_EQ(intents_keep(t.in, &none, 1, false, NULL), -EBUSY);
}

static void store(const char *file, const char *value)
{
	request_begin(false);
	request_plug(&nic);
	request_restore();
	CHECK_EQ(request_ask(NIC, file, value), 0);
	request_end();
}

static void restore_with(void (*_Atomic *hook)(void), void (*call)(void))
{
	request_begin(false);
	request_plug(&nic);
	t.ops = 0;
	*hook = call;
	request_restore();
	request_calm();
}

static void expect_nothing_stored(void)
{
	struct out o = { 0 };

	intents_print(t.in, &o);
	CHECK_STR(out_text(&o), "");
	out_free(&o);
}

/* Who asks before the first pass, or between its look and its operation, does not take what is
 * stored. */
DEFINE_TEST(restore_yields_to_nobody_who_asks_meanwhile)
{
	static void (*const asked[])(void) = { ask_for_bob, ask_for_none, keep_none };

	store("claim", "alice");
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		request_begin(false);
		request_plug(&nic);
		asked[i]();
		request_restore();
		CHECK_STR(request_state_of(NIC).intent.claim, "alice");
		request_end();
		restore_with(i < 2 ? &t.before_plan : &t.in_step, asked[i]);
		CHECK_STR(request_state_of(NIC).intent.claim, "alice");
		request_expect_line("claim=alice", "state=held");
		CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
		request_end();
	}
	restore_with(&t.in_step, NULL);
	CHECK_EQ(request_ask(NIC, "claim", ""), 0);
	expect_nothing_stored();
	request_end();
	store("sriov_numvfs", "4");
	restore_with(&t.before_plan, ask_for_two);
	request_expect_line("numvfs=4", "state=held");
	request_end();
}

/* Another card came to the address while the operation waited for its turn. */
static void replace_card(void)
{
	static const struct plug other = {
		NIC, "0000:00/03.0/00.0", "ixgbe", NULL, 0x10fb, 0, 1, 0
	};

	request_unplug(NIC);
	request_plug(&other);
}

DEFINE_TEST(restore_touches_no_card_that_came_meanwhile)
{
	store("claim", "alice");
	restore_with(&t.before_plan, replace_card);
	CHECK_EQ(t.ops, 0);
	CHECK_STR(request_state_of(NIC).facts.driver, "ixgbe");
	CHECK_STR(request_state_of(NIC).intent.claim, "");
	request_expect_line("claim=alice", "state=stranger");
	request_end();
}

static void pull_card(void)
{
	request_unplug(NIC);
}

/* An operation that has lost its device has ended, and nothing is left of what it began. */
DEFINE_TEST(a_request_whose_device_left_in_the_op_is_not_pending)
{
	request_boot(&nic);
	t.in_step = pull_card;
	CHECK_EQ(request_ask(NIC, "claim", "alice"), -ENODEV);
	request_calm();
	expect_nothing_stored();
	request_plug(&nic);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	t.in_step = pull_card;
	CHECK_EQ(request_ask(NIC, "claim", ""), -ENODEV);
	request_calm();
	request_expect_line("claim=alice", "state=waiting");
	request_plug(&nic);
	request_calm();
	request_expect_line("claim=alice", "state=held");
	request_end();
}
