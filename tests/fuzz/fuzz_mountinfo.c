// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mountinfo, which is read line by line, and for what is on top. Any bytes; and two mounts as the kernel writes them: three
 * bytes for their numbers and fields, then path and source with a NUL between. What
 * was mounted is found, and what is on top.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fs/daemon/mountpoint.h"
#include "pcidevfs/critical.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int find(const struct out *text, const char *path, struct mount_entry *ret)
{
	char *copy = strdup(out_text(text));
	int r;

	check(copy != NULL);
	r = mountpoint_in(copy, path, ret);
	free(copy);
	return r;
}

static void any_bytes(const uint8_t *data, size_t size)
{
	struct mount_entry entry;
	struct mount_line line;
	struct out text = { 0 };
	char *next;

	out_put(&text, (const char *)data, size);
	find(&text, "/run/pcidevfs", &entry);
	for (next = text.data; next && mount_next(&next, &line);)
		check(line.point[0] && line.type[0] && line.source[0]);
	out_free(&text);
}

/* As the kernel does. */
static void escape(struct out *o, const char *text)
{
	for (; *text; text++)
		if (strchr(" \t\n\\#", *text))
			out_printf(o, "\\%03o", (unsigned int)(unsigned char)*text);
		else
			out_put(o, text, 1);
}

static void put_line(struct out *o, unsigned int major, unsigned int minor, const char *path,
		     const char *type, const char *source, unsigned int optional)
{
	out_printf(o, "36 35 %u:%u / ", major, minor);
	escape(o, path);
	out_printf(o, " rw,nosuid");
	while (optional--)
		out_printf(o, " shared:%u", optional);
	out_printf(o, " - %s ", type);
	escape(o, source);
	out_printf(o, " rw\n");
}

static void as_mounted(const uint8_t *data, size_t size)
{
	char *path = calloc(1, size + 2), *source = calloc(1, size + 2), *next;
	size_t n = strnlen((const char *)data + 3, size - 3);
	bool ours = data[2] & 1;
	struct mount_entry entry;
	struct mount_line line;
	struct out text = { 0 };

	path[0] = '/';
	memcpy(path + 1, data + 3, n);
	source[0] = 's';
	if (n < size - 3)
		strncpy(source + 1, (const char *)data + 4 + n, size - 4 - n);
	put_line(&text, 1, 1, path, "ext4", "below", 0);
	put_line(&text, data[0], data[1], path, ours ? MOUNT_TYPE : "tmpfs", source, data[2] >> 5);
	put_line(&text, 2, 2, "/another", MOUNT_TYPE, "another", 1);
	if (strcmp(path, "/another") != 0) {
		check(!find(&text, path, &entry));
		check(entry.major == data[0] && entry.minor == data[1] && entry.ours == ours);
	}
	next = text.data;
	check(mount_next(&next, &line) && !strcmp(line.source, "below"));
	check(mount_next(&next, &line) && !strcmp(line.point, path));
	check(!strcmp(line.type, ours ? MOUNT_TYPE : "tmpfs"));
	check(!strcmp(line.source, source) && line.major == data[0] && line.minor == data[1]);
	check(mount_next(&next, &line) && !strcmp(line.point, "/another"));
	check(!mount_next(&next, &line));
	out_free(&text);
	free(path);
	free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	any_bytes(data, size);
	if (size >= 3)
		as_mounted(data, size);
	return 0;
}
