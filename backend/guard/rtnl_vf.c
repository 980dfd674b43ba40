// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests about the VFs of an interface: what its driver holds for each, and that it be changed. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "pcidevfs/vfconf.h"
#include "rtnl.h"

#define PATIENCE_MS 2000
/* A list of VFs is an attribute, of at most 64 KiB; a link has some 2 KiB besides. */
#define ANSWER_SIZE (96 << 10)
#define REQUEST_SIZE 256

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

int rtnl_open_vfs(const struct sysfs *s)
{
	const struct timeval patience = { .tv_usec = 200000 };
	struct rtnl r;
	int on = 1, rc = rtnl_open(&r, s);

	if (rc == -ENOTTY)
		r.fd = rtnl_open_simulated(s);
	if (r.fd < 0)
		return r.fd;
	/* Of the refused request only the head is repeated, and the driver's sentence is told. */
	setsockopt(r.fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	setsockopt(r.fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(r.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return r.fd;
}

struct message {
	size_t n;
	unsigned char bytes[REQUEST_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
};

static struct nlmsghdr *head_of(struct message *m)
{
	return (struct nlmsghdr *)m->bytes;
}

/* All requests made here fit. */
static void put(struct message *m, const void *data, size_t size)
{
	if (size)
		memcpy(m->bytes + m->n, data, size);
	m->n += NLMSG_ALIGN(size);
	head_of(m)->nlmsg_len = (uint32_t)m->n;
}

/* Returns where it begins, for nest_end(). */
static size_t put_attr(struct message *m, unsigned int type, const void *data, size_t size)
{
	struct rtattr attr = { .rta_len = (unsigned short)RTA_LENGTH(size),
			       .rta_type = (unsigned short)type };
	size_t at = m->n;

	put(m, &attr, sizeof(attr));
	put(m, data, size);
	return at;
}

static size_t nest(struct message *m, unsigned int type)
{
	return put_attr(m, type | NLA_F_NESTED, NULL, 0);
}

static void nest_end(struct message *m, size_t at)
{
	struct rtattr *attr = (struct rtattr *)(m->bytes + at);

	attr->rta_len = (unsigned short)(m->n - at);
}

static void begin(struct message *m, uint16_t type, uint16_t flags, int index)
{
	const struct nlmsghdr head = { .nlmsg_type = type,
				       .nlmsg_flags = NLM_F_REQUEST | flags,
				       .nlmsg_seq = (uint32_t)now_us() };
	const struct ifinfomsg link = { .ifi_family = AF_UNSPEC, .ifi_index = index };

	*m = (struct message){ 0 };
	put(m, &head, sizeof(head));
	put(m, &link, sizeof(link));
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

/* Answers to a former request, which was not waited for, are passed over. until 0: no limit. */
static int exchange(int fd, struct message *m, uint64_t until, struct rtnl_answer *ret)
{
	_free_ char *buf = malloc(ANSWER_SIZE);
	uint32_t seq = head_of(m)->nlmsg_seq;
	int rc = buf ? 0 : -ENOMEM;

	if (!rc && send(fd, m->bytes, m->n, MSG_NOSIGNAL) < 0)
		rc = -errno;
	while (!rc) {
		ssize_t n = receive(fd, buf, ANSWER_SIZE);

		if (n < 0)
			return (int)n;
		rc = n ? rtnl_parse_answer(buf, (size_t)n, seq, ret) : 0;
		if (!rc && until && now_ms() >= until)
			rc = -ETIMEDOUT;
	}
	return rc < 0 ? rc : 0;
}

int rtnl_vfs(int fd, int index, rtnl_vf_found found, void *ctx)
{
	struct rtnl_answer answer = { .found = found, .ctx = ctx };
	uint32_t mask = RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS;
	struct message m;

	begin(&m, RTM_GETLINK, 0, index);
	put_attr(&m, IFLA_EXT_MASK, &mask, sizeof(mask));
	return exchange(fd, &m, now_ms() + PATIENCE_MS, &answer);
}

static int put_setting(struct message *m, unsigned int vf, enum vfconf which, const char *value)
{
	struct ifla_vf_mac mac = { .vf = vf };
	struct ifla_vf_vlan vlan = { .vf = vf };
	struct ifla_vf_trust flag = { .vf = vf }; /* as ifla_vf_spoofchk */
	bool none = !strcmp(value, "none");
	char text[VFCONF_VALUE];

	if (none && which != VFCONF_MAC)
		return 0;
	if (!none && vfconf_parse(which, value, text))
		return -EINVAL;
	switch (which) {
	case VFCONF_MAC:
		if (!none)
			vfconf_mac(text, mac.mac);
		put_attr(m, IFLA_VF_MAC, &mac, sizeof(mac));
		break;
	case VFCONF_VLAN:
		vlan.vlan = (uint32_t)strtoul(text, NULL, 10);
		put_attr(m, IFLA_VF_VLAN, &vlan, sizeof(vlan));
		break;
	default:
		flag.setting = text[0] == '1';
		put_attr(m, which == VFCONF_TRUST ? IFLA_VF_TRUST : IFLA_VF_SPOOFCHK, &flag,
			 sizeof(flag));
	}
	return 0;
}

int rtnl_set_vf(int fd, int index, unsigned int vf, const char *conf, char *said, size_t size)
{
	struct rtnl_answer answer = { 0 };
	struct message m;
	size_t list, info;
	int rc = 0;

	begin(&m, RTM_SETLINK, NLM_F_ACK, index);
	list = nest(&m, IFLA_VFINFO_LIST);
	info = nest(&m, IFLA_VF_INFO);
	for (enum vfconf which = 0; which < VFCONF_COUNT && !rc; which++) {
		char value[VFCONF_VALUE];

		vfconf_get(conf, which, value);
		if (value[0])
			rc = put_setting(&m, vf, which, value);
	}
	nest_end(&m, info);
	nest_end(&m, list);
	rc = rc ?: exchange(fd, &m, 0, &answer);
	str_copy(said, size, answer.said);
	return rc;
}
