// SPDX-License-Identifier: GPL-2.0-or-later
#include "rtnl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define HEARD_AT_ONCE 256
/* Of a dump 32 KiB at most. A list of VFs is an attribute, of at most 64 KiB; a link has some 2 KiB
 * besides. */
#define DATAGRAM (96 << 10)

static int open_here(void)
{
	const struct timeval patience = { .tv_usec = 200000 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

/* Ports that join or leave a bond, a bridge or a switch are announced as links. */
static const int groups[] = {
	RTNLGRP_LINK,	    RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
	RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,	 RTNLGRP_NEXTHOP,
};

static int join(int fd)
{
	const struct sockaddr_nl me = { .nl_family = AF_NETLINK };

	/* A socket without its own port is taken for the kernel, which does not notify itself. */
	if (bind(fd, (const struct sockaddr *)&me, sizeof(me)))
		return -errno;
	/* A kernel that does not know a group has nothing to announce there. */
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &groups[i],
			       sizeof(groups[i])) &&
		    errno != EINVAL)
			return -errno;
	return 0;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A socket stays in the namespace where it was made, so this thread returns. Its own namespace is
 * not looked up in /proc if there is another way: at its end the kernel would have to drop its
 * cached entries there, and others wait for that. */
static int open_in(int ns)
{
	_close_ int here = open_here(), own = -1, there = -1;

	if (here < 0)
		return here;
	own = ioctl(here, SIOCGSKNS);
	if (own < 0) /* SIOCGSKNS needs CAP_NET_ADMIN, which a helper lacks */
		own = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (own < 0)
		return -errno;
	if (is_same(ns, own))
		return steal_fd(&here);
	if (setns(ns, CLONE_NEWNET))
		return -errno;
	there = open_here();
	if (setns(own, CLONE_NEWNET))
		return -errno;
	return steal_fd(&there);
}

int rtnl_open(const struct sysfs *s)
{
	_close_ int ns = -1;
	struct statfs fs;

	if (fstatfs(s->fd[ROOT_PROC], &fs))
		return -errno;
	if (fs.f_type != PROC_SUPER_MAGIC)
		return -ENOTTY;
	ns = openat(s->fd[ROOT_PROC], "1/ns/net", O_RDONLY | O_CLOEXEC);
	return ns < 0 ? -errno : open_in(ns);
}

int rtnl_open_simulated(const struct sysfs *s)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	snprintf(un.sun_path, sizeof(un.sun_path), "/proc/self/fd/%d/" RTNL_SIMULATED,
		 s->fd[ROOT_PROC]);
	if (connect(fd, (const struct sockaddr *)&un, sizeof(un)))
		return -errno;
	return steal_fd(&fd);
}

/* One datagram of the kernel. Returns its length, 0 if none came yet, or -errno. */
static ssize_t receive(int fd, void *buf, size_t size)
{
	struct sockaddr_nl from = { 0 };
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(fd, buf, size, MSG_TRUNC, (struct sockaddr *)&from, &len);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (!n) /* the simulation has ended */
		return -EPIPE;
	if (n > (ssize_t)size)
		return -EMSGSIZE;
	return from.nl_family == AF_NETLINK && from.nl_pid ? 0 : n;
}

int rtnl_exchange(int fd, const void *ask, size_t size, uint64_t until, rtnl_take *take, void *ctx)
{
	_free_ char *buf = malloc(DATAGRAM);
	int rc = buf ? 0 : -ENOMEM;

	if (!rc && send(fd, ask, size, MSG_NOSIGNAL) < 0)
		rc = -errno;
	while (!rc) {
		ssize_t n = receive(fd, buf, DATAGRAM);

		if (n < 0)
			return (int)n;
		rc = n ? take(ctx, buf, (size_t)n) : 0;
		if (!rc && until && now_ms() >= until)
			rc = -ETIMEDOUT;
	}
	return rc < 0 ? rc : 0;
}

