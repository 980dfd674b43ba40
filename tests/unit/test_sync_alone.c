// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of devices that are offered alone, and the drivers to go back to, when a card more shifts all
 * addresses: they belong to the cards, while objects belong to addresses. */
#include <string.h>

#include "syncworld.h"

#define AT1 "0000:01:00.0"
#define AT2 "0000:02:00.0"
#define AT3 "0000:03:00.0"
#define OBJECT1 "node1-000001000"
#define OBJECT2 "node1-000002000"
#define OBJECT3 "node1-000003000"
#define FIRST_DRIVER_OF(s, name)                                                                   \
	js_meta(object_find(&(s).w, PCI_DEVICE, name), "annotations", FIRST_DRIVER)

#define CARD(user, name)                                                                           \
	"vendor=0x1cd7 device=0x0010 class=0x048000 kind=pci claimable=yes state=claimed "         \
	"reason=\"claimed by " user "\" claim=" user " driver=vfio-pci former_driver=magewell "    \
	"resource_name=nanjing.com/" name
#define POOLED(user) CARD(user, "PRO") " resource_override=none"
#define ALONE_AS(user, name) CARD(user, name) " resource_override=nanjing.com/" name
#define DRIVE                                                                                       \
	"vendor=0x144d device=0xa80a class=0x010802 kind=pci claimable=yes state=host reason=none " \
	"claim=none driver=nvme resource_name=samsung.com/PM9A1 resource_override=none"

static void claim(struct syncworld *s, const char *name, const char *address, const char *user,
		  bool alone)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\",\"uid\":\"C\",\"resourceVersion\":\"7\"},"
		 "\"spec\":{\"address\":\"%s\",\"nodeName\":\"node1\",\"userName\":\"%s\","
		 "\"disableResourcePooling\":%s}}",
		 name, address, user, alone ? "true" : "false");
	syncworld_object(s, PCI_CLAIM, text);
}

static bool is_alone(struct syncworld *s, const char *name)
{
	json_object *o = object_find(&s->w, PCI_CLAIM, name);

	CHECK(o != NULL);
	return json_object_get_boolean(js_get(o, "spec.disableResourcePooling"));
}

static void set_alone(struct syncworld *s, const char *name, bool alone)
{
	js_set(object_find(&s->w, PCI_CLAIM, name), "spec.disableResourcePooling",
	       json_object_new_boolean(alone));
}

static const char * override(struct syncworld *s, const char *name)
{
	return js_meta(object_find(&s->w, PCI_DEVICE, name), "annotations", RESOURCE_OVERRIDE)
		       ?: "";
}

static const char *user_of(struct syncworld *s, const char *name)
{
	return js_text(object_find(&s->w, PCI_CLAIM, name), "spec.userName");
}

/* All is agreed, with both cards alone: then the drive comes. */
static void shift(struct syncworld *s, const char *first, const char *second)
{
	syncworld_device(s, AT1, DRIVE);
	syncworld_device(s, AT2, first);
	syncworld_device(s, AT3, second);
	expect(syncworld_settle(s), "");
}

DEFINE_TEST(sync_names_go_where_their_cards_go)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, AT1, POOLED("vmA"));
	claim(&s, OBJECT1, AT1, "vmA", true);
	expect(syncworld_settle(&s),
	       "ctl pcideviceclaims/" OBJECT1 " " AT1 "/resource_name nanjing.com/" OBJECT1 "\n");
	syncworld_device(&s, AT1, ALONE_AS("vmA", OBJECT1));
	syncworld_device(&s, AT2, ALONE_AS("vmB", OBJECT2));
	claim(&s, OBJECT2, AT2, "vmB", true);
	expect(syncworld_settle(&s), "");
	CHECK_STR(FIRST_DRIVER_OF(s, OBJECT1), "magewell");
	shift(&s, ALONE_AS("vmA", OBJECT1), ALONE_AS("vmB", OBJECT2));
	CHECK(!object_find(&s.w, PCI_CLAIM, OBJECT1));
	CHECK_STR(user_of(&s, OBJECT2), "vmA");
	CHECK_STR(user_of(&s, OBJECT3), "vmB");
	CHECK(is_alone(&s, OBJECT2) && is_alone(&s, OBJECT3));
	CHECK_STR(override(&s, OBJECT1), "");
	CHECK_STR(override(&s, OBJECT2), "nanjing.com/" OBJECT1);
	CHECK_STR(override(&s, OBJECT3), "nanjing.com/" OBJECT2);
	/* Nothing is left of the card that was there, and nobody goes back to vfio-pci. */
	CHECK_STR(FIRST_DRIVER_OF(s, OBJECT1), "nvme");
	CHECK_STR(FIRST_DRIVER_OF(s, OBJECT3), "magewell");
	CHECK_STR(js_text(object_find(&s.w, PCI_CLAIM, OBJECT3), "status.kernelDriverToUnbind"),
		  "magewell");
	syncworld_free(&s);
}

