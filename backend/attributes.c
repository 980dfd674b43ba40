// SPDX-License-Identifier: GPL-2.0-or-later
#include "attributes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pcidevfs/facts.h"
#include "pcidevfs/key.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define DEPTH 8
#define PATH_TEXT 256

static bool is_function(const char *text)
{
	struct key key;

	return key_make(BUS_PCI, text, &key);
}

static bool is_uuid(const char *text)
{
	struct key key;

	return key_make(BUS_MDEV, text, &key);
}

static bool is_digits(const char *text, size_t n)
{
	return n && n == strspn(text, "0123456789");
}

/* "1-1.2:1.0" */
static bool is_interface(const char *text)
{
	const char *colon = strchr(text, ':'), *dot = colon ? strchr(colon, '.') : NULL;
	char device[KEY_NAME];
	struct key key;

	if (!dot || colon - text >= KEY_NAME)
		return false;
	snprintf(device, sizeof(device), "%.*s", (int)(colon - text), text);
	return key_make(BUS_USB, device, &key) && is_digits(colon + 1, (size_t)(dot - colon - 1)) &&
	       is_digits(dot + 1, strlen(dot + 1));
}

static bool is_number(const char *text)
{
	uint64_t n;

	return !parse_u64(text, UINT32_MAX, &n);
}

static bool is_flag(const char *text)
{
	return !strcmp(text, "0") || !strcmp(text, "1");
}

static bool is_one(const char *text)
{
	return !strcmp(text, "1");
}

/* A driver's name, or parameters: what was there before an operation is written again, whatever it
 * was. A newline alone clears it. */
static bool is_line(const char *text)
{
	size_t n = strlen(text);

	if (!strcmp(text, "\n"))
		return true;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return n && n < VGPU_PARAMS;
}

/* In a path @ is a function, % a mediated device, and * any name. */
static const struct {
	const char *path;
	bool (*takes)(const char *text);
} rows[] = {
	{ "bus/pci/drivers_probe", is_function },
	{ "bus/pci/drivers/*/bind", is_function },
	{ "bus/pci/drivers/*/unbind", is_function },
	{ "bus/pci/devices/@/driver_override", is_line },
	{ "bus/pci/devices/@/reset", is_one },
	{ "bus/pci/devices/@/sriov_numvfs", is_number },
	{ "bus/pci/devices/@/sriov_drivers_autoprobe", is_flag },
	{ "bus/pci/devices/@/mdev_supported_types/*/create", is_uuid },
	{ "bus/pci/devices/@/nvidia/current_vgpu_type", is_number },
	{ "bus/pci/devices/@/nvidia/vgpu_params", is_line },
	{ "bus/mdev/devices/%/remove", is_one },
	{ "bus/mdev/devices/%/nvidia/vgpu_params", is_line },
	{ "bus/usb/drivers_probe", is_interface },
	{ "bus/usb/drivers/*/bind", is_interface },
	{ "bus/usb/drivers/*/unbind", is_interface },
};

/* Splits text at its slashes. Returns the number of parts, or 0 if there are more than DEPTH, or if a
 * part is empty or begins with a dot. */
static size_t split(char *text, char *ret[static DEPTH])
{
	size_t n = 0;
	char *part;

	while ((part = strsep(&text, "/"))) {
		if (n == DEPTH || !part[0] || part[0] == '.')
			return 0;
		ret[n++] = part;
	}
	return n;
}

static bool fits(const char *pattern, const char *name)
{
	switch (pattern[0]) {
	case '@':
		return is_function(name);
	case '%':
		return is_uuid(name);
	case '*':
		return true;
	default:
		return !strcmp(pattern, name);
	}
}

static bool is_row(size_t row, char *const *names, size_t n, const char *text)
{
	char pattern[PATH_TEXT], *parts[DEPTH];

	if (!STR_COPY(pattern, rows[row].path) || split(pattern, parts) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!fits(parts[i], names[i]))
			return false;
	return rows[row].takes(text);
}

/* The descriptor of the directory; -errno. */
static int enter(const struct sysfs *s, char *const *names, size_t n)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	int at = openat(s->fd[ROOT_SYS], ".", flags);

	for (size_t i = 0; i < n && at >= 0; i++) {
		bool is_device = i == 3 && !strcmp(names[2], "devices");
		int next = openat(at, names[i], flags | (is_device ? 0 : O_NOFOLLOW));
		int code = errno;

		close(at);
		errno = code;
		at = next;
	}
	return at < 0 ? -errno : at;
}

int attribute_write(const struct sysfs *s, const char *path, const char *text)
{
	char buf[PATH_TEXT], *names[DEPTH];
	size_t n = STR_COPY(buf, path) ? split(buf, names) : 0, row = 0;
	struct sysfs at = *s;
	int rc;

	while (row < ARRAY_SIZE(rows) && !is_row(row, names, n, text))
		row++;
	if (!n || row == ARRAY_SIZE(rows))
		return -EPERM;
	rc = enter(s, names, n - 1);
	if (rc < 0)
		return rc;
	at.fd[ROOT_SYS] = rc;
	rc = sysfs_write(&at, ROOT_SYS, text, "%s", names[n - 1]);
	close(at.fd[ROOT_SYS]);
	return rc;
}
