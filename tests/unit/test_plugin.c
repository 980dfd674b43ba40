// SPDX-License-Identifier: GPL-2.0-or-later
/* What kubelet is told, from lines of inventory: the deciding part of the plugin. */
#include <errno.h>
#include <string.h>

#include "../../client/record.h"
#include "../../plugin/answer.h"
#include "../../plugin/bus.h"
#include "../../plugin/cdi.h"
#include "../../plugin/checkpoint.h"
#include "../../plugin/devices.h"
#include "deviceplugin.pb-c.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

static int take(struct devices *t, const char *id, const char *pairs)
{
	char copy[1024];

	STR_COPY(copy, pairs);
	return devices_take(t, id, copy);
}

#define NIC "vendor=0x8086 numa_node=-1 resource_name=intel.com/NIC-X.1 claim=alice iommu_group=14 " \
	    "nodes=\"/dev/vfio/vfio /dev/vfio/14\" state=claimed reason=\"claimed by alice\" allocated_to=none"

DEFINE_TEST(a_record_is_taken_apart_in_place)
{
	char line[] = "0000:05:02.0 a=1 b=\"two words\" c=\"q\\\"\\\\\\x0a\" d= e";
	char *cursor = line;
	struct pair p;

	CHECK_EQ(record_next(&cursor, &p), 1);
	CHECK_STR(p.key, "");
	CHECK_STR(p.value, "0000:05:02.0");
	CHECK_EQ(record_next(&cursor, &p), 1);
	CHECK_STR(p.value, "1");
	CHECK_EQ(record_next(&cursor, &p), 1);
	CHECK_STR(p.value, "two words");
	CHECK_EQ(record_next(&cursor, &p), 1);
	CHECK_STR(p.key, "c");
	CHECK_STR(p.value, "q\"\\\n");
	CHECK_EQ(record_next(&cursor, &p), 1);
	CHECK_STR(p.value, "");
	CHECK_EQ(record_next(&cursor, &p), 1);
	CHECK_STR(p.value, "e");
	CHECK_EQ(record_next(&cursor, &p), 0);
}

