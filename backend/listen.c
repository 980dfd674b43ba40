// SPDX-License-Identifier: GPL-2.0-or-later
/* Unsolicited news: uevents, the mount table, the network, opened nodes, ends of processes that
 * hold devices. */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus.h"
#include "internal.h"
#include "look.h"
#include "listen.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/uevent.h"
#include "pcidevfs/util.h"
#include "backend/guard/guards.h"
#include "backend/guard/rtnl.h"

/* A driver's bind makes some ten events within a millisecond; one look after them is enough. */
#define QUIET_MS 5
#define BURST_MS 20
#define RESCAN_MS 10000 /* only if uevents are not available */
/* An operation looks at what it has changed before it ends; only a slow one is not waited for. */
#define OPERATION_MS 100
/* Anybody may open vfio/vfio at any rate, so NODES_MS limits how often node events are read. */
#define TOUCHED_MAX 1024
#define NODES_MS 10
#define NODES_BYTES (1 << 20)
/* Likewise whoever writes to the log, or makes the kernel do so. */
#define LOG_MS 100

enum {
	SRC_STOP,
	SRC_UEVENT,
	SRC_NODES,
	SRC_MOUNTS,
	SRC_SWAPS,
	SRC_NETWORK,
	SRC_ENDS,
	SRC_LOG,
	SRC_COUNT
};

struct listener {
	struct backend *b;
	struct pollfd fds[SRC_COUNT];
	struct node_dirs dirs;
	struct log_heard log;
	uint64_t due_ms[SRC_COUNT]; /* a source is not read again before */
	uint32_t lost[SRC_COUNT];   /* messages, as netlink_lost() has told */
	struct touched touched[TOUCHED_MAX], due[TOUCHED_MAX]; /* due: while it looks */
	size_t n;
	bool all;
	uint64_t last_scan;
};

static void touch_as(struct listener *l, const struct key *key, uint64_t removed, bool unbound)
{
	size_t i = 0;

	while (i < l->n && !key_eq(&l->touched[i].key, key))
		i++;
	if (i == TOUCHED_MAX) {
		l->all = true;
		return;
	}
	if (i == l->n)
		l->touched[l->n++] = (struct touched){ .key = *key };
	if (removed > l->touched[i].removed)
		l->touched[i].removed = removed;
	l->touched[i].unbound |= unbound;
	l->touched[i].heard = atomic_load(&l->b->looks.last);
	if (!l->touched[i].heard_ms)
		l->touched[i].heard_ms = now_ms();
}

static void touch(struct listener *l, const struct key *key)
{
	touch_as(l, key, 0, false);
}

static void touch_group(struct listener *l, int32_t group)
{
	const struct device *members[GROUP_MAX];
	size_t n;

	model_lock(l->b->model);
	n = model_group(l->b->model, group, members, GROUP_MAX);
	for (size_t i = 0; i < n && i < GROUP_MAX; i++)
		touch(l, &members[i]->key);
	model_unlock(l->b->model);
	l->all |= n > GROUP_MAX;
}

static void touch_node(struct listener *l, const char *node)
{
	int32_t group;

	if (node_group(node, &group))
		touch_group(l, group);
}

static void on_device(struct listener *l, const struct bus_ops *bus, const struct uevent *ev)
{
	struct key key;

	if (bus->heard(l->b->model, ev, &key))
		touch_as(l, &key, uevent_removes(ev, key.name) ? ev->seqnum ?: UINT64_MAX : 0,
			 !strcmp(ev->action, "unbind"));
}

static void on_vfio(struct listener *l, const struct uevent *ev)
{
	char node[NODE_NAME];

	snprintf(node, sizeof(node), "vfio%s", strrchr(ev->devpath, '/'));
	touch_node(l, node);
}

/* Something appeared or vanished in a function's directory. */
static void on_function(struct listener *l, const struct uevent *ev)
{
	struct key key;

	if (uevent_function(ev, &key))
		touch(l, &key);
}

static void on_host_use(struct listener *l, const struct uevent *ev)
{
	struct key key;

	host_use_changed(l->b, uevent_function(ev, &key) ? key.name : "");
}

