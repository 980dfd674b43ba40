// SPDX-License-Identifier: GPL-2.0-or-later
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE "pcidevfs-sim"

static int complain(const char *what, const char *path)
{
	int r = -errno;

	fprintf(stderr, "pcidevfs-sim: %s %s: %s\n", what, path, strerror(errno));
	return r;
}

/* mountinfo writes blanks as \040. */
static void decode(char *path)
{
	char *out = path;

	for (; *path; path++) {
		unsigned int octal;

		if (*path == '\\' && sscanf(path + 1, "%3o", &octal) == 1) {
			*out++ = (char)octal;
			path += 3;
		} else {
			*out++ = *path;
		}
	}
	*out = 0;
}

/* The number of our mounts at path. */
static int ours_at(const char *path)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[8192], at[4096], source[256];
	int n = 0;

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f)) {
		const char *rest = strstr(line, " - ");

		if (!rest || sscanf(line, "%*s %*s %*s %*s %4095s", at) != 1 ||
		    sscanf(rest, " - %*s %255s", source) != 1)
			continue;
		decode(at);
		n += !strcmp(at, path) && !strcmp(source, SOURCE);
	}
	fclose(f);
	return n;
}

static int clean(const char *path)
{
	static const char *const below[] = { "sys", "dev/kmsg" };
	char at[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		snprintf(at, sizeof(at), "%s/%s", path, below[i]);
		while (ours_at(at))
			if (umount2(at, MNT_DETACH))
				return complain("can not unmount what a simulation left at", at);
	}
	while (ours_at(path))
		if (umount2(path, MNT_DETACH))
			return complain("can not unmount what a simulation left at", path);
	return 0;
}

int mount_base(const char *dir)
{
	char path[PATH_MAX];
	int fd, r;

	if (mkdir(dir, 0755) && errno != EEXIST)
		return complain("can not make", dir);
	if (!realpath(dir, path))
		return complain("can not use", dir);
	if (control_alive(path)) {
		fprintf(stderr, "pcidevfs-sim: a simulation runs at %s already\n", dir);
		return -EBUSY;
	}
	r = clean(path);
	if (r)
		return r;
	if (mount(SOURCE, path, "tmpfs", MS_NOSUID, "mode=755"))
		return complain("can not mount a tmpfs at", dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || mkdirat(fd, "sys", 0555)) {
		r = complain("can not use", dir);
		if (fd >= 0)
			close(fd);
		umount2(path, MNT_DETACH);
		return r;
	}
	return fd;
}

void unmount_base(const char *dir)
{
	char path[PATH_MAX];

	if (realpath(dir, path))
		clean(path);
}
