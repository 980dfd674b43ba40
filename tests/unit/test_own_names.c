// SPDX-License-Identifier: GPL-2.0-or-later
/* A resource name of its own belongs to the device that got it, wherever that goes. */
#include <errno.h>
#include <string.h>

#include "fakerequest.h"
#include "pcidevfs/resource.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define SLOT1 "0000:01:00.0"
#define SLOT2 "0000:02:00.0"
#define SLOT3 "0000:03:00.0"
#define NAME(address) "nanjing.com/0000_" address "_00_0"

/* Two equal cards without serial numbers, and a third in an earlier slot that shifts the buses. */
static const struct plug a_first = { SLOT1, "0000:00/1c.0/00.0", "x", NULL, 0x10, 0, 1, 0 },
			 b_first = { SLOT2, "0000:00/1c.4/00.0", "x", NULL, 0x10, 0, 2, 0 },
			 c_new = { SLOT1, "0000:00/1b.0/00.0", "x", NULL, 0x10, 0, 3, 0 },
			 a_moved = { SLOT2, "0000:00/1c.0/00.0", "x", NULL, 0x10, 0, 1, 0 },
			 b_moved = { SLOT3, "0000:00/1c.4/00.0", "x", NULL, 0x10, 0, 2, 0 };

static void name_it(struct device *dev)
{
	STR_COPY(dev->names.resource, "nanjing.com/PRO");
}

static void plug(const struct plug *p)
{
	struct key k = request_key(p->name);

	request_plug(p);
	model_lock(t.m);
	name_it(model_edit(t.m, &k, false));
	model_publish(t.m);
	model_unlock(t.m);
}

static void boot(const struct plug *const *plugs)
{
	request_begin(false);
	for (; *plugs; plugs++)
		plug(*plugs);
	request_restore();
}

static void expect_name(const char *address, const char *name)
{
	struct device dev = request_state_of(address);
	char is[RESOURCE_NAME];

	device_resource(&dev, is);
	CHECK_STR(is, name);
}

static const struct plug *const first[] = { &a_first, &b_first, NULL }, *const moved[] = {
	&c_new, &a_moved, &b_moved, NULL
};

static void name_both(void)
{
	boot(first);
	CHECK_EQ(request_ask(SLOT1, "pooled", "0"), 0);
	CHECK_EQ(request_ask(SLOT2, "pooled", "0"), 0);
	expect_name(SLOT1, NAME("01"));
	expect_name(SLOT2, NAME("02"));
	request_end();
}

DEFINE_TEST(own_name_goes_where_its_device_goes)
{
	name_both();
	boot(moved);
	expect_name(SLOT1, "nanjing.com/PRO");
	expect_name(SLOT2, NAME("01"));
	expect_name(SLOT3, NAME("02"));
	CHECK_EQ(request_ask(SLOT2, "pooled", "0"), 0); /* it has one */
	expect_name(SLOT2, NAME("01"));
	/* The address does not make two names equal. */
	CHECK_EQ(request_ask(SLOT1, "pooled", "0"), 0);
	expect_name(SLOT1, NAME("01") ".2");
	/* Whoever gives it up may get another one. */
	CHECK_EQ(request_ask(SLOT2, "pooled", "1"), 0);
	expect_name(SLOT2, "nanjing.com/PRO");
	CHECK_EQ(request_ask(SLOT2, "pooled", "0"), 0);
	expect_name(SLOT2, NAME("02") ".2");
	request_end();
	boot(moved);
	expect_name(SLOT1, NAME("01") ".2");
	request_end();
}

DEFINE_TEST(own_name_of_a_device_that_is_away_is_not_given_again)
{
	static const struct plug *const one[] = { &c_new, NULL };

	name_both();
	boot(one);
	CHECK_EQ(request_ask(SLOT1, "pooled", "0"), 0);
	expect_name(SLOT1, NAME("01") ".2");
	CHECK_EQ(request_ask(SLOT1, "resource_name", NAME("02")), -EBUSY);
	plug(&a_moved);
	request_calm();
	expect_name(SLOT2, NAME("01"));
	CHECK_EQ(request_ask(SLOT1, "resource_name", NAME("01")), -EBUSY);
	CHECK_EQ(request_ask(SLOT2, "resource_name", NAME("01")), 0);
	request_end();
}

