// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/valid.h"

#include <ctype.h>
#include <string.h>

#define DOMAIN_MAX 253
#define PART_MAX 63

#define DRIVER_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-"

bool valid_driver(const char *name)
{
	return name[0] && name[0] != '.' && !name[strspn(name, DRIVER_CHARS)] &&
	       strlen(name) < DRIVER_NAME;
}

bool driver_is_vfio(const char *driver)
{
	size_t n = strlen(driver);

	if (n < 8)
		return false;
	return !strcmp(driver + n - 8, "vfio-pci") || !strcmp(driver + n - 8, "vfio_pci");
}

/* No program of ours sets a locale. */
static bool is_alnum(char c)
{
	return isalnum((unsigned char)c);
}

bool valid_domain(const char *text, size_t len)
{
	if (!len || len > DOMAIN_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool edge = !i || i == len - 1 || text[i - 1] == '.' || text[i + 1] == '.';

		if (is_alnum(text[i]) ? isupper((unsigned char)text[i])
				      : edge || (text[i] != '-' && text[i] != '.'))
			return false;
	}
	return true;
}

bool valid_name(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!is_alnum(text[i]) && !strchr("-_.", text[i]))
			return false;
	return len && len <= PART_MAX && is_alnum(text[0]) && is_alnum(text[len - 1]);
}

bool valid_qualified(const char *text)
{
	const char *slash = strchr(text, '/');

	return slash && valid_domain(text, (size_t)(slash - text)) && valid_name(slash + 1);
}

/* kubelet reserves names below kubernetes.io, and puts "requests." in front of others. */
bool valid_resource(const char *name)
{
	return strlen(name) < RESOURCE_NAME && valid_qualified(name) &&
	       strncmp(name, "requests.", 9) && !strstr(name, "kubernetes.io/");
}
