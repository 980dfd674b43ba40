// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "backend/ids.h"
#include "pcidevfs/device.h"
#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"

#define VENDOR_SUFFIX ".com"
/* KubeVirt's socket path is <prefix>/<vendor>-<product>.sock and sun_path has 108 bytes, which
 * leaves this much for vendor and product together. */
#define NAME_ROOM 60
#define ID_LINE 1024 /* of names; longer ones are cut */

/* No program of ours sets a locale. */
static bool is_alnum(char c)
{
	return isalnum((unsigned char)c);
}

static bool is_blank(char c)
{
	return c && strchr(" \t\n\f\r", c);
}

/* "Advanced Micro Devices, Inc. [AMD/ATI]" -> "amd.com", "Red Hat, Inc." -> "red.com" */
static void vendor_part(const char *vendor, char buf[static ID_LINE])
{
	const char *open = strchr(vendor, '['), *close = open ? strchr(open, ']') : NULL;
	const char *base = close ? open + 1 : vendor;
	size_t len = close ? (size_t)(close - base) : strcspn(vendor, " "), n = 0;

	if (close && memchr(base, '/', len))
		len = (size_t)((const char *)memchr(base, '/', len) - base);
	for (size_t i = 0; i < len && n < ID_LINE - sizeof(VENDOR_SUFFIX); i++)
		if (is_alnum(base[i]))
			buf[n++] = (char)tolower((unsigned char)base[i]);
	memcpy(buf + n, VENDOR_SUFFIX, sizeof(VENDOR_SUFFIX));
}

/* "GA107GL [A2 / A16]" -> "GA107GL_A2___A16": upper case, '_' for '/', '.' and white space. */
static void product_part(const char *product, char buf[static ID_LINE])
{
	size_t n = 0;

	product += strspn(product, " \t\n\v\f\r");
	for (; *product && n < ID_LINE - 1; product++) {
		if (is_alnum(*product) || *product == '_')
			buf[n++] = (char)toupper((unsigned char)*product);
		else if (*product == '/' || *product == '.' ||
			 (is_blank(*product) && !is_blank(product[1])))
			buf[n++] = '_';
	}
	while (n && buf[n - 1] == '_')
		n--;
	buf[n] = '\0';
}

static void shorten_virtual_function(char *name)
{
	static const char words[] = "VIRTUAL_FUNCTION";

	while ((name = strstr(name, words))) {
		memcpy(name, "VF", 2);
		name += 2;
		memmove(name, name + sizeof(words) - 3, strlen(name + sizeof(words) - 3) + 1);
	}
}

void names_resource(const char *vendor, const char *product, uint16_t device, char *buf,
		    size_t size)
{
	char prefix[ID_LINE], name[ID_LINE], id[5];

	snprintf(id, sizeof(id), "%04x", device);
	vendor_part(vendor ?: "unknown", prefix);
	product_part(product ?: "", name);
	if (strlen(prefix) + strlen(name) > NAME_ROOM)
		shorten_virtual_function(name);
	/* Harvester keeps a name that begins with '_', and kubelet never offers it. */
	if (strlen(prefix) + strlen(name) > NAME_ROOM || !valid_name(name))
		memcpy(name, id, sizeof(id));
	if (!valid_domain(prefix, strlen(prefix)) || strlen(prefix) + strlen(name) + 2 > size)
		vendor_part("unknown", prefix);
	snprintf(buf, size, "%s/%s", prefix, name);
}

void names_description(const struct facts *facts, const char *class_name, const char *vendor,
		       const char *product, char *buf, size_t size)
{
	char ids[3][16], text[3 * ID_LINE];

	snprintf(ids[0], sizeof(ids[0]), "Class %04x", (facts->class_code >> 8) & 0xffff);
	snprintf(ids[1], sizeof(ids[1]), "Vendor %04x", facts->vendor);
	snprintf(ids[2], sizeof(ids[2]), "Device %04x", facts->device);
	snprintf(text, sizeof(text), "%s: %s %s", class_name ?: ids[0], vendor ?: ids[1],
		 product ?: ids[2]);
	str_fit(text, size);
	str_copy(buf, size, text);
}

void names_fill(const struct ids *ids, const struct facts *f, struct names *ret)
{
	struct ids_names class = ids_find(ids, IDS_CLASSES, f->class_code >> 16 & 0xff,
					  f->class_code >> 8 & 0xff);
	struct ids_names is = ids_find(ids, IDS_VENDORS, f->vendor, f->device);

	names_resource(is.top, is.below, f->device, ret->resource, sizeof(ret->resource));
	names_description(f, class.below ?: class.top, is.top, is.below, ret->description,
			  sizeof(ret->description));
}
