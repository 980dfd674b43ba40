// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests about the VFs of an interface: what its driver holds for each, and that it be changed. */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pcidevfs/util.h"
#include "pcidevfs/vfconf.h"
#include "rtnl.h"

#define REQUEST_SIZE 256

int rtnl_open_vfs(const struct sysfs *s)
{
	const struct timeval patience = { .tv_usec = 200000 };
	int on = 1, fd = rtnl_open(s);

	if (fd == -ENOTTY)
		fd = rtnl_open_simulated(s);
	if (fd < 0)
		return fd;
	/* Of the refused request only the head is repeated, and the driver's sentence is told. */
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
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

struct sent {
	uint32_t seq;
	struct rtnl_answer *answer;
};

/* Answers to a former request, which was not waited for, are passed over. */
static int take_answer(void *ctx, const void *data, size_t size)
{
	const struct sent *a = ctx;

	return rtnl_parse_answer(data, size, a->seq, a->answer);
}

static int exchange(int fd, struct message *m, uint64_t until, struct rtnl_answer *ret)
{
	struct sent asked = { head_of(m)->nlmsg_seq, ret };

	return rtnl_exchange(fd, m->bytes, m->n, until, take_answer, &asked);
}

int rtnl_vfs(int fd, int index, rtnl_vf_found found, void *ctx)
{
	struct rtnl_answer answer = { .found = found, .ctx = ctx };
	uint32_t mask = RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS;
	struct message m;

	begin(&m, RTM_GETLINK, 0, index);
	put_attr(&m, IFLA_EXT_MASK, &mask, sizeof(mask));
	return exchange(fd, &m, now_ms() + RTNL_MS, &answer);
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
	list = put_attr(&m, IFLA_VFINFO_LIST | NLA_F_NESTED, NULL, 0);
	info = put_attr(&m, IFLA_VF_INFO | NLA_F_NESTED, NULL, 0);
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
