/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rows of the tables name: which devices have an object of which kind, how it is called,
 * and how a value of inventory becomes a field of it. Pure. */
#ifndef SYNC_TABLES_H
#define SYNC_TABLES_H

#include "kinds.h"
#include "pcidevfs/err.h"

/* ---- wanted.c */
bool wanted_pci(const struct world *w, const struct inv_dev *d);
bool wanted_net(const struct world *w, const struct inv_dev *d);
bool wanted_gpu(const struct world *w, const struct inv_dev *d);
bool wanted_vgpu(const struct world *w, const struct inv_dev *d);
bool wanted_mig(const struct world *w, const struct inv_dev *d);
/* NODE-INTERFACE, the interface's name in lower case. */
bool name_net(const struct world *w, const struct inv_dev *d, char ret[static OBJECT_NAME]);
/* Is a VlanConfig matched to this node? */
bool ours_vlan(const struct world *w, json_object *o);
/* Is it the Node of this name? */
bool ours_node(const struct world *w, json_object *o);
/* Why the device can have no claim; tells at least what the tree's claimable does. */
void unwanted_why(const struct world *w, const struct inv_dev *d, char ret[static ERR_TEXT]);

/* ---- convert.c */
/* Is the object still about the card that it was about? Another one may have its address now. */
bool object_is_same(const struct at *at);

/* ---- usb.c: objects' names stay as they were claimed over a re-plug */
bool wanted_usb(const struct world *w, const struct inv_dev *d);
/* NODE-VENDOR-PRODUCT-BUSDEV, or the name of the object in which something is agreed about d. */
bool name_usb(const struct world *w, const struct inv_dev *d, char ret[static OBJECT_NAME]);
/* A new claim names its node by nothing but its name. */
bool ours_usb(const struct world *w, json_object *o);

/* ---- converters */
/* The value; of its "0x020000" the part behind 0x; its first four digits; is there one. */
converter conv_text, conv_hex, conv_class_id, conv_is_set;
/* The node's name. */
converter conv_node;
/* Of a device: NAMESPACE/POD that has it, as far as kubelet has named one. */
converter conv_pod;
/* Of a PCIDevice and its claim. */
converter conv_first_driver, conv_resource, conv_parent_gpu, conv_unbound, conv_alone;
/* Of a vGPU: the types that it can have, id by name; its id for the driver; for its claim, which
 * binds nothing, its resource. */
converter conv_types, conv_vgpu_uuid, conv_vgpu_resource;
/* Of a PF: the addresses of its VFs, and the names of their PCIDevices. */
converter conv_vf_addresses, conv_vf_names;
/* Of a GPU that can have MIG: its profiles, with how many of them are requested, or are there and
 * can be; Harvester's word; why it is not as requested. */
converter conv_mig_requests, conv_mig_profiles, conv_mig_status, conv_mig_message;
/* Of a NIC: Harvester's word for the number of its VFs; its interface; of a VF its NIC's object. */
converter conv_net_status, conv_interface, conv_parent_nic;
/* Of a USB device. */
converter conv_usb_class, conv_usb_path, conv_usb_resource;
/* The value, while something is agreed about it. */
converter conv_usb_kept;

#endif
