// SPDX-License-Identifier: GPL-2.0-or-later
#include "rtnetlink.h"
#include "effects.h"
#include "func.h"
#include "sim.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGE_SIZE 65536

struct peer {
	struct peer *next;
	struct sim *s;
	int fd;
	bool asks; /* it does not hear of changes */
};

/* A message that is being made; what does not fit is left out. */
struct message {
	size_t n;
	unsigned char data[MESSAGE_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
};

static void put(struct message *m, const void *data, size_t size)
{
	if (NLMSG_ALIGN(size) > sizeof(m->data) - m->n)
		return;
	memset(m->data + m->n, 0, NLMSG_ALIGN(size));
	if (size)
		memcpy(m->data + m->n, data, size);
	m->n += NLMSG_ALIGN(size);
	((struct nlmsghdr *)m->data)->nlmsg_len = (uint32_t)m->n;
}

static size_t put_attr(struct message *m, int type, const void *data, size_t size)
{
	struct rtattr attr = { (unsigned short)RTA_LENGTH(size), (unsigned short)type };
	size_t at = m->n;

	put(m, &attr, sizeof(attr));
	put(m, data, size);
	return at;
}

static void nest_end(struct message *m, size_t at)
{
	((struct rtattr *)(m->data + at))->rta_len = (unsigned short)(m->n - at);
}

static void begin(struct message *m, int type, uint32_t seq, const void *body, size_t size)
{
	struct nlmsghdr head = { .nlmsg_type = (uint16_t)type, .nlmsg_seq = seq };

	m->n = 0;
	put(m, &head, sizeof(head));
	put(m, body, size);
}

/* ---- what the driver holds */

void vf_config_init(struct vf_config *c)
{
	*c = (struct vf_config){ .spoofchk = 1 };
}

/* The directory of the network interface with this index, as long as its function has it. */
static struct node *interface(struct sim *s, int index, struct func **ret_pf)
{
	for (size_t i = 0; i < s->machine->n; i++) {
		const struct record *r = &s->machine->records[i];
		const char *text = record_text(r, 'A', "ifindex"), *net = strstr(r->path, "/net/");
		char addr[ADDR_LEN + 8];
		const char *from = net;

		if (!text || atoi(text) != index || !net)
			continue;
		while (from > r->path && from[-1] != '/')
			from--;
		snprintf(addr, sizeof(addr), "%.*s", (int)(net - from), from);
		*ret_pf = func_find(s, addr);
		return *ret_pf ? tree_walk(s->tree, s->tree->root, r->path + 1) : NULL;
	}
	return NULL;
}

static int index_of(struct sim *s, const struct func *pf)
{
	struct func *found;

	for (int i = 1; i < 256; i++)
		if (interface(s, i, &found) && found == pf)
			return i;
	return 0;
}

static void put_vf(struct message *m, const struct func *vf)
{
	const struct vf_config *c = &vf->config;
	struct ifla_vf_mac mac = { .vf = vf->vf_index };
	struct ifla_vf_vlan vlan = { .vf = vf->vf_index, .vlan = c->vlan };
	struct ifla_vf_trust trust = { .vf = vf->vf_index, .setting = c->trust };
	struct ifla_vf_spoofchk spoofchk = { .vf = vf->vf_index, .setting = c->spoofchk };
	size_t info = put_attr(m, IFLA_VF_INFO, NULL, 0);

	memcpy(mac.mac, c->mac, sizeof(c->mac));
	put_attr(m, IFLA_VF_MAC, &mac, sizeof(mac));
	put_attr(m, IFLA_VF_VLAN, &vlan, sizeof(vlan));
	put_attr(m, IFLA_VF_SPOOFCHK, &spoofchk, sizeof(spoofchk));
	put_attr(m, IFLA_VF_TRUST, &trust, sizeof(trust));
	nest_end(m, info);
}

static int get(struct sim *s, int index, uint32_t seq, struct message *m)
{
	const struct ifinfomsg link = { .ifi_index = index };
	struct func *pf;
	struct node *node = interface(s, index, &pf);
	struct node *mtu = node ? tree_find(s->tree, node, "mtu") : NULL;
	int r = node ? 0 : -ENODEV;
	size_t list;

	/* Apart from what meets those who set: nobody reads that file. */
	if (!r && mtu)
		r = fault_meet(s, mtu);
	if (r || !interface(s, index, &pf))
		return r ?: -ENODEV;
	begin(m, RTM_NEWLINK, seq, &link, sizeof(link));
	list = put_attr(m, IFLA_VFINFO_LIST, NULL, 0);
	for (unsigned int i = 0; i < pf->num_vfs; i++)
		put_vf(m, pf->vfs[i]);
	nest_end(m, list);
	return 0;
}

static void announce(struct sim *s, const struct func *pf)
{
	const struct ifinfomsg link = { .ifi_index = index_of(s, pf) };
	struct message *m = malloc(sizeof(*m));

	if (!m)
		return;
	begin(m, RTM_NEWLINK, 0, &link, sizeof(link));
	put_attr(m, IFLA_PARENT_DEV_NAME, pf->dev.name, strlen(pf->dev.name) + 1);
	put_attr(m, IFLA_PARENT_DEV_BUS_NAME, "pci", 4);
	for (struct peer *p = s->peers; p; p = p->next)
		if (!p->asks)
			send(p->fd, m->data, m->n, MSG_NOSIGNAL | MSG_DONTWAIT);
	free(m);
}

/* As most drivers check it. */
static int set_one(struct func *pf, int type, const void *data, size_t size)
{
	struct ifla_vf_mac mac = { 0 };
	struct ifla_vf_vlan vlan = { 0 };
	struct ifla_vf_trust flag = { 0 };
	struct vf_config *c;
	uint32_t vf;

	if (size < sizeof(flag))
		return -EINVAL;
	memcpy(&vf, data, sizeof(vf));
	if (vf >= pf->num_vfs)
		return -EINVAL;
	c = &pf->vfs[vf]->config;
	memcpy(&mac, data, size < sizeof(mac) ? size : sizeof(mac));
	memcpy(&vlan, data, size < sizeof(vlan) ? size : sizeof(vlan));
	memcpy(&flag, data, sizeof(flag));
	if (type == IFLA_VF_MAC && size >= sizeof(mac) && !(mac.mac[0] & 1))
		memcpy(c->mac, mac.mac, sizeof(c->mac));
	else if (type == IFLA_VF_VLAN && size >= sizeof(vlan) && vlan.vlan < 4096)
		c->vlan = vlan.vlan;
	else if (type == IFLA_VF_TRUST)
		c->trust = flag.setting == 1;
	else if (type == IFLA_VF_SPOOFCHK)
		c->spoofchk = flag.setting == 1;
	else
		return -EINVAL;
	return 0;
}

/* The attributes below a nest; for each, by type, what is to be done. */
static int each(struct func *pf, const unsigned char *at, size_t n, int depth)
{
	int r = 0;

	while (!r && n >= sizeof(struct rtattr)) {
		struct rtattr attr;
		size_t step;
		int type;

		memcpy(&attr, at, sizeof(attr));
		if (attr.rta_len < sizeof(attr) || attr.rta_len > n)
			return -EINVAL;
		type = attr.rta_type & NLA_TYPE_MASK;
		if (depth == 2)
			r = set_one(pf, type, at + sizeof(attr), attr.rta_len - sizeof(attr));
		else if (type == (depth ? IFLA_VF_INFO : IFLA_VFINFO_LIST))
			r = each(pf, at + sizeof(attr), attr.rta_len - sizeof(attr), depth + 1);
		step = NLMSG_ALIGN(attr.rta_len);
		at += step < n ? step : n;
		n -= step < n ? step : n;
	}
	return r;
}

static int set(struct sim *s, int index, const unsigned char *attrs, size_t n)
{
	struct func *pf;
	struct node *node = interface(s, index, &pf);
	bool mine = false;
	int r = node ? fault_meet(s, node) : -ENODEV, waited = 0;

	if (!r)
		r = nth_before(s, &mine);
	if (!r && !interface(s, index, &pf))
		r = -ENODEV;
	if (!r)
		r = each(pf, attrs, n, 0);
	if (!r)
		announce(s, pf);
	if (mine)
		waited = nth_after(s);
	return r ? r : waited;
}

/* ---- by command */

static struct func *vf_at(struct sim *s, const char *addr)
{
	struct func *f = func_find(s, addr);

