// SPDX-License-Identifier: GPL-2.0-or-later
/* By which id, directory and variable kubelet and VMs know a device. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "deviceplugin.pb-c.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "plugin/kubelet/answer.h"
#include "plugin/kubelet/devices.h"
#include "plugindev.h"
#include "test.h"

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
	/* A VF that is one mediated device. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " mdev_uuid=5c1f0a2f"), 0);
	CHECK_STR(dev_kubelet_id(t.v[0]), "5c1f0a2f");
	CHECK_STR(bus_of(t.v[0])->variable, "MDEV_PCI");
	CHECK(devices_of_kubelet(&t, "intel.com/NIC-X.1", "5c1f0a2f") == t.v[0]);
	CHECK(!devices_of_kubelet(&t, "intel.com/NIC-X.1", "0000:05:02.0"));
	CHECK(!strcmp(bus_of(t.v[0])->directory, "devices"));
	devices_free(&t);
}

DEFINE_TEST(a_vgpu_without_its_mediated_device_stays_what_it_is_for_kubelet)
{
	static const char without[] = NIC " nodes=none state=unhealthy allocated_to=x/y/z";
	struct devices t = { 0 };
	uint64_t shape;

	CHECK_EQ(take(&t, "0000:05:02.0", NIC " mdev_uuid=5c1f allocated_to=x/y/z"), 0);
	shape = t.shape;
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(take(&t, "0000:05:02.0", without), 0);
		CHECK_STR(dev_kubelet_id(t.v[0]), "5c1f");
		CHECK(devices_of_kubelet(&t, NULL, "5c1f") == t.v[0]);
		CHECK(!devices_of_kubelet(&t, NULL, "0000:05:02.0"));
	}
	/* Another one under the same number: who finds devices by the id must learn of it. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " mdev_uuid=5c1f allocated_to=x/y/z"), 0);
	CHECK(t.shape != shape);
	shape = t.shape;
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " mdev_uuid=5c20 allocated_to=x/y/z"), 0);
	CHECK_STR(dev_kubelet_id(t.v[0]), "5c20");
	CHECK(t.shape != shape);
	/* A function that guests can have as it is. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC), 0);
	CHECK_STR(dev_kubelet_id(t.v[0]), "0000:05:02.0");
	/* Nobody's any more, then claimed again. */
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " mdev_uuid=5c20"), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", NIC " claim=none"), 0);
	CHECK_EQ(take(&t, "0000:05:02.0", without), 0);
	CHECK_STR(dev_kubelet_id(t.v[0]), "0000:05:02.0");
	devices_free(&t);
}

#define STICK                                                                                      \
	"numa_node=-1 resource_name=kubevirt.io/usb-0627-0001 claim=alice busnum=%d devnum=%d "     \
	"nodes=/dev/bus/usb/%03d/%03d state=claimed allocated_to=none"

static V1beta1__AllocateResponse *allocate(const struct devices *t, char *a, char *b,
					   struct err *err)
{
	struct container c = { .ids = (char *[]){ a, b }, .n = 2 };
	const struct kubelet_request r = { .v = &c, .n = 1 };
	V1beta1__AllocateResponse *m = NULL;
	struct out o = { 0 };

	if (!answer_allocate(t, "kubevirt.io/usb-0627-0001", &r, "/dev", NULL, &o, err))
		m = v1beta1__allocate_response__unpack(NULL, o.len, (const uint8_t *)o.data);
	out_free(&o);
	return m;
}

/* KubeVirt finds a USB device by the numbers of the moment, kubelet by its port. */
DEFINE_TEST(a_usb_device_is_in_its_variable_by_its_numbers)
{
	char one[] = "1-1", two[] = "2-1.3", nic[] = "0000:05:02.0", line[256];
	V1beta1__ContainerAllocateResponse *c;
	V1beta1__AllocateResponse *m;
	struct devices t = { 0 };
	struct err err = { 0 };

	snprintf(line, sizeof(line), STICK, 1, 9, 1, 9);
	CHECK_EQ(take(&t, "usb/1-1", line), 0);
	snprintf(line, sizeof(line), STICK, 2, 114, 2, 114);
	CHECK_EQ(take(&t, "usb/2-1.3", line), 0);
	m = allocate(&t, one, two, &err);
	CHECK(m);
	c = m->container_responses[0];
	CHECK_EQ(c->n_envs, 1);
	CHECK_STR(c->envs[0]->key, "USB_RESOURCE_KUBEVIRT_IO_USB-0627-0001");
	CHECK_STR(c->envs[0]->value, "1:9,2:114");
	CHECK_EQ(c->n_devices, 2);
	CHECK_STR(c->devices[0]->host_path, "/dev/bus/usb/001/009");
	CHECK_STR(c->devices[1]->container_path, "/dev/bus/usb/002/114");
	v1beta1__allocate_response__free_unpacked(m, NULL);
	/* No VM can have devices of two kinds under one name. */
	CHECK_EQ(take(&t, nic, NIC " resource_name=kubevirt.io/usb-0627-0001"), 0);
	CHECK(!allocate(&t, nic, one, &err));
	CHECK_EQ(err.code, EINVAL);
	CHECK_IN(err.text, "two kinds, 0000:05:02.0 and usb/1-1");
	devices_free(&t);
}
