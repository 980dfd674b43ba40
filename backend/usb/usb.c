// SPDX-License-Identifier: GPL-2.0-or-later
/* The bus of USB devices: one by each port path, hubs and root hubs too. */
#include "usb.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/bus.h"
#include "backend/called.h"
#include "backend/internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/uevent.h"
#include "pcidevfs/util.h"

/* usb_cache_string() of the kernel makes at most 3 bytes of each of 126 characters. */
#define STRING_MAX 400

bool usb_is_host(const char *driver)
{
	return driver[0] && strcmp(driver, "usbfs");
}

/* Hexadecimal digits without 0x, as attributes of USB have them. */
static int hex_attr(const struct sysfs *s, const char *dir, const char *name, unsigned int digits,
		    uint32_t *ret)
{
	char text[16], *end;
	int n = sysfs_read(s, ROOT_SYS, text, sizeof(text), USB_DEVICES "/%s/%s", dir, name);

	if (n < 0)
		return n;
	if ((unsigned int)n != digits || !isxdigit((unsigned char)text[0]) ||
	    !isxdigit((unsigned char)text[1]))
		return -EINVAL;
	*ret = (uint32_t)strtoul(text, &end, 16);
	return *end ? -EINVAL : 0;
}

static uint32_t class_of(const struct sysfs *s, const char *dir, const char *const names[3])
{
	uint32_t class = 0, part;

	for (int i = 0; i < 3; i++) {
		part = 0;
		hex_attr(s, dir, names[i], 2, &part);
		class = class << 8 | (part & 0xff);
	}
	return class;
}

/* "1.0", nothing else. */
static bool is_number(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n && text[n] == '.' && text[n + 1] &&
	       !text[n + 1 + strspn(text + n + 1, "0123456789")];
}

static int by_number(const void *left, const void *right)
{
	const struct usb_interface *a = left, *b = right;

	return atoi(strchr(a->number, '.') + 1) - atoi(strchr(b->number, '.') + 1);
}

size_t usb_interfaces(const struct sysfs *s, const char *name, struct usb_interface *ret)
{
	static const char *const attrs[3] = { "bInterfaceClass", "bInterfaceSubClass",
					      "bInterfaceProtocol" };
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_SYS, USB_DEVICES "/%s", name);
	const struct dirent *e;
	size_t n = 0;

	while (dir && n < USB_INTERFACES && (e = readdir(dir))) {
		const char *colon = strchr(e->d_name, ':');
		struct usb_interface *u = &ret[n];
		char path[NAME_MAX + KEY_NAME + 2];

		if (!colon || !is_number(colon + 1) || !STR_COPY(u->number, colon + 1))
			continue;
		snprintf(path, sizeof(path), "%.*s/%s", KEY_NAME, name, e->d_name);
		u->class_code = class_of(s, path, attrs);
		/* The kernel sends no event when somebody takes it by usbfs, or lets it go. */
		if (sysfs_link(s, ROOT_SYS, u->driver, sizeof(u->driver),
			       USB_DEVICES "/%s/driver", path) ||
		    !usb_is_host(u->driver))
			u->driver[0] = '\0';
		n++;
	}
	qsort(ret, n, sizeof(*ret), by_number);
	return n;
}

static void print_interfaces(const struct usb_interface *v, size_t n, char *ret)
{
	const size_t room = INTERFACES_TEXT - sizeof("...");
	size_t at = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		int len = snprintf(ret + at, room - at, "%s%s %06x %s", i ? "\n" : "", v[i].number,
				   v[i].class_code, v[i].driver[0] ? v[i].driver : "-");

		if (len < 0 || (size_t)len >= room - at) {
			strcpy(ret + at, at ? "\n..." : "...");
			return;
		}
		at += (size_t)len;
	}
}

bool usb_interface_next(const char **text, struct usb_interface *ret)
{
	int end = 0;

	if (sscanf(*text, "%7s %6x %47s%n", ret->number, &ret->class_code, ret->driver, &end) != 3 ||
	    !is_number(ret->number))
		return false;
	if (!strcmp(ret->driver, "-"))
		ret->driver[0] = '\0';
	*text += end;
	*text += **text == '\n';
	return true;
}

/* Fills in the ids; what makes no sense is told, and nobody touches the device. */
static int read_ids(const struct sysfs *s, const char *name, struct facts *f)
{
	static const char *const names[] = { "idVendor", "idProduct" };
	uint16_t *const to[] = { &f->vendor, &f->device };

	for (int i = 0; i < 2; i++) {
		uint32_t id = 0;
		int rc = hex_attr(s, name, names[i], 4, &id);

		if (rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM)
			return rc;
		if (rc == -ENODEV || (rc && !sysfs_exists(s, ROOT_SYS, USB_DEVICES "/%s", name)))
			return -ENODEV;
		if (rc && !f->garbled[0])
			snprintf(f->garbled, sizeof(f->garbled),
				 rc == -ENOENT ? "there is no %s" : "%s is not four digits", names[i]);
		*to[i] = (uint16_t)id;
	}
	return 0;
}

