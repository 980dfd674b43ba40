// SPDX-License-Identifier: GPL-2.0-or-later
/* What is told of a function beside its attributes: where it sits, from its resolved path in sysfs, what
 * the host's driver knows it by, the firmware's framebuffer in it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/key.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "reserved.h"

/* Appends one part of a device path, without bus numbers. False if there is no room. */
static bool add_hop(char *ret, size_t size, const char *part)
{
	size_t at = strlen(ret), n = strlen(part);
	struct key key;
	int len;

	if (!strncmp(part, "pci", 3))
		/* A second root, as VMD has, has the place of its bridge: its domain is just a
		 * counter. */
		len = at ? 0 : snprintf(ret, size, "%s", part + 3);
	else if (key_make(BUS_PCI, part, &key) && at && n >= 4)
		len = snprintf(ret + at, size - at, "/%s", part + n - 4); /* dd.f */
	else
		len = 0;
	return len >= 0 && at + (size_t)len < size;
}

void pci_path(const char *target, char *ret, size_t size)
{
	char copy[1024], *save = NULL;

	ret[0] = '\0';
	if (!str_copy(copy, sizeof(copy), target))
		return;
	for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save))
		if (!add_hop(ret, size, part)) {
			ret[0] = '\0';
			return;
		}
}

void pci_behind(const char *target, struct key *ret)
{
	char copy[1024], *save = NULL;
	struct key last = { 0 };

	*ret = (struct key){ 0 };
	if (!str_copy(copy, sizeof(copy), target))
		return;
	for (char *part = strtok_r(copy, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		if (last.bus && !strncmp(part, "pci", 3) && strchr(part, ':'))
			*ret = last;
		if (!key_make(BUS_PCI, part, &last))
			last.bus = BUS_NONE;
	}
}

#define ENTRIES_MAX 64

/* Blanks around it are dropped, and what is not printable becomes a question mark. False and "":
 * nothing is left that tells two cards apart. */
static bool clean(const char *text, char ret[static HOST_SERIAL])
{
	size_t n = 0;

	for (text += strspn(text, " "); *text && n + 1 < HOST_SERIAL; text++)
		ret[n++] = *text < ' ' || *text > '~' || strchr("\"\\;=", *text) ? '?' : *text;
	while (n && ret[n - 1] == ' ')
		n--;
	ret[n] = '\0';
	if (ret[strspn(ret, "?0: -")])
		return true;
	ret[0] = '\0';
	return false;
}

/* The smallest one, so that the order of the entries does not matter. */
static void take(const struct sysfs *at, const char *dir, const char *entry, const char *attr,
		 char ret[static HOST_SERIAL])
{
	char text[128], serial[HOST_SERIAL];

	if (sysfs_read(at, ROOT_SYS, text, sizeof(text), "%s/%s/%s", dir, entry, attr) >= 0 &&
	    clean(text, serial) && (!ret[0] || strcmp(serial, ret) < 0))
		str_copy(ret, HOST_SERIAL, serial);
}

static void find(const struct sysfs *at, const char *dir, const char *attr, const char *assigned,
		 char ret[static HOST_SERIAL])
{
	_closedir_ DIR *d = sysfs_dir(at, ROOT_SYS, "%s", dir);
	const struct dirent *e;
	int64_t how = 0;

	for (int n = 0; d && n < ENTRIES_MAX && (e = readdir(d)); n++)
		if (e->d_name[0] != '.' &&
		    (!assigned ||
		     !sysfs_number(at, ROOT_SYS, 0, 0, &how, "%s/%s/%s", dir, e->d_name, assigned)))
			take(at, dir, e->d_name, attr, ret);
}

void host_serial_nvme(const struct sysfs *at, char ret[static HOST_SERIAL])
{
	find(at, "nvme", "serial", NULL, ret);
}

void host_serial_net(const struct sysfs *at, char ret[static HOST_SERIAL])
{
	find(at, "net", "address", "addr_assign_type", ret);
}

void pci_quote(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '"')
			*text = '?';
}

/* ---- the firmware's framebuffer */

#define IOMEM_MAX (1 << 20) /* of /proc/iomem: some lines for each function */

/* As their drivers, or sysfb, name what they request. */
static bool is_framebuffer(const char *name, size_t n)
{
	static const char *const names[] = { "BOOTFB",	"efifb",    "vesafb",
					     "simplefb", "simpledrm", "simple-framebuffer" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == n && !strncmp(name, names[i], n))
			return true;
	return false;
}

void framebuffer_in(const char *text, const char *function, char ret[static FRAMEBUFFER_NAME])
{
	size_t within = SIZE_MAX; /* the indentation of the function's region */

	ret[0] = '\0';
	while (*text) {
		size_t n = strcspn(text, "\n"), indent = strspn(text, " ");
		const char *name = memmem(text, n, " : ", 3);
		size_t len = name ? n - (size_t)(name + 3 - text) : 0;

		if (name && strlen(function) == len && !strncmp(name + 3, function, len))
			within = indent;
		else if (within != SIZE_MAX && indent <= within)
			within = SIZE_MAX;
		else if (within != SIZE_MAX && name && is_framebuffer(name + 3, len))
			snprintf(ret, FRAMEBUFFER_NAME, "%.*s", (int)len, name + 3);
		text += n + (text[n] == '\n');
	}
}

int framebuffer_find(const struct sysfs *s, const char *function, char ret[static FRAMEBUFFER_NAME])
{
	_free_ char *text = malloc(IOMEM_MAX);

	if (!text)
		return -ENOMEM;
	if (sysfs_read(s, ROOT_PROC, text, IOMEM_MAX, "iomem") >= 0)
		framebuffer_in(text, function, ret);
	return 0;
}
