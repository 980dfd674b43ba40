// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/key.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "pcidevfs/util.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads lower-case hex digits up to `end`; -1 if their count is not in [min, max]. */
static int64_t hex_field(const char **text, int min, int max, char end)
{
	int64_t value = 0;
	int n = 0;

	for (; hex_digit((*text)[n]) >= 0; n++) {
		if (n == max)
			return -1;
		value = value << 4 | hex_digit((*text)[n]);
	}
	if (n < min || (*text)[n] != end)
		return -1;
	*text += n + (end != '\0');
	return value;
}

bool pci_addr_parse(const char *text, struct pci_addr *ret)
{
	const char *start = text;
	int64_t domain = hex_field(&text, 4, 8, ':');
	/* %04x never pads a domain of more than 16 bits, so a device has only one spelling */
	bool padded = text - start > 5 && start[0] == '0';
	int64_t bus = domain < 0 || padded ? -1 : hex_field(&text, 2, 2, ':');
	int64_t dev = bus < 0 ? -1 : hex_field(&text, 2, 2, '.');
	int64_t fn = dev < 0 ? -1 : hex_field(&text, 1, 1, '\0');

	if (fn < 0 || fn > 7 || dev > 31)
		return false;
	*ret = (struct pci_addr){ (uint32_t)domain, (uint8_t)bus, (uint8_t)dev, (uint8_t)fn };
	return true;
}

static bool pci_name(const char *name)
{
	struct pci_addr addr;

	return pci_addr_parse(name, &addr);
}

/* 8-4-4-4-12 lower-case digits, as the kernel writes mdev names */
static bool uuid_name(const char *name)
{
	for (int i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? name[i] != '-' : hex_digit(name[i]) < 0)
			return false;
	}
	return name[36] == '\0';
}

/* usbBUS of a root hub; else BUS-PORT[.PORT]..., decimal */
static bool usb_name(const char *name)
{
	bool dash = false, digit = false;

	if (!strncmp(name, "usb", 3))
		return name[3] && name[3 + strspn(name + 3, "0123456789")] == '\0';

	for (; *name; name++) {
		if (isdigit((unsigned char)*name)) {
			digit = true;
			continue;
		}
		if (!digit || (dash ? *name != '.' : *name != '-'))
			return false;
		dash = true;
		digit = false;
	}
	return dash && digit;
}

/* for example behind VMD (tests/k8s/ground/kubevirt, case 15) */
static const char *pci_withheld(const char *name)
{
	struct pci_addr addr;

	return pci_addr_parse(name, &addr) && addr.domain > 0xffff
		       ? "KubeVirt does not accept PCI domains above ffff"
		       : NULL;
}

static const struct bus_naming {
	const char *prefix;
	bool (*valid)(const char *name);	   /* NULL: no name is */
	const char *(*withheld)(const char *name); /* key_withheld(); NULL: none is */
	const char *subsystem;			   /* bus_subsystem() */
	bool made;				   /* key_is_made() */
	bool renumbered;			   /* key_is_renumbered() */
} buses[BUS_COUNT] = {
	[BUS_NONE] = { "" },
	[BUS_PCI] = { "", pci_name, pci_withheld },
	[BUS_MDEV] = { "mdev/", uuid_name, NULL, "mdev", .made = true },
	[BUS_USB] = { "usb/", usb_name, NULL, "usb", .renumbered = true },
};

/* The one way to a row: a number from elsewhere would lead to functions that are none. */
static const struct bus_naming *row_of(enum bus bus)
{
	return &buses[(unsigned int)bus < BUS_COUNT ? bus : BUS_NONE];
}

static bool name_valid(enum bus bus, const char *name)
{
	const struct bus_naming *row = row_of(bus);

	return row->valid && row->valid(name);
}

bool key_make(enum bus bus, const char *name, struct key *ret)
{
	struct key key = { .bus = bus };

	if (!name_valid(bus, name) || !STR_COPY(key.name, name))
		return false;
	*ret = key;
	return true;
}

bool key_parse(const char *id, struct key *ret)
{
	for (enum bus bus = BUS_COUNT - 1; bus > BUS_NONE; bus--) {
		size_t n = strlen(row_of(bus)->prefix);

		if (!strncmp(id, row_of(bus)->prefix, n))
			return key_make(bus, id + n, ret);
	}
	return false;
}

/* The address that somebody means by "07:00.0", "0000:0A:00.0" or "devices/0000:07:00.0". */
static bool guess(const char *text, struct key *ret)
{
	const char *slash = strrchr(text, '/'), *colon = strchr(text, ':');
	char name[KEY_NAME];
	int n = snprintf(name, sizeof(name), "%s%s",
			 colon && !strchr(colon + 1, ':') ? "0000:" : "", slash ? slash + 1 : text);

	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return n < (int)sizeof(name) && key_make(BUS_PCI, name, ret);
}

const char *key_hint(const char *text, char buf[static KEY_HINT])
{
	struct key key;

	if (guess(text, &key))
		snprintf(buf, KEY_HINT, "did you mean %s?", key.name);
	else
		snprintf(buf, KEY_HINT, "write its address, for example 0000:08:00.0 or usb/1-1");
	return buf;
}

const char *key_id(const struct key *key, char buf[static KEY_NAME + 8])
{
	snprintf(buf, KEY_NAME + 8, "%s%s", row_of(key->bus)->prefix, key->name);
	return buf;
}

const char *bus_subsystem(enum bus bus)
{
	return row_of(bus)->subsystem;
}

bool key_is_made(const struct key *key)
{
	return row_of(key->bus)->made;
}

bool key_is_renumbered(const struct key *key)
{
	return row_of(key->bus)->renumbered;
}

const char *key_withheld(const struct key *key)
{
	const struct bus_naming *row = row_of(key->bus);

	return row->withheld ? row->withheld(key->name) : NULL;
}

bool key_valid(const struct key *key)
{
	return memchr(key->name, '\0', sizeof(key->name)) && name_valid(key->bus, key->name);
}

bool key_eq(const struct key *a, const struct key *b)
{
	return a->bus == b->bus && !strcmp(a->name, b->name);
}

int key_cmp(const struct key *a, const struct key *b)
{
	return (a->bus > b->bus) - (a->bus < b->bus) ?: strcmp(a->name, b->name);
}

/* FNV-1a */
uint32_t key_hash(const struct key *key)
{
	uint32_t h = 2166136261u ^ (uint32_t)key->bus;

	for (const char *p = key->name; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return h;
}

void key_random_uuid(char buf[static KEY_NAME])
{
	uint8_t r[16];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		memset(r, 0, sizeof(r));
	snprintf(buf, KEY_NAME,
		 "%02x%02x%02x%02x-%02x%02x-4%x%02x-%x%x%02x-%02x%02x%02x%02x%02x%02x", r[0], r[1],
		 r[2], r[3], r[4], r[5], r[6] & 0xf, r[7], 8 | (r[8] >> 4 & 3), r[8] & 0xf, r[9],
		 r[10], r[11], r[12], r[13], r[14], r[15]);
}
