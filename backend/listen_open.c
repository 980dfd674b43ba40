// SPDX-License-Identifier: GPL-2.0-or-later
/* What the listener listens to. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/guard/rtnl.h"
#include "internal.h"
#include "listen.h"

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

static int open_table(struct backend *b, const char *name)
{
	return openat(b->sys.fd[ROOT_PROC], name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

void backend_hear(struct backend *b)
{
	if (b->hears)
		return;
	b->hears = true;
	/* Init's table, because the daemon may be in its own mount namespace. Plain files, in a
	 * tree made for tests, never report POLLPRI. */
	b->ears.mounts = open_table(b, "1/mounts");
	b->ears.swaps = open_table(b, "swaps");
	/* Without the right to it, or over a test tree, the uevents of NICs must suffice. */
	b->ears.network = rtnl_listen(&b->sys);
	if (b->uevent_fd < 0)
		b->uevent_fd = listen_open();
}

/* POLLPRI stays set until the table is read again; so it works as an event. */
void listen_drain_table(struct backend *b, struct pollfd *p)
{
	char buf[4096];

	if (p->revents & POLLPRI && !lseek(p->fd, 0, SEEK_SET)) {
		while (read(p->fd, buf, sizeof(buf)) > 0)
			;
		ask_soon(b, ASK_CRITICAL, NULL, 0);
	} else {
		/* An error alone would recur at once, for ever. backend_free() closes it. */
		p->fd = -1;
	}
}
