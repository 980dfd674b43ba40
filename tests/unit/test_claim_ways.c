// SPDX-License-Identifier: GPL-2.0-or-later
/* Ways of claiming without a driver, of devices of another bus whose parent is a PCI function. */
#include <errno.h>
#include <string.h>

#include "backend/claim.h"
#include "backend/internal.h"
#include "facts.h"
#include "fakepci.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"
#include "test.h"

#define PF "0000:02:00.0"

static char lifted[FORMER_TEXT];

static bool stick_fits(const struct device *dev)
{
	return dev->facts.vendor == 0x0951;
}

static int stick_lift(struct backend *b, const struct key *dev, const char *former, unsigned int ms)
{
	STR_COPY(lifted, former);
	return 0;
}

static const struct claim_ops stick = {
	.bus = BUS_USB, .fits = stick_fits, .lift = stick_lift
};
static const struct claim_ops *const ways[] = { &stick, &vfio_claim, NULL };

static struct device usb(void)
{
	struct device dev = { .facts = { .vendor = 0x0951, .index = -1, .iommu_group = -1 } };

	CHECK(key_parse("usb/2-1", &dev.key) && key_parse(PF, &dev.facts.parent));
	dev.facts.has_way = claim_way(ways, &dev);
	return dev;
}

DEFINE_TEST(a_way_of_claiming_takes_devices_of_its_bus)
{
	struct device dev = usb();

	CHECK(claim_way(ways, &dev) == &stick);
	CHECK(claim_way(claim_ways, &dev) == &usb_claim);
	dev.facts.class_code = 0x090000;
	CHECK(!claim_way(claim_ways, &dev)); /* a hub */
	dev.facts.vendor = 0x8086;
	CHECK(!claim_way(ways, &dev));
	CHECK(key_parse(PF, &dev.key));
	CHECK(claim_way(ways, &dev) == &vfio_claim);
	dev.facts.class_code = 0x060400;
	CHECK(!claim_way(ways, &dev));
}

/* Another driver has taken an interface meanwhile; a claim that is made again takes it from that
 * one, and the release gives it to the one before the first claim. */
DEFINE_TEST(a_claim_made_again_keeps_who_had_it_before_the_first)
{
	struct request request = { .file = "claim", .value = "alice" };
	char former[DRIVER_NAME];
	struct device dev = usb();
	struct world_fake w;

	fake_machine();
	w = fake_open();
	request.dev = dev.key;
	STR_COPY(dev.facts.interfaces, "1.0 080650 usb-storage\n1.1 030101 -");
	model_lock(w.model);
	model_edit(w.model, &dev.key, true)->facts = dev.facts;
	model_publish(w.model);
	CHECK_EQ(usb_claim.prepare(w.model, model_edit(w.model, &dev.key, false), &request, NULL), 0);
	model_publish(w.model);
	STR_COPY(model_edit(w.model, &dev.key, false)->facts.interfaces,
		 "1.0 080650 uas\n1.1 030101 usbhid");
	model_publish(w.model);
	CHECK_EQ(usb_claim.prepare(w.model, model_edit(w.model, &dev.key, false), &request, NULL), 0);
	model_publish(w.model);
	former_get(model_find(w.model, &dev.key)->intent.former, "i0", former, sizeof(former));
	CHECK_STR(former, "usb-storage");
	former_get(model_find(w.model, &dev.key)->intent.former, "i1", former, sizeof(former));
	CHECK_STR(former, "usbhid");
	model_unlock(w.model);
	fake_close(&w);
}

