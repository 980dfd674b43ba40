// SPDX-License-Identifier: GPL-2.0-or-later
/* What a helper writes into sysfs, whoever asks: what operations write, and nothing else. */
#include "test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "backend/attributes.h"
#include "fakehost.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define FUNCTION "0000:05:00.0"
#define DIR_OF "devices/pci0000:00/" FUNCTION
#define PCI "bus/pci/devices/" FUNCTION "/"
#define UUID "c3b7f5b0-1e2d-4c3b-9a8f-0123456789ab"
#define MDEV "bus/mdev/devices/" UUID "/"

struct row {
	const char *path, *text;
};

static void put(const char *path)
{
	host_file("", "sys/%s", path);
}

static void put_host(struct sysfs *s)
{
	static const char *const files[] = {
		"driver_override",
		"sriov_numvfs",
		"sriov_drivers_autoprobe",
		"reset",
		"config",
		"resource0",
		"remove",
		"rescan",
		"enable",
		"d3cold_allowed",
		"power/control",
		"nvidia/x",
		"nvidia/current_vgpu_type",
		"nvidia/vgpu_params",
		"mdev_supported_types/nvidia-1/create",
		"mdev_supported_types/nvidia-1/name",
		(UUID "/remove"),
		(UUID "/nvidia/vgpu_params"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		host_file("", "sys/" DIR_OF "/%s", files[i]);
	host_link("../../../" DIR_OF, "sys/bus/pci/devices/" FUNCTION);
	host_link("../../../" DIR_OF "/" UUID, "sys/bus/mdev/devices/" UUID);
	host_link("../../../../kernel/iommu_groups/1", "sys/" DIR_OF "/iommu_group");
	put("kernel/iommu_groups/1/type");
	put("kernel/uevent_helper");
	put("bus/pci/drivers_probe");
	put("bus/pci/drivers_autoprobe");
	put("bus/pci/rescan");
	put("bus/pci/drivers/nvme/bind");
	put("bus/pci/drivers/nvme/unbind");
	put("bus/pci/drivers/nvme/new_id");
	put("bus/usb/drivers_probe");
	put("bus/usb/drivers/usbhid/bind");
	put("bus/usb/drivers/usbhid/unbind");
	put("bus/usb/devices/1-1/authorized");
	put("bus/cpu/devices/cpu1/online");
	put("bus/scsi/devices/0:0:0:0/delete");
	host_link("../../../module", "sys/bus/pci/drivers/linked");
	put("module/bind");
	host_link("../nvme/new_id", "sys/bus/pci/drivers/odd/bind");
	host_open(s);
}

DEFINE_TEST(attributes_that_operations_write)
{
	static const struct row rows[] = {
		{ "bus/pci/drivers_probe", FUNCTION },
		{ "bus/pci/drivers/nvme/bind", FUNCTION },
		{ "bus/pci/drivers/nvme/unbind", FUNCTION },
		{ PCI "driver_override", "vfio-pci" },
		{ PCI "driver_override", "a \"name/of others" },
		{ PCI "driver_override", "\n" },
		{ PCI "reset", "1" },
		{ PCI "sriov_numvfs", "128" },
		{ PCI "sriov_drivers_autoprobe", "0" },
		{ PCI "nvidia/current_vgpu_type", "745" },
		{ PCI "nvidia/vgpu_params", "enable_uvm=1" },
		{ PCI "mdev_supported_types/nvidia-1/create", UUID },
		{ MDEV "remove", "1" },
		{ MDEV "nvidia/vgpu_params", "\n" },
		{ "bus/usb/drivers_probe", "1-1:1.0" },
		{ "bus/usb/drivers/usbhid/bind", "1-1.4:1.12" },
		{ "bus/usb/drivers/usbhid/unbind", "1-1:1.0" },
	};
	struct sysfs s;

	put_host(&s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (attribute_write(&s, rows[i].path, rows[i].text))
			FAIL("%s: %s", rows[i].path, rows[i].text);
	CHECK_EQ(attribute_write(&s, "bus/pci/drivers/absent/bind", FUNCTION), -ENOENT);
	CHECK_EQ(attribute_write(&s, "bus/pci/devices/0000:06:00.0/reset", "1"), -ENOENT);
	sysfs_close(&s);
}

DEFINE_TEST(attributes_that_nobody_writes)
{
	static const struct row rows[] = {
		{ PCI "config", "1" },
		{ PCI "resource0", "1" },
		{ PCI "remove", "1" },
		{ PCI "rescan", "1" },
		{ PCI "enable", "1" },
		{ PCI "d3cold_allowed", "1" },
		{ PCI "power/control", "on" },
		{ PCI "iommu_group/type", "identity" },
		{ PCI "nvidia/x", "1" },
		{ PCI "mdev_supported_types/nvidia-1/name", UUID },
		{ PCI "../" FUNCTION "/reset", "1" },
		{ PCI "./reset", "1" },
		{ PCI "/reset", "1" },
		{ PCI "reset/", "1" },
		{ "/" PCI "reset", "1" },
		{ DIR_OF "/reset", "1" },
		{ "bus/pci/rescan", "1" },
		{ "bus/pci/drivers_autoprobe", "1" },
		{ "bus/pci/drivers/nvme/new_id", "8086 1521" },
		{ "bus/pci/drivers/../drivers/bind", FUNCTION },
		{ "bus/usb/devices/1-1/authorized", "1" },
		{ "bus/cpu/devices/cpu1/online", "0" },
		{ "bus/scsi/devices/0:0:0:0/delete", "1" },
		{ "kernel/uevent_helper", "/bin/sh" },
		{ "module/bind", FUNCTION },
		{ "", "1" },
		/* values that no operation has */
		{ "bus/pci/drivers_probe", "1-1:1.0" },
		{ "bus/pci/drivers/nvme/bind", "../x" },
		{ PCI "driver_override", "" },
		{ PCI "driver_override", "vfio-pci\nx" },
		{ PCI "reset", "2" },
		{ PCI "sriov_numvfs", "4 " },
		{ PCI "sriov_drivers_autoprobe", "2" },
		{ PCI "nvidia/current_vgpu_type", "x" },
		{ PCI "mdev_supported_types/nvidia-1/create", "1" },
		{ MDEV "remove", "0" },
		{ "bus/usb/drivers_probe", "1-1" },
		{ "bus/usb/drivers/usbhid/bind", "1-1:1.0/x" },
		{ "bus/usb/drivers/usbhid/bind", "usb1" },
	};
	struct sysfs s;

	put_host(&s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (attribute_write(&s, rows[i].path, rows[i].text) != -EPERM)
			FAIL("%s: %s", rows[i].path, rows[i].text);
	/* Links that are no device's. */
	CHECK(attribute_write(&s, "bus/pci/drivers/linked/bind", FUNCTION) < 0);
	CHECK(attribute_write(&s, "bus/pci/drivers/odd/bind", FUNCTION) < 0);
	sysfs_close(&s);
}