static void read_serial(const struct sysfs *s, const char *name, struct facts *f)
{
	char text[STRING_MAX];
	int n = sysfs_read(s, ROOT_SYS, text, sizeof(text), USB_DEVICES "/%s/serial", name);

	f->serial_known = true;
	if (n <= 0)
		return;
	/* The identity has 64 bits: the hash of the whole text, never 0. */
	f->serial = fnv1a(FNV1A, text, (size_t)n);
	f->serial += !f->serial;
	pci_quote(text);
	snprintf(f->usb_serial, sizeof(f->usb_serial), "%.*s", (int)sizeof(f->usb_serial) - 1, text);
}

/* Many fill them up with blanks, and some say nothing but those. */
static void read_word(const struct sysfs *s, const char *name, const char *attr,
		      char ret[static OWN_WORD])
{
	char text[STRING_MAX];
	int n = sysfs_read(s, ROOT_SYS, text, sizeof(text), USB_DEVICES "/%s/%s", name, attr);

	while (n > 0 && text[n - 1] == ' ')
		n--;
	text[n > 0 ? n : 0] = '\0';
	snprintf(ret, OWN_WORD, "%s", text + strspn(text, " "));
	str_clean(ret);
}

static uint16_t read_number(const struct sysfs *s, const char *dir, const char *name)
{
	int64_t n = 0;

	sysfs_number(s, ROOT_SYS, 0, UINT16_MAX, &n, USB_DEVICES "/%s/%s", dir, name);
	return (uint16_t)n;
}

/* The component that is a root hub, "usb1" behind a '/'; NULL. */
static const char *root_of(const char *target)
{
	struct key key;

	for (const char *at = target; (at = strstr(at, "/usb")); at++) {
		char name[KEY_NAME];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 1, "/"), at + 1);
		if (key_make(BUS_USB, name, &key))
			return at + 1;
	}
	return NULL;
}

/* One xHCI has two root hubs, whose numbers depend on the order in which controllers come. */
static const char *speed_class(const char *speed)
{
	double mbit = atof(speed);

	return mbit >= 5000 ? "ss" : mbit >= 480 ? "hs" : "fs";
}

void usb_path(const char *target, const char *root_speed, char *ret, size_t size)
{
	const char *root = root_of(target), *last = strrchr(target, '/');
	const char *ports = last ? strchr(last, '-') : NULL, *up = root ? root - 1 : target;
	char before[PATH_MAX], pci[128], text[PATH_MAX];

	ret[0] = '\0';
	if (!root || (size_t)(root - target) > sizeof(before))
		return;
	snprintf(before, sizeof(before), "%.*s", (int)(root - 1 - target), target);
	pci_path(before, pci, sizeof(pci));
	while (up > target && up[-1] != '/')
		up--;
	if (!pci[0]) /* a controller that is no PCI function */
		snprintf(pci, sizeof(pci), "%.*s", (int)strcspn(up, "/"), up);
	snprintf(text, sizeof(text), "%s/%s/%s", pci, speed_class(root_speed),
		 ports ? ports + 1 : "root");
	/* No dot behind the controller's: the one before a PCI function's number is the last. */
	for (char *dot = text + strlen(pci); (dot = strchr(dot, '.'));)
		*dot = '-';
	if (!str_copy(ret, size, text))
		ret[0] = '\0';
}

static void read_place(const struct sysfs *s, const char *name, struct facts *f)
{
	char target[PATH_MAX], speed[16] = "", root[KEY_NAME];
	const char *at = NULL;

	if (!sysfs_target(s, target, USB_DEVICES "/%s", name))
		at = root_of(target);
	if (!at)
		return;
	snprintf(root, sizeof(root), "%.*s", (int)strcspn(at, "/"), at);
	sysfs_read(s, ROOT_SYS, speed, sizeof(speed), USB_DEVICES "/%s/speed", root);
	usb_path(target, speed, f->path, sizeof(f->path));
	target[at - 1 - target] = '\0';
	at = strrchr(target, '/');
	if (at && key_make(BUS_PCI, at + 1, &f->parent)) {
		int64_t node = -1;

		f->caps |= CAP_HOSTED;
		sysfs_number(s, ROOT_SYS, -1, INT32_MAX, &node, PCI_DEVICES "/%s/numa_node", at + 1);
		f->numa_node = (int32_t)node;
	}
}

