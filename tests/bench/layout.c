// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * layout DIR N: N PCI functions as plain files, as a sysfs root shows them below bus/pci/devices:
 * eight functions a slot, one IOMMU group each, classes as a server mixes them. Nothing reacts; it
 * is for measuring how long reading takes without a simulation's own share.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdio.h>
#include <stdlib.h>

struct model {
	const char *vendor, *device, *class, *driver;
};

static const struct model models[] = {
	{ "0x8086", "0x1572", "0x020000", "i40e" },
	{ "0x144d", "0xa80a", "0x010802", "nvme" },
	{ "0x10de", "0x25b6", "0x030200", "nvidia" },
	{ "0x15b3", "0x1018", "0x020000", "mlx5_core" },
	{ "0x8086", "0xa1af", "0x0c0330", "xhci_hcd" },
};

static void make_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || dprintf(fd, "%s\n", text) < 0) {
		perror(name);
		exit(1);
	}
	close(fd);
}

static void make_link(const char *target, int dir, const char *name)
{
	if (symlinkat(target, dir, name) && errno != EEXIST) {
		perror(name);
		exit(1);
	}
}

static int make_dir(int at, const char *path)
{
	int fd;

	if (mkdirat(at, path, 0755) && errno != EEXIST) {
		perror(path);
		exit(1);
	}
	fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

static void make_function(int root, unsigned int i)
{
	const struct model *m = &models[i / 8 % (sizeof(models) / sizeof(*models))];
	char address[32], path[96], text[128];
	unsigned int slot = i / 8;
	int dir, member;

	snprintf(address, sizeof(address), "%04x:%02x:%02x.%u", slot >> 13, slot >> 5 & 0xff,
		 slot & 31, i % 8);
	snprintf(path, sizeof(path), "devices/%s", address);
	dir = make_dir(root, path);
	make_file(dir, "vendor", m->vendor);
	make_file(dir, "device", m->device);
	make_file(dir, "subsystem_vendor", m->vendor);
	make_file(dir, "subsystem_device", "0x0001");
	make_file(dir, "class", m->class);
	make_file(dir, "revision", "0x02");
	make_file(dir, "numa_node", i % 2 ? "1" : "0");
	make_file(dir, "driver_override", "(null)");
	make_file(dir, "reset", "");
	snprintf(text, sizeof(text), "../../bus/pci/drivers/%s", m->driver);
	make_link(text, dir, "driver");
	snprintf(text, sizeof(text), "../../kernel/iommu_groups/%u", i);
	make_link(text, dir, "iommu_group");
	close(dir);
	snprintf(text, sizeof(text), "../../../devices/%s", address);
	snprintf(path, sizeof(path), "bus/pci/devices/%s", address);
	make_link(text, root, path);
	snprintf(path, sizeof(path), "kernel/iommu_groups/%u", i);
	close(make_dir(root, path));
	snprintf(path, sizeof(path), "kernel/iommu_groups/%u/devices", i);
	member = make_dir(root, path);
	snprintf(text, sizeof(text), "../../../../devices/%s", address);
	make_link(text, member, address);
	close(member);
}

int main(int argc, char **argv)
{
	static const char *const above[] = { "devices",
					     "bus",
					     "bus/pci",
					     "bus/pci/devices",
					     "bus/pci/drivers",
					     "kernel",
					     "kernel/iommu_groups" };
	unsigned long n = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	int root;

	if (!n || n > 1 << 20)
		return 2;
	root = make_dir(AT_FDCWD, argv[1]);
	for (size_t i = 0; i < sizeof(above) / sizeof(*above); i++)
		close(make_dir(root, above[i]));
	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++) {
		char path[96];

		snprintf(path, sizeof(path), "bus/pci/drivers/%s", models[i].driver);
		close(make_dir(root, path));
	}
	for (unsigned int i = 0; i < n; i++)
		make_function(root, i);
	return 0;
}