	return f && f->pf && f->dev.dir ? f : NULL;
}

int vf_config_tell(struct sim *s, const char *addr, char *ret, size_t size)
{
	const struct func *f = vf_at(s, addr);
	const struct vf_config *c = f ? &f->config : NULL;

	if (!c)
		return -ENODEV;
	snprintf(ret, size, "mac %02x:%02x:%02x:%02x:%02x:%02x vlan %u trust %u spoofchk %u\n",
		 c->mac[0], c->mac[1], c->mac[2], c->mac[3], c->mac[4], c->mac[5], c->vlan,
		 c->trust, c->spoofchk);
	return 0;
}

int vf_config_set(struct sim *s, const char *addr, const char *name, const char *value)
{
	struct func *f = vf_at(s, addr);
	unsigned int m[6], n = (unsigned int)strtoul(value, NULL, 10);

	if (!f)
		return -ENODEV;
	if (!strcmp(name, "mac") &&
	    sscanf(value, "%x:%x:%x:%x:%x:%x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]) == 6)
		for (int i = 0; i < 6; i++)
			f->config.mac[i] = (uint8_t)m[i];
	else if (!strcmp(name, "vlan"))
		f->config.vlan = n;
	else if (!strcmp(name, "trust"))
		f->config.trust = n;
	else if (!strcmp(name, "spoofchk"))
		f->config.spoofchk = n;
	else
		return -EINVAL;
	announce(s, f->pf);
	return 0;
}

/* ---- the socket */

static void answer(struct sim *s, const unsigned char *data, size_t n, struct message *m)
{
	struct nlmsgerr err = { 0 };
	struct ifinfomsg link;
	struct nlmsghdr head;

	memcpy(&head, data, sizeof(head));
	memcpy(&link, data + sizeof(head), sizeof(link));
	data += sizeof(head) + sizeof(link);
	n -= sizeof(head) + sizeof(link);
	m->n = 0;
	pthread_mutex_lock(&s->lock);
	if (head.nlmsg_type == RTM_GETLINK)
		err.error = get(s, link.ifi_index, head.nlmsg_seq, m);
	else if (head.nlmsg_type == RTM_SETLINK)
		err.error = set(s, link.ifi_index, data, n);
	else
		err.error = -EOPNOTSUPP;
	sim_sync(s);
	pthread_mutex_unlock(&s->lock);
	if (!err.error && m->n)
		return;
	err.msg = head;
	begin(m, NLMSG_ERROR, head.nlmsg_seq, &err, sizeof(err));
	((struct nlmsghdr *)m->data)->nlmsg_flags = NLM_F_CAPPED;
}

static void leave(struct peer *peer)
{
	struct peer **at;

	pthread_mutex_lock(&peer->s->lock);
	for (at = &peer->s->peers; *at != peer; at = &(*at)->next)
		;
	*at = peer->next;
	pthread_mutex_unlock(&peer->s->lock);
	close(peer->fd);
	free(peer);
}

static void *serve(void *arg)
{
	struct peer *peer = arg;
	struct message *m = malloc(sizeof(*m));
	unsigned char data[4096];
	ssize_t n;

	while (m && (n = recv(peer->fd, data, sizeof(data), 0)) > 0) {
		if ((size_t)n < sizeof(struct nlmsghdr) + sizeof(struct ifinfomsg))
			break;
		peer->asks = true;
		answer(peer->s, data, (size_t)n, m);
		send(peer->fd, m->data, m->n, MSG_NOSIGNAL);
	}
	free(m);
	leave(peer);
	return NULL;
}

int rtnetlink_listen(int base)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "/proc/self/fd/%d/proc/1/net/rtnetlink", base);
	if (fd < 0 || bind(fd, (struct sockaddr *)&un, sizeof(un)) || listen(fd, 64)) {
		int r = -errno;

		fprintf(stderr, "pcidevfs-sim: no socket for rtnetlink: %s\n", strerror(errno));
		if (fd >= 0)
			close(fd);
		return r;
	}
	return fd;
}

void rtnetlink_accept(struct sim *s, int listener)
{
	struct peer *peer = malloc(sizeof(*peer));
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	pthread_t thread;

	if (!peer || fd < 0) {
		free(peer);
		if (fd >= 0)
			close(fd);
		return;
	}
	*peer = (struct peer){ .s = s, .fd = fd };
	pthread_mutex_lock(&s->lock);
	peer->next = s->peers;
	s->peers = peer;
	pthread_mutex_unlock(&s->lock);
	if (pthread_create(&thread, NULL, serve, peer))
		leave(peer);
	else
		pthread_detach(thread);
}
