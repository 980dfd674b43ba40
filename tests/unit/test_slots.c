// SPDX-License-Identifier: GPL-2.0-or-later
/* The physical slots of PCI functions. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "backend/look.h"
#include "backend/pci/slots.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

DEFINE_TEST(address_of_a_slot_is_as_the_kernel_writes_it)
{
	static const char *const odd[] = { "",
					   "0000:0a",
					   "0000:0a:00.0",
					   "0000:0A:00",
					   "0000:0a:20",
					   "0000:0a:00 ",
					   "0000:0a:00\n",
					   "a:00",
					   "0000:0a:00:00",
					   "-001:0a:00",
					   "00000000000000000000:0a:00" };
	struct pci_addr at;

	CHECK(pci_slot_address("0000:0a:1f", &at));
	CHECK(at.domain == 0 && at.bus == 0x0a && at.dev == 0x1f && at.fn == 0);
	CHECK(pci_slot_address("10000:e1:00", &at));
	CHECK(at.domain == 0x10000 && at.bus == 0xe1 && at.dev == 0);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		CHECK(!pci_slot_address(odd[i], &at));
}

static void put_slot(const char *name, const char *address)
{
	char path[300];

	snprintf(path, sizeof(path), "sys/bus/pci/slots/%s/address", name);
	test_file(path, address);
}

static const char *slot_now(struct world_fake *w, const char *address)
{
	static char slot[SLOT_NAME];
	struct key key = fake_key(address);
	const struct device *dev;

	model_lock(w->model);
	dev = model_find(w->model, &key);
	STR_COPY(slot, dev ? dev->facts.slot : "gone");
	model_unlock(w->model);
	return slot;
}

static void put_functions(void)
{
	static const char *const names[] = { "0000:0a:00.0", "0000:0a:00.1", "0000:0a:00.4",
					     "0000:0a:01.0", "0000:0b:00.0", "0001:0a:00.0" };

	fake_machine();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		fake_add(
			&(struct fake){ names[i], "0x10de\n", "0x25b6\n", "0x030200\n", NULL, -1 });
	fake_virtfn("0000:0a:00.0", 0, "0000:0a:00.4");
	fake_virtfn("0000:0a:00.0", 1, "0000:0a:01.0");
}

DEFINE_TEST(functions_have_the_slot_of_their_address)
{
	struct world_fake w;

	put_functions();
	w = fake_open(); /* no slots at all */
	CHECK_STR(slot_now(&w, "0000:0a:00.0"), "");
	put_slot("1-1", "0000:0a:00\n");
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	CHECK_STR(slot_now(&w, "0000:0a:00.0"), "1-1");
	CHECK_STR(slot_now(&w, "0000:0a:00.1"), "1-1");
	CHECK_STR(slot_now(&w, "0000:0a:00.4"), "1-1"); /* a VF: its address says so */
	CHECK_STR(slot_now(&w, "0000:0a:01.0"), "");	/* and of this one does not */
	CHECK_STR(slot_now(&w, "0000:0b:00.0"), "");
	CHECK_STR(slot_now(&w, "0001:0a:00.0"), "");
	put_slot("1-1", "0000:0b:00\n");
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	CHECK_STR(slot_now(&w, "0000:0a:00.1"), "");
	CHECK_STR(slot_now(&w, "0000:0b:00.0"), "1-1");
	fake_close(&w);
}

/* Only their names are read, of which there may be many. */
DEFINE_TEST(a_look_at_one_device_reads_no_slot_that_is_known)
{
	struct touched one = { .key = fake_key("0000:0a:00.0") };
	struct touched other = { .key = fake_key("0000:0b:00.0") };
	struct world_fake w;

	put_functions();
	put_slot("1-1", "0000:0a:00\n");
	w = fake_open();
	CHECK_STR(slot_now(&w, "0000:0a:00.0"), "1-1");
	put_slot("1-1", "0000:0b:00\n"); /* which the kernel never does */
	CHECK_EQ(look_at(w.backend, &one, 1, PATIENCE_MS), 0);
	CHECK_STR(slot_now(&w, "0000:0a:00.0"), "1-1");
	/* With a new one all are read. */
	put_slot("2", "0000:0a:00\n");
	CHECK_EQ(look_at(w.backend, &one, 1, PATIENCE_MS), 0);
	CHECK_STR(slot_now(&w, "0000:0a:00.0"), "2");
	CHECK_EQ(look_at(w.backend, &other, 1, PATIENCE_MS), 0);
	CHECK_STR(slot_now(&w, "0000:0b:00.0"), "1-1");
	/* And by a look at all. */
	put_slot("2", "0000:0b:00\n");
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	CHECK_STR(slot_now(&w, "0000:0a:00.0"), "");
	fake_close(&w);
}

DEFINE_TEST(hostile_slots_are_no_slots)
{
	struct world_fake w;

	put_functions();
	put_slot("a-name-of-thirty-two-characters-", "0000:0a:00\n");
	put_slot("new\nline", "0000:0a:00\n");
	put_slot("\xff", "0000:0a:00\n");
	put_slot("\x1b[2J", "0000:0a:00\n");
	put_slot("3", "0000:0a:00 0000:0a:00 0000:0a:00 0000:0a:00\n");
	put_slot("4", "0000:0a\n");
	put_slot("5", "");
	test_file("sys/bus/pci/slots/6", "0000:0a:00\n");
	test_file("sys/bus/pci/slots/7/address/0", "0000:0a:00\n");
	put_slot("a-name-of-thirty-one-characters", "0000:0b:00\n");
	w = fake_open();
	CHECK_STR(slot_now(&w, "0000:0a:00.0"), "");
	CHECK_STR(slot_now(&w, "0000:0b:00.0"), "a-name-of-thirty-one-characters");
	/* Two for one address: always the same one. */
	put_slot("8", "0000:0b:00\n");
	put_slot("80", "0000:0b:00\n");
	CHECK_EQ(backend_scan(w.backend, NULL), 0);
	CHECK_STR(slot_now(&w, "0000:0b:00.0"), "8");
	fake_close(&w);
}
