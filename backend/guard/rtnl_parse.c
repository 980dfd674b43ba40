// SPDX-License-Identifier: GPL-2.0-or-later
#include "rtnl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "pcidevfs/critical.h"
#include "pcidevfs/vfconf.h"
#include "pcidevfs/util.h"

/* The rest of a byte string, at any alignment. */
struct bytes {
	const unsigned char *at;
	size_t n;
};

struct parse {
	bool *apart;
	rtnl_found found;
	void *ctx;
};

static bool take(struct bytes *b, void *ret, size_t size)
{
	if (b->n < size)
		return false;
	memcpy(ret, b->at, size);
	b->at += size;
	b->n -= size;
	return true;
}

/* Steps over an element of len bytes, with its padding; *ret is what follows its head. False: it
 * does not fit. */
static bool cut(struct bytes *b, size_t head, size_t len, struct bytes *ret)
{
	size_t step = NLMSG_ALIGN(len);

	if (len < head || len > b->n)
		return false;
	*ret = (struct bytes){ b->at + head, len - head };
	step = step < b->n ? step : b->n;
	b->at += step;
	b->n -= step;
	return true;
}

static bool attr_next(struct bytes *b, unsigned int *ret_type, struct bytes *ret)
{
	struct bytes peek = *b;
	struct rtattr attr;

	if (!take(&peek, &attr, sizeof(attr)) || !cut(b, sizeof(attr), attr.rta_len, ret))
		return false;
	*ret_type = attr.rta_type & NLA_TYPE_MASK;
	return true;
}

/* The attribute of this type, if it is there and of that size at least. */
static void attr_take(struct bytes b, unsigned int type, void *ret, size_t size)
{
	struct bytes value;
	unsigned int is;

	while (attr_next(&b, &is, &value))
		if (is == type)
			take(&value, ret, size);
}

/* Returns 1; 0 if there is no further message, or -EPROTO. */
static int message_next(struct bytes *b, struct nlmsghdr *ret_head, struct bytes *ret)
{
	struct bytes peek = *b;

	if (!b->n)
		return 0;
	return take(&peek, ret_head, sizeof(*ret_head)) &&
			       cut(b, sizeof(*ret_head), ret_head->nlmsg_len, ret)
		       ? 1
		       : -EPROTO;
}

static void take_text(struct bytes value, char *ret, size_t size)
{
	size_t n = strnlen((const char *)value.at, value.n);

	if (n < value.n)
		str_copy(ret, size, (const char *)value.at);
}

static void tell(const struct parse *p, uint32_t index, bool is_default, bool is_global)
{
	const struct rtnl_use use = { (int)index, is_default, is_global };

	if (index && index <= INT32_MAX && (is_default || is_global))
		p->found(p->ctx, &use);
}

static void tell_hops(const struct parse *p, struct bytes hops)
{
	struct bytes peek = hops, inside;
	struct rtnexthop hop;

	while (take(&peek, &hop, sizeof(hop)) && cut(&hops, sizeof(hop), hop.rtnh_len, &inside)) {
		tell(p, (uint32_t)hop.rtnh_ifindex, true, false);
		peek = hops;
	}
}

struct route {
	uint32_t index, to;
	struct bytes hops;
	bool gateway, object;
};

static void read_route(struct bytes b, struct route *ret)
{
	unsigned int type;
	struct bytes value;

	while (attr_next(&b, &type, &value)) {
		ret->gateway |= type == RTA_GATEWAY || type == RTA_VIA;
		ret->object |= type == RTA_NH_ID;
		if (type == RTA_OIF)
			take(&value, &ret->index, sizeof(ret->index));
		else if (type == RTA_DST)
			take(&value, &ret->to, sizeof(ret->to));
		else if (type == RTA_MULTIPATH)
			ret->hops = value;
	}
}

static void parse_route(const struct parse *p, struct bytes b)
{
	struct route route = { 0 };
	struct rtmsg head;

	if (!take(&b, &head, sizeof(head)) || head.rtm_type != RTN_UNICAST ||
	    (head.rtm_family != AF_INET && head.rtm_family != AF_INET6))
		return;
	read_route(b, &route);
	if (head.rtm_dst_len) {
		tell(p, route.index, false,
		     head.rtm_family == AF_INET && !route.gateway &&
			     address_is_global(ntohl(route.to)));
		return;
	}
	tell(p, route.index, true, false);
	tell_hops(p, route.hops);
	*p->apart |= route.object && !route.index && !route.hops.n;
}

