// SPDX-License-Identifier: GPL-2.0-or-later
/* What kubelet is told, from lines of inventory: the deciding part of the plugin. */
#include <errno.h>
#include <string.h>

#include "pcidevfs/pair.h"
#include "plugin/kubelet/answer.h"
#include "plugin/kubelet/cdi.h"
#include "plugin/kubelet/checkpoint.h"
#include "plugin/kubelet/devices.h"
#include "deviceplugin.pb-c.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "plugindev.h"
#include "test.h"

DEFINE_TEST(a_record_is_taken_apart_in_place)
{
	char line[] = "0000:05:02.0 a=1 b=\"two words\" c=\"q\\\"\\\\\\x0a\" d= e";
	char *cursor = line;
	struct pair p;

	CHECK_EQ(pair_next(&cursor, &p), 1);
	CHECK_STR(p.key, "");
	CHECK_STR(p.value, "0000:05:02.0");
	CHECK_EQ(pair_next(&cursor, &p), 1);
	CHECK_STR(p.value, "1");
	CHECK_EQ(pair_next(&cursor, &p), 1);
	CHECK_STR(p.value, "two words");
	CHECK_EQ(pair_next(&cursor, &p), 1);
	CHECK_STR(p.key, "c");
	CHECK_STR(p.value, "q\"\\\n");
	CHECK_EQ(pair_next(&cursor, &p), 1);
	CHECK_STR(p.value, "");
	CHECK_EQ(pair_next(&cursor, &p), 1);
	CHECK_STR(p.value, "e");
	CHECK_EQ(pair_next(&cursor, &p), 0);
}

DEFINE_TEST(a_record_of_another_form_is_refused)
{
	static const char *const bad[] = { "a=\"open",	  "a=\"x\\",  "a=\"\\q\"", "a=\"\\x4\"",
					   "a=\"\\x00\"", "a=\"x\"y", "w\"ord",	   "a=\"\\x",
					   "=v",	  "=\"\"" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char line[32], *cursor = line;
		struct pair p;

		STR_COPY(line, bad[i]);
		CHECK_EQ(pair_next(&cursor, &p), -EINVAL);
	}
}

DEFINE_TEST(only_claimed_devices_are_kept)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:05:01.0", "claim=none resource_name=x.com/Y"), 0);
	CHECK_EQ(t.n, 1);
	CHECK_EQ(take(&t, "0000:05:02.0", "claim=\"open"), -EINVAL);
	CHECK_EQ(t.n, 1);
	CHECK_EQ(devices_find(&t, "0000:05:02.0")->group, 14);
	CHECK_EQ(devices_find(&t, "0000:05:02.0")->numa, -1);
	CHECK_EQ(take(&t, "0000:05:02.0", "claim=none"), 0);
	CHECK_EQ(t.n, 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	devices_begin(&t);
	devices_settle(&t);
	CHECK_EQ(t.n, 0);
	devices_free(&t);
}

/* KubeVirt's rule: capitals, '/' and '.' become '_', hyphens stay. */
/* What is written for containers is written again when this changes, and only then. */
DEFINE_TEST(the_shape_changes_with_what_a_container_would_get)
{
	static const struct {
		const char *pairs;
		bool changes;
	} steps[] = {
		{ NIC, true },
		{ NIC, false },
		{ NIC " state=held reason=x allocated_to=a/b/c numa_node=1", false },
		{ NIC " nodes=/dev/vfio/15", true },
		{ NIC " nodes=/dev/vfio/15 iommu_group=15", true },
		{ NIC " nodes=/dev/vfio/15 iommu_group=15 resource_name=a.b/C", true },
		{ "claim=none", true },
		{ "claim=none", false },
	};
	struct devices t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		uint64_t before = t.shape;

		CHECK_EQ(take(&t, "0000:05:00.0", steps[i].pairs), 0);
		if ((t.shape != before) != steps[i].changes)
			FAIL("step %zu: %s", i, steps[i].pairs);
	}
	devices_free(&t);
}

