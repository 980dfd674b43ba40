// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/bus.h"
#include "backend/internal.h"
#include "backend/steps.h"
#include "fakehost.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/uevent.h"
#include "pcidevfs/util.h"

#define NEW "0000:07:00.0"
#define NEW_PATH "/devices/pci0000:00/0000:00:03.0/" NEW

static struct world_fake world;
static pthread_t thread;

static void *listen_main(void *arg)
{
	return (void *)(intptr_t)backend_listen(world.backend, NULL);
}

static void prepare(void)
{
	/* What we send reaches nobody else. */
	if (unshare(CLONE_NEWNET))
		SKIP("no network namespace of its own: %s", strerror(errno));
	fake_machine();
	fake_add(&(struct fake){ "0000:00:03.0", "0x8086\n", "0x2030\n", "0x060400\n", "pcieport",
				 1 });
	world = fake_open();
}

static void start(void)
{
	prepare();
	CHECK(!pthread_create(&thread, NULL, listen_main, NULL));
}

static void stop(void)
{
	void *rc;

	backend_stop(world.backend);
	CHECK(!pthread_join(thread, &rc));
	CHECK(!rc);
	fake_close(&world);
}

/* A request to the kernel's port: it broadcasts the text as its own. fields: NULs between them. */
static void uevent(const char *fields, size_t size)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	char msg[2048] = { 0 };
	struct nlmsghdr *h = (struct nlmsghdr *)msg;
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	CHECK(s >= 0 && size < sizeof(msg) - NLMSG_HDRLEN);
	memcpy(msg + NLMSG_HDRLEN, fields, size);
	h->nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size);
	h->nlmsg_type = NLMSG_MIN_TYPE;
	h->nlmsg_flags = NLM_F_REQUEST;
	if (sendto(s, msg, h->nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		SKIP("uevents cannot be sent: %s", strerror(errno));
	close(s);
}

#define UEVENT(text) uevent(text, sizeof(text))

/* Straight to the group, as any process may that has the right: not from the kernel's port. */
static void forge(const char *fields, size_t size)
{
	struct sockaddr_nl all = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	CHECK(s >= 0);
	sendto(s, fields, size, 0, (struct sockaddr *)&all, sizeof(all));
	close(s);
}

static struct device device_of(const char *id)
{
	const struct device *dev;
	struct device copy = { 0 };
	struct key key;

	CHECK(key_parse(id, &key));
	model_lock(world.model);
	dev = model_find(world.model, &key);
	if (dev)
		copy = *dev;
	model_unlock(world.model);
	return copy;
}

/* Milliseconds until cond holds. */
#define UNTIL(cond)                                                                                \
	({                                                                                         \
		uint64_t start_ = now_ms();                                                        \
		while (!(cond) && now_ms() - start_ < 20000)                                        \
			usleep(500);                                                               \
		CHECK(cond);                                                                       \
		(unsigned int)(now_ms() - start_);                                                 \
	})

static void add_new(void)
{
	fake_add(&(struct fake){ NEW, "0x10de\n", "0x25b6\n", "0x030200\n", NULL, 9 });
}

DEFINE_TEST(listen_sees_plug_driver_and_unplug)
{
	start();
	add_new();
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH
	       "\0SUBSYSTEM=pci\0PCI_SLOT_NAME=" NEW);
	printf("# plugged: %u ms\n", UNTIL(device_of(NEW).key.bus == BUS_PCI));
	CHECK_IN(device_of(NEW).names.resource, "nvidia.com/");
	CHECK(!chdir(test_dir()));
	CHECK(!symlink("../../drivers/vfio-pci", "sys/bus/pci/devices/" NEW "/driver"));
	test_file("dev/vfio/9", "");
	UEVENT("add@/devices/virtual/vfio/9\0ACTION=add\0DEVPATH=/devices/virtual/vfio/9\0SUBSYSTEM=vfio");
	printf("# bound: %u ms\n", UNTIL(!strcmp(device_of(NEW).facts.driver, "vfio-pci")));
	CHECK(device_of(NEW).facts.nodes[0]);
	fake_remove(NEW);
	UEVENT("remove@" NEW_PATH "\0ACTION=remove\0DEVPATH=" NEW_PATH
	       "\0SUBSYSTEM=pci\0PCI_SLOT_NAME=" NEW);
	printf("# unplugged: %u ms\n", UNTIL(device_of(NEW).key.bus == BUS_NONE));
	stop();
}

#define NET_EVENT(action, name)                                                                    \
	UEVENT(action "@" NEW_PATH "/net/" name "\0ACTION=" action "\0DEVPATH=" NEW_PATH        \
		      "/net/" name "\0SUBSYSTEM=net")