static void parse_address(const struct parse *p, struct bytes b)
{
	struct ifaddrmsg head;
	uint32_t v4 = 0;

	if (!take(&b, &head, sizeof(head)) || head.ifa_scope != RT_SCOPE_UNIVERSE)
		return;
	if (head.ifa_family == AF_INET)
		attr_take(b, IFA_LOCAL, &v4, sizeof(v4));
	tell(p, head.ifa_index, false,
	     head.ifa_family == AF_INET6 ||
		     (head.ifa_family == AF_INET && address_is_global(ntohl(v4))));
}

static void parse_object(const struct parse *p, struct bytes b)
{
	struct nhmsg head;
	uint32_t index = 0;

	if (!take(&b, &head, sizeof(head)))
		return;
	attr_take(b, NHA_OIF, &index, sizeof(index));
	tell(p, index, true, false);
}

static const struct {
	unsigned int type;
	void (*parse)(const struct parse *p, struct bytes b);
} messages[] = {
	{ RTM_NEWROUTE, parse_route },
	{ RTM_NEWADDR, parse_address },
	{ RTM_NEWNEXTHOP, parse_object },
};

/* The result in NLMSG_ERROR and NLMSG_DONE: 0 or the kernel's -errno. */
static int result_of(struct bytes b)
{
	int result = 0;

	take(&b, &result, sizeof(result));
	return result < 0 && result > -4096 ? result : 0;
}

int rtnl_parse(const void *data, size_t size, bool *ret_apart, rtnl_found found, void *ctx)
{
	const struct parse p = { ret_apart, found, ctx };
	struct bytes b = { data, size }, inside;
	struct nlmsghdr head;
	int rc;

	while ((rc = message_next(&b, &head, &inside)) > 0) {
		if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR)
			return result_of(inside) ?: 1;
		for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
			if (head.nlmsg_type == messages[i].type)
				messages[i].parse(&p, inside);
	}
	return rc;
}

/* ---- settings of VFs */

struct vf {
	int64_t number; /* < 0: unknown */
	char conf[VFCONF_TEXT];
};

static bool all_zero(const unsigned char *p, size_t n)
{
	while (n && !*p) {
		p++;
		n--;
	}
	return !n;
}

/* An address that is longer than six bytes is not that of an Ethernet. */
static void mac_of(struct bytes b, struct vf *ret)
{
	struct ifla_vf_mac is;
	char text[VFCONF_VALUE];
	const unsigned char *m = is.mac;

	if (!take(&b, &is, sizeof(is)))
		return;
	ret->number = is.vf;
	if (all_zero(m, sizeof(is.mac)) || !all_zero(m + 6, sizeof(is.mac) - 6))
		return;
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4],
		 m[5]);
	vfconf_add(ret->conf, VFCONF_MAC, text);
}

static void vlan_of(struct bytes b, struct vf *ret)
{
	struct ifla_vf_vlan is;
	char text[VFCONF_VALUE];

	if (!take(&b, &is, sizeof(is)) || is.vlan > VLAN_MAX + 1)
		return;
	snprintf(text, sizeof(text), "%u", is.vlan);
	vfconf_add(ret->conf, VFCONF_VLAN, text);
}

/* A driver that has no such setting leaves all bits set. */
static void flag_of(struct bytes b, enum vfconf which, struct vf *ret)
{
	struct ifla_vf_trust is; /* as ifla_vf_spoofchk */

	if (take(&b, &is, sizeof(is)) && is.setting <= 1)
		vfconf_add(ret->conf, which, is.setting ? "1" : "0");
}

static void read_vf(struct bytes b, struct vf *ret)
{
	struct bytes value, of[IFLA_VF_MAX + 1] = { { 0 } };
	unsigned int type;

	while (attr_next(&b, &type, &value))
		if (type < ARRAY_SIZE(of))
			of[type] = value;
	mac_of(of[IFLA_VF_MAC], ret);
	vlan_of(of[IFLA_VF_VLAN], ret);
	flag_of(of[IFLA_VF_TRUST], VFCONF_TRUST, ret);
	flag_of(of[IFLA_VF_SPOOFCHK], VFCONF_SPOOFCHK, ret);
}

static void read_vfs(struct bytes list, rtnl_vf_found found, void *ctx)
{
	struct bytes inside;
	unsigned int type;

	while (attr_next(&list, &type, &inside)) {
		struct vf vf = { .number = -1 };

		if (type != IFLA_VF_INFO)
			continue;
		read_vf(inside, &vf);
		if (vf.number >= 0 && vf.number <= UINT16_MAX)
			found(ctx, (unsigned int)vf.number, vf.conf);
	}
}