DEFINE_TEST(the_variable_is_named_as_kubevirt_reads_it)
{
	struct dev d = { .id = (char *)"0000:05:02.0",
			 .resource = (char *)"intel.com/NIC-X.1a",
			 .as = "",
			 .mdev = "" };
	struct out o = { 0 };

	answer_variable(&d, &o);
	CHECK_STR(o.data, "PCI_RESOURCE_INTEL_COM_NIC-X_1A");
	out_free(&o);
	d.id = (char *)"mdev/5c1f";
	answer_variable(&d, &o);
	CHECK_STR(o.data, "MDEV_PCI_RESOURCE_INTEL_COM_NIC-X_1A");
	out_free(&o);
}

static const char *sick(struct devices *t, const char *id, uint64_t now)
{
	static char buf[512];

	return dev_sick(t, devices_find(t, id), now, buf, sizeof(buf));
}

/* Each in its place in both orders, whatever group it goes to. */
DEFINE_TEST(the_table_keeps_groups_together)
{
	struct devices t = { 0 };
	char id[16], pairs[128];
	size_t n;

	for (int i = 0; i < 600; i++) {
		int at = i * 7 % 97;

		snprintf(id, sizeof(id), "0000:%02x:00.0", (unsigned int)at);
		snprintf(pairs, sizeof(pairs), "claim=a resource_name=v.com/%d iommu_group=%d",
			 i % 5, i * 13 % 8 - 1);
		if (i % 11 == 3)
			devices_drop(&t, id);
		else
			CHECK_EQ(take(&t, id, pairs), 0);
		for (size_t k = 0; k < t.n; k++) {
			struct dev *const *group = devices_group(&t, t.v[k], &n);
			size_t same = 0, there = 0;

			CHECK(!k || strcmp(t.v[k - 1]->id, t.v[k]->id) < 0);
			for (size_t j = 0; j < t.n; j++)
				same += t.v[j] == t.v[k] ||
					(t.v[k]->group >= 0 && t.v[j]->group == t.v[k]->group);
			for (size_t j = 0; j < n; j++)
				there += group[j] == t.v[k];
			CHECK_EQ(n, same);
			CHECK_EQ(there, 1);
		}
	}
	devices_free(&t);
}

DEFINE_TEST(health_goes_both_ways_and_not_too_fast)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(devices_judge(&t, 1000), UINT64_MAX);
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=held reason=\"held open by pid=7\""), 0);
	CHECK_EQ(devices_judge(&t, 2000), UINT64_MAX);
	CHECK_STR(sick(&t, "0000:05:02.0", 2000), "held open by pid=7");
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(devices_judge(&t, 9000), 9000 + HEALTHY_AFTER_MS);
	CHECK_STR(sick(&t, "0000:05:02.0", 9100), "it was not usable a moment ago");
	CHECK(!sick(&t, "0000:05:02.0", 9000 + HEALTHY_AFTER_MS));
	CHECK_EQ(devices_judge(&t, 10000), UINT64_MAX);
	/* An operation that runs is no illness; one of a device that was never ready is. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=busy reason=\"claim alice is running\""), 0);
	CHECK(!sick(&t, "0000:05:02.0", 11000));
	CHECK_EQ(take(&t, "0000:06:00.0",
		      NIC " state=busy reason=\"claim alice is running\" iommu_group=16"),
		 0);
	CHECK_EQ(devices_judge(&t, 11000), UINT64_MAX);
	CHECK_STR(sick(&t, "0000:06:00.0", 11000), "claim alice is running");
	devices_free(&t);
}

DEFINE_TEST(a_group_is_one_pods)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=pending"), 0);
	/* From before our start: whose it is kubelet has yet to tell. */
	devices_judge(&t, 1000);
	CHECK_STR(
		sick(&t, "0000:05:01.0", 1000),
		"in its IOMMU group 14 0000:05:02.0 is allocated, and kubelet has not reported the "
		"pod yet");
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	/* We gave it: the same pod may be given the other one. */
	devices_find(&t, "0000:05:02.0")->given_at = 1000;
	devices_judge(&t, 1000);
	CHECK(!sick(&t, "0000:05:01.0", 2000));
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=a/b/c"), 0);
	devices_judge(&t, 1000);
	CHECK_STR(sick(&t, "0000:05:01.0", 1000), "its IOMMU group 14 is allocated to a/b/c");
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=claim:7"), 0);
	CHECK_STR(sick(&t, "0000:05:02.0", 1000), "it is allocated to a resource claim");
	devices_free(&t);
}