/* Which keyboard is the only one depends on all but those that programs make (uinput). */
static void on_input(struct listener *l, const struct uevent *ev)
{
	if (strncmp(ev->devpath, "/devices/virtual/", 17) != 0)
		host_use_changed(l->b, "");
}

/* The names of its interfaces, disks and cards are facts of a device; on a rename the action is
 * "move". A disk that an NVMe has by several paths is below no function. */
static void on_named(struct listener *l, const struct uevent *ev)
{
	struct key usb;

	on_host_use(l, ev);
	if (!strcmp(ev->action, "change"))
		return;
	on_function(l, ev);
	if (uevent_usb(ev, &usb))
		touch(l, &usb);
	l->all |= strstr(ev->devpath, "/nvme-subsystem/") != NULL;
}

/* A driver's module may be all that a card waits for. */
static void on_module(struct listener *l, const struct uevent *ev)
{
	if (!strncmp(ev->devpath, "/module/nvidia", 14))
		ask_soon(l->b, &ask_daemons, NULL, 0);
}

static const struct {
	const char *subsystem;
	void (*heard)(struct listener *l, const struct uevent *ev);
} subsystems[] = {
	{ "vfio", on_vfio },	{ "vfio-dev", on_function }, { "mdev", on_function },
	{ "net", on_named },	{ "block", on_named },	     { "nvme", on_named },
	{ "drm", on_named },	{ "bdi", on_host_use },	     { "graphics", on_host_use },
	{ "input", on_input },	{ "module", on_module },
};

static void hear(struct listener *l, const struct uevent *ev)
{
	const struct bus_ops *const *rows = l->b->buses;

	for (enum bus bus = 0; bus < BUS_COUNT; bus++)
		if (rows[bus] && !strcmp(ev->subsystem, rows[bus]->subsystem))
			on_device(l, rows[bus], ev);
	for (size_t i = 0; i < ARRAY_SIZE(subsystems); i++)
		if (!strcmp(ev->subsystem, subsystems[i].subsystem))
			subsystems[i].heard(l, ev);
}

static const struct ucred *sender(struct msghdr *msg)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
		return NULL;
	return (const struct ucred *)CMSG_DATA(c);
}

