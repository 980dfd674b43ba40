// SPDX-License-Identifier: GPL-2.0-or-later
#include "devpath.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/key.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define SUBSYSTEM "/nvme-subsystem/"

/* Is the directory named by the first len bytes of path a device of one of our buses? */
static bool is_device(const struct sysfs *s, const char *path, size_t len, struct key *ret)
{
	const char *slash = memrchr(path, '/', len), *start = slash ? slash + 1 : path;
	size_t n = len - (size_t)(start - path);
	char name[KEY_NAME], link[64];

	if (n >= sizeof(name))
		return false;
	memcpy(name, start, n);
	name[n] = '\0';
	for (enum bus bus = BUS_NONE + 1; bus < BUS_COUNT; bus++) {
		const char *subsystem = bus_subsystem(bus);

		if (key_make(bus, name, ret) &&
		    (!subsystem || (!sysfs_link(s, ROOT_SYS, link, sizeof(link), "%.*s/subsystem",
						(int)len, path) &&
				    !strcmp(link, subsystem))))
			return true;
	}
	return false;
}

static bool devices_in(const struct sysfs *s, const char *path, device_found *found, void *ctx)
{
	struct key above = { 0 }, key;
	bool any = false;

	for (size_t len = 0; path[len];) {
		len += strspn(path + len, "/");
		len += strcspn(path + len, "/");
		if (!is_device(s, path, len, &key))
			key.bus = BUS_NONE;
		if (above.bus && above.bus != key.bus)
			found(ctx, &above);
		any |= key.bus;
		above = key;
	}
	if (above.bus)
		found(ctx, &above);
	return any;
}

/* A multipath NVMe disk is virtual; the subsystem's directory links to its controllers. */
static bool devices_of_controllers(const struct sysfs *s, const char *path, device_found *found,
				   void *ctx)
{
	const char *sub = strstr(path, SUBSYSTEM);
	int len = sub ? (int)(sub + strlen(SUBSYSTEM) - path) : 0;
	_closedir_ DIR *dir = NULL;
	struct dirent *e;
	bool any = false;

	if (!sub)
		return false;
	len += (int)strcspn(path + len, "/");
	dir = sysfs_dir(s, ROOT_SYS, "%.*s", len, path);
	while (dir && (e = readdir(dir))) {
		char controller[PATH_MAX];

		if (strncmp(e->d_name, "nvme", 4) ||
		    e->d_name[4 + strspn(e->d_name + 4, "0123456789")])
			continue;
		any |= !sysfs_target(s, controller, "%.*s/%s", len, path, e->d_name) &&
		       devices_in(s, controller, found, ctx);
	}
	return any;
}

bool devpath_devices(const struct sysfs *s, const char *path, device_found *found, void *ctx)
{
	return devices_in(s, path, found, ctx) || devices_of_controllers(s, path, found, ctx);
}

bool only_next(const char **only, struct key *ret)
{
	char id[KEY_NAME + 8];
	bool found = false;

	while (!found && *only && **only) {
		size_t len = strcspn(*only, " ");

		snprintf(id, sizeof(id), "%.*s", (int)len, *only);
		found = len < sizeof(id) && key_parse(id, ret);
		*only += len + strspn(*only + len, " ");
	}
	return found;
}

bool only_has(const char *only, const struct key *dev)
{
	bool has = !only;
	struct key key;

	while (!has && only_next(&only, &key))
		has = key_eq(&key, dev);
	return has;
}

int only_functions(const struct sysfs *s, const char *only, device_found *found, void *ctx)
{
	_closedir_ DIR *dir = only ? NULL : sysfs_dir(s, ROOT_SYS, PCI_DEVICES);
	const struct dirent *e;
	struct key key;

	if (!only && !dir)
		return -errno;
	while (only_next(&only, &key))
		if (key.bus == BUS_PCI)
			found(ctx, &key);
	while (dir && (e = readdir(dir)))
		if (key_make(BUS_PCI, e->d_name, &key))
			found(ctx, &key);
	return 0;
}

struct below {
	const char *only;
	bool any;
};

static void note_below(void *ctx, const struct key *dev)
{
	struct below *below = ctx;

	below->any |= only_has(below->only, dev);
}

bool only_below(const struct sysfs *s, const char *path, const char *only)
{
	struct below below = { .only = only };

	devpath_devices(s, path, note_below, &below);
	return below.any;
}
