// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hold GROUP NAME SECONDS [alone]: take a device as a VMM does, and keep it a while.
 *
 * NAME is a PCI address or an mdev UUID. alone: nothing but the device stays open. Prints "viable
 * 0|1" for the group, then "held" once the device is taken; exits 0, or 1 with the step that
 * failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static void print_what(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static int failed(const char *step)
{
	printf("%s: %s\n", step, strerrorname_np(errno));
	return 1;
}

int main(int argc, char **argv)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	struct timespec left = { 0 };
	char path[64];
	int box, group, dev;
	double secs;

	if (argc < 4 || argc > 5) {
		fprintf(stderr, "usage: hold GROUP NAME SECONDS [alone]\n");
		return 2;
	}
	secs = strtod(argv[3], NULL);
	left.tv_sec = (time_t)secs;
	left.tv_nsec = (long)((secs - (double)left.tv_sec) * 1e9);
	box = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	if (box < 0)
		return failed("open container");
	snprintf(path, sizeof(path), "/dev/vfio/%s", argv[1]);
	group = open(path, O_RDWR | O_CLOEXEC);
	if (group < 0)
		return failed("open group");
	if (ioctl(group, VFIO_GROUP_GET_STATUS, &status))
		return failed("group status");
	print_what(status.flags & VFIO_GROUP_FLAGS_VIABLE ? "viable 1" : "viable 0");
	if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &box))
		return failed("set container");
	if (ioctl(box, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		return failed("set iommu");
	dev = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, argv[2]);
	if (dev < 0)
		return failed("get device");
	if (argc == 5 && (close(group) || close(box)))
		return failed("close group");
	print_what("held");
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	close(dev);
	return 0;
}
