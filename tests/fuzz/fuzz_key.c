// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any text where a name or a number is expected: what people look up, what sysfs and clients call a
 * device. What is taken has one spelling, fits, and leads nowhere else.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "pcidevfs/key.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_key(const char *text)
{
	char id[KEY_NAME + 8];
	struct key key, again;

	if (!key_parse(text, &key))
		return;
	check(!strcmp(key_id(&key, id), text));
	check(key_make(key.bus, key.name, &again) && key_eq(&key, &again));
	check(key_hash(&key) == key_hash(&again));
	check(key.name[0] && key.name[0] != '.' && !strpbrk(key.name, "/ \n"));
	check(!strstr(key.name, ".."));
}

static void check_address(const char *text)
{
	struct pci_addr addr;
	char same[32];

	if (!pci_addr_parse(text, &addr))
		return;
	snprintf(same, sizeof(same), "%04x:%02x:%02x.%u", addr.domain, addr.bus, addr.dev, addr.fn);
	check(!strcmp(same, text));
}

static void check_number(const char *text, uint64_t max)
{
	uint64_t n = 7, again;
	char same[24];
	int r = parse_u64(text, max, &n);

	check(r == 0 || ((r == -EINVAL || r == -ERANGE) && n == 7));
	if (r)
		return;
	snprintf(same, sizeof(same), "%llu", (unsigned long long)n);
	check(n <= max && !parse_u64(same, max, &again) && again == n);
}

/* What is said is as long as it may be, and all of it where there is room. */
static void check_fit(const char *text, size_t room)
{
	size_t n = strlen(text);
	char *fit = strdup(text);

	check(fit != NULL);
	str_fit(fit, room);
	check(strlen(fit) < room && (n >= room || !strcmp(fit, text)));
	free(fit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	check(text != NULL);
	check_key(text);
	check_address(text);
	check_number(text, UINT64_MAX);
	check_number(text, UINT16_MAX);
	check_fit(text, size ? data[0] + 1u : 1);
	free(text);
	return 0;
}
