// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "pcidevfs/fdmsg.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union fd_space {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int) * FDMSG_FDS)];
};

int fdmsg_send(int sock, const void *msg, size_t size, const int *fds, size_t n)
{
	union fd_space space = { 0 };
	struct iovec iov = { .iov_base = (void *)msg, .iov_len = size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *c = &space.align;

		m.msg_control = &space;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Takes up to n descriptors out of m and closes the rest. Returns how many came. */
static size_t take_fds(struct msghdr *m, int *fds, size_t n)
{
	size_t got = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (got < n)
				fds[got] = fd;
			else
				close(fd);
			got++;
		}
	}
	return got;
}

int fdmsg_recv(int sock, void *msg, size_t size, int *ret_fds, size_t n)
{
	union fd_space space;
	struct iovec iov = { .iov_base = msg, .iov_len = size };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &space,
			    .msg_controllen = sizeof(space) };
	int fds[FDMSG_FDS];
	ssize_t len;
	size_t got;

	do
		len = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	if (len < 0)
		return -errno;
	got = take_fds(&m, fds, n);
	if ((size_t)len == size && got == n && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		if (n)
			memcpy(ret_fds, fds, sizeof(int) * n);
		return 0;
	}
	for (size_t i = 0; i < got && i < n; i++)
		close(fds[i]);
	return len ? -EPROTO : -EPIPE;
}
