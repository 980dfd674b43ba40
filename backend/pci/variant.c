// SPDX-License-Identifier: GPL-2.0-or-later
#include "variant.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"

#define ALIAS "alias vfio_pci:"
#define TEXT_MAX 65536 /* of such lines; kernels have some ten of them */

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

/* line: "PATTERN MODULE". Returns how many asterisks its pattern has; UINT_MAX: the function is
 * another one. */
static unsigned int fits(const char *line, const char *function, const char **ret_name)
{
	size_t n = strcspn(line, " \n");
	char pattern[128];
	unsigned int wild = 0;

	*ret_name = line + n + (line[n] == ' ');
	if (n >= sizeof(pattern))
		return UINT_MAX;
	snprintf(pattern, sizeof(pattern), "%.*s", (int)n, line);
	for (const char *p = pattern; (p = strchr(p, '*')); p++)
		wild++;
	return fnmatch(pattern, function, 0) ? UINT_MAX : wild;
}

void variant_choose(const char *text, const struct facts *f, char ret[static DRIVER_NAME])
{
	unsigned int best = UINT_MAX;
	char function[64];

	snprintf(function, sizeof(function), "vfio_pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X",
		 f->vendor, f->device, f->subvendor, f->subdevice, f->class_code >> 16 & 0xff,
		 f->class_code >> 8 & 0xff, f->class_code & 0xff);
	str_copy(ret, DRIVER_NAME, "vfio-pci");
	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		bool is_line = !strncmp(p, ALIAS, strlen(ALIAS));
		const char *name = "";
		unsigned int wild =
			is_line ? fits(p + strlen("alias "), function, &name) : UINT_MAX;

		if (wild < best && take_name(name, ret))
			best = wild;
	}
}
