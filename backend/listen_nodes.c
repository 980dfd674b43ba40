// SPDX-License-Identifier: GPL-2.0-or-later
/* What the listener listens to: the kernel's broadcasts, tables of mounts and swaps; and nodes that
 * processes open, vfio's and USB's, and /etc/group: inotify tells of all in a directory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/guard/guards.h"
#include "backend/guard/rtnl.h"
#include "claim.h"
#include "internal.h"
#include "listen.h"
#include "pcidevfs/device.h"
#include "pcidevfs/group.h"
#include "pcidevfs/io.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/util.h"

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
		ask_soon(b, &ask_critical, NULL, 0);
	} else {
		/* An error alone would recur at once, for ever. backend_free() closes it. */
		p->fd = -1;
	}
}

/* ---- nodes */

#define GROUP_MS 2000
#define HEARD (IN_OPEN | IN_CLOSE | IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVE)

/* Each of them, and each directory in it. */
static const char *const dirs[] = { "vfio", "bus/usb" };

int listen_watch(const struct backend *b)
{
	if (b->roots.watch > 0)
		return fcntl(b->roots.watch, F_DUPFD_CLOEXEC, 0);
	return inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

static struct node_dir *find(struct node_dirs *d, int wd)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->v[i].wd == wd)
			return &d->v[i];
	return NULL;
}

static bool is_watched(const struct node_dirs *d, const char *name)
{
	bool is = false;

	for (size_t i = 0; i < d->n && !is; i++)
		is = !strcmp(d->v[i].name, name);
	return is;
}

static void watch(const struct backend *b, int fd, const char *name, struct node_dirs *d)
{
	struct node_dir *new = &d->v[d->n];
	char path[64];

	if (is_watched(d, name) || d->n == ARRAY_SIZE(d->v) || !STR_COPY(new->name, name))
		return;
	/* By the root's descriptor: that stays the same directory, however it was mounted. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", b->sys.fd[ROOT_DEV], name);
	new->wd = inotify_add_watch(fd, path, HEARD | IN_ONLYDIR);
	d->n += new->wd >= 0;
}

static void watch_in(const struct backend *b, int fd, const char *dir, const char *entry,
		     struct node_dirs *d)
{
	char name[300];

	snprintf(name, sizeof(name), "%s/%s", dir, entry);
	watch(b, fd, name, d);
}

void backend_follow_group(struct backend *b, void (*found)(void *ctx, gid_t gid), void *ctx)
{
	b->group_found = found;
	b->group_ctx = ctx;
}

/* A helper reads it: landlock(7) allows us only the file that was there at the start, and those who
 * change it make a new one. */
static void find_group(struct backend *b)
{
	const char *const argv[] = { "group", NULL };
	struct out answer = { 0 };
	uint64_t gid;

	if (!io_call(b->io, argv, GROUP_MS, &answer, NULL, NULL) &&
	    !parse_u64(out_text(&answer), UINT32_MAX, &gid))
		b->group_found(b->group_ctx, (gid_t)gid);
	out_free(&answer);
}

static void watch_group(const struct backend *b, int fd, struct node_dirs *d)
{
	if (b->group_found && !d->group_wd)
		d->group_wd = inotify_add_watch(fd, GROUP_DIR,
						IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR) +
			      1;
}

static void hear_group(struct node_dirs *d, const struct inotify_event *e)
{
	if (d->group_wd > 0 && e->wd == d->group_wd - 1 && e->len && !strcmp(e->name, GROUP_FILE))
		d->group_changed = true;
	d->group_changed |= d->group_wd > 0 && e->mask & IN_Q_OVERFLOW;
}

void listen_watch_dirs(const struct backend *b, int fd, struct node_dirs *d)
{
	watch_group(b, fd, d);
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && fd >= 0; i++) {
		bool heard = is_watched(d, dirs[i]);
		_closedir_ DIR *dir = heard ? NULL : sysfs_dir(&b->sys, ROOT_DEV, "%s", dirs[i]);
		const struct dirent *e;

		if (dir)
			watch(b, fd, dirs[i], d);
		while (dir && (e = readdir(dir)))
			if (e->d_type == DT_DIR && e->d_name[0] != '.')
				watch_in(b, fd, dirs[i], e->d_name, d);
	}
}

void listen_watch_new(const struct backend *b, int fd, struct node_dirs *d,
		      const struct inotify_event *e)
{
	const struct node_dir *in = find(d, e->wd);

	hear_group(d, e);
	if (in && e->mask & IN_CREATE && e->mask & IN_ISDIR)
		watch_in(b, fd, in->name, e->name, d);
}

bool listen_node(struct node_dirs *d, const struct inotify_event *e, char ret[static NODE_NAME])
{
	struct node_dir *dir = find(d, e->wd);
	int n = dir ? snprintf(ret, NODE_NAME, "%s/%s", dir->name, e->len ? e->name : "") : 0;

	if (dir && e->mask & IN_IGNORED)
		*dir = d->v[--d->n];
	return dir && e->len && !(e->mask & (IN_IGNORED | IN_ISDIR)) && n < NODE_NAME;
}

static void ask(struct backend *b, struct node_dirs *d)
{
	if (d->opened[0] && d->asked++ < NODES_ASKED)
		node_used(b, d->opened);
}

/* Asked about after its last event: an answer from before it would count. */
void node_opened(struct backend *b, struct node_dirs *d, const char *node)
{
	if (strcmp(node, d->opened) != 0)
		ask(b, d);
	STR_COPY(d->opened, node);
}

void node_opened_all(struct backend *b, struct node_dirs *d)
{
	ask(b, d);
	if (d->asked > NODES_ASKED)
		ask_soon(b, &ask_holders, NULL, 0);
	d->opened[0] = '\0';
	d->asked = 0;
	if (d->group_changed)
		find_group(b);
	d->group_changed = false;
}

bool node_group(const char *node, int32_t *ret)
{
	uint64_t group;

	if (strncmp(node, "vfio/", 5) || parse_u64(node + 5, INT32_MAX, &group))
		return false;
	*ret = (int32_t)group;
	return true;
}

const struct device *node_device(struct model *m, const char *node)
{
	const struct device *dev;
	char path[NODE_NAME + 8];
	size_t pos = 0;

	snprintf(path, sizeof(path), "/dev/%s", node);
	while ((dev = model_next(m, &pos)) && !device_has_node(dev, path))
		;
	return dev;
}

struct keeping {
	struct backend *b;
	const struct claim_ops *way;
	struct key dev;
};

static void keep_main(void *arg)
{
	struct keeping *k = arg;

	k->way->keep_nodes(k->b, &k->dev);
	free(k);
}

void node_keep(struct backend *b, const char *node)
{
	struct keeping found = { .b = b }, *k;
	const struct device *dev;

	model_lock(b->model);
	dev = node_device(b->model, node);
	if (dev && dev->intent.allocated[0])
		found.way = claim_way(b->ways, dev);
	if (found.way)
		found.dev = dev->key;
	model_unlock(b->model);
	if (!found.way || !found.way->keep_nodes)
		return;
	k = malloc(sizeof(*k));
	if (!k)
		return;
	*k = found;
	if (pool_submit(b->lookers, keep_main, k))
		free(k);
}
