// SPDX-License-Identifier: GPL-2.0-or-later
#include "variant.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "pcidevfs/util.h"

#define ALIAS "alias vfio_pci:"
#define TEXT_MAX 65536 /* of such lines; kernels have some ten of them */

bool driver_is_vfio(const char *driver)
{
	size_t n = strlen(driver);

	if (n < 8)
		return false;
	return !strcmp(driver + n - 8, "vfio-pci") || !strcmp(driver + n - 8, "vfio_pci");
}

char *variants_load(void)
{
	struct out o = { 0 };
	struct utsname un;
	char path[sizeof(un.release) + 32], line[512];
	FILE *f;

	if (uname(&un))
		return strdup("");
	snprintf(path, sizeof(path), "/lib/modules/%s/modules.alias", un.release);
	f = fopen(path, "re");
	while (f && o.len < TEXT_MAX && fgets(line, sizeof(line), f))
		if (!strncmp(line, ALIAS, strlen(ALIAS)))
			out_put(&o, line, strlen(line));
	if (f)
		fclose(f);
	if (o.failed) {
		out_free(&o);
		return NULL;
	}
	return o.data ? o.data : strdup("");
}

/* Matches name, then exactly so many hex digits, or one asterisk, which is counted. */
static bool field_fits(const char **p, const char *name, int digits, uint32_t have,
		       unsigned int *wild)
{
	uint32_t value = 0;

	if (strncmp(*p, name, strlen(name)))
		return false;
	*p += strlen(name);
	if (**p == '*') {
		(*p)++;
		(*wild)++;
		return true;
	}
	for (int i = 0; i < digits; i++, (*p)++) {
		if (!isxdigit((unsigned char)**p))
			return false;
		value = value << 4 |
			(uint32_t)(isdigit((unsigned char)**p) ? **p - '0' : (**p | 32) - 'a' + 10);
	}
	return value == have;
}

static bool alias_fits(const char **p, const struct facts *f, unsigned int *wild)
{
	const struct {
		const char *name;
		int digits;
		uint32_t have;
	} fields[] = {
		{ "v", 8, f->vendor },
		{ "d", 8, f->device },
		{ "sv", 8, f->subvendor },
		{ "sd", 8, f->subdevice },
		{ "bc", 2, f->class_code >> 16 & 0xff },
		{ "sc", 2, f->class_code >> 8 & 0xff },
		{ "i", 2, f->class_code & 0xff },
	};

	*wild = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!field_fits(p, fields[i].name, fields[i].digits, fields[i].have, wild))
			return false;
	return *(*p)++ == ' ';
}

/* A variant registers its driver under its module's name; only vfio_pci differs. A module without
 * such a name could not be told from a host's driver. */
static bool take_name(const char *p, char ret[static DRIVER_NAME])
{
	size_t n = strcspn(p, " \n");
	char name[DRIVER_NAME];

	if (n >= sizeof(name))
		return false;
	memcpy(name, p, n);
	name[n] = '\0';
	if (strchr(name, '/') || !driver_is_vfio(name))
		return false;
	memcpy(ret, strcmp(name, "vfio_pci") ? name : "vfio-pci", n + 1);
	return true;
}

void variant_choose(const char *text, const struct facts *f, char ret[static DRIVER_NAME])
{
	unsigned int best = 8; /* more than there are fields */

	str_copy(ret, DRIVER_NAME, "vfio-pci");
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		const char *at = p + strlen(ALIAS);
		unsigned int wild;

		if (!strncmp(p, ALIAS, strlen(ALIAS)) && alias_fits(&at, f, &wild) && wild < best &&
		    take_name(at, ret))
			best = wild;
	}
}