DEFINE_TEST(a_record_of_another_form_is_refused)
{
	static const char *const bad[] = { "a=\"open", "a=\"x\\", "a=\"\\q\"", "a=\"\\x4\"", "a=\"\\x00\"",
					   "a=\"x\"y", "w\"ord", "a=\"\\x" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char line[32], *cursor = line;
		struct pair p;

		STR_COPY(line, bad[i]);
		CHECK_EQ(record_next(&cursor, &p), -EINVAL);
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
	struct dev d = { .id = (char *)"0000:05:02.0", .resource = (char *)"intel.com/NIC-X.1a" };
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
		snprintf(pairs, sizeof(pairs), "claim=a resource_name=v.com/%d iommu_group=%d", i % 5, i * 13 % 8 - 1);
		if (i % 11 == 3)
			devices_drop(&t, id);
		else
			CHECK_EQ(take(&t, id, pairs), 0);
		for (size_t k = 0; k < t.n; k++) {
			struct dev *const *group = devices_group(&t, t.v[k], &n);
			size_t same = 0, there = 0;

			CHECK(!k || strcmp(t.v[k - 1]->id, t.v[k]->id) < 0);
			for (size_t j = 0; j < t.n; j++)
				same += t.v[j] == t.v[k] || (t.v[k]->group >= 0 && t.v[j]->group == t.v[k]->group);
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
	/* An act that runs is no illness; one of a device that was never ready is. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=busy reason=\"claim alice is running\""), 0);
	CHECK(!sick(&t, "0000:05:02.0", 11000));
	CHECK_EQ(take(&t, "0000:06:00.0", NIC " state=busy reason=\"claim alice is running\" iommu_group=16"), 0);
	CHECK_EQ(devices_judge(&t, 11000), UINT64_MAX);
	CHECK_STR(sick(&t, "0000:06:00.0", 11000), "claim alice is running");
	devices_free(&t);
}

DEFINE_TEST(a_group_is_one_pods)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=pending"), 0);
	devices_judge(&t, 1000);
	CHECK(!sick(&t, "0000:05:01.0", 1000));
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=a/b/c"), 0);
	devices_judge(&t, 1000);
	CHECK_STR(sick(&t, "0000:05:01.0", 1000), "its IOMMU group 14 is with a/b/c");
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=claim:7"), 0);
	CHECK_STR(sick(&t, "0000:05:02.0", 1000), "it is with a resource claim");
	devices_free(&t);
}

/* Allocate is answered when the tree has recorded it; lines of before may come after that. */
DEFINE_TEST(an_older_line_does_not_undo_what_was_given)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=a/b/c"), 0);
	dev_given(devices_find(&t, "0000:05:02.0"), "intel.com/NIC-X.1", true);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=pending"), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " resource_name=x.com/Y state=allocated allocated_to=d/e/f"), 0);
	CHECK_STR(dev_resource(devices_find(&t, "0000:05:02.0")), "intel.com/NIC-X.1");
	/* It is over: nothing is left of it for the next. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " resource_name=x.com/Y"), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " resource_name=x.com/Y state=allocated allocated_to=g/h/i"), 0);
	CHECK_STR(dev_resource(devices_find(&t, "0000:05:02.0")), "x.com/Y");
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
	CHECK(devices_overtaken(&t, "0000:05:01.0/allocated_to none\nmdev/83b8f4f2/allocated_to none\n", 1000));
	CHECK(!devices_overtaken(&t, "mdev/83b8f4f2/allocated_to none\n", 1001));
	devices_find(&t, "mdev/83b8f4f2")->given_at = UINT64_MAX;
	CHECK(devices_overtaken(&t, "mdev/83b8f4f2/allocated_to none\n", 1001));
	CHECK(!devices_overtaken(&t, "0000:09:00.0/allocated_to none", 0));
	devices_free(&t);
}

/* kubelet counts it by the name that it gave it to the pod by. */
DEFINE_TEST(what_a_pod_has_is_renamed_when_it_is_free)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:02.0", NIC " state=allocated allocated_to=pending"), 0);
	dev_given(devices_find(&t, "0000:05:02.0"), "intel.com/NIC-X.1", true);
	dev_given(devices_find(&t, "0000:05:02.0"), "intel.com/NIC-X.1", false);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " resource_name=x.com/Y state=allocated allocated_to=a/b/c"), 0);
	CHECK(devices_of_kubelet(&t, "intel.com/NIC-X.1", "0000:05:02.0"));
	CHECK(!devices_of_kubelet(&t, "x.com/Y", "0000:05:02.0"));
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	/* Not so by a name that another plugin may have: it would look free by ours. */
	dev_given(devices_find(&t, "0000:05:02.0"), "z.com/Z", false);
	CHECK(devices_of_kubelet(&t, "x.com/Y", "0000:05:02.0"));
	CHECK_IN(sick(&t, "0000:05:02.0", 1000), "under the name that it had before");
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " resource_name=x.com/Y"), 0);
	CHECK(devices_of_kubelet(&t, "x.com/Y", "0000:05:02.0"));
	CHECK(!sick(&t, "0000:05:02.0", 1000));
	devices_free(&t);
}

static int check_nodes(const struct devices *t, const char *id, struct err *err)
{
	char *ids[] = { (char *)id };
	struct container c = { ids, 1 };
	const struct request r = { &c, 1 };

	return request_nodes(t, "intel.com/NIC-X.1", &r, err);
}

