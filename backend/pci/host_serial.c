// SPDX-License-Identifier: GPL-2.0-or-later
#include "host_serial.h"

#include <dirent.h>
#include <string.h>

#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define ENTRIES_MAX 64

bool host_serial_clean(const char *text, char ret[static HOST_SERIAL])
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
	    host_serial_clean(text, serial) && (!ret[0] || strcmp(serial, ret) < 0))
		str_copy(ret, HOST_SERIAL, serial);
}

static void look(const struct sysfs *at, const char *dir, const char *attr, const char *assigned,
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
	look(at, "nvme", "serial", NULL, ret);
}

void host_serial_net(const struct sysfs *at, char ret[static HOST_SERIAL])
{
	look(at, "net", "address", "addr_assign_type", ret);
}