/* Before any pass has looked, the record is known by what it is about. */
DEFINE_TEST(own_name_is_the_stored_one_before_restore)
{
	name_both();
	request_begin(false);
	plug(&a_moved);
	plug(&c_new);
	CHECK_EQ(request_ask(SLOT2, "pooled", "0"), 0);
	expect_name(SLOT2, NAME("01"));
	CHECK_EQ(request_ask(SLOT1, "pooled", "0"), 0);
	expect_name(SLOT1, NAME("01") ".2");
	request_end();
}

static void stored(const char *lines)
{
	struct out text = { 0 };

	out_printf(&text, "%s", lines);
	out_printf(&text, "checksum=%016llx\n",
		   (unsigned long long)fnv1a(FNV1A, text.data, text.len));
	test_file("state/intent", out_text(&text));
	out_free(&text);
}

static void pin_name(struct device *dev)
{
	STR_COPY(dev->intent.pinned, NAME("01"));
}

/* A claim may have brought such a name along, from another node. */
DEFINE_TEST(own_name_is_none_that_a_claim_keeps)
{
	boot(first);
	request_edit(SLOT2, pin_name);
	CHECK_EQ(request_ask(SLOT1, "pooled", "0"), 0);
	expect_name(SLOT1, NAME("01") ".2");
	request_end();
}

DEFINE_TEST(own_name_is_none_that_a_stored_claim_keeps)
{
	static const struct plug *const one[] = { &c_new, NULL };

	stored("pcidevfs-intent 1\n"
	       "path=0000:00/1c.4/00.0 ids=8086:0010:0000:0000 serial=none vf=none "
	       "at=0000:02:00.0 claim=alice driver=vfio-pci former_driver=none "
	       "former_override=none offered_as=" NAME("01") "\n");
	boot(one);
	CHECK_EQ(request_ask(SLOT1, "pooled", "0"), 0);
	expect_name(SLOT1, NAME("01") ".2");
	request_end();
}

/* Former versions made the name of the address of the moment: of two that were at one address, only
 * the later one had it last. */
DEFINE_TEST(own_name_of_a_former_version_is_that_of_its_last_address)
{
	static const char lines[] =
		"pcidevfs-intent 1\n"
		"path=0000:00/1d.0/00.0 ids=8086:0010:0000:0000 serial=none vf=none "
		"at=0000:01:00.0 pooled=0\n"
		"path=0000:00/1c.0/00.0 ids=8086:0010:0000:0000 serial=none vf=none "
		"at=0000:01:00.0 pooled=0\n"
		"path=0000:00/1c.4/00.0 ids=8086:0010:0000:0000 serial=none vf=none "
		"at=0000:02:00.0 pooled=0\n";

	stored(lines);
	boot(moved);
	request_expect_line("own_name=/0000_01_00_0.2", "state=waiting");
	expect_name(SLOT2, NAME("01"));
	expect_name(SLOT3, NAME("02"));
	CHECK_EQ(request_ask(SLOT1, "pooled", "0"), 0);
	expect_name(SLOT1, NAME("01") ".3");
	request_end();
	boot(moved);
	expect_name(SLOT2, NAME("01"));
	request_end();
}

/* What becomes a vGPU later has no computed name yet. */
DEFINE_TEST(own_name_may_get_its_domain_later)
{
	request_begin(false);
	request_plug(&a_first);
	request_restore();
	CHECK_EQ(request_ask(SLOT1, "pooled", "0"), 0);
	expect_name(SLOT1, "");
	request_edit(SLOT1, name_it);
	expect_name(SLOT1, NAME("01"));
	request_end();
	request_begin(false);
	plug(&a_moved);
	request_restore();
	expect_name(SLOT2, NAME("01"));
	request_end();
}
