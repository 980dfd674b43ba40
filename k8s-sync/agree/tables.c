// SPDX-License-Identifier: GPL-2.0-or-later
/* The kinds: a row a field, { part, name, key of inventory, converter }. */
#include "tables.h"

#include "inventory.h"
#include "pcidevfs/util.h"

#define PARENT_GPU "harvesterhci.io/parentSRIOVGPUDevice"
#define PARENT_NIC "harvesterhci.io/parent-sriov-network-device"

/* clang-format off: a row as it is read */
static const struct field pci_device[] = {
	{ LABEL, PARENT_GPU, "physfn", conv_parent_gpu },
	{ LABEL, PARENT_NIC, "physfn", conv_parent_nic },
	{ ANNOTATION, FIRST_DRIVER, "driver", conv_first_driver },
	{ ANNOTATION, ALLOCATED_TO, "allocated_to", conv_pod },
	{ STATUS, "address", NULL, conv_text, STAYS },
	{ STATUS, "vendorId", "vendor", conv_hex, STAYS },
	{ STATUS, "deviceId", "device", conv_hex, STAYS },
	{ STATUS, "classId", "class", conv_class_id, STAYS },
	{ STATUS, "iommuGroup", "iommu_group", conv_text },
	{ STATUS, "nodeName", NULL, conv_node, STAYS },
	{ STATUS, "resourceName", "resource_name", conv_resource, STAYS },
	{ STATUS, "description", "description", conv_text, STAYS },
	{ STATUS, "kernelDriverInUse", "driver", conv_text, .any = true },
};

static const struct field pci_claim[] = {
	{ LABEL, PARENT_GPU, "physfn", conv_parent_gpu },
	{ ANNOTATION, SKIP_BINDING, "profile", .says = "true" },
	{ ANNOTATION, RESOURCE_OVERRIDE, "profile", conv_vgpu_resource },
	{ SPEC, "address", NULL, conv_text },
	{ SPEC, "nodeName", NULL, conv_node },
	{ SPEC, "userName", "claim", conv_text },
	{ SPEC, "disableResourcePooling", "resource_override", conv_alone },
	{ STATUS, "passthroughEnabled", "claim", conv_is_set },
	{ STATUS, "kernelDriverToUnbind", "former_driver", conv_unbound, STAYS },
};

static unsigned int pci_claim_owners(const struct inv_dev *d)
{
	return 1U << PCI_DEVICE | (*dev_get(d, "profile") ? 1U << VGPU_DEVICE : 0);
}

static const struct field net_device[] = {
	{ ANNOTATION, INTERFACE_NAME, "netdev", conv_interface },
	{ SPEC, "address", NULL, conv_text },
	{ SPEC, "nodeName", NULL, conv_node },
	{ STATUS, "status", "sriov_numvfs", conv_net_status },
	{ STATUS, "vfAddresses", NULL, conv_vf_addresses, .any = true },
	{ STATUS, "vfPCIDevices", NULL, conv_vf_names, .any = true },
};

static const struct field gpu_device[] = {
	{ SPEC, "address", NULL, conv_text },
	{ SPEC, "nodeName", NULL, conv_node },
	{ STATUS, "vfAddresses", NULL, conv_vf_addresses },
	{ STATUS, "vGPUDevices", NULL, conv_vf_names },
};

static const struct field mig_config[] = {
	{ SPEC, "gpuAddress", NULL, conv_text },
	{ SPEC, "nodeName", NULL, conv_node },
	{ SPEC, "profileSpec", "mig_layout", conv_mig_requests, .any = true },
	{ STATUS, "profileStatus", "mig_profiles", conv_mig_profiles, .any = true },
	{ STATUS, "status", NULL, conv_mig_status, .any = true },
	{ STATUS, "message", "mig_support", conv_mig_message },
};

static unsigned int mig_config_owners(const struct inv_dev *d)
{
	return 1U << GPU_DEVICE;
}

static const struct field vgpu_device[] = {
	{ LABEL, PARENT_GPU, "physfn", conv_parent_gpu },
	{ SPEC, "address", NULL, conv_text },
	{ SPEC, "nodeName", NULL, conv_node },
	{ SPEC, "parentGPUDeviceAddress", "physfn", conv_text },
	{ STATUS, "availableTypes", "profiles_available", conv_types },
	{ STATUS, "configureVGPUTypeName", "profile", conv_text, .any = true },
	{ STATUS, "uuid", "profile", conv_vgpu_uuid, .any = true },
	{ STATUS, "vGPUStatus", "profile", .says = "vGPUConfigured" },
};