/* The claim at the address of a card was another's, of the same user; it follows the card, and what
 * the user changes then counts. */
DEFINE_TEST(sync_claims_at_a_new_address_ask_for_what_the_card_has)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, AT1, ALONE_AS("admin", OBJECT1));
	claim(&s, OBJECT1, AT1, "admin", true);
	syncworld_device(&s, AT2, POOLED("admin"));
	claim(&s, OBJECT2, AT2, "admin", false);
	expect(syncworld_settle(&s), "");
	shift(&s, ALONE_AS("admin", OBJECT1), POOLED("admin"));
	CHECK(is_alone(&s, OBJECT2) && !is_alone(&s, OBJECT3));
	set_alone(&s, OBJECT2, false);
	expect(syncworld_settle(&s),
	       "ctl pcideviceclaims/" OBJECT2 " " AT2 "/resource_name none\n");
	syncworld_device(&s, AT2, POOLED("admin"));
	expect(syncworld_settle(&s), "");
	/* The card with the name of that object is away: it is not given again. */
	set_alone(&s, OBJECT3, true);
	syncworld_device(&s, AT2, ALONE_AS("admin", OBJECT3));
	expect(syncworld_settle(&s),
	       "ctl pcideviceclaims/" OBJECT3 " " AT3 "/resource_name nanjing.com/" OBJECT3 ".2\n");
	syncworld_device(&s, AT3, ALONE_AS("admin", OBJECT3 ".2"));
	expect(syncworld_settle(&s), "");
	set_alone(&s, OBJECT3, false);
	expect(syncworld_settle(&s),
	       "ctl pcideviceclaims/" OBJECT3 " " AT3 "/resource_name none\n");
	syncworld_free(&s);
}

/* As former versions, and Harvester's controller, have written it. */
DEFINE_TEST(sync_nobody_goes_back_to_vfio)
{
	static const struct {
		const char *more, *driver;
	} rows[] = { { "former_driver=magewell", "magewell" }, { "former_driver=none", "" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char pairs[400];
		struct syncworld s;

		syncworld_init(&s);
		snprintf(pairs, sizeof(pairs), "%s %s", rows[i].more, POOLED("vmA"));
		syncworld_device(&s, AT1, pairs);
		syncworld_object(
			&s, PCI_DEVICE,
			"{\"metadata\":{\"name\":\"" OBJECT1 "\",\"annotations\":{\"" FIRST_DRIVER
			"\":\"vfio-pci\"}},\"status\":{\"vendorId\":\"1cd7\",\"deviceId\":\"0010\"}}");
		claim(&s, OBJECT1, AT1, "vmA", false);
		js_set(object_find(&s.w, PCI_CLAIM, OBJECT1), "status.kernelDriverToUnbind",
		       json_object_new_string("vfio-pci"));
		expect(syncworld_settle(&s), "");
		CHECK_STR(FIRST_DRIVER_OF(s, OBJECT1), rows[i].driver);
		CHECK_STR(js_text(object_find(&s.w, PCI_CLAIM, OBJECT1),
				  "status.kernelDriverToUnbind"),
			  rows[i].driver);
		syncworld_free(&s);
	}
}
