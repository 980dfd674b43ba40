// SPDX-License-Identifier: GPL-2.0-or-later
/* What is not there yet, or any more: asked for by the parent that makes it, and brought back
 * through that. No backend reads mediated devices yet: a method of the test's own makes them. */
#include <errno.h>
#include <string.h>

#include "facts.h"
#include "fakerequest.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define UUID "4b20d080-1b54-4048-85b3-a6a62d165c01"
#define MDEV "mdev/" UUID
#define OTHER "mdev/00000000-1b54-4048-85b3-a6a62d165c01"

static struct request created(const char *id, const char *type)
{
	struct request w = { .dev = request_key(id),
			     .parent = request_key(REQUEST_NIC),
			     .file = "profile",
			     .made_by = "create" };

	STR_COPY(w.value, type);
	return w;
}

static struct request claimed(const char *id)
{
	return (struct request){ .dev = request_key(id),
				 .parent = request_key(REQUEST_NIC),
				 .file = "claim",
				 .value = "alice",
				 .line = 2 };
}

static void create_and_claim(void)
{
	const struct request both[] = { created(MDEV, "LAB-4Q"), claimed(MDEV) };
	struct err err;

	CHECK_EQ(request_ask_all(both, 2, &err), 0);
	request_calm(); /* restore has seen it */
	CHECK_STR(request_state_of(MDEV).intent.profile, "LAB-4Q");
	CHECK_STR(request_state_of(MDEV).intent.claim, "alice");
}

static struct device foreseen(struct request *w, const struct request *others, size_t n,
			      struct err *err)
{
	struct device dev = { 0 };

	*err = (struct err){ 0 };
	model_lock(t.m);
	request_foresee(t.m, engine_world(t.e)->methods, others, n, w, &dev, err);
	model_unlock(t.m);
	return dev;
}

DEFINE_TEST(what_a_line_makes_can_be_named_by_the_next)
{
	const struct request made = created(MDEV, "LAB-4Q");
	struct request w = { .dev = request_key(MDEV), .file = "claim" };
	struct err err;

	request_boot(&request_nic);
	CHECK_EQ(foreseen(&w, NULL, 0, &err).caps, 0);
	CHECK_EQ(err.code, ENODEV);
	CHECK_IN(err.text, "there is no device " MDEV);
	CHECK_EQ(foreseen(&w, &made, 1, &err).caps, CAP_CLAIM);
	CHECK_EQ(err.code, 0);
	CHECK_STR(w.parent.name, REQUEST_NIC);
	w = (struct request){ .dev = request_key(REQUEST_NIC), .child = 1 };
	foreseen(&w, &made, 1, &err);
	CHECK_IN(err.text, REQUEST_NIC " has no VFs");
	request_end();
}

DEFINE_TEST(a_device_is_made_and_claimed_in_one_transaction)
{
	const struct request astray[] = { created(MDEV, "LAB-4Q"), claimed(OTHER) };
	struct err err;

	request_boot(&request_nic);
	CHECK_EQ(request_ask_all(astray, 2, &err), -ENODEV);
	CHECK_IN(err.text, OTHER " is not there, and no line of this transaction makes it");
	CHECK_EQ(err.line, 2);
	CHECK_EQ(t.ops, 0);
	create_and_claim();
	request_expect_line("," MDEV, "profile=LAB-4Q claim=alice");
	request_expect_line("," MDEV, "state=held");
	CHECK_EQ(request_ask(MDEV, "claim", ""), 0);
	CHECK_EQ(request_ask(MDEV, "profile", ""), 0);
	CHECK_EQ(request_state_of(MDEV).key.bus, BUS_NONE);
	request_end();
	request_boot(&request_nic);
	request_calm();
	CHECK_EQ(t.ops, 0);
	request_end();
}

/* As the operation leaves it, whose claim came with the type. */
static void appear(void)
{
	struct key key = request_key(MDEV);
	struct device *dev;

	model_lock(t.m);
	dev = model_edit(t.m, &key, true);
	dev->facts = facts_none;
	dev->facts.serial_known = true;
	dev->facts.parent = request_key(REQUEST_NIC);
	STR_COPY(dev->intent.profile, "LAB-4Q");
	STR_COPY(dev->intent.claim, "alice");
	model_publish(t.m);
	model_unlock(t.m);
}

/* No pass meets the device between its appearance and the operation's end. */
DEFINE_TEST(what_came_with_a_device_is_stored_with_it)
{
	const struct request w = created(MDEV, "LAB-4Q");

	request_begin(false);
	request_plug(&request_nic);
	CHECK_EQ(intents_keep(t.in, &w, 1, true, NULL), 0);
	appear();
	CHECK_EQ(intents_keep(t.in, &w, 1, false, NULL), 0);
	request_end();
	request_boot(&request_nic);
	request_calm();
	request_expect_line("," MDEV, "profile=LAB-4Q claim=alice");
	CHECK_STR(request_state_of(MDEV).intent.claim, "alice");
	request_end();
}

static void driver_goes(struct device *dev)
{
	dev->facts.driver[0] = '\0';
}

static void driver_comes(struct device *dev)
{
	set_driver(&dev->facts, "igb");
}

static void take_away(void)
{
	struct key key = request_key(MDEV);

	model_lock(t.m);
	model_remove(t.m, &key);
	model_unlock(t.m);
	request_calm();
}

DEFINE_TEST(restore_makes_what_is_not_there_through_its_parent)
{
	request_boot(&request_nic);
	create_and_claim();
	request_end();

	request_boot(&request_nic); /* a reboot takes it away */
	request_calm();
	CHECK_STR(request_state_of(MDEV).intent.profile, "LAB-4Q");
	CHECK_STR(request_state_of(MDEV).intent.claim, "alice");
	CHECK_EQ(t.ops, 2);
	request_expect_line("," MDEV, "state=held");

	take_away(); /* by others: told, and left alone */
	CHECK_EQ(t.ops, 2);
	request_expect_line("," MDEV, "others have removed it");

	request_edit(REQUEST_NIC, driver_goes);
	request_expect_line("," MDEV, "the driver that makes it has not come yet");
	request_edit(REQUEST_NIC, driver_comes);
	request_calm();
	CHECK_EQ(t.ops, 4);
	CHECK_STR(request_state_of(MDEV).intent.claim, "alice");

	take_away();
	request_unplug(REQUEST_NIC);
	request_calm();
	request_plug(&request_nic);
	request_calm();
	CHECK_EQ(t.ops, 6);
	request_expect_line("," MDEV, "state=held");
	request_end();
}

static void driver_was_away(struct device *dev)
{
	dev->unbinds++;
}

DEFINE_TEST(what_others_remove_is_left_alone_until_the_driver_was_away)
{
	int ops;

	request_boot(&request_nic);
	create_and_claim();
	ops = t.ops;
	take_away();
	request_expect_line("," MDEV, "others have removed it");
	CHECK_EQ(t.ops, ops);
	request_edit(REQUEST_NIC, driver_was_away);
	request_calm();
	CHECK_EQ(t.ops, ops + 2);
	request_expect_line("," MDEV, "state=held");
	request_end();
}

DEFINE_TEST(what_cannot_be_made_says_why)
{
	request_boot(&request_nic);
	create_and_claim();
	request_end();
	t.refuse = ENOSPC;
	request_boot(&request_nic);
	request_calm();
	CHECK_EQ(t.ops, 1);
	request_expect_line("," MDEV, "state=refused");
	request_expect_line("," MDEV, "the kernel says no");
	request_end();
}
