// SPDX-License-Identifier: GPL-2.0-or-later
#include "called.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pcidevfs/facts.h"
#include "pcidevfs/key.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

/* A USB disk behind five hubs is the deepest: usb1/1-1/1-1.1/1-1.1.1/1-1.1.1.1/1-1.1.1.1.1/
 * 1-1.1.1.1.1.1/1-1.1.1.1.1.1:1.0/host0/target0:0:0/0:0:0:0/block. */
#define DEEPEST 12
#define OPENED_MAX 512
#define NAMES_MAX 9999

/* "nvme0n1", or "nvme0c1n1": one of several paths to nvme0n1. */
static bool take_nvme(const char *name, char ret[static 32])
{
	const char *p = name + 4 + strspn(name + 4, "0123456789"), *rest = p;

	if (strncmp(name, "nvme", 4) || p == name + 4)
		return false;
	if (*p == 'c' && isdigit((unsigned char)p[1]))
		rest = p + 1 + strspn(p + 1, "0123456789");
	if (*rest != 'n' || !isdigit((unsigned char)rest[1]) ||
	    rest[1 + strspn(rest + 1, "0123456789")])
		return false;
	return snprintf(ret, 32, "%.*s%s", (int)(p - name), name, rest) < 32;
}

/* Names come from drivers and users. */
static void take(struct names_found *found, const char *name)
{
	char clean[sizeof(found->first)];
	size_t n = strlen(name), known = strlen(found->first);

	if (found->n >= NAMES_MAX)
		return;
	STR_COPY(clean, name);
	str_clean(clean);
	if (!found->n++ || n < known || (n == known && strcmp(clean, found->first) < 0))
		STR_COPY(found->first, clean);
}

static void take_net(struct called *c, const char *name)
{
	take(&c->netdev, name);
}

static void take_block(struct called *c, const char *name)
{
	take(&c->disk, name);
}

/* Beside cards it has their connectors ("card0-VGA-1") and other nodes ("renderD128"). */
static void take_drm(struct called *c, const char *name)
{
	if (!strncmp(name, "card", 4) && name[4] && !name[4 + strspn(name + 4, "0123456789")])
		take(&c->drm, name);
}

static const struct {
	const char *dir;
	void (*take)(struct called *c, const char *name);
} homes[] = {
	{ "net", take_net },
	{ "block", take_block },
	{ "drm", take_drm },
};

/* Is it on the way to such a directory? Functions behind a bridge are devices of their own, and not
 * behind such names. A USB controller is called by what is plugged into it. */
static bool leads_on(const char *name)
{
	static const char *const before[] = { "virtio", "ata",	       "host",	    "target", "port-",
					      "end_device-", "expander-", "rport-", "nvme",   "mmc" };
	struct key key;

	if (!strcmp(name, "nvme") || !strcmp(name, "mmc_host"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		size_t n = strlen(before[i]);

		if (!strncmp(name, before[i], n) && isdigit((unsigned char)name[n]))
			return true;
	}
	/* a USB device, an interface of one (2-1:1.0), or a SCSI device (0:0:0:0) */
	return key_make(BUS_USB, name, &key) ||
	       (isdigit((unsigned char)name[0]) && strchr(name, ':') &&
		!key_make(BUS_PCI, name, &key));
}

static int called_dir(struct called *c, const struct sysfs *at, const char *name,
		      void (*takes)(struct called *c, const char *name), int depth);

/* takes: what to do with names in the directory that has this entry; NULL: it is on the way. */
static int see(struct called *c, const struct sysfs *at, const char *name,
	       void (*takes)(struct called *c, const char *name), int depth)
{
	char disk[32];

	if (takes) {
		takes(c, name);
		return 0;
	}
	if (depth && take_nvme(name, disk)) {
		take(&c->disk, disk);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
		if (!strcmp(name, homes[i].dir))
			return called_dir(c, at, name, homes[i].take, depth + 1);
	return leads_on(name) ? called_dir(c, at, name, NULL, depth + 1) : 0;
}

static int called_dir(struct called *c, const struct sysfs *at, const char *name,
		      void (*takes)(struct called *c, const char *name), int depth)
{
	_closedir_ DIR *dir = NULL;
	struct sysfs below = *at;
	const struct dirent *e;
	int rc = 0;

	if (depth > DEEPEST || c->opened >= OPENED_MAX)
		return 0;
	c->opened++;
	dir = sysfs_dir(at, ROOT_SYS, "%s", name);
	if (!dir)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	c->nets += takes == take_net;
	below.fd[ROOT_SYS] = dirfd(dir);
	while (!rc && (e = readdir(dir)))
		if (e->d_name[0] != '.' && e->d_type != DT_LNK)
			rc = see(c, &below, e->d_name, takes, depth);
	return rc;
}

int called_look(struct called *c, const struct sysfs *at, const char *entry)
{
	return see(c, at, entry, NULL, 0);
}

static void tell(const struct names_found *found, char *ret, size_t size)
{
	if (found->n > 1)
		snprintf(ret, size, "%s +%u", found->first, found->n - 1);
	else
		str_copy(ret, size, found->first);
}

void called_tell(const struct called *c, struct facts *ret)
{
	tell(&c->netdev, ret->netdev, sizeof(ret->netdev));
	ret->net_elsewhere = c->nets && !c->netdev.n;
	tell(&c->disk, ret->disk, sizeof(ret->disk));
	tell(&c->drm, ret->drm, sizeof(ret->drm));
}