/* A name comes, is changed, and goes, without any event of the function itself. */
DEFINE_TEST(listen_follows_the_names_of_interfaces_and_disks)
{
	start();
	add_new();
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH "\0SUBSYSTEM=pci");
	UNTIL(device_of(NEW).key.bus == BUS_PCI);
	CHECK_STR(device_of(NEW).facts.netdev, "");
	CHECK(!chdir(test_dir()));
	test_file("sys/bus/pci/devices/" NEW "/net/eth0/address", "");
	NET_EVENT("add", "eth0");
	printf("# named: %u ms\n", UNTIL(!strcmp(device_of(NEW).facts.netdev, "eth0")));
	CHECK(!rename("sys/bus/pci/devices/" NEW "/net/eth0",
		      "sys/bus/pci/devices/" NEW "/net/enp7s0"));
	NET_EVENT("move", "enp7s0");
	printf("# renamed: %u ms\n", UNTIL(!strcmp(device_of(NEW).facts.netdev, "enp7s0")));
	test_file("sys/bus/pci/devices/" NEW "/nvme/nvme0/nvme0c0n1/size", "");
	UEVENT("add@/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1\0ACTION=add"
	       "\0DEVPATH=/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1\0SUBSYSTEM=block");
	UNTIL(!strcmp(device_of(NEW).facts.disk, "nvme0n1"));
	CHECK(!unlink("sys/bus/pci/devices/" NEW "/net/enp7s0/address"));
	CHECK(!rmdir("sys/bus/pci/devices/" NEW "/net/enp7s0"));
	NET_EVENT("remove", "enp7s0");
	UNTIL(!device_of(NEW).facts.netdev[0]);
	stop();
}

static void operate(struct device *dev)
{
	STR_COPY(dev->busy, "claim alice");
}

static void bound_to(const char *driver)
{
	CHECK(!chdir(test_dir()));
	unlink("sys/bus/pci/devices/" NEW "/driver");
	CHECK(!symlink(driver, "sys/bus/pci/devices/" NEW "/driver"));
	UEVENT("bind@" NEW_PATH "\0ACTION=bind\0DEVPATH=" NEW_PATH
	       "\0SUBSYSTEM=pci\0PCI_SLOT_NAME=" NEW);
}

/* An operation looks by itself at what it has changed; one that takes long is not waited for. */
DEFINE_TEST(listen_leaves_a_device_to_its_operation_for_a_while)
{
	unsigned int free, busy;

	start();
	add_new();
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH
	       "\0SUBSYSTEM=pci\0PCI_SLOT_NAME=" NEW);
	UNTIL(device_of(NEW).key.bus == BUS_PCI);
	bound_to("../../drivers/vfio-pci");
	free = UNTIL(!strcmp(device_of(NEW).facts.driver, "vfio-pci"));
	fake_edit(&world, NEW, operate);
	bound_to("../../drivers/pci-stub");
	busy = UNTIL(!strcmp(device_of(NEW).facts.driver, "pci-stub"));
	printf("# %u ms, and %u ms while an operation runs\n", free, busy);
	CHECK(busy >= 90);
	stop();
}

/* It is back before anybody has looked, so that the device reads as before. */
DEFINE_TEST(listen_tells_that_a_driver_was_away)
{
	start();
	add_new();
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH
	       "\0SUBSYSTEM=pci\0PCI_SLOT_NAME=" NEW);
	UNTIL(device_of(NEW).key.bus == BUS_PCI);
	CHECK_EQ(device_of(NEW).unbinds, 0);
	UEVENT("unbind@" NEW_PATH "\0ACTION=unbind\0DEVPATH=" NEW_PATH
	       "\0SUBSYSTEM=pci\0PCI_SLOT_NAME=" NEW);
	UEVENT("bind@" NEW_PATH "\0ACTION=bind\0DEVPATH=" NEW_PATH
	       "\0SUBSYSTEM=pci\0PCI_SLOT_NAME=" NEW);
	UNTIL(device_of(NEW).unbinds == 1);
	stop();
}