/* Receives a message, or learns that some were lost. Returns 0; -EAGAIN at the end; else -errno. */
static int receive(struct listener *l)
{
	char buf[UEVENT_MAX], control[CMSG_SPACE(sizeof(struct ucred))]
		__attribute__((aligned(__alignof__(struct cmsghdr))));
	struct iovec iov = { buf, sizeof(buf) };
	struct sockaddr_nl from = { 0 };
	struct msghdr msg = { .msg_name = &from,
			      .msg_namelen = sizeof(from),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(l->b->uevent_fd, &msg, MSG_DONTWAIT);
	struct uevent ev;

	if (n < 0)
		return errno == EINTR || errno == ENOBUFS ? 0 : -errno;
	if (!sender(&msg) || !uevent_trusted(&from, sender(&msg)))
		return 0;
	if (msg.msg_flags & MSG_TRUNC)
		l->all = true;
	else if (!uevent_parse(buf, (size_t)n, &ev))
		hear(l, &ev);
	return 0;
}

static int drain_uevents(struct listener *l)
{
	int rc;

	do
		rc = receive(l);
	while (!rc && l->n < TOUCHED_MAX);
	if (rc && rc != -EAGAIN)
		return rc;
	if (netlink_lost(l->b->uevent_fd, &l->lost[SRC_UEVENT])) {
		atomic_fetch_add(&l->b->overflows, 1);
		l->all = true;
		ask_soon(l->b, &ask_critical, NULL, 0);
		ask_soon(l->b, &ask_holders, NULL, 0);
	}
	return 0;
}

static void on_node(struct listener *l, const struct inotify_event *e)
{
	char node[NODE_NAME];

	if (e->mask & IN_Q_OVERFLOW) {
		/* Uevents also report nodes that come and go. */
		l->all |= l->b->uevent_fd < 0;
		ask_soon(l->b, &ask_holders, NULL, 0);
		l->dirs.n = 0; /* of those that are gone, nobody may have heard */
		listen_watch_dirs(l->b, l->fds[SRC_NODES].fd, &l->dirs);
	}
	listen_watch_new(l->b, l->fds[SRC_NODES].fd, &l->dirs, e);
	if (!listen_node(&l->dirs, e, node) || !strcmp(node, "vfio/vfio"))
		return;
	/* Nobody holds a node that has just appeared or vanished; and who makes a vGPU sends no
	 * event until a VM has it. */
	if (e->mask & (IN_CREATE | IN_DELETE | IN_MOVE | IN_OPEN))
		touch_node(l, node);
	if (e->mask & IN_ATTRIB)
		node_keep(l->b, node);
	if (e->mask & (IN_OPEN | IN_CLOSE))
		node_opened(l->b, &l->dirs, node);
}

static void drain_nodes(struct listener *l)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	size_t total = 0;
	ssize_t n;

	while (total < NODES_BYTES &&
	       (n = read(l->fds[SRC_NODES].fd, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const struct inotify_event *)(buf + at);

			on_node(l, e);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
		total += (size_t)n;
	}
	node_opened_all(l->b, &l->dirs);
	l->due_ms[SRC_NODES] = now_ms() + NODES_MS;
}

/* An interface that is set up or down sends no uevent; its driver may have waited with VFs. */
static void on_network(void *ctx, const char *function)
{
	struct listener *l = ctx;
	struct key key;

	network_changed(l->b, function);
	if (function && key_make(BUS_PCI, function, &key))
		touch(l, &key);
}

static void drain_network(struct listener *l, struct pollfd *p)
{
	if (rtnl_heard(p->fd, &l->lost[SRC_NETWORK], on_network, l)) {
		network_changed(l->b, NULL);
		p->fd = -1; /* backend_free() closes it */
	}
}

static int drain(struct listener *l)
{
	int rc = 0;

	if (l->fds[SRC_UEVENT].revents)
		rc = drain_uevents(l);
	if (l->fds[SRC_NODES].revents)
		drain_nodes(l);
	for (int i = SRC_MOUNTS; i <= SRC_SWAPS; i++)
		if (l->fds[i].revents)
			listen_drain_table(l->b, &l->fds[i]);
	if (l->fds[SRC_MOUNTS].revents)
		mig_mounted(l->b);
	if (l->fds[SRC_NETWORK].revents)
		drain_network(l, &l->fds[SRC_NETWORK]);
	if (l->fds[SRC_ENDS].revents && ends_heard(&l->b->ends))
		ask_soon(l->b, &ask_holders, NULL, 0);
	if (l->fds[SRC_LOG].revents) {
		listen_drain_log(l->b, &l->log, &l->fds[SRC_LOG]);
		l->due_ms[SRC_LOG] = now_ms() + LOG_MS;
	}
	return rc;
}

static int wait_events(struct listener *l, int ms)
{
	struct pollfd fds[SRC_COUNT];
	uint64_t now = now_ms();
	int n;

	/* Inotify wakes a poller for every event, whatever it asked for. */
	memcpy(fds, l->fds, sizeof(fds));
	for (int i = 0; i < SRC_COUNT; i++)
		if (l->due_ms[i] > now) {
			int pause = (int)(l->due_ms[i] - now);

			fds[i].fd = -1;
			ms = ms < 0 || ms > pause ? pause : ms;
		}
	n = poll(fds, SRC_COUNT, ms);
	for (int i = 0; i < SRC_COUNT; i++)
		l->fds[i].revents = n > 0 ? fds[i].revents : 0;
	return n < 0 ? (errno == EINTR ? 0 : -errno) : n;
}

/* Handles events until it is quiet. Returns 0 or -errno. */
static int gather(struct listener *l, int ms)
{
	uint64_t until = 0;
	int n;

	while ((n = wait_events(l, ms)) > 0) {
		int rc = l->fds[SRC_STOP].revents ? 0 : drain(l);

		if (rc || l->fds[SRC_STOP].revents)
			return rc;
		if (!until)
			until = now_ms() + BURST_MS;
		if (now_ms() >= until || l->n == TOUCHED_MAX) /* the rest waits in the socket */
			break;
		ms = QUIET_MS;
	}
	return n < 0 ? n : 0;
}

/* An operation looks by itself at what it changed. */
static bool is_in_operation(struct model *m, const struct touched *t)
{
	const struct device *dev;
	bool busy;

	if (t->removed || now_ms() - t->heard_ms >= OPERATION_MS)
		return false;
	model_lock(m);
	dev = model_find(m, &t->key);
	busy = dev && dev->busy[0] && !dev->stuck[0];
	model_unlock(m);
	return busy;
}

/* Moves to due what nobody has looked at since it was heard, and keeps what an operation will. */
static size_t take_due(struct listener *l, struct touched due[static TOUCHED_MAX])
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct touched *t = &l->touched[i];

		if (!t->removed && !t->unbound && looked_since(l->b, &t->key, t->heard))
			ask_changed(l->b, &t->key);
		else if (!l->all && is_in_operation(l->b->model, t))
			l->touched[kept++] = *t;
		else if (!l->all || t->unbound) /* a full scan counts no unbinds */
			due[n++] = *t;
	}
	l->n = kept;
	return n;
}