static const struct field usb_device[] = {
	{ ANNOTATION, USB_PORT, NULL, conv_usb_kept },
	{ ANNOTATION, USB_SERIAL, "serial", conv_usb_kept, .any = true },
	{ ANNOTATION, ALLOCATED_TO, "allocated_to", conv_pod },
	{ STATUS, "vendorID", "vendor", conv_hex, STAYS },
	{ STATUS, "productID", "device", conv_hex, STAYS },
	{ STATUS, "nodeName", NULL, conv_node, STAYS },
	{ STATUS, "resourceName", NULL, conv_usb_resource, STAYS },
	{ STATUS, "devicePath", NULL, conv_usb_path },
	{ STATUS, "description", "description", conv_text, STAYS },
	{ STATUS, "pciAddress", "controller", conv_text, STAYS, .any = true },
	{ STATUS, "classType", "class", conv_usb_class, STAYS },
	{ STATUS, "enabled", "claim", conv_is_set, STAYS },
	{ STATUS, "status", .gone = COMES, .says = "orphaned" },
	{ STATUS, "message", .gone = COMES, .says = "it is claimed, but not plugged in" },
};

static const struct field usb_claim[] = {
	{ SPEC, "userName", "claim", conv_text },
	{ STATUS, "nodeName", NULL, conv_node, STAYS },
	{ STATUS, "pciAddress", "controller", conv_text, STAYS, .any = true },
};

static unsigned int usb_claim_owners(const struct inv_dev *d)
{
	return 1U << USB_DEVICE;
}

/* struct world's lacks has a bit for each row, and LACKS_CONDITIONS. */
#define FIELDS(table)                                                                             \
	.fields = (table), .n_fields = ARRAY_SIZE(table) + 0 * sizeof(struct {                    \
		char c;                                                                           \
		_Static_assert(ARRAY_SIZE(table) < 32, "a bit for each row, and one more");       \
	})
#define BY_LABEL .selectors = { "labelSelector=nodename%3D" }

const struct kind kinds[KINDS] = {
	[PCI_DEVICE] = { "PCIDevice", "pcidevices", BY_LABEL, .wanted = wanted_pci,
			 FIELDS(pci_device), .empty_spec = true },
	[PCI_CLAIM] = { "PCIDeviceClaim", "pcideviceclaims",
			.selectors = { "fieldSelector=spec.nodeName%3D" },
			.owners = pci_claim_owners, FIELDS(pci_claim) },
	[NET_DEVICE] = { "SRIOVNetworkDevice", "sriovnetworkdevices", BY_LABEL,
			 .wanted = wanted_net, .name = name_net, FIELDS(net_device) },
	[GPU_DEVICE] = { "SRIOVGPUDevice", "sriovgpudevices", BY_LABEL, .wanted = wanted_gpu,
			 FIELDS(gpu_device) },
	[MIG_CONFIG] = { "MigConfiguration", "migconfigurations",
			 .selectors = { "fieldSelector=spec.nodeName%3D" }, .wanted = wanted_mig,
			 .owners = mig_config_owners, FIELDS(mig_config) },
	[VGPU_DEVICE] = { "VGPUDevice", "vgpudevices", BY_LABEL, .wanted = wanted_vgpu,
			  FIELDS(vgpu_device) },
	[USB_DEVICE] = { "USBDevice", "usbdevices", BY_LABEL, .wanted = wanted_usb,
			 .name = name_usb, .ours = ours_usb, FIELDS(usb_device) },
	[USB_CLAIM] = { "USBDeviceClaim", "usbdeviceclaims", .name = name_usb, .ours = ours_usb,
			.owners = usb_claim_owners, FIELDS(usb_claim) },
	[NODE] = { "Node", "nodes", .selectors = { "fieldSelector=metadata.name%3D" },
		   .of_node = true, .ours = ours_node, .empty_spec = true },
	[VLAN_CONFIG] = { "VlanConfig", "vlanconfigs", .api = "network.harvesterhci.io/v1beta1",
			  .ours = ours_vlan },
	[FORMER_POD] = { "Pod", FORMER_PODS, .api = "v1", .unsaid = true,
			 .selectors = { "labelSelector=" FORMER_LABEL "%3D" FORMER_NAME
					"&fieldSelector=spec.nodeName%3D" } },
};
/* clang-format on */
