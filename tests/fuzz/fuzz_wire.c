// SPDX-License-Identifier: GPL-2.0-or-later
/* Any requests to a helper that writes attributes: nothing is written but what operations write.
 * Words are parted by NUL, requests by a line's end. */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "backend/wire.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/holders.h"
#include "place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEVICE "sys/devices/pci0000:00/0000:01:00.0"
#define UUID "c3b7f5b0-1e2d-4c3b-9a8f-0123456789ab"

static const char *const may[] = {
	"sys/bus/pci/drivers_probe", "sys/bus/pci/drivers/a/bind", "sys/bus/usb/drivers/a/unbind",
	DEVICE "/driver_override",   DEVICE "/sriov_numvfs",	   DEVICE "/reset",
	DEVICE "/" UUID "/remove",
};
static const char *const may_not[] = {
	DEVICE "/config",
	DEVICE "/remove",
	DEVICE "/power/control",
	"sys/bus/pci/rescan",
	"sys/bus/pci/drivers/a/new_id",
	"sys/kernel/uevent_helper",
	"sys/kernel/iommu_groups/1/type",
	"sys/module/bind",
	"outside",
};
static const char *const links[][2] = {
	{ "sys/bus/pci/devices/0000:01:00.0", "../../../devices/pci0000:00/0000:01:00.0" },
	{ "sys/bus/mdev/devices/" UUID, "../../../devices/pci0000:00/0000:01:00.0/" UUID },
	{ "sys/bus/pci/drivers/b", "../../../module" },
	{ DEVICE "/iommu_group", "../../../kernel/iommu_groups/1" },
	{ "sys/bus/usb/drivers_probe", "../../../outside" },
};

static void make(const char *path)
{
	int fd = open(place(path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	check(fd >= 0 && !close(fd));
}

static void set_up(struct roots *roots)
{
	static char sys[64], dev[64], proc[64];

	check(mkdtemp(root) != NULL);
	atexit(clean);
	for (size_t i = 0; i < sizeof(may) / sizeof(may[0]); i++)
		make(may[i]);
	for (size_t i = 0; i < sizeof(may_not) / sizeof(may_not[0]); i++)
		make(may_not[i]);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		check(!symlink(links[i][1], place(links[i][0])));
	make("dev/x");
	make("proc/x");
	snprintf(sys, sizeof(sys), "%s/sys", root);
	snprintf(dev, sizeof(dev), "%s/dev", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	*roots = (struct roots){ .sysfs = sys, .dev = dev, .proc = proc };
}

static void send_one(int fd, const char *words, size_t n)
{
	char text[WIRE_REQUEST];
	struct wire_request head = { .argc = 1, .size = (uint32_t)n + 1, .deadline_ms = 60000 };

	if (n >= sizeof(text))
		return;
	memcpy(text, words, n);
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		head.argc += !text[i];
	send(fd, &head, sizeof(head), MSG_NOSIGNAL | MSG_DONTWAIT);
	send(fd, text, head.size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct roots roots;
	const struct hold_asker family = { 0 };
	const struct wire_request over = { .argc = 0 };
	const struct timeval patience = { .tv_sec = 1 };
	const char *next = (const char *)data, *end = next + size;
	struct stat st;
	int pair[2];

	if (!roots.sysfs)
		set_up(&roots);
	check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(pair[1], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	while (next < end) {
		const char *line = memchr(next, '\n', (size_t)(end - next));
		const char *last = line ? line : end;

		send_one(pair[0], next, (size_t)(last - next));
		next = last + 1;
	}
	/* A caller that has gone is not served; but one that sends no request is left. */
	send(pair[0], &over, sizeof(over), MSG_NOSIGNAL | MSG_DONTWAIT);
	helper_run(HELPER_SYSFS, pair[1], &roots, &family, NULL);
	close(pair[0]);
	close(pair[1]);
	for (size_t i = 0; i < sizeof(may_not) / sizeof(may_not[0]); i++)
		check(!stat(place(may_not[i]), &st) && !st.st_size);
	return 0;
}
