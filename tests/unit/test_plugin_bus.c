// SPDX-License-Identifier: GPL-2.0-or-later
/* By which id, directory and variable kubelet and VMs know a device. */
#include <string.h>

#include "pcidevfs/util.h"
#include "plugin/kubelet/answer.h"
#include "plugin/kubelet/bus.h"
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
