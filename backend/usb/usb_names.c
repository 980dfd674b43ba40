// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of USB devices: class words as Harvester has them, vendors and products from usb.ids, and
 * where that has none the device's own words. */
#include <stdio.h>

#include "backend/ids.h"
#include "pcidevfs/names.h"
#include "pcidevfs/util.h"
#include "usb.h"

static const struct {
	uint8_t class;
	const char *word;
} words[] = {
	{ 0x01, "Audio" },
	{ 0x02, "Communications" },
	{ 0x03, "HID" },
	{ 0x05, "Physical" },
	{ 0x06, "Image" },
	{ 0x07, "Printer" },
	{ 0x08, "Mass Storage" },
	{ 0x09, "Hub" },
	{ 0x0a, "CDC-Data" },
	{ 0x0b, "Smart Card" },
	{ 0x0d, "Content Security" },
	{ 0x0e, "Video" },
	{ 0x0f, "Personal Healthcare" },
	{ 0x10, "Audio/Video" },
	{ 0x11, "Billboard" },
	{ 0x12, "USB Type-C Bridge" },
	{ 0x13, "USB Bulk Display Protocol" },
	{ 0x14, "MCTP over USB" },
	{ 0x3c, "I3C Device" },
	{ 0xdc, "Diagnostic" },
	{ 0xe0, "Wireless Controller" },
	{ 0xef, "Miscellaneous" },
	{ 0xfe, "Application Specific" },
	{ 0xff, "Vendor Specific" },
};

void usb_names(const struct ids *ids, const struct facts *f, struct names *ret)
{
	struct ids_names is = ids_find(ids, IDS_VENDORS, f->vendor, f->device);
	const char *vendor = is.top && *is.top ? is.top : f->manufacturer;
	const char *product = is.below && *is.below ? is.below : f->product;
	char class[32];

	snprintf(class, sizeof(class), "Unknown (0x%02x)", f->class_code >> 16 & 0xff);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].class == f->class_code >> 16)
			STR_COPY(class, words[i].word);
	names_description(f, class, *vendor ? vendor : NULL, *product ? product : NULL,
			  ret->description, sizeof(ret->description));
	str_clean(ret->description);
	snprintf(ret->resource, sizeof(ret->resource), "kubevirt.io/usb-%04x-%04x", f->vendor,
		 f->device);
}
