// SPDX-License-Identifier: GPL-2.0-or-later
#include "rtnl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "pcidevfs/critical.h"
#include "pcidevfs/pci.h"
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
	struct bytes value;
	unsigned int type;
	uint32_t v4 = 0;

	if (!take(&b, &head, sizeof(head)) || head.ifa_scope != RT_SCOPE_UNIVERSE)
		return;
	while (head.ifa_family == AF_INET && attr_next(&b, &type, &value))
		if (type == IFA_LOCAL)
			take(&value, &v4, sizeof(v4));
	tell(p, head.ifa_index, false,
	     head.ifa_family == AF_INET6 ||
		     (head.ifa_family == AF_INET && address_is_global(ntohl(v4))));
}

static void parse_object(const struct parse *p, struct bytes b)
{
	struct nhmsg head;
	struct bytes value;
	unsigned int type;
	uint32_t index = 0;

	if (!take(&b, &head, sizeof(head)))
		return;
	while (attr_next(&b, &type, &value))
		if (type == NHA_OIF)
			take(&value, &index, sizeof(index));
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
	struct bytes b = { data, size }, peek = b, inside;
	struct nlmsghdr head;

	while (take(&peek, &head, sizeof(head))) {
		if (!cut(&b, sizeof(head), head.nlmsg_len, &inside))
			return -EPROTO;
		if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR)
			return result_of(inside) ?: 1;
		for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
			if (head.nlmsg_type == messages[i].type)
				messages[i].parse(&p, inside);
		peek = b;
	}
	return b.n ? -EPROTO : 0;
}

/* ---- unsolicited */

struct news {
	bool is; /* something changed, of `function` alone if that is set */
	char function[KEY_NAME];
};

static void take_text(struct bytes value, char *ret, size_t size)
{
	size_t n = strnlen((const char *)value.at, value.n);

	if (n < value.n)
		str_copy(ret, size, (const char *)value.at);
}

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
	(void)b;
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
	struct bytes b = { data, size }, peek = b, inside;
	struct nlmsghdr head;
	size_t n = 0;

	ret[0] = '\0';
	for (; take(&peek, &head, sizeof(head)); peek = b) {
		struct news news = { 0 };
		bool whole = cut(&b, sizeof(head), head.nlmsg_len, &inside);

		for (size_t i = 0; i < ARRAY_SIZE(unasked) && whole; i++)
			if (head.nlmsg_type == unasked[i].type)
				unasked[i].look(inside, &news);
		if (!news.is && whole)
			continue;
		str_copy(ret, KEY_NAME, n++ ? "" : news.function);
		if (!whole || n > 1)
			return true;
	}
	return n || b.n;
}