/* Nobody asks for a driver: there is none. */
DEFINE_TEST(a_claim_without_a_driver_is_one)
{
	struct device dev = usb();

	device_derive(&dev, (struct peers){ 0 });
	CHECK_EQ(dev.caps, CAP_CLAIM | CAP_NAMED);
	CHECK_STR(state_name(dev.state), "free");
	STR_COPY(dev.intent.claim, "alice");
	device_derive(&dev, (struct peers){ 0 });
	CHECK_STR(state_name(dev.state), "unhealthy");
	CHECK_IN(dev.reason, "its driver is none");
	dev.facts.use = USE_GUEST;
	device_derive(&dev, (struct peers){ 0 });
	CHECK_STR(state_name(dev.state), "unhealthy");
	CHECK_IN(dev.reason, "its device node is not there");
	STR_COPY(dev.facts.nodes, "/dev/bus/usb/002/003");
	device_derive(&dev, (struct peers){ 0 });
	CHECK_STR(state_name(dev.state), "claimed");
	/* Its nodes are other ones each time it is plugged in. */
	STR_COPY(dev.intent.allocated, "a/b/c");
	STR_COPY(dev.intent.given, "/dev/bus/usb/002/002");
	device_derive(&dev, (struct peers){ 0 });
	CHECK_STR(state_name(dev.state), "unhealthy");
	CHECK_STR(dev.reason,
		  "its pod was given /dev/bus/usb/002/002, and it was plugged in again as "
		  "/dev/bus/usb/002/003, which that pod cannot open; delete the pod");
	STR_COPY(dev.intent.given, dev.facts.nodes);
	device_derive(&dev, (struct peers){ 0 });
	CHECK_STR(state_name(dev.state), "allocated");
	dev.intent.allocated[0] = '\0';
	STR_COPY(dev.facts.holder, "pid=7 comm=qemu");
	device_derive(&dev, (struct peers){ 0 });
	CHECK_STR(state_name(dev.state), "held");
	dev.facts.has_way = false;
	device_derive(&dev, (struct peers){ 0 });
	CHECK_EQ(dev.caps, 0);
}

DEFINE_TEST(what_a_device_had_before_goes_back_to_its_way)
{
	struct device dev = usb();
	struct err err = { 0 };
	struct world_fake w;
	struct key pf;

	fake_machine();
	fake_add(&(struct fake){ PF, "0x8086\n", "0x10fb\n", "0x0c0330\n", "xhci_hcd", 5 });
	w = fake_open();
	w.backend->ways = ways;
	CHECK(key_parse(PF, &pf));
	model_lock(w.model);
	model_edit(w.model, &dev.key, true)->facts = dev.facts;
	STR_COPY(model_edit(w.model, &pf, false)->busy, "reset 1");
	model_publish(w.model);
	CHECK_EQ(plan_refuse_busy_device(w.model, &dev.key, NULL, NULL, &err), -EBUSY);
	CHECK_IN(err.text, "2-1 is a child of " PF ", which is busy: reset 1 is running");
	model_unlock(w.model);
	CHECK_EQ(backend_lift(w.backend, &dev.key, "interfaces=hid", 30), 0);
	CHECK_STR(lifted, "interfaces=hid");
	CHECK_EQ(backend_give_nodes(w.backend, &dev.key, &err), 0); /* it has none to give */
	w.backend->ways = claim_ways;
	CHECK_EQ(backend_give_nodes(w.backend, &dev.key, &err), 0); /* likewise */
	model_lock(w.model);
	model_edit(w.model, &dev.key, false)->facts.class_code = 0x090000;
	model_publish(w.model);
	model_unlock(w.model);
	CHECK_EQ(backend_give_nodes(w.backend, &dev.key, &err), -EOPNOTSUPP);
	fake_close(&w);
}

DEFINE_TEST(what_a_device_had_before_is_pairs_of_any_text)
{
	char a[FORMER_TEXT] = "", b[FORMER_TEXT] = "", value[FORMER_TEXT], was[FORMER_TEXT];
	char name[FORMER_NAME];
	const char *p = a;

	CHECK(former_is_none(a) && !former_get(a, "driver", value, sizeof(value)));
	CHECK(former_set(a, "driver", "") && former_set(a, "override", "a\\b\nc=d\xff"));
	CHECK(former_get(a, "driver", value, sizeof(value)) && !value[0]);
	CHECK(former_get(a, "override", value, sizeof(value)));
	CHECK_STR(value, "a\\b\nc=d\xff");
	CHECK(!former_is_none(a));
	CHECK(former_set(a, "driver", "igb")); /* and stays where it was */
	CHECK(former_next(&p, name, value));
	CHECK_STR(name, "driver");
	CHECK_STR(value, "igb");
	CHECK(former_set(b, "driver", "") && former_set(b, "more", "1"));
	former_fill(b, a);
	CHECK_STR(b, "driver=igb\nmore=1\noverride=a\\\\b\\nc=d\xff");
	memcpy(was, b, sizeof(was));
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	CHECK(!former_set(b, "more", value) && !former_set(b, "a b", "1") &&
	      !former_set(b, "", "1"));
	CHECK(!former_set(b, "sixteen_or_more_", "1"));
	CHECK_STR(b, was);
}
