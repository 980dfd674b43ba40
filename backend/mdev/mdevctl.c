// SPDX-License-Identifier: GPL-2.0-or-later
#include "mdevctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pcidevfs/backend.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

/* ---- a definition's text */

/* p is at a quote; copies what is between it and the next one. Returns what is behind that; the end
 * of a text that has none. */
static const char *take_string(const char *p, char *ret, size_t size)
{
	size_t n = 0;

	for (p++; *p && *p != '"'; p++) {
		if (*p == '\\' && p[1])
			p++;
		if (n + 1 < size)
			ret[n++] = *p;
	}
	ret[n] = '\0';
	return p + (*p == '"');
}

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* Attributes of the mediated device lie deeper, and may have any name. */
void mdevctl_parse(const char *text, char ret[static MDEVCTL_START])
{
	const char *p = skip_blanks(text);
	char key[16], value[16];
	size_t depth = 0;

	str_copy(ret, MDEVCTL_START, *p == '{' ? "manual" : "");
	while (ret[0] && *p) {
		if (*p != '"') {
			depth += *p == '{' || *p == '[';
			depth -= depth && (*p == '}' || *p == ']');
			p++;
			continue;
		}
		p = skip_blanks(take_string(p, key, sizeof(key)));
		if (depth != 1 || *p != ':' || strcmp(key, "start"))
			continue;
		p = skip_blanks(p + 1);
		if (*p != '"')
			continue;
		p = take_string(p, value, sizeof(value));
		str_copy(ret, MDEVCTL_START, strcmp(value, "auto") ? "manual" : "auto");
	}
}

/* ---- its file */

/* Neither a link nor a fifo, whoever has put it there, leads or holds us. */
static int open_below(int at, const char *name, int flags)
{
	if (!name[0] || name[0] == '.' || strchr(name, '/'))
		return -1;
	return openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static bool read_text(int fd, char *buf, size_t size)
{
	struct stat st;
	ssize_t n = 0;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size >= (off_t)size)
		return false;
	n = read_all(fd, buf, size);
	if (n < 0 || (size_t)n == size)
		return false;
	buf[n] = '\0';
	return true;
}

void mdevctl_start(const struct sysfs *s, const char *parent, const char *uuid,
		   char ret[static MDEVCTL_START])
{
	char path[4096], text[16384];
	_close_ int all = -1, dir = -1, fd = -1;

	ret[0] = '\0';
	if (snprintf(path, sizeof(path), "%s/" MDEVCTL_DIR, s->path[ROOT_SYS]) >= (int)sizeof(path))
		return;
	all = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (all < 0)
		return;
	dir = open_below(all, parent, O_PATH | O_DIRECTORY);
	if (dir >= 0)
		fd = open_below(dir, uuid, O_RDONLY);
	if (read_text(fd, text, sizeof(text)))
		mdevctl_parse(text, ret);
}

/* ---- refusals */

int mdevctl_refuse(const struct device *dev, struct err *err)
{
	const char *uuid = dev->facts.mdev[0] ? dev->facts.mdev : dev->key.name;

	if (!dev->facts.mdevctl[0])
		return 0;
	return fail(err, EBUSY,
		    "mdevctl defines %s and makes it%s; run mdevctl undefine -u %s, which does not "
		    "end it, and write again",
		    uuid, strcmp(dev->facts.mdevctl, "auto") ? " when told to" : " at boot", uuid);
}

int mdevctl_refuse_make(const struct sysfs *s, const char *parent, const char *uuid,
			struct err *err)
{
	char start[MDEVCTL_START];

	mdevctl_start(s, parent, uuid, start);
	if (!start[0])
		return 0;
	return fail(err, EBUSY,
		    "mdevctl defines the mediated device %s of %s; run mdevctl start -u %s, or "
		    "mdevctl undefine -u %s and write again",
		    uuid, parent, uuid, uuid);
}
