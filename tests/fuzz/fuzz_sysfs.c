// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes in any attribute of a function: facts stay within what their fields mean. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcidevfs/device.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "place.h"

#define ADDRESS "0000:00:00.0"
#define DEVICE "/bus/pci/devices/" ADDRESS

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const attributes[] = {
	"vendor",   "device",	 "class",    "subsystem_vendor", "subsystem_device",
	"revision", "numa_node", "boot_vga", "sriov_totalvfs"
};
static const char *const links[] = { "driver", "physfn", "iommu_group" };

static int make_root(void)
{
	char path[PATH_MAX];
	size_t n;

	if (!mkdtemp(root))
		abort();
	n = (size_t)snprintf(path, sizeof(path), "%s" DEVICE, root);
	for (size_t i = strlen(root) + 1; i <= n; i++)
		if (path[i] == '/' || !path[i]) {
			char c = path[i];

			path[i] = '\0';
			mkdir(path, 0700);
			path[i] = c;
		}
	atexit(clean);
	return open(path, O_PATH | O_DIRECTORY);
}

static void put(int dir, const uint8_t *data, size_t size)
{
	char target[256];
	size_t n = size < sizeof(target) ? size : sizeof(target) - 1;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		int fd = openat(dir, attributes[i], O_WRONLY | O_CREAT | O_TRUNC, 0600);

		/* Each attribute gets a tail of its own. */
		if (fd < 0 || write(fd, data + (size * i) / 16, size - (size * i) / 16) < 0)
			abort();
		close(fd);
	}
	memcpy(target, data, n);
	target[n] = '\0';
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		unlinkat(dir, links[i], 0);
		if (target[0] && symlinkat(target, dir, links[i]))
			abort();
	}
}

static int holds(int dir, const char *name, unsigned long value)
{
	char text[64] = "";
	int fd = openat(dir, name, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	return n > 0 && strtoul(text, NULL, strncasecmp(text, "0x", 2) ? 10 : 16) == value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int dir = -1;
	struct key key;
	struct sysfs s;
	struct facts f;

	if (dir < 0)
		dir = make_root();
	put(dir, data, size);
	if (!key_make(BUS_PCI, ADDRESS, &key) || sysfs_open(&s, root, root, root, NULL) ||
	    pci_observe(&s, NULL, &key, &f))
		abort();
	if (f.class_code > 0xffffff || f.numa_node < -1 || f.total_vfs < -1 ||
	    f.total_vfs > 0xffff || f.iommu_group < -1 || f.num_vfs ||
	    !memchr(f.driver, '\0', sizeof(f.driver)))
		abort();
	if (!memchr(f.garbled, '\0', sizeof(f.garbled)))
		abort();
	/* What is not told is as it was written. */
	for (const char *c = f.garbled; *c; c++)
		if (*c < ' ' || *c > '~')
			abort();
	if (!f.garbled[0] &&
	    (!holds(dir, "vendor", f.vendor) || !holds(dir, "class", f.class_code)))
		abort();
	if (f.parent.name[0] && !key_make(BUS_PCI, f.parent.name, &key))
		abort();
	sysfs_close(&s);
	return 0;
}
