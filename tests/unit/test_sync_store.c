// SPDX-License-Identifier: GPL-2.0-or-later
/* How many of the cluster's objects are kept. */
#include <string.h>

#include "k8s-sync/agree/store.h"
#include "syncworld.h"

static void put(struct store *st, struct syncworld *s, const char *name, const char *address,
		const char *more)
{
	char text[512];
	json_object *o;

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\"%s},"
		 "\"spec\":{\"address\":\"%s\",\"nodeName\":\"node1\"}}",
		 name, more, address);
	o = json_tokener_parse(text);
	CHECK(o != NULL);
	store_put(st, &s->w, PCI_CLAIM, o, 0);
	json_object_put(o);
}

static bool has(const struct store *st, const char *name)
{
	return json_object_object_get_ex(st->objects, name, NULL);
}

#define OWNED                                                                                      \
	",\"ownerReferences\":[{\"kind\":\"PCIDevice\",\"name\":\"" NAME "\",\"uid\":\"U\"}]"

/* Named as functions that are not here, or as none at all. */
static void flood(struct store *st, struct syncworld *s)
{
	for (unsigned int i = 0; i < 15000; i++) {
		char name[32], address[32];

		snprintf(name, sizeof(name), i % 2 ? "node1-000f%02x%02x0" : "x%x.%x", i >> 5,
			 i & 31);
		snprintf(address, sizeof(address), "000f:%02x:%02x.0", i >> 5, i & 31);
		put(st, s, name, i % 2 ? address : "none", "");
	}
}

DEFINE_TEST(sync_claims_that_mean_no_device_are_bounded)
{
	struct syncworld s;
	struct store st;
	size_t size;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	store_open(&st);
	flood(&st, &s);
	CHECK_EQ(json_object_object_length(st.objects), APART_MAX);
	CHECK(st.left_out && !st.full && !store_has_room(&st));
	put(&st, &s, NAME, NVME, "");
	CHECK(has(&st, NAME));
	put(&st, &s, "mine", NVME, OWNED); /* by its owner; one of them is enough */
	put(&st, &s, "mine2", NVME, OWNED);
	CHECK(has(&st, "mine") && !has(&st, "mine2"));
	size = st.size;
	put(&st, &s, NAME, NVME, OWNED);
	CHECK(st.size > size);
	put(&st, &s, NAME, NVME, "");
	CHECK_EQ(st.size, size);
	/* It means none any more, and there is no room for it. */
	put(&st, &s, NAME, "none", "");
	CHECK(!has(&st, NAME));
	store_drop(&st, "x0.0");
	CHECK(!store_has_room(&st)); /* of 257 */
	store_drop(&st, "x0.2");
	CHECK(store_has_room(&st));
	store_close(&st);
	syncworld_free(&s);
}

DEFINE_TEST(sync_what_a_store_takes_is_bounded)
{
	char *long_text = malloc(CLAIM_MAX + 1);
	struct syncworld s;
	struct store st;
	json_object *o;

	CHECK(long_text != NULL);
	memset(long_text, 'x', CLAIM_MAX);
	long_text[CLAIM_MAX] = '\0';
	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	store_open(&st);
	o = json_tokener_parse(CLAIM("alice"));
	js_set(o, "spec.userName", json_object_new_string(long_text));
	store_put(&st, &s.w, PCI_CLAIM, o, 0);
	CHECK(!has(&st, NAME) && st.left_out);
	store_put(&st, &s.w, PCI_DEVICE, o, STORES_MAX - CLAIM_MAX / 2);
	CHECK(!has(&st, NAME) && st.full);
	CHECK_EQ(st.size, 0);
	json_object_put(o);
	free(long_text);
	store_close(&st);
	syncworld_free(&s);
}

#define STICK "usb/1-2"

DEFINE_TEST(sync_another_device_changes_what_claims_may_mean)
{
	struct syncworld s;
	uint64_t was;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	was = store_ground(&s.w, PCI_CLAIM);
	syncworld_device(&s, NVME, CLAIMED("alice"));
	CHECK(store_ground(&s.w, PCI_CLAIM) == was);
	syncworld_device(&s, GPU, GPU_FACTS("0"));
	CHECK(store_ground(&s.w, PCI_CLAIM) != was);
	syncworld_device(&s, STICK, "vendor=0x0781 device=0x5581 busnum=1 devnum=5");
	was = store_ground(&s.w, USB_CLAIM);
	syncworld_device(&s, STICK, "vendor=0x0781 device=0x5581 busnum=1 devnum=6");
	CHECK(store_ground(&s.w, USB_CLAIM) != was);
	was = store_ground(&s.w, USB_CLAIM);
	s.w.listed[USB_DEVICE] = false;
	CHECK(store_ground(&s.w, USB_CLAIM) != was);
	syncworld_free(&s);
}

/* Each change holds up all claims of the kind until they are listed anew. */
DEFINE_TEST(sync_a_device_of_another_bus_does_not_change_what_claims_may_mean)
{
	struct syncworld s;
	uint64_t pci, usb;

	syncworld_init(&s);
	pci = store_ground(&s.w, PCI_CLAIM);
	usb = store_ground(&s.w, USB_CLAIM);
	syncworld_device(&s, STICK, "vendor=0x0781 device=0x5581 busnum=1 devnum=5");
	CHECK(store_ground(&s.w, PCI_CLAIM) == pci);
	CHECK(store_ground(&s.w, USB_CLAIM) != usb);
	usb = store_ground(&s.w, USB_CLAIM);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_device(&s, "usb/usb1", "vendor=0x1d6b device=0x0002 busnum=1 devnum=1");
	CHECK(store_ground(&s.w, PCI_CLAIM) != pci);
	CHECK(store_ground(&s.w, USB_CLAIM) == usb);
	syncworld_free(&s);
}
