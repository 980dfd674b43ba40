// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether somebody else's daemon works on the same sysfs. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "internal.h"
#include "pcidevfs/pci.h"

void alone_open(struct backend *b)
{
	b->alone_fd = openat(b->sys.fd[ROOT_SYS], PCI_DEVICES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Asked anew each time: the other one may have ended, and who holds the lock keeps it. Never waited for, since a
 * process that hangs in the kernel holds it for as long. */
bool backend_alone(struct backend *b)
{
	return b->alone_fd < 0 || !flock(b->alone_fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK;
}