/* The header behind the common one begins with the family and must have the right length; zeros
 * mean all tables. One request per family: a request for all families waits for everybody who
 * changes a network interface. */
static const struct rtnl_kind {
	uint16_t type;
	uint16_t head;
	uint8_t family;
} uses[] = {
	{ RTM_GETROUTE, sizeof(struct rtmsg), AF_INET },
	{ RTM_GETROUTE, sizeof(struct rtmsg), AF_INET6 },
	{ RTM_GETADDR, sizeof(struct ifaddrmsg), AF_INET },
	{ RTM_GETADDR, sizeof(struct ifaddrmsg), AF_INET6 },
}, objects = { RTM_GETNEXTHOP, sizeof(struct nhmsg), AF_UNSPEC };

struct dump {
	bool apart;
	rtnl_found found;
	void *ctx;
};

static int take_dump(void *ctx, const void *data, size_t size)
{
	struct dump *d = ctx;

	return rtnl_parse(data, size, &d->apart, d->found, d->ctx);
}

/* Changes meanwhile may be missed: each operation asks again first. */
static int dump(int fd, const struct rtnl_kind *kind, uint64_t until, struct dump *d)
{
	const struct {
		struct nlmsghdr head;
		struct rtmsg longest;
	} ask = {
		.head = { .nlmsg_len = NLMSG_LENGTH(kind->head),
			  .nlmsg_type = kind->type,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.longest.rtm_family = kind->family,
	};

	return rtnl_exchange(fd, &ask, ask.head.nlmsg_len, until, take_dump, d);
}

int rtnl_uses(int fd, rtnl_found found, void *ctx)
{
	struct dump d = { .found = found, .ctx = ctx };
	uint64_t until = now_ms() + RTNL_MS;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(uses) && !rc; i++)
		rc = dump(fd, &uses[i], until, &d);
	return !rc && d.apart ? dump(fd, &objects, until, &d) : rc;
}

int rtnl_listen(const struct sysfs *s)
{
	_close_ int fd = rtnl_open(s);
	int rc = fd < 0 ? fd : join(fd);

	/* It tells of its VFs to whoever asks for nothing. */
	if (rc == -ENOTTY)
		return rtnl_open_simulated(s);
	return rc ? rc : steal_fd(&fd);
}

bool netlink_lost(int fd, uint32_t *lost)
{
	uint32_t memory[SK_MEMINFO_VARS] = { 0 }, before = *lost;
	socklen_t size = sizeof(memory);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &size))
		return false;
	*lost = memory[SK_MEMINFO_DROPS];
	return *lost != before;
}

int rtnl_heard(int fd, uint32_t *lost, void (*news)(void *ctx, const char *function), void *ctx)
{
	char buf[8192] __attribute__((aligned(__alignof__(struct nlmsghdr))));

	/* A router loads tables of a million routes; let the other sources run in between. */
	for (int i = 0; i < HEARD_AT_ONCE; i++) {
		char function[KEY_NAME] = "";
		struct sockaddr_nl from = { 0 };
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, buf, sizeof(buf), MSG_TRUNC | MSG_DONTWAIT,
				     (struct sockaddr *)&from, &len);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR && errno != ENOBUFS)
			return -errno;
		if (!n) /* a simulated kernel has ended */
			return -EPIPE;
		if (n < 0 || (from.nl_family == AF_NETLINK && from.nl_pid))
			continue;
		if (n > (ssize_t)sizeof(buf))
			news(ctx, NULL);
		else if (rtnl_is_news(buf, (size_t)n, function))
			news(ctx, function);
	}
	if (netlink_lost(fd, lost))
		news(ctx, NULL);
	return 0;
}

int rtnl_name(int fd, int index, char ret[static IFNAMSIZ])
{
	struct ifreq ask = { .ifr_ifindex = index };

	if (ioctl(fd, SIOCGIFNAME, &ask))
		return -errno;
	return str_copy(ret, IFNAMSIZ, ask.ifr_name) ? 0 : -EPROTO;
}
