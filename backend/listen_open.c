// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's broadcast socket. */
#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

#define RECEIVE_BUFFER (8 << 20)

int listen_open(void)
{
	struct sockaddr_nl me = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	int size = RECEIVE_BUFFER, on = 1, rc;

	if (fd < 0)
		return -errno;
	/* Without CAP_NET_ADMIN the normal buffer must do; a full scan follows an overflow. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (!setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) &&
	    !bind(fd, (struct sockaddr *)&me, sizeof(me)))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}
