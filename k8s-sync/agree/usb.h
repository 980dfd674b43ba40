/* SPDX-License-Identifier: GPL-2.0-or-later */
/* USB devices: their objects' names, which stay as they were claimed over a re-plug. Pure. */
#ifndef SYNC_USB_H
#define SYNC_USB_H

#include "kinds.h"

bool wanted_usb(const struct world *w, const struct inv_dev *d);
/* NODE-VENDOR-PRODUCT-BUSDEV, or the name of the object in which something is agreed about d. */
bool name_usb(const struct world *w, const struct inv_dev *d, char ret[static OBJECT_NAME]);
/* A new claim names its node by nothing but its name. */
bool ours_usb(const struct world *w, json_object *o);

#endif