static void read_nodes(const struct sysfs *s, struct facts *f)
{
	char node[32];

	snprintf(node, sizeof(node), "bus/usb/%03u/%03u", f->busnum, f->devnum);
	if (f->devnum && sysfs_exists(s, ROOT_DEV, "%s", node))
		snprintf(f->nodes, sizeof(f->nodes), "/dev/%s", node);
}

static void read_use(const struct sysfs *s, const char *name, struct facts *f)
{
	struct usb_interface v[USB_INTERFACES];
	size_t n = usb_interfaces(s, name, v);

	f->use = USE_GUEST;
	if (n && !(f->class_code >> 16))
		f->class_code = v[0].class_code;
	for (size_t i = n; i--;)
		if (v[i].driver[0]) {
			STR_COPY(f->driver, v[i].driver);
			f->use = USE_HOST;
		}
	print_interfaces(v, n, f->interfaces);
}

/* The names of disks and network interfaces; what is on the ports of a hub has its own. */
static int read_called(const struct sysfs *s, const char *name, struct facts *f)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_SYS, USB_DEVICES "/%s", name);
	struct called called = { 0 };
	struct sysfs at = *s;
	const struct dirent *e;
	struct key port;
	int rc = 0;

	if (!dir)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	at.fd[ROOT_SYS] = dirfd(dir);
	while (!rc && (e = readdir(dir)))
		if (!key_make(BUS_USB, e->d_name, &port))
			rc = called_look(&called, &at, e->d_name);
	called_tell(&called, f);
	return rc;
}

static void read_authorized(const struct sysfs *s, const char *name, struct facts *f)
{
	int64_t authorized = 1;

	sysfs_number(s, ROOT_SYS, 0, 1, &authorized, USB_DEVICES "/%s/authorized", name);
	f->unauthorized = !authorized;
}

static int observe(const struct backend *b, const struct key *dev, struct facts *ret)
{
	static const char *const attrs[3] = { "bDeviceClass", "bDeviceSubClass", "bDeviceProtocol" };
	const struct sysfs *s = &b->sys;
	const char *name = dev->name;
	struct facts f = facts_none;
	int rc;

	f.inode = sysfs_inode(s, USB_DEVICES "/%s", name);
	rc = read_ids(s, name, &f);
	if (rc)
		return rc;
	f.class_code = class_of(s, name, attrs);
	f.busnum = read_number(s, name, "busnum");
	f.devnum = read_number(s, name, "devnum");
	if (sysfs_read(s, ROOT_SYS, f.speed, sizeof(f.speed), USB_DEVICES "/%s/speed", name) < 0)
		f.speed[0] = '\0';
	pci_quote(f.speed);
	read_serial(s, name, &f);
	read_word(s, name, "manufacturer", f.manufacturer);
	read_word(s, name, "product", f.product);
	read_place(s, name, &f);
	read_use(s, name, &f);
	read_authorized(s, name, &f);
	read_nodes(s, &f);
	rc = read_called(s, name, &f);
	if (rc)
		return rc;
	f.caps |= CAP_IDS | CAP_USB | (strchr(name, '-') ? CAP_PORT : 0);
	if (f.class_code >> 16 == USB_CLASS_HUB) {
		f.kind = KIND_HUB;
		f.use = USE_HOST;
	}
	/* device_del() of the kernel takes these away before the strings and the place: if they
	 * are still there, all of it was read, and of one device if another has not come. */
	if ((!f.garbled[0] && !sysfs_exists(s, ROOT_SYS, USB_DEVICES "/%s/idVendor", name)) ||
	    sysfs_inode(s, USB_DEVICES "/%s", name) != f.inode)
		return -ENODEV;
	*ret = f;
	return 0;
}

/* "/devices/.../1-1/1-1:1.0": an interface's device. */
static bool heard(struct model *m, const struct uevent *ev, struct key *ret)
{
	const char *slash = strrchr(ev->devpath, '/');
	size_t n = slash ? strcspn(slash + 1, ":") : KEY_NAME;
	char name[KEY_NAME];

	/* A root hub's is 1-0:1.0 below usb1; but a hub has none to claim. */
	if (n >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)n, slash + 1);
	return key_make(BUS_USB, name, ret);
}

const struct bus_ops usb_bus = {
	.devices = USB_DEVICES,
	.subsystem = "usb",
	.tells_serial = true,
	.plugged = true,
	.observe = observe,
	.heard = heard,
	.ids = { "/usr/share/hwdata/usb.ids", "/usr/share/misc/usb.ids",
		 "/var/lib/usbutils/usb.ids" },
	.name = usb_names,
};
