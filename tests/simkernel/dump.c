// SPDX-License-Identifier: GPL-2.0-or-later
/* The machine as plain files, for benches that must not measure the simulation. */
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int dump_file(struct sim *s, struct node *n, int dirfd)
{
	char page[SHOW_MAX];
	const char *data = n->file.data;
	ssize_t len = (ssize_t)n->file.len;
	int fd = openat(dirfd, n->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, n->mode & 0777);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (n->row && n->row->show) {
		len = n->row->show(s, n->obj, page);
		data = page;
	}
	if (len > 0 && write(fd, data, (size_t)len) != len)
		r = errno ? -errno : -EIO;
	close(fd);
	return r;
}

int dump_tree(struct sim *s, struct node *dir, int dirfd)
{
	int r = 0;

	for (struct node *n = dir->dir.first; n && !r; n = n->next) {
		int fd;

		if (S_ISREG(n->mode)) {
			r = dump_file(s, n, dirfd);
			continue;
		}
		if (S_ISLNK(n->mode)) {
			r = symlinkat(n->file.data, dirfd, n->name) ? -errno : 0;
			continue;
		}
		if (mkdirat(dirfd, n->name, 0755))
			return -errno;
		fd = openat(dirfd, n->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		r = dump_tree(s, n, fd);
		close(fd);
	}
	return r;
}
