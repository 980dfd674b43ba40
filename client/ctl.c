// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define ERROR "error "

/* Maps the errors of a path whose tree is not mounted, or whose daemon has ended, to ENOTCONN. */
static int of_no_tree(int code)
{
	bool none =
		code == ENOENT || code == ENODEV || code == ECONNABORTED || code == ECONNREFUSED;

	return none ? ENOTCONN : code;
}

int ctl_verdict(const char *answers, int r, struct err *err)
{
	static const char stay[] = " (all lines stay until abort)"; /* no client of ours goes on */
	const char *at;

	for (size_t len, skip; *answers; answers += len + (answers[len] == '\n')) {
		len = strcspn(answers, "\n");
		if (strncmp(answers, ERROR, strlen(ERROR)) != 0)
			continue;
		at = strstr(answers, stay);
		if (at && at + strlen(stay) == answers + len)
			len -= strlen(stay);
		skip = strlen(ERROR) + strcspn(answers + strlen(ERROR), " \n");
		skip += answers[skip] == ' ';
		return fail(err, r ? -r : EIO, "%.*s", (int)(len - skip), answers + skip);
	}
	return r;
}

void ctl_close(struct open_ctl *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* Does fd still lead to the mounted tree? Ours may be unmounted, or another one mounted there. The
 * kernel answers this without the daemon. */
static bool is_there(int fd, const char *path)
{
	struct statx ours, there;

	return fd >= 0 && !statx(fd, "", AT_EMPTY_PATH, STATX_INO, &ours) &&
	       !statx(AT_FDCWD, path, 0, STATX_INO, &there) && ours.stx_ino == there.stx_ino &&
	       ours.stx_dev_major == there.stx_dev_major &&
	       ours.stx_dev_minor == there.stx_dev_minor;
}

static int ctl_open(struct open_ctl *c, struct err *err)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/ctl", c->tree) >= sizeof(path))
		return fail(err, ENAMETOOLONG, "%.100s...: the path is too long", c->tree);
	if (is_there(c->fd, path))
		return 0;
	ctl_close(c);
	c->fd = open(path, O_RDWR | O_CLOEXEC);
	return c->fd < 0 ? fail(err, of_no_tree(errno), "%s: %s", path, strerror(errno)) : 0;
}

static int commit_once(struct open_ctl *c, const char *lines, struct err *err)
{
	struct out text = { 0 };
	char answers[4096];
	ssize_t n = -1;
	int code, r = ctl_open(c, err);

	if (r)
		return r;
	out_printf(&text, "%scommit\n", lines);
	if (!text.failed)
		n = write(c->fd, text.data, text.len);
	code = text.failed ? ENOMEM : n < 0 ? errno : EIO;
	if (n >= 0 && (size_t)n == text.len)
		code = 0;
	out_free(&text);
	/* also on success: unread answers would stay */
	n = read(c->fd, answers, sizeof(answers) - 1);
	if (!code)
		return 0;
	answers[n > 0 ? n : 0] = '\0';
	ctl_close(c); /* and drops what the tree may keep for it */
	fail(err, of_no_tree(code), "%s/ctl: %s", c->tree, strerror(code));
	ctl_verdict(answers, -code, err);
	return -err->code;
}

int ctl_commit(struct open_ctl *c, const char *lines, struct err *err)
{
	int r = commit_once(c, lines, err);

	if (r != -ECONNRESET)
		return r;
	*err = (struct err){ 0 };
	return commit_once(c, lines, err);
}
