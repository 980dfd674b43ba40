// SPDX-License-Identifier: GPL-2.0-or-later
/* What kubelet lists of its pods, and what is written of it. */
#include <errno.h>
#include <string.h>

#include "plugin/kubelet/listing.h"
#include "plugindev.h"
#include "podresources.pb-c.h"
#include "test.h"

#define AT 100000 /* ms: now */

static bool forgotten(void *ctx, const char *device_id)
{
	return *(bool *)ctx;
}

struct listed_pod {
	const char *space, *name, *container, *ids[3];
};

static size_t pack(const struct listed_pod *pods, size_t n, uint8_t buf[static 4096])
{
	V1__ListPodResourcesResponse m = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
	V1__PodResources rows[4], *list[4];
	V1__ContainerResources containers[4], *one[4];
	V1__ContainerDevices devices[4], *of[4];

	for (size_t i = 0; i < n; i++) {
		v1__pod_resources__init(list[i] = &rows[i]);
		v1__container_resources__init(one[i] = &containers[i]);
		v1__container_devices__init(of[i] = &devices[i]);
		rows[i].namespace_ = (char *)pods[i].space;
		rows[i].name = (char *)pods[i].name;
		rows[i].n_containers = 1;
		rows[i].containers = &one[i];
		containers[i].name = (char *)pods[i].container;
		containers[i].n_devices = 1;
		containers[i].devices = &of[i];
		devices[i].resource_name = (char *)"intel.com/NIC-X.1";
		devices[i].device_ids = (char **)pods[i].ids;
		while (pods[i].ids[devices[i].n_device_ids])
			devices[i].n_device_ids++;
	}
	m.n_pod_resources = n;
	m.pod_resources = list;
	return v1__list_pod_resources_response__pack(&m, buf);
}

/* What would be written, one batch behind the other: "clear|set;". */
static void check_written(struct devices *t, const struct listed_pod *pods, size_t n, bool gone,
			  const char *expected)
{
	struct listing l = {
		.now = AT, .asked = AT, .kubelet = 1, .is_forgotten = forgotten, .ctx = &gone
	};
	uint8_t buf[4096];
	struct out o = { 0 };

	CHECK_EQ(listing_read(&l, buf, pack(pods, n, buf)), 0);
	listing_settle(&l, t);
	for (const struct batch *b = l.batches; b; b = b->next)
		out_printf(&o, "%s|%s;", out_text(&b->clear), out_text(&b->set));
	CHECK_STR(out_text(&o), expected);
	out_free(&o);
	listing_free(&l);
}

DEFINE_TEST(a_pod_gets_what_kubelet_lists_of_it)
{
	const struct listed_pod vm = { "default", "vm-1", "compute", { "0000:05:01.0" } };
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	check_written(&t, &vm, 1, true, "|0000:05:01.0/allocated_to default/vm-1/compute\n;");
	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_to=default/vm-1/compute"), 0);
	check_written(&t, &vm, 1, true, "");
	/* From one pod to another through none; and back when no pod has it. */
	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_to=default/vm-0/compute"), 0);
	check_written(&t, &vm, 1, true,
		      "0000:05:01.0/allocated_to none\n|"
		      "0000:05:01.0/allocated_to default/vm-1/compute\n;");
	check_written(&t, NULL, 0, false, "|0000:05:01.0/allocated_to none\n;");
	devices_free(&t);
}

/* Until kubelet has listed the pod once, what it keeps on disk counts as well. */
DEFINE_TEST(a_kubelet_that_never_listed_a_pod_may_not_know_it_yet)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_to=a/b/c"), 0);
	check_written(&t, NULL, 0, false, "");
	check_written(&t, NULL, 0, true, "|0000:05:01.0/allocated_to none\n;");
	devices_free(&t);
}

/* Of an init container kubelet lists nothing; its pod is only in the checkpoint. */
DEFINE_TEST(that_the_pod_before_was_listed_does_not_count_for_the_next)
{
	const struct listed_pod vm = { "a", "b", "c", { "0000:05:01.0" } };
	struct devices t = { 0 };
	struct dev *d;

	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_to=a/b/c"), 0);
	check_written(&t, &vm, 1, true, "");
	listing_given(devices_find(&t, "0000:05:01.0"), AT - 90000);
	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_to=pending"), 0);
	d = devices_find(&t, "0000:05:01.0");
	d->pending_at = AT - 90000;
	check_written(&t, NULL, 0, false, "");
	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_to=pending"), 0);
	check_written(&t, NULL, 0, true, "|0000:05:01.0/allocated_to none\n;");
	devices_free(&t);
}

/* It reads "none" if the daemon has forgotten its pod. If told that the pod is over, the tree
 * forgets the former name. */
DEFINE_TEST(a_former_name_is_over_with_its_pod)
{
	const struct listed_pod vm = { "a", "b", "c", { "0000:05:01.0" } };
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_as=intel.com/NIC-X.1"), 0);
	check_written(&t, NULL, 0, true, "");
	CHECK_EQ(take(&t, "0000:05:01.0",
		      NIC " resource_name=x.com/Y allocated_as=intel.com/NIC-X.1"),
		 0);
	check_written(&t, NULL, 0, false, "");
	check_written(&t, NULL, 0, true, "|0000:05:01.0/allocated_to none\n;");
	check_written(&t, &vm, 1, false, "|0000:05:01.0/allocated_to a/b/c\n;");
	check_written(&t, NULL, 0, false, "|0000:05:01.0/allocated_to none\n;");
	CHECK_EQ(take(&t, "0000:05:01.0",
		      NIC
		      " resource_name=x.com/Y allocated_as=intel.com/NIC-X.1 allocated_to=a/b/c"),
		 0);
	check_written(&t, &vm, 1, false, "");
	devices_free(&t);
}

/* Its name would be a line of its own, or no name at all: nothing is known of the device then. */
DEFINE_TEST(a_pod_with_a_name_that_none_can_have_is_left_alone)
{
	static const char long_name[] = "0123456789012345678901234567890123456789012345678901234567"
					"890123456789012345678901234567890123456789012345678901234"
					"567890123456789012345678901234567890123456789012345678901"
					"234567890123456789012345678901234567890123456789012345678"
					"901234567890123456789012345678901234567890123456789012345"
					"678901234567890123456789012345678901234567890123456789012";
	static const struct listed_pod odd[] = {
		{ "a", "b", "c\n0000:05:02.0/claim mallory", { "0000:05:01.0" } },
		{ "a", "", "c", { "0000:05:01.0" } },
		{ "a b", "b", "c", { "0000:05:01.0" } },
		{ "a", "b/c", "d", { "0000:05:01.0" } },
		{ long_name, "b", long_name, { "0000:05:01.0" } },
	};
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_to=x/y/z"), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		check_written(&t, &odd[i], 1, true, "");
	devices_free(&t);
}

DEFINE_TEST(what_is_no_list_of_pods_is_refused)
{
	struct listing l = { 0 };

	CHECK_EQ(listing_read(&l, (const uint8_t *)"\x0a\x7f", 2), -EINVAL);
	listing_free(&l);
}