/* A PreStartContainerRequest. */
static const char start_one[] = "\x0a\x0c"
				"0000:05:01.0";

/* kubelet gave both away before it named either pod: then that tells. */
DEFINE_TEST(a_group_that_two_pods_got_is_neithers)
{
	static const struct {
		const char *a, *b; /* whose 05:01.0 and 05:02.0 are */
		int start;	   /* of 05:01.0 */
		const char *why;
	} rows[] = {
		{ "a/b/c", "none", 0, NULL },
		{ "a/b/c", "a/b/d", 0, NULL },
		{ "a/b/c", "pending", 0, NULL },
		{ "pending", "none", 0, NULL },
		{ "a/b/c", "a/bb/c", -EBUSY,
		  "allocated to a/b/c while 0000:05:02.0 in the same IOMMU group 14 is allocated "
		  "to a/bb/c; delete one of the pods" },
		{ "a/b/c", "claim:7", -EBUSY, "allocated to a/b/c while 0000:05:02.0" },
		{ "pending", "a/b/c", -EAGAIN,
		  "kubelet has not reported its pod yet; 0000:05:02.0 of its IOMMU group 14 is "
		  "a/b/c" },
		{ "pending", "pending", -EAGAIN, "is pending" },
		{ "none", "pending", -EAGAIN, "is pending" },
	};
	struct kubelet_request r;
	struct err err = { 0 };

	CHECK_EQ(request_prestart((const uint8_t *)start_one, sizeof(start_one) - 1, &r, &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct devices t = { 0 };
		char pairs[512];

		snprintf(pairs, sizeof(pairs), NIC " state=allocated allocated_to=%s", rows[i].a);
		CHECK_EQ(take(&t, "0000:05:01.0", pairs), 0);
		snprintf(pairs, sizeof(pairs), NIC " state=allocated allocated_to=%s", rows[i].b);
		CHECK_EQ(take(&t, "0000:05:02.0", pairs), 0);
		CHECK_EQ(request_alone(&t, "intel.com/NIC-X.1", &r, 1000, &err), rows[i].start);
		if (rows[i].why)
			CHECK_IN(err.text, rows[i].why);
		/* To kubelet's list the tree tells it. */
		devices_judge(&t, 1000);
		if (dev_allocated(devices_find(&t, "0000:05:01.0")))
			CHECK(!sick(&t, "0000:05:01.0", 1000));
		CHECK_EQ(take(&t, "0000:05:01.0",
			      NIC " state=unhealthy allocated_to=a/b/c reason=\"two pods\""),
			 0);
		devices_judge(&t, 1000);
		CHECK_IN(sick(&t, "0000:05:01.0", 1000), "two pods");
		devices_free(&t);
	}
	request_free(&r);
}

/* What one container asks for is one pod's. */
DEFINE_TEST(a_group_that_one_container_gets_is_its)
{
	static const char start[] = "\x0a\x0c"
				    "0000:05:01.0"
				    "\x0a\x0c"
				    "0000:05:02.0";
	struct devices t = { 0 };
	struct kubelet_request r;
	struct err err = { 0 };

	CHECK_EQ(request_prestart((const uint8_t *)start, sizeof(start) - 1, &r, &err), 0);
	CHECK_EQ(take(&t, "0000:05:01.0", NIC " state=allocated allocated_to=pending"), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=pending"), 0);
	CHECK_EQ(request_alone(&t, "intel.com/NIC-X.1", &r, 1000, &err), 0);
	CHECK_EQ(take(&t, "0000:05:03.0", NIC " state=allocated allocated_to=a/b/c"), 0);
	CHECK_EQ(request_alone(&t, "intel.com/NIC-X.1", &r, 1000, &err), -EAGAIN);
	CHECK_IN(err.text, "0000:05:03.0 of its IOMMU group 14 is a/b/c");
	request_free(&r);
	devices_free(&t);
}

/* Allocate was answered; the tree's line of that has yet to come. */
DEFINE_TEST(what_was_just_given_is_a_pods_already)
{
	static const struct {
		uint64_t given_at, now;
		int start;
	} rows[] = {
		{ 0, 500, 0 },
		{ 5000, 5000, -EAGAIN },
		{ 5000, 5999, -EAGAIN },
		{ 5000, 6000, 0 }, /* it has come meanwhile, and says that this was taken back */
		{ GIVEN_RUNNING + 1, 5000, 0 }, /* no pod has it, as yet */
	};
	struct devices t = { 0 };
	struct kubelet_request r;
	struct err err = { 0 };

	CHECK_EQ(request_prestart((const uint8_t *)start_one, sizeof(start_one) - 1, &r, &err), 0);
	CHECK_EQ(take(&t, "0000:05:01.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		devices_find(&t, "0000:05:02.0")->given_at = rows[i].given_at;
		CHECK_EQ(request_alone(&t, "intel.com/NIC-X.1", &r, rows[i].now, &err),
			 rows[i].start);
	}
	CHECK_IN(err.text, "0000:05:02.0 of its IOMMU group 14 is pending");
	request_free(&r);
	devices_free(&t);
}

/* An end that was noted before an Allocate is not written over it. */
DEFINE_TEST(what_was_thought_of_before_an_allocate_is_overtaken)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0", NIC), 0);
	CHECK_EQ(take(&t, "mdev/83b8f4f2", NIC), 0);
	devices_find(&t, "mdev/83b8f4f2")->given_at = 1000;
	CHECK_EQ(take(&t, "mdev/83b8f4f2", NIC " state=busy"), 0);
	CHECK(!devices_overtaken(&t, "0000:05:01.0/allocated_to none\n", 1000));
	CHECK(devices_overtaken(
		&t, "0000:05:01.0/allocated_to none\nmdev/83b8f4f2/allocated_to none\n", 1000));
	CHECK(!devices_overtaken(&t, "mdev/83b8f4f2/allocated_to none\n", 1001));
	devices_find(&t, "mdev/83b8f4f2")->given_at = UINT64_MAX;
	CHECK(devices_overtaken(&t, "mdev/83b8f4f2/allocated_to none\n", 1001));
	CHECK(!devices_overtaken(&t, "0000:09:00.0/allocated_to none", 0));
	devices_free(&t);
}

#define GIVEN " state=allocated allocated_as=intel.com/NIC-X.1 allocated_to="

/* kubelet counts it by the name that it gave it to the pod by. */
DEFINE_TEST(what_a_pod_has_is_renamed_when_it_is_free)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:02.0", NIC GIVEN "pending"), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " resource_name=x.com/Y" GIVEN "a/b/c"), 0);
	CHECK(!dev_given(devices_find(&t, "0000:05:02.0"), "intel.com/NIC-X.1"));
	CHECK(devices_of_kubelet(&t, "intel.com/NIC-X.1", "0000:05:02.0"));
	CHECK(!devices_of_kubelet(&t, "x.com/Y", "0000:05:02.0"));
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	/* The tree may have forgotten the pod. What ends it is kubelet's word. */
	CHECK_EQ(take(&t, "0000:05:02.0",
		      NIC " resource_name=x.com/Y allocated_as=intel.com/NIC-X.1"),
		 0);
	CHECK(devices_of_kubelet(&t, "intel.com/NIC-X.1", "0000:05:02.0"));
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " resource_name=x.com/Y allocated_as=none"), 0);
	CHECK(devices_of_kubelet(&t, "x.com/Y", "0000:05:02.0"));
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	devices_free(&t);
}