/* kubelet gives a container what was answered before a reboot. */
DEFINE_TEST(nodes_that_moved_are_refused)
{
	struct devices t = { 0 };
	struct err err = { 0 };

	CHECK_EQ(take(&t, "0000:05:01.0", NIC " nodes=\"/dev/vfio/vfio /dev/vfio/14 /dev/vfio/devices/vfio0\""), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), -ENODEV);
	CHECK_IN(err.text, "nobody knows which nodes the pod of 0000:05:02.0 was given");
	/* Given just now, whatever the tree has had time to tell. */
	dev_kept(&t, devices_find(&t, "0000:05:02.0"));
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " allocated_nodes=\"/dev/vfio/vfio /dev/vfio/13\""), 0);
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), -ENODEV);
	CHECK_STR(err.text, "0000:05:02.0 was given to its pod as /dev/vfio/vfio /dev/vfio/13 before a reboot and is "
			    "/dev/vfio/vfio /dev/vfio/14 now; delete the pod, and its next one gets those");
	/* The pod has its mate's nodes as well. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " allocated_nodes=\"/dev/vfio/vfio /dev/vfio/14\""), 0);
	CHECK_EQ(check_nodes(&t, "0000:05:02.0", &err), 0);
	CHECK_EQ(take(&t, "0000:05:01.0", NIC " allocated_nodes=\"/dev/vfio/vfio /dev/vfio/14 /dev/vfio/devices/vfio0\" "
					      "nodes=\"/dev/vfio/vfio /dev/vfio/14 /dev/vfio/devices/vfio1\""), 0);
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

DEFINE_TEST(each_bus_has_its_ids_directory_and_variable)
{
	static const struct {
		const char *id, *kubelet, *directory, *variable;
	} rows[] = {
		{ "0000:05:02.0", "0000:05:02.0", "devices", "PCI_RESOURCE_INTEL_COM_NIC-X_1" },
		{ "mdev/5c1f0a2e", "5c1f0a2e", "mdevs", "MDEV_PCI_RESOURCE_INTEL_COM_NIC-X_1" },
		{ "usb/2-1", "2-1", "usb", "USB_RESOURCE_INTEL_COM_NIC-X_1" },
	};
	struct devices t = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out variable = { 0 };
		struct dev *d;

		CHECK_EQ(take(&t, rows[i].id, NIC), 0);
		d = devices_find(&t, rows[i].id);
		CHECK_STR(dev_kubelet_id(d), rows[i].kubelet);
		CHECK_STR(bus_of(d)->directory, rows[i].directory);
		answer_variable(d, &variable);
		CHECK_STR(out_text(&variable), rows[i].variable);
		out_free(&variable);
		CHECK(devices_of_kubelet(&t, "intel.com/NIC-X.1", rows[i].kubelet) == d);
	}
	devices_free(&t);
}

static V1beta1__ListAndWatchResponse *list_of(struct devices *t, const char *resource)
{
	V1beta1__ListAndWatchResponse *m;
	struct out o = { 0 };
	size_t n, from = 0, to;
	struct dev **v = devices_offered(t, &n);

	devices_judge(t, 1000);
	while (from < n && strcmp(dev_resource(v[from]), resource))
		from++;
	for (to = from; to < n && !strcmp(dev_resource(v[to]), resource); to++)
		;
	answer_list(t, v + from, to - from, 1000, false, &o);
	free(v);
	m = v1beta1__list_and_watch_response__unpack(NULL, o.len, (const uint8_t *)out_text(&o));
	out_free(&o);
	return m;
}

DEFINE_TEST(the_list_has_health_and_the_node_that_is_known)
{
	V1beta1__ListAndWatchResponse *m;
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:06:00.0", NIC " numa_node=1 iommu_group=16 state=held reason=\"held open\""), 0);
	CHECK_EQ(take(&t, "0000:07:00.0", NIC " iommu_group=17 state=unhealthy reason=gone"), 0);
	m = list_of(&t, "intel.com/NIC-X.1");
	CHECK(m);
	CHECK_EQ(m->n_devices, 2); /* the last was never usable */
	CHECK_STR(m->devices[0]->health, "Healthy");
	CHECK(!m->devices[0]->topology);
	CHECK_STR(m->devices[1]->health, "Unhealthy");
	CHECK_EQ(m->devices[1]->topology->nodes[0]->id, 1);
	v1beta1__list_and_watch_response__free_unpacked(m, NULL);
	devices_free(&t);
}

static size_t pack_allocate(uint8_t *buf, char **ids, size_t n)
{
	V1beta1__AllocateRequest q = V1BETA1__ALLOCATE_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest c = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT, *list = &c;

	c.devices_ids = ids;
	c.n_devices_ids = n;
	q.container_requests = &list;
	q.n_container_requests = 1;
	return v1beta1__allocate_request__pack(&q, buf);
}

