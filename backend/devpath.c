// SPDX-License-Identifier: GPL-2.0-or-later
#include "devpath.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pcidevfs/key.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define SUBSYSTEM "/nvme-subsystem/"

char *devpath_link(const struct sysfs *s, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *start = target;
	va_list ap;
	ssize_t n;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	n = readlinkat(s->fd[ROOT_SYS], path, target, sizeof(target) - 1);
	if (n < 0)
		return NULL;
	target[n] = '\0';
	while (!strncmp(start, "../", 3))
		start += 3;
	return strdup(start);
}

/* "pci10000:e0", a root bus */
static bool is_root_bus(const char *name)
{
	return !strncmp(name, "pci", 3) && strchr(name, ':');
}

/*
 * The function a device belongs to is the last one in its path; those above it are bridges, but for
 * one that carries a root bus of its own (Intel VMD): that one takes the device away as well.
 */
static bool functions_in(const char *path, void (*found)(void *ctx, const char *address), void *ctx)
{
	char name[KEY_NAME], last[KEY_NAME] = "";
	struct pci_addr addr;

	for (size_t len; *path; path += len) {
		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len >= sizeof(name))
			continue;
		memcpy(name, path, len);
		name[len] = '\0';
		if (pci_addr_parse(name, &addr))
			STR_COPY(last, name);
		else if (*last && is_root_bus(name))
			found(ctx, last);
	}
	if (*last)
		found(ctx, last);
	return *last;
}

/* A multipath NVMe disk is virtual; the subsystem's directory links to its controllers. */
static bool functions_of_controllers(const struct sysfs *s, const char *path,
				     void (*found)(void *ctx, const char *address), void *ctx)
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
		_free_ char *controller = NULL;

		if (strncmp(e->d_name, "nvme", 4) ||
		    e->d_name[4 + strspn(e->d_name + 4, "0123456789")])
			continue;
		controller = devpath_link(s, "%.*s/%s", len, path, e->d_name);
		any |= controller && functions_in(controller, found, ctx);
	}
	return any;
}

bool devpath_functions(const struct sysfs *s, const char *path,
		       void (*found)(void *ctx, const char *address), void *ctx)
{
	return functions_in(path, found, ctx) || functions_of_controllers(s, path, found, ctx);
}

bool only_next(const char **only, char ret[static KEY_NAME])
{
	size_t len = *only ? strcspn(*only, " ") : 0;
	struct pci_addr addr;

	if (!len || len >= KEY_NAME)
		return false;
	memcpy(ret, *only, len);
	ret[len] = '\0';
	*only += len + strspn(*only + len, " ");
	return pci_addr_parse(ret, &addr);
}

bool only_has(const char *only, const char *address)
{
	char name[KEY_NAME];
	bool has = !only;

	while (!has && only_next(&only, name))
		has = !strcmp(name, address);
	return has;
}

struct below {
	const char *only;
	bool any;
};

static void note_below(void *ctx, const char *address)
{
	struct below *below = ctx;

	below->any |= only_has(below->only, address);
}

bool only_below(const struct sysfs *s, const char *path, const char *only)
{
	struct below below = { .only = only };

	devpath_functions(s, path, note_below, &below);
	return below.any;
}