/* What is sick does not get well by an operation, and what is well stays so. */
DEFINE_TEST(an_op_leaves_it_what_it_was)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	devices_judge(&t, 1000);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=busy reason=act"), 0);
	devices_judge(&t, 2000);
	CHECK(!sick(&t, "0000:05:02.0", 2000));
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=unhealthy reason=unbound"), 0);
	devices_judge(&t, 3000);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=busy reason=act"), 0);
	devices_judge(&t, 4000);
	CHECK_STR(sick(&t, "0000:05:02.0", 9000), "act");
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(devices_judge(&t, 10000), 10000 + HEALTHY_AFTER_MS);
	CHECK(sick(&t, "0000:05:02.0", 10000));
	/* Nor does it free what its group's pod has. */
	CHECK_EQ(take(&t, "0000:05:01.0", NIC " state=allocated allocated_to=a/b/c"), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=busy reason=act"), 0);
	devices_judge(&t, 11000);
	CHECK(sick(&t, "0000:05:02.0", 11000));
	devices_free(&t);
}

/* By a name that another plugin may have it is not offered: by ours it would look free. */
DEFINE_TEST(what_another_gave_is_nobodys)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:02.0", NIC GIVEN "a/b/c"), 0);
	CHECK(dev_given(devices_find(&t, "0000:05:02.0"), "z.com/Z"));
	CHECK(!dev_given(devices_find(&t, "0000:05:02.0"), "z.com/Z"));
	CHECK(!devices_of_kubelet(&t, "z.com/Z", "0000:05:02.0"));
	CHECK_IN(sick(&t, "0000:05:02.0", 1000), "under another name than intel.com/NIC-X.1");
	CHECK_EQ(take(&t, "0000:05:02.0", NIC GIVEN "a/b/c"), 0);
	CHECK(sick(&t, "0000:05:02.0", 1000));
	/* The next pod has it from us. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC GIVEN "pending"), 0);
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	devices_free(&t);
}

static int check_nodes(const struct devices *t, const char *id, struct err *err)
{
	char *ids[] = { (char *)id };
	struct container c = { ids, 1 };
	const struct kubelet_request r = { &c, 1 };

	return request_nodes(t, "intel.com/NIC-X.1", &r, err);
}

/* kubelet gives a container what was answered before a reboot. */
DEFINE_TEST(nodes_that_moved_are_refused)
{
	struct devices t = { 0 };
	struct err err = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0",
		      NIC " nodes=\"/dev/vfio/vfio /dev/vfio/14 /dev/vfio/devices/vfio0\""),
		 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), -ENODEV);
	CHECK_IN(err.text, "it is not known which nodes the pod of 0000:05:02.0 was given");
	/* Given just now, whatever the tree has had time to tell. */
	dev_kept(&t, devices_find(&t, "0000:05:02.0"));
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " allocated_nodes=\"/dev/vfio/vfio /dev/vfio/13\""),
		 0);
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), -ENODEV);
	CHECK_STR(
		err.text,
		"0000:05:02.0 was given to its pod as /dev/vfio/vfio /dev/vfio/13 before a reboot and is "
		"/dev/vfio/vfio /dev/vfio/14 now; delete the pod, and its next one gets those");
	/* The pod has its peer's nodes as well. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " allocated_nodes=\"/dev/vfio/vfio /dev/vfio/14\""),
		 0);
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), 0);
	CHECK_EQ(take(&t, "0000:05:01.0",
		      NIC
		      " allocated_nodes=\"/dev/vfio/vfio /dev/vfio/14 /dev/vfio/devices/vfio0\" "
		      "nodes=\"/dev/vfio/vfio /dev/vfio/14 /dev/vfio/devices/vfio1\""),
		 0);
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), -ENODEV);
	CHECK_IN(err.text, "0000:05:01.0 was given");
	devices_free(&t);
}

/* VMD's domains have more than four digits, which KubeVirt refuses. */
DEFINE_TEST(what_kubevirt_cannot_take_is_not_offered)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "10000:e1:00.0", NIC), 0);
	CHECK_EQ(take(&t, "mdev/5c1f0a2e-0000-0000-0000-000000000001", NIC), 0);
	CHECK(!dev_offered(t.v[0]));
	CHECK(dev_offered(t.v[1]));
	devices_free(&t);
}
