// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of USB devices: class words as Harvester has them, vendors and products from usb.ids, and
 * where that has none the device's own words. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "usb.h"

#define LINE 256

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

static const char *const places[] = { "/usr/share/hwdata/usb.ids", "/usr/share/misc/usb.ids",
				      "/var/lib/usbutils/usb.ids" };

static FILE *open_ids(const char *path)
{
	FILE *f = path ? fopen(path, "re") : NULL;

	for (size_t i = 0; !path && !f && i < ARRAY_SIZE(places); i++)
		f = fopen(places[i], "re");
	return f;
}

static void copy_name(const char *from, char to[static LINE])
{
	from += strspn(from, " ");
	snprintf(to, LINE, "%.*s", (int)strcspn(from, "\r\n"), from);
}

/* Lines "vvvv  VENDOR", and below each "<tab>dddd  PRODUCT". */
static void look_up(FILE *ids, const struct facts *f, char vendor[static LINE],
		    char product[static LINE])
{
	char line[LINE], wanted[2][8];
	bool below = false;

	snprintf(wanted[0], sizeof(wanted[0]), "%04x ", f->vendor);
	snprintf(wanted[1], sizeof(wanted[1]), "\t%04x ", f->device);
	while (!product[0] && fgets(line, sizeof(line), ids)) {
		if (below && line[0] != '\t' && line[0] != '#')
			return;
		if (!below && !strncmp(line, wanted[0], 5)) {
			copy_name(line + 5, vendor);
			below = true;
		} else if (below && !strncmp(line, wanted[1], 6)) {
			copy_name(line + 6, product);
		}
	}
}

/* own: what the device says of itself. */
static void else_own(char name[static LINE], const char *own, const char *kind, uint16_t id)
{
	if (!name[0] && own[0])
		snprintf(name, LINE, "%s", own);
	else if (!name[0])
		snprintf(name, LINE, "%s %04x", kind, id);
}

bool usb_names(const char *path, const struct facts *f, struct names *ret)
{
	char class[32], vendor[LINE] = "", product[LINE] = "", text[3 * LINE];
	FILE *ids = open_ids(path);

	snprintf(class, sizeof(class), "Unknown (0x%02x)", f->class_code >> 16 & 0xff);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].class == f->class_code >> 16)
			STR_COPY(class, words[i].word);
	if (ids) {
		look_up(ids, f, vendor, product);
		fclose(ids);
	}
	else_own(vendor, f->manufacturer, "Vendor", f->vendor);
	else_own(product, f->product, "Device", f->device);
	snprintf(text, sizeof(text), "%s: %s %s", class, vendor, product);
	STR_FIT(ret->description, text);
	str_clean(ret->description);
	snprintf(ret->resource, sizeof(ret->resource), "kubevirt.io/usb-%04x-%04x", f->vendor, f->device);
	return ids;
}
