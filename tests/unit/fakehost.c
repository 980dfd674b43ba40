// SPDX-License-Identifier: GPL-2.0-or-later
#include "fakehost.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "pcidevfs/critical.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "test.h"

void host_file(const char *text, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	test_file(path, text);
}

void host_link(const char *target, const char *fmt, ...)
{
	char path[PATH_MAX], whole[PATH_MAX + 64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	snprintf(whole, sizeof(whole), "%s.dir", path);
	test_file(whole, ""); /* makes the directories */
	snprintf(whole, sizeof(whole), "%s/%s.dir", test_dir(), path);
	CHECK_EQ(unlink(whole), 0);
	snprintf(whole, sizeof(whole), "%s/%s", test_dir(), path);
	CHECK_EQ(symlink(target, whole), 0);
}

void host_class(const char *class, const char *where, const char *name)
{
	char target[PATH_MAX];

	snprintf(target, sizeof(target), "../../devices/%s/%s", where, name);
	host_file("", "sys/devices/%s/%s/uevent", where, name);
	host_link(target, "sys/class/%s/%s", class, name);
}

int host_hang(const char *dir)
{
	int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[64];

	host_file("", "%s/.there", dir);
	CHECK_EQ(chdir(test_dir()), 0);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "fuse", 0, options))
		SKIP("no file system that hangs: %s", strerror(errno));
	return fuse;
}

void host_open(struct sysfs *s)
{
	static const char *const names[ROOT_COUNT] = { "sys", "dev", "proc" };
	static char path[ROOT_COUNT][PATH_MAX];

	for (int i = 0; i < ROOT_COUNT; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/%s", test_dir(), names[i]);
		if (access(path[i], F_OK))
			host_file("", "%s/.there", names[i]);
		s->path[i] = path[i];
		s->fd[i] = open(path[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		CHECK(s->fd[i] >= 0);
	}
}

/* Their own test has these lines. */
static void drop_causes(struct out *o)
{
	char *to = o->data;

	for (char *at = o->data, *next; at && *at; at = next) {
		size_t n = strcspn(at, "\n") + 1;

		next = at + n;
		if (!strncmp(at + strcspn(at, " "), " " CRITICAL_CAUSE, 7))
			continue;
		memmove(to, at, n);
		to += n;
	}
	if (to) {
		*to = '\0';
		o->len = (size_t)(to - o->data);
	}
}

int host_critical(const char *only, struct out *o)
{
	int rc = host_critical_causes(only, o);

	drop_causes(o);
	return rc;
}

int host_critical_causes(const char *only, struct out *o)
{
	struct sysfs s;
	int rc;

	host_open(&s);
	rc = critical_scan(&s, only, o);
	sysfs_close(&s);
	return rc;
}

void host_expect_critical(const char *only, const char *mounts, const char *lines, const char *file,
			  int line)
{
	struct out o = { 0 };

	host_file(mounts, "proc/1/mountinfo");
	test_check_eq(file, line, "critical_scan()", host_critical(only, &o), 0);
	test_check_str(file, line, "what is critical", out_text(&o), lines);
	out_free(&o);
}

void host_expect_causes(const char *mounts, const char *lines, const char *file, int line)
{
	struct out o = { 0 };

	host_file(mounts, "proc/1/mountinfo");
	test_check_eq(file, line, "critical_scan()", host_critical_causes(NULL, &o), 0);
	test_check_str(file, line, "the causes", out_text(&o), lines);
	out_free(&o);
}
