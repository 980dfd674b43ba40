// SPDX-License-Identifier: GPL-2.0-or-later
/* The kinds: a row a field, { part, name, key of inventory, converter }. */
#include "convert.h"
#include "inventory.h"
#include "pcidevfs/util.h"
#include "wanted.h"

#define PARENT_GPU "harvesterhci.io/parentSRIOVGPUDevice"
#define FIRST_DRIVER "harvesterhci.io/pcideviceDriver"

/* clang-format off: a row as it is read */
static const struct field pci_device[] = {
	{ LABEL, "nodename", NULL, conv_node },
	{ LABEL, PARENT_GPU, "physfn", conv_parent_gpu },
	{ ANNOTATION, FIRST_DRIVER, "driver", conv_first_driver },
	{ STATUS, "address", NULL, conv_address, STAYS },
	{ STATUS, "vendorId", "vendor", conv_hex, STAYS },
	{ STATUS, "deviceId", "device", conv_hex, STAYS },
	{ STATUS, "classId", "class", conv_class_id, STAYS },
	{ STATUS, "iommuGroup", "iommu_group", conv_text },
	{ STATUS, "nodeName", NULL, conv_node, STAYS },
	{ STATUS, "resourceName", "resource_name", conv_resource, STAYS },
	{ STATUS, "description", "description", conv_text, STAYS },
	{ STATUS, "kernelDriverInUse", "driver", conv_text_if_any },
};

static const struct field pci_claim[] = {
	{ LABEL, "nodename", NULL, conv_node },
	{ LABEL, PARENT_GPU, "physfn", conv_parent_gpu },
	{ ANNOTATION, SKIP_BINDING, "profile", conv_skip },
	{ ANNOTATION, RESOURCE_OVERRIDE, "profile", conv_vgpu_resource },
	{ SPEC, "address", NULL, conv_address },
	{ SPEC, "nodeName", NULL, conv_node },
	{ SPEC, "userName", "claim", conv_text },
	{ STATUS, "passthroughEnabled", "claim", conv_is_set },
	{ STATUS, "kernelDriverToUnbind", NULL, conv_unbound },
};

static unsigned int pci_claim_owners(const struct inv_dev *d)
{
	return 1U << PCI_DEVICE | (*dev_get(d, "profile") ? 1U << VGPU_DEVICE : 0);
}

static const struct field gpu_device[] = {
	{ LABEL, "nodename", NULL, conv_node },
	{ SPEC, "address", NULL, conv_address },
	{ SPEC, "nodeName", NULL, conv_node },
	{ STATUS, "vfAddresses", NULL, conv_vf_addresses },
	{ STATUS, "vGPUDevices", NULL, conv_vf_names },
};

static const struct field vgpu_device[] = {
	{ LABEL, "nodename", NULL, conv_node },
	{ LABEL, PARENT_GPU, "physfn", conv_parent_gpu },
	{ SPEC, "address", NULL, conv_address },
	{ SPEC, "nodeName", NULL, conv_node },
	{ SPEC, "parentGPUDeviceAddress", "physfn", conv_text },
	{ STATUS, "availableTypes", "profiles_available", conv_types },
	{ STATUS, "configureVGPUTypeName", "profile", conv_text_if_any },
	{ STATUS, "uuid", "profile", conv_vgpu_uuid },
	{ STATUS, "vGPUStatus", "profile", conv_vgpu_status },
};

#define FIELDS(table) .fields = table, .n_fields = ARRAY_SIZE(table)
#define BY_LABEL .selectors = { "labelSelector=nodename%%3D%s" }

const struct kind kinds[KINDS] = {
	[PCI_DEVICE] = { "PCIDevice", "pcidevices", BY_LABEL, .wanted = wanted_pci,
			 FIELDS(pci_device), .empty_spec = true },
	[PCI_CLAIM] = { "PCIDeviceClaim", "pcideviceclaims",
			.selectors = { "fieldSelector=spec.nodeName%%3D%s" },
			.owners = pci_claim_owners, FIELDS(pci_claim) },
	[GPU_DEVICE] = { "SRIOVGPUDevice", "sriovgpudevices", BY_LABEL, .wanted = wanted_gpu,
			 FIELDS(gpu_device) },
	[VGPU_DEVICE] = { "VGPUDevice", "vgpudevices", BY_LABEL, .wanted = wanted_vgpu,
			  FIELDS(vgpu_device) },
};
/* clang-format on */