/* Sorted, only what was asked for in the variable, all nodes of the group once. */
DEFINE_TEST(an_allocation_lists_what_was_asked_and_all_its_nodes)
{
	char *ids[] = { (char *)"0000:06:00.0", (char *)"0000:05:02.0" };
	struct devices t = { 0 };
	struct request r;
	struct err err = { 0 };
	struct out o = { 0 };
	V1beta1__AllocateResponse *m;
	V1beta1__ContainerAllocateResponse *c;
	uint8_t buf[256];

	CHECK_EQ(take(&t, "0000:05:01.0", NIC " nodes=\"/dev/vfio/vfio /dev/vfio/14 /dev/vfio/devices/vfio3\""), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:06:00.0", NIC " iommu_group=16 nodes=\"/dev/vfio/vfio /dev/vfio/16\""), 0);
	devices_judge(&t, 1000);
	CHECK_EQ(request_allocate(buf, pack_allocate(buf, ids, 2), &r, &err), 0);
	CHECK_EQ(request_check(&t, "intel.com/NIC-X.1", &r, 1000, &err), 0);
	CHECK_EQ(answer_allocate(&t, "intel.com/NIC-X.1", &r, "/host/dev", "pcidevfs/device", &o, &err), 0);
	m = v1beta1__allocate_response__unpack(NULL, o.len, (const uint8_t *)o.data);
	CHECK_EQ(m->n_container_responses, 1);
	c = m->container_responses[0];
	CHECK_EQ(c->n_envs, 1);
	CHECK_STR(c->envs[0]->key, "PCI_RESOURCE_INTEL_COM_NIC-X_1");
	CHECK_STR(c->envs[0]->value, "0000:05:02.0,0000:06:00.0");
	CHECK_EQ(c->n_devices, 4);
	CHECK_STR(c->devices[0]->container_path, "/dev/vfio/vfio");
	CHECK_STR(c->devices[1]->host_path, "/host/dev/vfio/14");
	CHECK_STR(c->devices[2]->container_path, "/dev/vfio/devices/vfio3");
	CHECK_STR(c->devices[3]->permissions, "mrw");
	CHECK_STR(c->cdi_devices[1]->name, "pcidevfs/device=0000:06:00.0");
	v1beta1__allocate_response__free_unpacked(m, NULL);
	out_free(&o);
	request_free(&r);
	devices_free(&t);
}

DEFINE_TEST(an_allocation_is_of_one_kind)
{
	char *ids[] = { (char *)"0000:05:02.0", (char *)"5c1f" };
	struct devices t = { 0 };
	struct request r;
	struct err err = { 0 };
	struct out o = { 0 };
	uint8_t buf[256];

	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(take(&t, "mdev/5c1f", NIC), 0);
	CHECK_EQ(request_allocate(buf, pack_allocate(buf, ids, 2), &r, &err), 0);
	CHECK_EQ(answer_allocate(&t, "intel.com/NIC-X.1", &r, "/dev", NULL, &o, &err), -EINVAL);
	CHECK_IN(err.text, "under one name");
	request_free(&r);
	devices_free(&t);
}

static void check_preferred(struct devices *t, const char *available, const char *must, int size,
			    const char *expected)
{
	V1beta1__ContainerPreferredAllocationRequest c = V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT, *list = &c;
	V1beta1__PreferredAllocationRequest q = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__PreferredAllocationResponse *m;
	char *a[16], *b[16], copy[2][512], got[512] = "";
	struct out o = { 0 };
	struct err err = { 0 };
	uint8_t buf[1024];
	char *save;

	STR_COPY(copy[0], available);
	STR_COPY(copy[1], must);
	c.available_deviceids = a;
	c.must_include_deviceids = b;
	for (char *w = strtok_r(copy[0], " ", &save); w; w = strtok_r(NULL, " ", &save))
		a[c.n_available_deviceids++] = w;
	for (char *w = strtok_r(copy[1], " ", &save); w; w = strtok_r(NULL, " ", &save))
		b[c.n_must_include_deviceids++] = w;
	c.allocation_size = size;
	q.container_requests = &list;
	q.n_container_requests = 1;
	CHECK_EQ(answer_preferred(t, "intel.com/NIC-X.1", buf, v1beta1__preferred_allocation_request__pack(&q, buf), &o,
				  &err), 0);
	m = v1beta1__preferred_allocation_response__unpack(NULL, o.len, (const uint8_t *)out_text(&o));
	for (size_t i = 0; i < m->container_responses[0]->n_deviceids; i++) {
		strcat(got, i ? " " : "");
		strcat(got, m->container_responses[0]->deviceids[i]);
	}
	CHECK_STR(got, expected);
	v1beta1__preferred_allocation_response__free_unpacked(m, NULL);
	out_free(&o);
}

