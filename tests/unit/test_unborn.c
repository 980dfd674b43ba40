// SPDX-License-Identifier: GPL-2.0-or-later
/* What is not there yet, or any more: asked for by the parent that makes it, and brought back through that. No backend
 * reads mediated devices yet: a method of the test's own makes them. */
#include <errno.h>
#include <string.h>

#include "facts.h"
#include "fakewish.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakewish

#define UUID "4b20d080-1b54-4048-85b3-a6a62d165c01"
#define MDEV "mdev/" UUID
#define OTHER "mdev/00000000-1b54-4048-85b3-a6a62d165c01"

static struct wish created(const char *id, const char *type)
{
	struct wish w = { .dev = wish_key(id), .parent = wish_key(WISH_NIC), .file = "profile", .made_by = "create" };

	STR_COPY(w.value, type);
	return w;
}

static struct wish claimed(const char *id)
{
	return (struct wish){
		.dev = wish_key(id), .parent = wish_key(WISH_NIC), .file = "claim", .value = "alice", .line = 2
	};
}

static void create_and_claim(void)
{
	const struct wish both[] = { created(MDEV, "LAB-4Q"), claimed(MDEV) };
	struct err err;

	CHECK_EQ(wish_ask_all(both, 2, &err), 0);
	CHECK_STR(wish_state_of(MDEV).want.profile, "LAB-4Q");
	CHECK_STR(wish_state_of(MDEV).want.claim, "alice");
}

static struct device foreseen(struct wish *w, const struct wish *others, size_t n, struct err *err)
{
	struct device dev = { 0 };

	*err = (struct err){ 0 };
	model_lock(t.m);
	wish_foresee(t.m, engine_world(t.e)->methods, others, n, w, &dev, err);
	model_unlock(t.m);
	return dev;
}

DEFINE_TEST(what_a_line_makes_can_be_named_by_the_next)
{
	const struct wish made = created(MDEV, "LAB-4Q");
	struct wish w = { .dev = wish_key(MDEV), .file = "claim" };
	struct err err;

	wish_boot(&wish_nic);
	CHECK_EQ(foreseen(&w, NULL, 0, &err).caps, 0);
	CHECK_EQ(err.code, ENODEV);
	CHECK_IN(err.text, "there is no device " MDEV);
	CHECK_EQ(foreseen(&w, &made, 1, &err).caps, CAP_CLAIM);
	CHECK_EQ(err.code, 0);
	CHECK_STR(w.parent.name, WISH_NIC);
	w = (struct wish){ .dev = wish_key(WISH_NIC), .child = 1 };
	foreseen(&w, &made, 1, &err);
	CHECK_IN(err.text, WISH_NIC " has no VFs");
	wish_end();
}

DEFINE_TEST(a_device_is_made_and_claimed_in_one_transaction)
{
	const struct wish astray[] = { created(MDEV, "LAB-4Q"), claimed(OTHER) };
	struct err err;

	wish_boot(&wish_nic);
	CHECK_EQ(wish_ask_all(astray, 2, &err), -ENODEV);
	CHECK_IN(err.text, OTHER " is not there, and no line of this transaction makes it");
	CHECK_EQ(err.line, 2);
	CHECK_EQ(t.acts, 0);
	create_and_claim();
	wish_expect_line("," MDEV, "profile=LAB-4Q claim=alice");
	wish_expect_line("," MDEV, "state=held");
	CHECK_EQ(wish_ask(MDEV, "claim", ""), 0);
	CHECK_EQ(wish_ask(MDEV, "profile", ""), 0);
	CHECK_EQ(wish_state_of(MDEV).key.bus, BUS_NONE);
	wish_end();
	wish_boot(&wish_nic);
	wish_calm();
	CHECK_EQ(t.acts, 0);
	wish_end();
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
	struct key key = wish_key(MDEV);

	model_lock(t.m);
	model_remove(t.m, &key);
	model_unlock(t.m);
	wish_calm();
}

DEFINE_TEST(restore_makes_what_is_not_there_through_its_parent)
{
	wish_boot(&wish_nic);
	create_and_claim();
	wish_end();

	wish_boot(&wish_nic); /* a reboot takes it away */
	wish_calm();
	CHECK_STR(wish_state_of(MDEV).want.profile, "LAB-4Q");
	CHECK_STR(wish_state_of(MDEV).want.claim, "alice");
	CHECK_EQ(t.acts, 2);
	wish_expect_line("," MDEV, "state=held");

	take_away(); /* by others: told, and left alone */
	CHECK_EQ(t.acts, 2);
	wish_expect_line("," MDEV, "others have removed it");

	wish_edit(WISH_NIC, driver_goes);
	wish_expect_line("," MDEV, "the driver that makes it has not come yet");
	wish_edit(WISH_NIC, driver_comes);
	wish_calm();
	CHECK_EQ(t.acts, 4);
	CHECK_STR(wish_state_of(MDEV).want.claim, "alice");

	take_away();
	wish_unplug(WISH_NIC);
	wish_calm();
	wish_plug(&wish_nic);
	wish_calm();
	CHECK_EQ(t.acts, 6);
	wish_expect_line("," MDEV, "state=held");
	wish_end();
}

DEFINE_TEST(what_cannot_be_made_says_why)
{
	wish_boot(&wish_nic);
	create_and_claim();
	wish_end();
	t.refuse = ENOSPC;
	wish_boot(&wish_nic);
	wish_calm();
	CHECK_EQ(t.acts, 1);
	wish_expect_line("," MDEV, "state=refused");
	wish_expect_line("," MDEV, "the kernel says no");
	wish_end();
}
