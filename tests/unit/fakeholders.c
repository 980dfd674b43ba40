// SPDX-License-Identifier: GPL-2.0-or-later
#include "fakeholders.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void put_function(const char *address, const char *dir, const char *group)
{
	char target[256];

	host_file("0x10de\n", "sys/%s/vendor", dir);
	snprintf(target, sizeof(target), "../../../kernel/iommu_groups/%s", group);
	host_link(target, "sys/%s/iommu_group", dir);
	snprintf(target, sizeof(target), "../../../%s", dir);
	host_link(target, "sys/bus/pci/devices/%s", address);
	host_link(target, "sys/kernel/iommu_groups/%s/devices/%s", group, address);
}

/* A device with a node below a function's directory, linked where. Numbers are of nodes that
 * every /dev has: zero is 1:5, full 1:7, random 1:8. */
void put_node(const char *dir, const char *sub, const char *where)
{
	char target[256];

	snprintf(target, sizeof(target), "../../%s/%s", dir, sub);
	host_link(target, "sys/%s", where);
}

/* Where a descriptor leads: a file below the host, or what begins with a slash or is none. */
void put_open(const char *open, int pid, int fd)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", test_dir(), open);
	host_link(open[0] == '/' || strstr(open, ":[") ? open : path,
		  "proc/%d/fd/%d", pid, fd);
}

void put_process(int pid, const char *comm, const char *open)
{
	host_file(comm, "proc/%d/comm", pid);
	put_open(open, pid, 3);
}

void put_machine(void)
{
	put_function(A, A_DIR, "12");
	put_function(B, B_DIR, "12");
	host_file("", "dev/vfio/12");
	host_file("", "dev/vfio/1");
	host_file("", "dev/vfio/vfio");
}

int run(const char *address, struct out *o)
{
	struct sysfs s;
	int rc;

	host_open(&s);
	rc = holders_scan(&s, NULL, address, o);
	sysfs_close(&s);
	return rc;
}

void expect_from(const char *address, const char *lines, const char *file, int line)
{
	struct out o = { 0 };

	test_check_eq(file, line, "the scan", run(address, &o), 0);
	test_check_str(file, line, "holders", out_text(&o), lines);
	out_free(&o);
}