static void read_link(struct bytes b, rtnl_vf_found found, void *ctx)
{
	struct ifinfomsg head;
	struct bytes value;
	unsigned int type;

	if (!take(&b, &head, sizeof(head)))
		return;
	while (attr_next(&b, &type, &value))
		if (type == IFLA_VFINFO_LIST)
			read_vfs(value, found, ctx);
}

/* The kernel's own sentence, behind the result and the request, or as much of it as it repeats. */
static void read_said(struct bytes b, bool capped, char *ret, size_t size)
{
	struct nlmsgerr is;
	struct bytes value, request;
	unsigned int type;

	if (!take(&b, &is.error, sizeof(is.error)) || !take(&b, &is.msg, sizeof(is.msg)) ||
	    (!capped && is.msg.nlmsg_len > sizeof(is.msg) &&
	     !cut(&b, 0, is.msg.nlmsg_len - sizeof(is.msg), &request)))
		return;
	while (attr_next(&b, &type, &value))
		if (type == NLMSGERR_ATTR_MSG)
			take_text(value, ret, size);
}

int rtnl_parse_answer(const void *data, size_t size, uint32_t seq, struct rtnl_answer *ret)
{
	struct bytes b = { data, size }, inside;
	struct nlmsghdr head;
	int rc;

	while ((rc = message_next(&b, &head, &inside)) > 0) {
		if (head.nlmsg_seq != seq)
			continue;
		if (head.nlmsg_type == RTM_NEWLINK && ret->found)
			read_link(inside, ret->found, ret->ctx);
		if (head.nlmsg_type == NLMSG_ERROR && head.nlmsg_flags & NLM_F_ACK_TLVS)
			read_said(inside, head.nlmsg_flags & NLM_F_CAPPED, ret->said,
				  sizeof(ret->said));
		if (head.nlmsg_type == NLMSG_ERROR || head.nlmsg_type == RTM_NEWLINK)
			return (head.nlmsg_type == NLMSG_ERROR ? result_of(inside) : 0) ?: 1;
	}
	return rc;
}

/* ---- unsolicited */

struct news {
	bool is; /* something changed, of `function` alone if that is set */
	char function[KEY_NAME];
};

/* Counts the link's own messages, not those of a bridge about its port. */
static void link_news(struct bytes b, struct news *ret)
{
	char bus[8] = "";
	struct ifinfomsg head;
	struct pci_addr addr;
	struct bytes value;
	unsigned int type;

	ret->is = !take(&b, &head, sizeof(head)) || head.ifi_family == AF_UNSPEC;
	while (attr_next(&b, &type, &value)) {
		if (type == IFLA_PARENT_DEV_NAME)
			take_text(value, ret->function, sizeof(ret->function));
		else if (type == IFLA_PARENT_DEV_BUS_NAME)
			take_text(value, bus, sizeof(bus));
	}
	if (strcmp(bus, "pci") || !pci_addr_parse(ret->function, &addr))
		ret->function[0] = '\0';
}

static void address_news(struct bytes b, struct news *ret)
{
	struct ifaddrmsg head;

	ret->is = !take(&b, &head, sizeof(head)) || head.ifa_scope == RT_SCOPE_UNIVERSE;
}

/* In a router's full table only these concern the host itself. */
static void route_news(struct bytes b, struct news *ret)
{
	struct rtmsg head;

	ret->is = !take(&b, &head, sizeof(head)) || !head.rtm_dst_len;
}

static void object_news(struct bytes b, struct news *ret)
{
	ret->is = true;
}

static const struct {
	unsigned int type;
	void (*look)(struct bytes b, struct news *ret);
} unasked[] = {
	{ RTM_NEWLINK, link_news },	 { RTM_NEWADDR, address_news },
	{ RTM_DELADDR, address_news },	 { RTM_NEWROUTE, route_news },
	{ RTM_DELROUTE, route_news },	 { RTM_NEWNEXTHOP, object_news },
	{ RTM_DELNEXTHOP, object_news },
};

bool rtnl_is_news(const void *data, size_t size, char ret[static KEY_NAME])
{
	struct bytes b = { data, size }, inside;
	struct nlmsghdr head;
	size_t n = 0;
	int rc = 0;

	ret[0] = '\0';
	while (n < 2 && (rc = message_next(&b, &head, &inside)) > 0) {
		struct news news = { 0 };

		for (size_t i = 0; i < ARRAY_SIZE(unasked); i++)
			if (head.nlmsg_type == unasked[i].type)
				unasked[i].look(inside, &news);
		if (news.is)
			str_copy(ret, KEY_NAME, n++ ? "" : news.function);
	}
	if (rc < 0)
		ret[0] = '\0';
	return n || rc;
}
