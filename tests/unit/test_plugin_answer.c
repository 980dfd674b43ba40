// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

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
	CHECK_EQ(take(&t, "0000:06:00.0",
		      NIC " numa_node=1 iommu_group=16 state=held reason=\"held open\""),
		 0);
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
	struct kubelet_request r;
	struct err err = { 0 };
	struct out o = { 0 };
	V1beta1__AllocateResponse *m;
	V1beta1__ContainerAllocateResponse *c;
	uint8_t buf[256];

	CHECK_EQ(take(&t, "0000:05:01.0",
		      NIC " nodes=\"/dev/vfio/vfio /dev/vfio/14 /dev/vfio/devices/vfio3\""),
		 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_EQ(take(&t, "0000:06:00.0",
		      NIC " iommu_group=16 nodes=\"/dev/vfio/vfio /dev/vfio/16\""),
		 0);
	devices_judge(&t, 1000);
	CHECK_EQ(request_allocate(buf, pack_allocate(buf, ids, 2), &r, &err), 0);
	CHECK_EQ(request_check(&t, "intel.com/NIC-X.1", &r, 1000, &err), 0);
	CHECK_EQ(answer_allocate(&t, "intel.com/NIC-X.1", &r, "/host/dev", "pcidevfs/device", &o,
				 &err),
		 0);
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

/* Also where the tree has noted the new name before the answer. */
DEFINE_TEST(only_who_has_it_goes_on_by_its_former_name)
{
	char *ids[] = { (char *)"0000:05:02.0" };
	struct devices t = { 0 };
	struct kubelet_request r;
	struct err err = { 0 };
	uint8_t buf[256];

	CHECK_EQ(take(&t, "0000:05:02.0",
		      NIC " resource_name=x.com/Y allocated_as=intel.com/NIC-X.1"),
		 0);
	devices_judge(&t, 1000);
	CHECK_EQ(request_allocate(buf, pack_allocate(buf, ids, 1), &r, &err), 0);
	CHECK_EQ(request_check(&t, "intel.com/NIC-X.1", &r, 1000, &err), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(request_names(&t, "intel.com/NIC-X.1", &r, &err), -ENODEV);
		CHECK_STR(err.text,
			  "0000:05:02.0 is called x.com/Y now, and intel.com/NIC-X.1 only for the "
			  "pod that had it before; ask for the present name");
		CHECK_EQ(
			take(&t, "0000:05:02.0", NIC " resource_name=x.com/Y allocated_as=x.com/Y"),
			0);
	}
	CHECK_EQ(request_names(&t, "x.com/Y", &r, &err), 0);
	request_free(&r);
	devices_free(&t);
}

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

DEFINE_TEST(as_large_an_allocation_as_may_be_takes_little)
{
	static char text[IDS_MAX][16], *ids[IDS_MAX];
	static uint8_t buf[1 << 20];
	struct devices t = { 0 };
	struct kubelet_request r;
	struct err err = { 0 };
	struct out o = { 0 };
	V1beta1__AllocateResponse *m;
	long before;

	for (size_t i = 0; i < IDS_MAX; i++) {
		char pairs[512];

		ids[i] = text[i];
		snprintf(text[i], sizeof(text[i]), "d%zu", i);
		snprintf(pairs, sizeof(pairs),
			 NIC " iommu_group=%zu nodes=\"/dev/vfio/vfio /dev/vfio/%zu\"", i, i);
		CHECK_EQ(take(&t, text[i], pairs), 0);
	}
	CHECK_EQ(request_allocate(buf, pack_allocate(buf, ids, IDS_MAX), &r, &err), 0);
	before = peak_kib();
	CHECK_EQ(answer_allocate(&t, "intel.com/NIC-X.1", &r, "/dev", NULL, &o, &err), 0);
	if (peak_kib() > before + (16 << 10))
		FAIL("%ld KiB have become %ld", before, peak_kib());
	m = v1beta1__allocate_response__unpack(NULL, o.len, (const uint8_t *)o.data);
	CHECK_EQ(m->container_responses[0]->n_devices, IDS_MAX + 1);
	v1beta1__allocate_response__free_unpacked(m, NULL);
	out_free(&o);
	request_free(&r);
	devices_free(&t);
}

DEFINE_TEST(an_allocation_is_of_one_kind)
{
	char *ids[] = { (char *)"0000:05:02.0", (char *)"5c1f" };
	struct devices t = { 0 };
	struct kubelet_request r;
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
	V1beta1__ContainerPreferredAllocationRequest
		c = V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT,
		*list = &c;
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
	CHECK_EQ(answer_preferred(t, "intel.com/NIC-X.1", buf,
				  v1beta1__preferred_allocation_request__pack(&q, buf), &o, &err),
		 0);
	m = v1beta1__preferred_allocation_response__unpack(NULL, o.len,
							   (const uint8_t *)out_text(&o));
	for (size_t i = 0; i < m->container_responses[0]->n_deviceids; i++) {
		strcat(got, i ? " " : "");
		strcat(got, m->container_responses[0]->deviceids[i]);
	}
	CHECK_STR(got, expected);
	v1beta1__preferred_allocation_response__free_unpacked(m, NULL);
	out_free(&o);
}

/* All containers together: while one request is answered no other is. */
DEFINE_TEST(a_request_for_too_many_is_refused)
{
	V1beta1__ContainerPreferredAllocationRequest
		p = V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT,
		*ps[2] = { &p, &p };
	V1beta1__PreferredAllocationRequest pq = V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
	V1beta1__ContainerAllocateRequest a = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT,
					  *as[2] = { &a, &a };
	V1beta1__AllocateRequest aq = V1BETA1__ALLOCATE_REQUEST__INIT;
	static uint8_t buf[1 << 20];
	static char *ids[IDS_MAX / 2 + 1], text[IDS_MAX / 2 + 1][8];
	struct devices t = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		snprintf(text[i], sizeof(text[i]), "%zu", i);
		ids[i] = text[i];
	}
	p.available_deviceids = p.must_include_deviceids = a.devices_ids = ids;
	pq.container_requests = ps;
	aq.container_requests = as;
	pq.n_container_requests = aq.n_container_requests = 2;
	for (size_t n = IDS_MAX / 2; n <= IDS_MAX / 2 + 1; n++) {
		int refused = n > IDS_MAX / 2 ? -EINVAL : 0;
		struct out o = { 0 };
		struct kubelet_request r = { 0 };

		p.n_available_deviceids = a.n_devices_ids = n;
		p.n_must_include_deviceids = 0;
		CHECK_EQ(answer_preferred(&t, "x", buf,
					  v1beta1__preferred_allocation_request__pack(&pq, buf), &o,
					  &err),
			 refused);
		p.n_must_include_deviceids = n;
		p.n_available_deviceids = 0;
		CHECK_EQ(answer_preferred(&t, "x", buf,
					  v1beta1__preferred_allocation_request__pack(&pq, buf), &o,
					  &err),
			 refused);
		CHECK_EQ(request_allocate(buf, v1beta1__allocate_request__pack(&aq, buf), &r, &err),
			 refused);
		request_free(&r);
		out_free(&o);
	}
	CHECK_STR(err.text,
		  "4098 devices for 2 containers are asked for at once; at most 4096 can be");
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
	check_preferred(&t, "a c d", "a", 2, "a c"); /* its peer is not to be had */
	check_preferred(&t, "a b c d e", "b", 2, "a b");
	check_preferred(&t, "a b c d e", "c", 2, "c d");
	check_preferred(&t, "c d", "", 0, "");
	check_preferred(&t, "c c d", "c", 2, "c d"); /* what is named twice is one */
	devices_free(&t);
}