/* Without memory we go on: the next full scan finds what was missed. */
static void look(struct listener *l)
{
	size_t n = take_due(l, l->due);
	bool all = l->all;
	int rc = 0;

	l->all = false;
	if (all) {
		rc = look_at(l->b, NULL, 0, PATIENCE_MS);
		l->last_scan = now_ms();
	}
	if (n && !rc)
		rc = look_at(l->b, l->due, n, PATIENCE_MS);
	for (size_t i = 0; i < n && !all; i++)
		ask_changed(l->b, &l->due[i].key);
	if (all)
		ask_changed(l->b, NULL);
	l->all = rc == -ENOMEM;
	for (size_t i = 0; i < n && l->all; i++)
		if (l->due[i].unbound)
			touch_as(l, &l->due[i].key, 0, true);
	listen_watch_dirs(l->b, l->fds[SRC_NODES].fd, &l->dirs);
}

static int timeout_ms(const struct listener *l)
{
	uint64_t due = l->last_scan + RESCAN_MS, now = now_ms();

	if (l->all)
		return 1000;
	if (l->n)
		return BURST_MS;
	if (l->b->uevent_fd >= 0)
		return -1;
	return due > now ? (int)(due - now) : 0;
}

static void listener_open(struct listener *l, struct backend *b)
{
	backend_hear(b);
	*l = (struct listener){ .b = b, .last_scan = now_ms() };
	l->fds[SRC_STOP] = (struct pollfd){ .fd = b->stop_fd, .events = POLLIN };
	l->fds[SRC_UEVENT] = (struct pollfd){ .fd = b->uevent_fd, .events = POLLIN };
	l->fds[SRC_NODES] = (struct pollfd){ .fd = listen_watch(b), .events = POLLIN };
	l->fds[SRC_MOUNTS] = (struct pollfd){ .fd = b->ears.mounts, .events = POLLPRI };
	l->fds[SRC_SWAPS] = (struct pollfd){ .fd = b->ears.swaps, .events = POLLPRI };
	l->fds[SRC_NETWORK] = (struct pollfd){ .fd = b->ears.network, .events = POLLIN };
	l->fds[SRC_LOG] = (struct pollfd){ .fd = b->roots.log ?: -1, .events = POLLIN };
	listen_open_log(b, &l->log);
	l->fds[SRC_ENDS] = (struct pollfd){ .fd = b->ends.epoll, .events = POLLIN };
	listen_watch_dirs(l->b, l->fds[SRC_NODES].fd, &l->dirs);
}

static int listen_loop(struct listener *l)
{
	for (;;) {
		int rc = gather(l, timeout_ms(l));

		if (rc || l->fds[SRC_STOP].revents)
			return rc;
		if (l->b->uevent_fd < 0 && now_ms() >= l->last_scan + RESCAN_MS)
			l->all = true;
		look(l);
	}
}

int backend_listen(struct backend *b, struct err *err)
{
	struct listener *l = malloc(sizeof(*l));
	int rc;

	if (!l)
		return fail_nomem(err);
	rc = asker_start(b);
	if (!rc) {
		listener_open(l, b);
		rc = listen_loop(l);
		closep(&l->fds[SRC_NODES].fd);
	}
	asker_stop(b);
	free(l);
	return rc ? fail(err, -rc, "the kernel's events cannot be heard: %s", strerror(-rc)) : 0;
}