/* a, b: a group of two on node 0; c, d: groups of their own on node 1; e: on node 0, freed last. */
DEFINE_TEST(preferred_are_whole_groups_of_one_node_then_what_was_freed_last)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "a", NIC " numa_node=0 iommu_group=1"), 0);
	CHECK_EQ(take(&t, "b", NIC " numa_node=0 iommu_group=1"), 0);
	CHECK_EQ(take(&t, "c", NIC " numa_node=1 iommu_group=2"), 0);
	CHECK_EQ(take(&t, "d", NIC " numa_node=1 iommu_group=3"), 0);
	CHECK_EQ(take(&t, "e", NIC " numa_node=0 iommu_group=4 allocated_to=x/y/z"), 0);
	CHECK_EQ(take(&t, "e", NIC " numa_node=0 iommu_group=4"), 0);
	check_preferred(&t, "a b c d e", "", 2, "a b");
	check_preferred(&t, "a b c d e", "", 1, "e");
	check_preferred(&t, "c d e", "", 2, "c d");
	check_preferred(&t, "a c d", "a", 2, "a c"); /* its mate is not to be had */
	check_preferred(&t, "a b c d e", "b", 2, "a b");
	check_preferred(&t, "a b c d e", "c", 2, "c d");
	check_preferred(&t, "c d", "", 0, "");
	check_preferred(&t, "c c d", "c", 2, "c d"); /* what is named twice is one */
	devices_free(&t);
}

DEFINE_TEST(a_checkpoint_counts_while_the_pod_has_its_directory)
{
	struct json_object *c;
	bool none;

	CHECK(!checkpoint_load(test_dir(), &none));
	CHECK(none);
	test_file("device-plugins/kubelet_internal_checkpoint",
		  "{\"Data\":{\"PodDeviceEntries\":["
		  "{\"PodUID\":\"u1\",\"ContainerName\":\"c\",\"ResourceName\":\"r\",\"DeviceIDs\":{\"-1\":[\"a\"]}},"
		  "{\"PodUID\":\"u2\",\"DeviceIDs\":[\"b\"]},{\"PodUID\":\"../x\",\"DeviceIDs\":[\"c\"]},"
		  "{\"PodUID\":7,\"DeviceIDs\":{\"0\":7}},9]},\"Checksum\":1}");
	test_file("pods/u1/etc-hosts", "");
	c = checkpoint_load(test_dir(), &none);
	CHECK(c);
	CHECK(checkpoint_holds(c, test_dir(), "a"));
	CHECK(!checkpoint_holds(c, test_dir(), "b"));
	CHECK(!checkpoint_holds(c, test_dir(), "c"));
	checkpoint_free(c);
	test_file("device-plugins/kubelet_internal_checkpoint", "{\"Data\":[");
	CHECK(!checkpoint_load(test_dir(), &none));
	CHECK(!none);
	CHECK(!checkpoint_holds(NULL, test_dir(), "a"));
}

DEFINE_TEST(a_cdi_spec_has_a_device_for_each_that_is_offered)
{
	struct devices t = { 0 };
	struct out o = { 0 };

	cdi_text(&t, "/dev", &o);
	CHECK_EQ(o.len, 0); /* a spec without devices is not legal */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	cdi_text(&t, "/host/dev", &o);
	CHECK_IN(o.data, "\"cdiVersion\":\"0.5.0\"");
	CHECK_IN(o.data, "\"kind\":\"pcidevfs/device\"");
	CHECK_IN(o.data, "\"name\":\"0000:05:02.0\"");
	CHECK_IN(o.data, "\"hostPath\":\"/host/dev/vfio/14\"");
	out_free(&o);
	devices_free(&t);
}