/* Allocate refuses a mixture: a, b: PCI functions; mdev/e, freed last, and mdev/f. */
DEFINE_TEST(preferred_are_of_one_bus)
{
	struct devices t = { 0 };

	CHECK_EQ(take(&t, "a", NIC " numa_node=0 iommu_group=1"), 0);
	CHECK_EQ(take(&t, "b", NIC " numa_node=1 iommu_group=2"), 0);
	CHECK_EQ(take(&t, "mdev/e", NIC " numa_node=1 iommu_group=3 allocated_to=x/y/z"), 0);
	CHECK_EQ(take(&t, "mdev/e", NIC " numa_node=1 iommu_group=3"), 0);
	check_preferred(&t, "a b e", "", 2, "a b");
	check_preferred(&t, "a b e", "", 1, "e");
	check_preferred(&t, "a b e", "a", 2, "a b");
	CHECK_EQ(take(&t, "mdev/f", NIC " numa_node=1 iommu_group=4"), 0);
	check_preferred(&t, "a b e f", "", 2, "e f");
	check_preferred(&t, "a b e f", "b", 2, "a b");
	check_preferred(&t, "a b e f", "f", 2, "e f");
	devices_free(&t);
}

DEFINE_TEST(a_checkpoint_counts_while_the_pod_has_its_directory)
{
	struct checkpoint *c;
	struct err err = { 0 };
	char path[256];

	CHECK_EQ(checkpoint_load(test_dir(), &c, &err), -ENOENT);
	test_file(
		"device-plugins/kubelet_internal_checkpoint",
		"{\"Data\":{\"PodDeviceEntries\":["
		"{\"PodUID\":\"u1\",\"ContainerName\":\"c\",\"ResourceName\":\"r\",\"DeviceIDs\":{\"-1\":[\"a\"]}},"
		"{\"PodUID\":\"u2\",\"DeviceIDs\":[\"b\"]},{\"PodUID\":\"../x\",\"DeviceIDs\":[\"c\"]},"
		"{\"PodUID\":\"u4\",\"DeviceIDs\":{\"0\":null,\"1\":[\"d\",\"e\"]}},"
		"{\"PodUID\":\"u5\",\"DeviceIDs\":[\"f\"]}]},\"Checksum\":1}");
	test_file("pods/u1/etc-hosts", "");
	test_file("pods/u4/etc-hosts", "");
	test_file("x/etc-hosts", "");
	snprintf(path, sizeof(path), "%s/pods/u5", test_dir());
	CHECK(!symlink("u5", path)); /* no look at it succeeds */
	CHECK_EQ(checkpoint_load(test_dir(), &c, &err), 0);
	CHECK(checkpoint_holds(c, "a"));
	CHECK(!checkpoint_holds(c, "b"));
	CHECK(!checkpoint_holds(c, "c"));
	CHECK(checkpoint_holds(c, "e"));
	CHECK(checkpoint_holds(c, "f"));
	checkpoint_free(c);
	test_file("device-plugins/kubelet_internal_checkpoint", "{\"Data\":[");
	CHECK_EQ(checkpoint_load(test_dir(), &c, &err), -EBADMSG);
	snprintf(path, sizeof(path), "%s/device-plugins/kubelet_internal_checkpoint", test_dir());
	CHECK(!truncate(path, (16 << 20) + 1));
	CHECK_EQ(checkpoint_load(test_dir(), &c, &err), -EFBIG);
	CHECK_STR(err.text, "kubelet's checkpoint is not a regular file of at most 16 MiB");
}

