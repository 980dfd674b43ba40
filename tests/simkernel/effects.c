// SPDX-License-Identifier: GPL-2.0-or-later
/* Effects of a change in the tree, in order: the kernel forgets cached names, then uevents are
 * sent. To forget a name the kernel takes its directory's lock, which may be held by a request that
 * waits for us. So neither the FUSE thread nor our own lock is used here. */
#include "effects.h"
#include "ops.h"
#include "sim.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UEVENT_MAX 2048

struct effect {
	struct effect *next;
	struct node *node; /* forget its child, or its attributes; NULL: a uevent */
	size_t len;
	char data[]; /* the child's name, or the netlink message */
};

struct effects {
	struct effect *first, **tail;
	uint64_t queued, done;
	pthread_cond_t more, fewer;
	struct fuse_session *_Atomic se;
	int netlink; /* -1: no events */
};

static void queue(struct sim *s, struct node *node, const void *data, size_t len)
{
	struct effects *e = s->effects;
	struct effect *one;

	if (!e || s->quiet)
		return;
	one = malloc(sizeof(*one) + len + 1);
	if (!one)
		return;
	one->next = NULL;
	one->node = node ? node_ref(node) : NULL;
	one->len = len;
	memcpy(one->data, data, len);
	one->data[len] = 0;
	*e->tail = one;
	e->tail = &one->next;
	e->queued++;
	pthread_cond_signal(&e->more);
}

static void on_gone(void *ctx, struct node *parent, const char *name)
{
	queue(ctx, parent, name, strlen(name));
}

static void on_counted(void *ctx, struct node *dir)
{
	queue(ctx, dir, "", 0);
}

static void send_event(struct effects *e, struct effect *one)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	char answer[512];

	if (e->netlink < 0)
		return;
	if (sendto(e->netlink, one->data, one->len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) <
	    0)
		fprintf(stderr, "pcidevfs-sim: uevent not sent: %s\n", strerror(errno));
	/* Read the answer, otherwise our own socket fills up. */
	else
		recv(e->netlink, answer, sizeof(answer), 0);
}

static void forget(struct effects *e, struct sim *s, struct effect *one)
{
	struct fuse_session *se = e->se;
	fuse_ino_t ino = ops_ino(s, one->node);

	if (!se)
		return;
	if (one->len)
		fuse_lowlevel_notify_inval_entry(se, ino, one->data, one->len);
	else
		fuse_lowlevel_notify_inval_inode(se, ino, -1, 0);
}

/* Ends only with the process. */
static __attribute__((noreturn)) void *run(void *arg)
{
	struct sim *s = arg;
	struct effects *e = s->effects;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct effect *one = e->first;

		if (!one) {
			pthread_cond_wait(&e->more, &s->lock);
			continue;
		}
		e->first = one->next;
		if (!e->first)
			e->tail = &e->first;
		pthread_mutex_unlock(&s->lock);
		if (one->node)
			forget(e, s, one);
		else
			send_event(e, one);
		pthread_mutex_lock(&s->lock);
		if (one->node)
			node_unref(one->node, 1);
		free(one);
		e->done++;
		pthread_cond_broadcast(&e->fewer);
	}
}

int effects_start(struct sim *s, bool events)
{
	struct effects *e = calloc(1, sizeof(*e));
	pthread_t thread;
	int r;

	if (!e)
		return -ENOMEM;
	e->tail = &e->first;
	e->netlink = -1;
	if (events)
		e->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	pthread_cond_init(&e->more, NULL);
	pthread_cond_init(&e->fewer, NULL);
	s->effects = e;
	r = pthread_create(&thread, NULL, run, s);
	if (r) {
		s->effects = NULL;
		free(e);
		return -r;
	}
	s->tree->ctx = s;
	s->tree->gone = on_gone;
	s->tree->counted = on_counted;
	return 0;
}

void effects_session(struct sim *s, struct fuse_session *se)
{
	s->effects->se = se;
}

void sim_sync(struct sim *s)
{
	struct effects *e = s->effects;
	uint64_t until = e ? e->queued : 0;

	while (e && e->done < until)
		pthread_cond_wait(&e->fewer, &s->lock);
}

struct message {
	char data[UEVENT_MAX];
	size_t len;
	bool full;
};

static void put(struct message *m, const char *a, const char *b, const char *c, size_t n)
{
	int len = snprintf(m->data + m->len, sizeof(m->data) - m->len, "%s%s%.*s", a, b, (int)n, c);

	if (len < 0 || (size_t)len >= sizeof(m->data) - m->len)
		m->full = true;
	else
		m->len += (size_t)len + 1; /* the NUL separates fields */
}

/* Sends a request to the kernel's end of the uevent socket. The kernel appends SEQNUM and
 * broadcasts it in this network namespace with nl_pid 0, like its own. */
void uevent(struct sim *s, const char *action, const char *devpath, const char *env)
{
	struct message m = { .len = NLMSG_HDRLEN };
	struct nlmsghdr h = { .nlmsg_type = NLMSG_MIN_TYPE,
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK };

	if (!s->effects || s->effects->netlink < 0 || s->quiet)
		return;
	put(&m, action, "@", devpath, strlen(devpath));
	put(&m, "ACTION", "=", action, strlen(action));
	put(&m, "DEVPATH", "=", devpath, strlen(devpath));
	while (*env && !m.full) {
		size_t n = strcspn(env, "\n");

		if (n)
			put(&m, "", "", env, n);
		env += n + (env[n] == '\n');
	}
	if (m.full)
		return;
	h.nlmsg_len = (uint32_t)m.len;
	memcpy(m.data, &h, sizeof(h));
	queue(s, NULL, m.data, m.len);
}
