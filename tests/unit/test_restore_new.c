// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests for a card that has just come: before its serial is read, and before a pass saw it. */
#include <errno.h>
#include <string.h>

#include "fakerequest.h"
#include "model/intents/persist.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define NIC REQUEST_NIC
#define MOVED "0000:09:00.0"

static const struct plug carded = { NIC, "0000:00/03.0/00.0", "igb", NULL, 0x1521, 77, 1, 0 };
static const struct plug moved = { MOVED, "0000:00/04.0/00.0", "igb", NULL, 0x1521, 77, 1, 0 };
static const struct ownership alice = { 1000, 1001, 0664 };

static void no_serial_yet(struct device *dev)
{
	dev->facts.serial = 0;
	dev->facts.serial_known = false;
}

static void serial_is_read(struct device *dev)
{
	dev->facts.serial = 77;
	dev->facts.serial_known = true;
}

static void edit_now(const char *name, void (*change)(struct device *dev))
{
	struct key k = request_key(name);

	model_lock(t.m);
	change(model_edit(t.m, &k, false));
	model_publish(t.m);
	model_unlock(t.m);
}

static void read_serial(void)
{
	edit_now(MOVED, serial_is_read);
}

static int set_owner(const char *name, struct err *err)
{
	struct key k = request_key(name);

	return intents_set_owner(t.in, &k, "claim", &alice, NULL, err);
}

static void store_claim(void)
{
	request_boot(&carded);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_end();
}

/* The card is in another slot, and that is all there is. */
static void begin_moved(bool known)
{
	store_claim();
	request_begin(false);
	request_plug(&moved);
	if (!known)
		edit_now(MOVED, no_serial_yet);
}

/* One line, which can be read again. */
static void expect_one_record(void)
{
	struct out o = { 0 };

	intents_print(t.in, &o);
	CHECK_IN(out_text(&o), "device=" MOVED);
	CHECK_IN(out_text(&o), "claim=alice");
	CHECK_IN(out_text(&o), "owner.claim=1000:1001:0664");
	CHECK_EQ(strchr(out_text(&o), '\n') - out_text(&o) + 1, (ptrdiff_t)o.len);
	out_free(&o);
	request_end();
	request_boot(&moved);
	intents_health(t.in, &o);
	CHECK_IN(out_text(&o), "records=1 ");
	CHECK_STR(request_state_of(MOVED).intent.claim, "alice");
	out_free(&o);
	request_end();
}

DEFINE_TEST(new_card_has_one_record_before_a_pass)
{
	begin_moved(true);
	CHECK_EQ(set_owner(MOVED, NULL), 0);
	request_restore();
	expect_one_record();
}

DEFINE_TEST(new_card_is_told_apart_first)
{
	struct err err = { 0 };

	begin_moved(false);
	CHECK_EQ(set_owner(MOVED, &err), -EBUSY);
	CHECK_IN(err.text,
		 MOVED " has just appeared, and its card is not identified yet; write again");
	intents_restore(t.in, t.e, t.goes_on);
	t.before_plan = read_serial; /* when it is looked at */
	CHECK_EQ(set_owner(MOVED, NULL), 0);
	request_calm();
	expect_one_record();
}

/* It is not one of those that are stored for: there is nothing to wait for. */
DEFINE_TEST(new_card_of_another_kind_waits_for_nothing)
{
	static const struct plug other = { MOVED, "0000:00/04.0/00.0", "ixgbe", NULL, 0x10fb, 0, 1,
					   0 };

	store_claim();
	request_begin(false);
	request_plug(&other);
	edit_now(MOVED, no_serial_yet);
	CHECK_EQ(set_owner(MOVED, NULL), 0);
	request_end();
}

/* Made anew in the same place before any pass could see that the former one had gone. */
static void begin_remade(void)
{
	request_begin(false);
	request_plug(&carded);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_unplug(NIC);
	request_plug(&carded);
}

static void expect_claim_back(void)
{
	CHECK_STR(request_state_of(NIC).intent.claim, "");
	request_restore();
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_expect_line("claim=alice", "held");
	request_end();
}