/* Else a kubelet of another release would have forgotten all its pods. */
DEFINE_TEST(a_checkpoint_of_another_form_forgets_nobody)
{
	static const char *const bad[] = {
		"",
		"null",
		"[]",
		"{}",
		"{\"Data\":{}}",
		"{\"Data\":{\"PodDeviceEntries\":{}}}",
		"{\"Data\":{\"PodDeviceEntries\":[9]}}",
		"{\"Data\":{\"PodDeviceEntries\":[{\"DeviceIDs\":[]}]}}",
		"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":7,\"DeviceIDs\":[]}]}}",
		"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\"}]}}",
		"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"DeviceIDs\":\"a\"}]}}",
		"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"DeviceIDs\":[{}]}]}}",
		"{\"Data\":{\"PodDeviceEntries\":[{\"PodUID\":\"u\",\"DeviceIDs\":{\"0\":7}}]}}",
	};
	static const char nobody[] = "{\"Data\":{\"PodDeviceEntries\":null}}";
	struct checkpoint *c = checkpoint_parse(nobody, strlen(nobody), test_dir());
	struct err err = { 0 };
	char far[PATH_MAX] = "/";

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!checkpoint_parse(bad[i], strlen(bad[i]), test_dir()));
	CHECK(c);
	CHECK(!checkpoint_holds(c, "a"));
	checkpoint_free(c);
	/* Nor has one that cannot be looked for. */
	memset(far + 1, 'x', sizeof(far) - 2);
	CHECK_EQ(checkpoint_load(far, &c, &err), -ENAMETOOLONG);
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
	/* No path leads out of it. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " nodes=\"/dev/../etc/shadow /dev/vfio/14 /etc\""),
		 0);
	cdi_text(&t, "/host/dev", &o);
	CHECK_IN(o.data, "\"hostPath\":\"/host/dev/vfio/14\"");
	CHECK(!strstr(o.data, "etc"));
	out_free(&o);
	devices_free(&t);
}
