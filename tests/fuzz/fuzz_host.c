// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes in what the kernel and other processes show of a small host: parts with a NUL between,
 * one for each of the files below, the last one's being the rest. What is found is said in whole
 * lines about functions, and the same whether one or all are asked about.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "backend/pci/serials.h"
#include "pcidevfs/critical.h"
#include "pcidevfs/device.h"
#include "pcidevfs/holders.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DISK "0000:01:00.0"
#define GPU "0000:02:00.0"
#define BELOW "../../devices/pci0000:00/"

static const struct {
	const char *path;
	bool is_link;
} files[] = {
	{ "proc/1/mountinfo", false },
	{ "proc/swaps", false },
	{ "proc/1/net/route", false },
	{ "proc/1/net/ipv6_route", false },
	{ "proc/1/net/if_inet6", false },
	{ "proc/consoles", false },
	{ "proc/7/comm", false },
	{ "proc/7/fd/3", true },
	{ "proc/7/fd/4", true },
	{ "proc/7/fdinfo/3", false },
	{ "proc/driver/nvidia/gpus/" GPU "/information", false },
	{ "sys/class/tty/ttyS0", true },
	{ "sys/devices/virtual/block/dm-0/dm/name", false },
	{ "sys/devices/virtual/block/loop0/loop/backing_file", false },
	{ "sys/devices/pci0000:00/" DISK "/block/sda/dev", false },
	{ "sys/devices/pci0000:00/" DISK "/net/eth0/flags", false },
	{ "sys/bus/pci/devices/" GPU "/class", false },
	{ "sys/bus/pci/devices/" DISK "/config", false },
	{ "sys/devices/pci0000:00/" GPU "/input/input3/capabilities/key", false },
};

static const char *const links[][2] = {
	{ "sys/class/block/sda", BELOW DISK "/block/sda" },
	{ "sys/class/block/dm-0", "../../devices/virtual/block/dm-0" },
	{ "sys/class/block/loop0", "../../devices/virtual/block/loop0" },
	{ "sys/devices/virtual/block/dm-0/slaves/sda", "../../../" BELOW DISK "/block/sda" },
	{ "sys/class/net/eth0", BELOW DISK "/net/eth0" },
	{ "sys/class/input/input3", BELOW GPU "/input/input3" },
	{ "sys/class/vfio-dev/vfio0", BELOW GPU "/vfio-dev/vfio0" },
	{ "sys/kernel/iommu_groups/1/devices/" GPU, BELOW GPU },
};

/* To which links of the process may lead: ../../../dev/vfio/1. */
static const char *const nodes[] = { "dev/vfio/1", "dev/vfio/devices/vfio0", "dev/nvidia0" };

static struct sysfs host;

static void set_up(void)
{
	static char sys[64], dev[64], proc[64]; /* the host keeps them */

	check(mkdtemp(root) != NULL);
	atexit(clean);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		check(!symlink(links[i][1], place(links[i][0])));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		place(files[i].path);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		_close_ int fd = open(place(nodes[i]), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		check(fd >= 0);
	}
	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	snprintf(dev, sizeof(dev), "%s/dev", root);
	check(!sysfs_open(&host, sys, dev, proc, NULL));
}

static void put(size_t i, const char *text, size_t len)
{
	static char former[ARRAY_SIZE(files)][4096];
	static size_t lengths[ARRAY_SIZE(files)];
	static bool there[ARRAY_SIZE(files)];
	const char *path;

	len = len < sizeof(former[i]) ? len : sizeof(former[i]) - 1;
	if (there[i] && lengths[i] == len && !memcmp(former[i], text, len))
		return;
	memcpy(former[i], text, len);
	former[i][len] = '\0';
	lengths[i] = len;
	there[i] = true;
	path = place(files[i].path);
	unlink(path);
	if (files[i].is_link) {
		check(!len || !symlink(former[i], path));
	} else {
		_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		check(fd >= 0 && write(fd, text, len) == (ssize_t)len);
	}
}

static void put_all(const char *text, size_t size)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		bool last = i + 1 == ARRAY_SIZE(files);
		size_t n = last ? size : strnlen(text, size);

		put(i, text, n);
		n += n < size;
		text += n;
		size -= n;
	}
}

/* Of a device, or "-": the text behind it. In ascending order. */
static const char *line_text(char *line, char former[static KEY_NAME])
{
	char *blank = strchr(line, ' ');
	struct key key;

	check(blank && blank[1]);
	*blank = '\0';
	check(!strcmp(line, "-") || key_parse(line, &key));
	check(!strcmp(line, "-") || strcmp(former, line) <= 0);
	snprintf(former, KEY_NAME, "%s", line);
	for (const char *p = blank + 1; *p; p++)
		check((unsigned char)*p >= ' ' && *p != 0x7f);
	return blank + 1;
}

static void check_critical(const char *text)
{
	check(strlen(text) < CRITICAL_TEXT);
}

static void check_holder(const char *text)
{
	unsigned int pid;
	int end = 0;

	if (!strncmp(text, "unseen=", 7) || !strncmp(text, "unknown=", 8))
		return;
	text += strncmp(text, "unsure ", 7) ? 0 : 7;
	check(sscanf(text, "pid=%u comm=\"%n", &pid, &end) == 1 && end && pid == 7);
	check(strcspn(text + end, "\"\\") == strlen(text + end) - 1);
}

static void check_serial(const char *text)
{
	uint64_t serial = strtoull(text, NULL, 16);

	check(!strcmp(text, "-") || (serial && serial != UINT64_MAX)); /* "-": mute */
}

typedef int scan(const struct sysfs *s, const char *only, struct out *ret);

static int scan_serials(const struct sysfs *s, const char *only, struct out *ret)
{
	char addresses[] = DISK " " GPU;

	return tell_each(s, only ? strcpy(addresses, only) : addresses, serial_tell, ret);
}

/* Those of the function as they are. */
static void lines_of(const struct out *all, const char *address, struct out *ret)
{
	const char *next;

	for (const char *p = out_text(all); *p; p = next) {
		next = p + strcspn(p, "\n") + 1;
		if (!strncmp(p, address, strlen(address)) && p[strlen(address)] == ' ')
			out_put(ret, p, (size_t)(next - p));
	}
}

static void look(scan *ask, void (*right)(const char *text))
{
	struct out all = { 0 };
	char former[KEY_NAME] = "", *save;
	int rc = ask(&host, NULL, &all);

	check(!rc || !all.len);
	for (size_t i = 0; !rc && i < 2; i++) {
		const char *address = i ? GPU : DISK;
		struct out one = { 0 }, same = { 0 };

		check(!ask(&host, address, &one));
		lines_of(&all, address, &same);
		check(!strcmp(out_text(&one), out_text(&same)));
		out_free(&one);
		out_free(&same);
	}
	for (char *line = all.len ? strtok_r(all.data, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		right(line_text(line, former));
	out_free(&all);
}

static int scan_holders(const struct sysfs *s, const char *only, struct out *ret)
{
	return holders_scan(s, NULL, only, ret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!host.path[ROOT_SYS])
		set_up();
	put_all((const char *)data, size);
	look(critical_scan, check_critical);
	look(scan_holders, check_holder);
	look(scan_serials, check_serial);
	return 0;
}