/* More devices than one look is for; the last one's driver was away. */
DEFINE_TEST(listen_loses_no_unbind_in_a_burst)
{
	struct err err = { 0 };
	char text[256];

	prepare();
	add_new();
	CHECK_EQ(backend_scan(world.backend, &err), 0);
	for (int i = 0; i < 1100; i++) {
		int n = snprintf(text, sizeof(text),
				 "change@/devices/0001:%02x:%02x.%d%cACTION=change%c"
				 "DEVPATH=/devices/0001:%02x:%02x.%d%cSUBSYSTEM=pci",
				 i / 256, i / 8 % 32, i % 8, 0, 0, i / 256, i / 8 % 32, i % 8, 0);

		uevent(text, (size_t)n + 1);
	}
	UEVENT("unbind@" NEW_PATH "\0ACTION=unbind\0DEVPATH=" NEW_PATH
	       "\0SUBSYSTEM=pci\0PCI_SLOT_NAME=" NEW);
	CHECK(!pthread_create(&thread, NULL, listen_main, NULL));
	UNTIL(device_of(NEW).unbinds == 1);
	stop();
}

/* backend_free() closes it, and another file may have its number by then. */
DEFINE_TEST(listen_closes_no_source_that_has_failed)
{
	struct stat was, now;
	int ends[2];

	prepare();
	backend_hear(world.backend);
	closep(&world.backend->ears.mounts);
	CHECK(!pipe2(ends, O_CLOEXEC));
	close(ends[1]);
	CHECK(!fstat(ends[0], &was));
	world.backend->ears.mounts = ends[0];
	CHECK(!pthread_create(&thread, NULL, listen_main, NULL));
	add_new();
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH "\0SUBSYSTEM=pci");
	UNTIL(device_of(NEW).key.bus == BUS_PCI);
	CHECK(!fstat(ends[0], &now));
	CHECK_EQ(now.st_ino, was.st_ino);
	stop();
}

DEFINE_TEST(listen_tells_a_replugged_device_from_the_old)
{
	uint64_t birth;

	start();
	add_new();
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH "\0SUBSYSTEM=pci");
	UNTIL(device_of(NEW).key.bus == BUS_PCI);
	birth = device_of(NEW).birth;
	UEVENT("remove@" NEW_PATH "\0ACTION=remove\0DEVPATH=" NEW_PATH "\0SUBSYSTEM=pci");
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH "\0SUBSYSTEM=pci");
	UNTIL(device_of(NEW).birth > birth);
	stop();
}

DEFINE_TEST(listen_sees_nodes_by_inotify)
{
	start();
	add_new();
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH "\0SUBSYSTEM=pci");
	UNTIL(device_of(NEW).key.bus == BUS_PCI);
	usleep(50000);
	test_file("dev/vfio/9", "");
	printf("# node: %u ms\n", UNTIL(device_of(NEW).facts.nodes[0]));
	stop();
}

DEFINE_TEST(listen_ignores_forged_and_strange_events)
{
	static const char forged[] =
		"add@" NEW_PATH "\0ACTION=add\0DEVPATH=" NEW_PATH "\0SUBSYSTEM=pci";

	start();
	add_new();
	forge(forged, sizeof(forged));
	UEVENT("add@" NEW_PATH "\0ACTION=add\0DEVPATH=/other\0SUBSYSTEM=pci");
	UEVENT("rubbish");
	UEVENT("add@/devices/x\0ACTION=add\0DEVPATH=/devices/x\0SUBSYSTEM=pci\0PCI_SLOT_NAME=../../x");
	UEVENT("add@/devices/x\0ACTION=add\0DEVPATH=/devices/x\0SUBSYSTEM=vfio");
	usleep(200000);
	CHECK_EQ(device_of(NEW).key.bus, BUS_NONE);
	stop();
}

/* More than the socket holds, and nothing about the new device. */
static void overflow(void)
{
	prepare();
	for (int i = 0; i < 40000; i++)
		UEVENT("change@/devices/x\0ACTION=change\0DEVPATH=/devices/x\0SUBSYSTEM=x");
	add_new();
}

static void listen_and_find(void)
{
	struct out o = { 0 };

	CHECK(!pthread_create(&thread, NULL, listen_main, NULL));
	UNTIL(device_of(NEW).key.bus == BUS_PCI);
	backend_health(world.backend, &o);
	CHECK_IN(out_text(&o), "uevents=ok overflows=1\n");
	out_free(&o);
	stop();
}

DEFINE_TEST(listen_mends_an_overflow_by_looking_at_everything)
{
	overflow();
	listen_and_find();
}

DEFINE_TEST(listen_mends_an_overflow_that_a_former_process_was_told_of)
{
	char buf[64];

	overflow();
	CHECK_EQ(recv(world.backend->uevent_fd, buf, sizeof(buf), MSG_DONTWAIT), -1);
	CHECK_EQ(errno, ENOBUFS);
	listen_and_find();
}

/* A bus that nobody reads yet, as it would be added: functions and a row. */

