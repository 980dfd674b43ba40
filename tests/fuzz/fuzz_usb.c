// SPDX-License-Identifier: GPL-2.0-or-later
/* Until a NUL where a device sits, then what is in usb.ids and, read as that, lines of interfaces. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/ids.h"
#include "backend/usb/usb.h"
#include "pcidevfs/util.h"

static void look_up(const char *text, size_t len)
{
	struct facts f = { .vendor = 0x0951, .device = 0x1666, .class_code = 0x080650 };
	struct names names = { .resource = "" };
	int fd = memfd_create("ids", 0);
	struct ids *ids;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	if (ids_open((const char *const[]){ path, NULL }, &ids))
		abort();
	usb_names(ids, &f, &names);
	ids_close(ids);
	close(fd);
	if (strcmp(names.resource, "kubevirt.io/usb-0951-1666") ||
	    strncmp(names.description, "Mass Storage: ", 14))
		abort();
	/* the same bytes as the device's own words */
	snprintf(f.product, sizeof(f.product), "%.*s", (int)len, text);
	str_clean(f.product);
	usb_names(NULL, &f, &names);
	if (strncmp(names.description, "Mass Storage: ", 14))
		abort();
	for (const char *c = names.description; *c; c++)
		if ((unsigned char)*c < ' ')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 2), *rest, path[128];
	struct usb_interface u;
	const char *at;

	if (!text)
		return 0;
	memcpy(text, data, size);
	rest = text + strlen(text) + 1;
	usb_path(text, rest, path, sizeof(path));
	if (path[0] && (!strchr(path, '/') || strlen(path) >= sizeof(path)))
		abort();
	for (at = rest <= text + size ? rest : ""; usb_interface_next(&at, &u);)
		if (!strchr(u.number, '.') || strchr(u.number, '/') || strchr(u.driver, ' '))
			abort();
	if (rest < text + size)
		look_up(rest, size - (size_t)(rest - text));
	free(text);
	return 0;
}