DEFINE_TEST(new_life_of_a_device_gets_what_is_stored_after_a_chown)
{
	begin_remade();
	CHECK_EQ(set_owner(NIC, NULL), 0);
	expect_claim_back();
}

DEFINE_TEST(new_life_of_a_device_gets_what_is_stored_after_another_write)
{
	begin_remade();
	CHECK_EQ(request_ask(NIC, "sriov_numvfs", "0"), 0);
	expect_claim_back();
	request_boot(&carded);
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_end();
}

/* A PF is claimed or has VFs: asking for one before restore must not lose what is stored of the
 * other. */
DEFINE_TEST(new_request_does_not_end_what_is_just_being_restored)
{
	begin_remade();
	CHECK_EQ(request_ask(NIC, "sriov_numvfs", "2"), -EBUSY);
	expect_claim_back();
}

static void named(struct device *dev)
{
	STR_COPY(dev->intent.pinned, "intel.com/NIC");
}

static void released(struct device *dev)
{
	dev->intent.claim[0] = dev->intent.pinned[0] = '\0';
}

/* A release that goes on after a kill has ended the claim, and the file has the one from before. */
DEFINE_TEST(new_process_does_not_note_what_a_release_has_just_ended)
{
	struct request none = { .dev = request_key(NIC), .file = "claim" };

	request_boot(&carded);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_edit(NIC, named);
	CHECK_EQ(intents_keep(t.in, &none, 1, true, NULL), 0);
	request_end();
	request_begin(true);
	edit_now(NIC, released);
	request_restore();
	CHECK_STR(request_state_of(NIC).intent.pinned, "");
	CHECK_EQ(intents_keep(t.in, &none, 1, false, NULL), 0);
	CHECK_STR(request_state_of(NIC).intent.pinned, "");
	request_end();
}

/* The same of notes, which a write ends at once: after a kill in between the model decides. */
DEFINE_TEST(new_process_does_not_note_what_a_write_has_just_ended)
{
	static const struct {
		const char *file, *value;
		size_t field;
	} notes[] = { { "pooled", "0", offsetof(struct intent, single) },
		      { "resource_name", "example.com/NIC", offsetof(struct intent, resource) } };

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		const struct persist *k = persist_find(notes[i].file);
		struct key nic = request_key(NIC);
		struct device dev;

		request_boot(&carded);
		CHECK_EQ(request_ask(NIC, notes[i].file, notes[i].value), 0);
		request_end();
		request_begin(true);
		model_lock(t.m);
		persist_clear(k, &model_edit(t.m, &nic, false)->intent);
		model_publish(t.m);
		model_unlock(t.m);
		request_restore();
		dev = request_state_of(NIC);
		CHECK(!persist_has(k, &dev.intent));
		request_end();
		request_boot(&carded); /* nobody has written that it ended */
		dev = request_state_of(NIC);
		CHECK(persist_has(k, &dev.intent));
		request_end();
	}
}

/* Two records turn out to be of one card: the later one holds, completed from the older one. */
DEFINE_TEST(records_of_one_card_become_one)
{
	struct plug other = carded;
	struct out o = { 0 };

	request_boot(&carded);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	CHECK_EQ(set_owner(NIC, NULL), 0);
	request_end();
	other.serial = 0;
	other.driver = "";
	request_boot(&other);
	request_expect_line("claim=alice", "state=stranger");
	CHECK_EQ(request_ask(NIC, "claim", "bob"), 0);
	request_edit(NIC, serial_is_read);
	intents_print(t.in, &o);
	CHECK_EQ(strchr(out_text(&o), '\n') - out_text(&o) + 1, (ptrdiff_t)o.len);
	CHECK_IN(out_text(&o), "claim=bob");
	CHECK_IN(out_text(&o), "former_driver=igb");
	CHECK_IN(out_text(&o), "owner.claim=1000:1001:0664");
	out_free(&o);
	request_end();
	request_boot(&carded);
	CHECK_STR(request_state_of(NIC).intent.claim, "bob");
	CHECK(request_state_of(NIC).intent.owned);
	intents_health(t.in, &o);
	CHECK_IN(out_text(&o), "records=1 ");
	CHECK(!strstr(out_text(&o), "damaged"));
	out_free(&o);
	request_end();
}
