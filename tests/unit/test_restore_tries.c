// SPDX-License-Identifier: GPL-2.0-or-later
/* How often what is stored and was refused is tried again. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fakerequest.h"
#include "model/intents/intents.h"
#include "model/intents/persist.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define NIC REQUEST_NIC

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
	STR_COPY(dev->intent.allocated, dev->intent.allocated[0] ? "" : "pending");
}

static void expect_claimed(void)
{
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_expect_line("claim=alice", "state=held");
	request_end();
}

/* Each operation looks for holders anew: it must not bring the next one for ever. */
DEFINE_TEST(restore_waits_however_many_have_the_device)
{
	request_boot_refused(EBUSY);
	for (int i = 0; i < OFTEN; i++)
		request_edit(NIC, another_has_it);
	CHECK(t.ops >= TRIES && t.ops <= TRIES + 1);
	request_expect_line("claim=alice", "state=waiting");
	t.refuse = 0;
	request_edit(NIC, nobody_has_it);
	expect_claimed();
}

DEFINE_TEST(restore_waits_however_often_the_device_is_in_use)
{
	request_boot_refused(EBUSY);
	for (int i = 0; i < OFTEN; i++) {
		request_edit(NIC, pod_comes_or_goes);
		CHECK_EQ(t.ops, 2 + i);
	}
	request_edit(NIC, another_has_it);
	t.refuse = 0;
	request_edit(NIC, nobody_has_it);
	expect_claimed();
}

/* Somebody has it whom nobody sees, so that no event tells that he has gone. */
DEFINE_TEST(restore_tries_again_what_somebody_was_in_the_way_of)
{
	request_boot(&request_nic);
	CHECK_EQ(request_ask(NIC, "sriov_numvfs", "2"), 0);
	request_end();
	t.refuse = EBUSY;
	request_boot(&request_nic);
	request_calm();
	CHECK(t.ops > 0);
	request_expect_line("numvfs=2", "state=waiting");
	t.refuse = 0;
	while (!request_state_of(NIC).intent.vfs_wanted) /* some 2 s on an idle machine */
		usleep(10000);
	request_calm();
	request_expect_line("numvfs=2", "state=held");
	request_end();
}

DEFINE_TEST(restore_says_that_it_has_given_up)
{
	request_boot_refused(EIO);
	for (int i = 0; i < OFTEN; i++)
		request_edit(NIC, pod_comes_or_goes);
	CHECK_EQ(t.ops, TRIES);
	request_expect_line("claim=alice", "state=refused");
	CHECK_IN(request_state_of(NIC).reason, "the kernel says no; given up after 16 tries");
	t.refuse = 0;
	request_unplug(NIC);
	request_calm();
	request_plug(&request_nic);
	request_calm();
	expect_claimed();
}

/* A user of the device is waited for without an end; what only says that it will pass, is not. */
DEFINE_TEST(restore_gives_up_what_does_not_pass)
{
	struct record passes = { 0 }, used = { 0 };
	const struct err again = { .code = EAGAIN, .text = "others are at it" };
	const struct err busy = { .code = EBUSY, .text = "dd has it" };

	for (int i = 1; i <= TRIES; i++) {
		passes.tries++;
		record_tried(&passes, persist_find("claim"), &again);
		CHECK_EQ(passes.due != 0, i < TRIES);
		used.tries++;
		record_tried(&used, persist_find("claim"), &busy);
		CHECK(used.due);
	}
	CHECK_IN(passes.reason, "given up after");
	CHECK_EQ(passes.state, RECORD_WAITING);
	CHECK_STR(used.reason, "dd has it");
}
