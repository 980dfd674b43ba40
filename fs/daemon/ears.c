// SPDX-License-Identifier: GPL-2.0-or-later
#include "ears.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include "options.h"

static int harmless(void)
{
	return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

int ears_nodes(void)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	return fd < 0 ? harmless() : fd; /* too many inotifies */
}

int ears_log(const struct daemon_options *o, int32_t *ret_error)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/kmsg", o->roots.dev);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	*ret_error = fd < 0 ? -errno : 0;
	return fd < 0 ? harmless() : fd;
}
