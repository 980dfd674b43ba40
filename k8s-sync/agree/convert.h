/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The converters of the tables: from a value of inventory to a field of an object. Pure. */
#ifndef SYNC_CONVERT_H
#define SYNC_CONVERT_H

#include "kinds.h"

/* The value; the same, absent if there is none; of its "0x020000" the part behind 0x; its first
 * four digits; is there one. */
converter conv_text, conv_text_if_any, conv_hex, conv_class_id, conv_is_set;
/* The node's name; the device's address. */
converter conv_node, conv_address;
/* Of a PCIDevice and its claim. */
converter conv_first_driver, conv_resource, conv_parent_gpu, conv_unbound, conv_alone;
/* Of a vGPU: the types that it can have, id by name; its id for the driver; "vGPUConfigured". */
converter conv_types, conv_vgpu_uuid, conv_vgpu_status;
/* Of its claim, which binds nothing: "true", and its resource. */
converter conv_skip, conv_vgpu_resource;
/* Of a PF: the addresses of its VFs, and the names of their PCIDevices; absent if it has none. */
converter conv_vf_addresses, conv_vf_names, conv_vf_addresses_if_any, conv_vf_names_if_any;
/* Of a NIC: Harvester's word for the number of its VFs; its interface; of a VF its NIC's object. */
converter conv_net_status, conv_interface, conv_parent_nic;
/* Of a USB device. */
converter conv_usb_class, conv_usb_path, conv_usb_resource, conv_usb_status, conv_usb_message;
/* Where, and which one it is, while something is agreed about it. */
converter conv_usb_port, conv_usb_serial;

#endif