static int stick_observe(const struct backend *b, const struct key *dev, struct facts *ret)
{
	struct facts f = facts_none;
	int64_t vendor;

	if (sysfs_number(&b->sys, ROOT_SYS, 0, UINT16_MAX, &vendor, "bus/usb/devices/%s/vendor",
			 dev->name))
		return -ENODEV;
	f.vendor = (uint16_t)vendor;
	*ret = f;
	return 0;
}

static bool stick_heard(struct model *m, const struct uevent *ev, struct key *ret)
{
	return key_make(BUS_USB, strrchr(ev->devpath, '/') + 1, ret);
}

static const struct bus_ops sticks = { "bus/usb/devices", "usb", stick_observe, stick_heard };

#define STICK "bus/usb/devices/2-1"
#define STICK_EVENT(action)                                                                        \
	UEVENT(action "@/devices/usb2/2-1\0ACTION=" action                                         \
		      "\0DEVPATH=/devices/usb2/2-1\0SUBSYSTEM=usb")

DEFINE_TEST(listen_sees_what_comes_and_goes_on_another_bus)
{
	const struct bus_ops *rows[BUS_COUNT] = { [BUS_PCI] = buses[BUS_PCI], [BUS_USB] = &sticks };
	struct key stick;
	struct err err = { 0 };

	prepare();
	world.backend->buses = rows;
	CHECK(!pthread_create(&thread, NULL, listen_main, NULL));
	test_file("sys/" STICK "/vendor", "0x0951\n");
	STICK_EVENT("add");
	UNTIL(device_of("usb/2-1").facts.vendor == 0x0951);
	CHECK(key_parse("usb/2-1", &stick));
	CHECK_EQ(step_trouble(world.backend, "bind", &stick, -EIO, 10, "", &err), 0);
	/* Where all is looked at, each bus has what it lists, and no more. */
	test_file("sys/bus/usb/devices/2-1:1.0/vendor", "0x0951\n");
	CHECK_EQ(backend_scan(world.backend, &err), 0);
	CHECK_EQ(device_of("usb/2-1").key.bus, BUS_USB);
	CHECK_EQ(device_of("0000:00:03.0").key.bus, BUS_PCI);
	CHECK(!chdir(test_dir()));
	CHECK(!rename("sys/bus/usb", "gone-usb"));
	CHECK_EQ(step_trouble(world.backend, "bind", &stick, -EIO, 10, "", &err), -ENODEV);
	CHECK_EQ(backend_scan(world.backend, &err), 0);
	CHECK_EQ(device_of("usb/2-1").key.bus, BUS_NONE);
	CHECK_EQ(device_of("0000:00:03.0").key.bus, BUS_PCI);
	stop();
}

/* The kernel sends no event when a process opens a device by usbfs. */
DEFINE_TEST(listen_hears_who_opens_a_usb_device)
{
	int node;

	start();
	host_file("0951\n", "sys/bus/usb/devices/2-1/idVendor");
	host_file("1666\n", "sys/bus/usb/devices/2-1/idProduct");
	host_file("2\n", "sys/bus/usb/devices/2-1/busnum");
	host_file("5\n", "sys/bus/usb/devices/2-1/devnum");
	host_file("", "dev/bus/usb/002/005");
	STICK_EVENT("add");
	UNTIL(!strcmp(device_of("usb/2-1").facts.nodes, "/dev/bus/usb/002/005"));
	usleep(500000); /* until all that follows from the event was asked */
	/* Whoever has random open has the device. */
	host_file("", "sys/devices/pci0000:00/0000:00:03.0/usb2/2-1/uevent");
	host_link("../../../../../bus/usb",
		  "sys/devices/pci0000:00/0000:00:03.0/usb2/2-1/subsystem");
	host_link("../../devices/pci0000:00/0000:00:03.0/usb2/2-1", "sys/dev/char/1:8");
	host_file("usbip\n", "proc/7/comm");
	host_link("/dev/random", "proc/7/fd/3");
	CHECK(!chdir(test_dir()));
	node = open("dev/bus/usb/002/005", O_RDWR | O_CLOEXEC);
	CHECK(node >= 0);
	printf("# held: %u ms\n", UNTIL(device_of("usb/2-1").facts.holder[0]));
	CHECK_STR(device_of("usb/2-1").facts.holder, "pid=7 comm=\"usbip\"");
	CHECK(!unlink("proc/7/fd/3"));
	CHECK(!close(node));
	printf("# let go: %u ms\n", UNTIL(!device_of("usb/2-1").facts.holder[0]));
	stop();
}
