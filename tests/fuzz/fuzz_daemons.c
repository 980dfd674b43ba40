// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a process shows of itself: its name, its status and its user namespace, with a NUL between. Its
 * program is not root's, so whatever it says it is none of the vendor's daemons.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "backend/gpu/daemons.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = { "comm", "status", "uid_map" };

static int process_dir(void)
{
	static int fd = -1;
	char path[128];

	if (fd >= 0)
		return fd;
	check(mkdtemp(root) != NULL);
	atexit(clean);
	snprintf(path, sizeof(path), "%s/7", root);
	check(!mkdir(path, 0755));
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	check(fd >= 0 && !symlinkat("comm", fd, "exe"));
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int dir = process_dir();
	struct out said = { 0 };
	struct sysfs s;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		size_t n = i + 1 < ARRAY_SIZE(files) ? strnlen((const char *)data, size) : size;
		_close_ int fd = openat(dir, files[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

		check(fd >= 0 && !fchmod(fd, 0666) && write(fd, data, n) == (ssize_t)n);
		n += n < size;
		data += n;
		size -= n;
	}
	check(!sysfs_open(&s, root, root, root, NULL));
	check(!daemons_scan(&s, &said) && !said.len);
	sysfs_close(&s);
	out_free(&said);
	return 0;
}
