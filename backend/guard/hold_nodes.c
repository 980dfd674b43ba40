// SPDX-License-Identifier: GPL-2.0-or-later
/* What a descriptor is, and to which devices it leads: by its inode if that is a node below --dev
 * or a file of sysfs, else by its device number, whatever the path of its node. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "devpath.h"
#include "hold.h"
#include "backend/ops.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define GROUP_PATH "devices/virtual/vfio/"
#define NULL_NODE makedev(1, 3) /* all nodes of the simulation have it */
/* rows; beyond this, numbers without a device are looked up each time */
#define CACHE_MAX 8192

/* ---- rows */

static int compare(const void *left, const void *right)
{
	const struct hold_node *a = left, *b = right;

	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return (a->ino > b->ino) - (a->ino < b->ino);
}

static void add(struct hold_nodes *nodes, struct hold_node row)
{
	struct hold_node *rows = more_rows(nodes->rows, nodes->n, &nodes->cap, sizeof(row));

	if (!rows) {
		nodes->error = -ENOMEM;
		return;
	}
	nodes->rows = rows;
	rows[nodes->n++] = row;
}

static void sort(struct hold_nodes *nodes)
{
	if (nodes->n)
		qsort(nodes->rows, nodes->n, sizeof(*nodes->rows), compare);
}

/* Moves the rows from `before` on to their sorted places. */
static void place(struct hold_nodes *nodes, size_t before)
{
	for (size_t i = before; i < nodes->n; i++) {
		struct hold_node row = nodes->rows[i], *at = nodes->rows;

		at += rows_first(nodes->rows, i, sizeof(row), &row, compare);
		memmove(at + 1, at, (size_t)(nodes->rows + i - at) * sizeof(row));
		*at = row;
	}
}

static struct hold_node *look_up(struct hold_nodes *nodes, enum hold_by by, uint64_t dev,
				 uint64_t ino, size_t *ret_n)
{
	const struct hold_node key = { .by = by, .dev = dev, .ino = ino };
	size_t low = rows_first(nodes->rows, nodes->n, sizeof(key), &key, compare), n = 0;

	while (low + n < nodes->n && !compare(&nodes->rows[low + n], &key))
		n++;
	*ret_n = n;
	return n ? nodes->rows + low : NULL;
}

/* NULL if it does not exist or access is denied; any other failure is an error. */
static DIR *list(struct hold_nodes *nodes, enum root root, const char *path)
{
	DIR *dir = sysfs_dir(nodes->s, root, "%s", path);

	if (!dir && errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != EPERM)
		nodes->error = -errno;
	return dir;
}

/* ---- nodes below --dev whose names tell their devices */

struct node_search {
	struct hold_nodes *nodes;
	char path[300]; /* below --dev */
	bool vfio;
};

static bool stat_node(const struct hold_nodes *nodes, const char *path, struct stat *ret)
{
	return !fstatat(nodes->s->fd[ROOT_DEV], path, ret, AT_SYMLINK_NOFOLLOW) &&
	       !S_ISDIR(ret->st_mode) && !S_ISLNK(ret->st_mode);
}

static void add_named(void *ctx, const struct key *dev)
{
	const struct node_search *at = ctx;
	struct stat st;

	if (!stat_node(at->nodes, at->path, &st))
		return;
	add(at->nodes, (struct hold_node){ .dev = st.st_dev,
					   .ino = st.st_ino,
					   .device = *dev,
					   .vfio = at->vfio,
					   .uid = st.st_uid,
					   .gid = st.st_gid,
					   .mode = st.st_mode });
	if ((S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) && st.st_rdev != NULL_NODE)
		add(at->nodes, (struct hold_node){ .by = S_ISCHR(st.st_mode) ? BY_CHAR : BY_BLOCK,
						   .dev = st.st_rdev,
						   .device = *dev,
						   .vfio = at->vfio });
}

/* Calls found() for the devices that the target of a link hangs on. */
static void each_behind(struct hold_nodes *nodes, const char *dir, const char *link,
			device_found *found, void *ctx)
{
	char path[PATH_MAX];

	if (!sysfs_target(nodes->s, path, "%s/%s", dir, link))
		devpath_devices(nodes->s, path, found, ctx);
}

/* Calls found() for the members of a group and what they hang on. "vfio" is not a group. */
static void each_member(struct hold_nodes *nodes, const char *group, device_found *found, void *ctx)
{
	_closedir_ DIR *dir = NULL;
	struct dirent *e;
	struct key key;
	char path[300];

	snprintf(path, sizeof(path), "kernel/iommu_groups/%s/devices", group);
	dir = list(nodes, ROOT_SYS, path);
	while (dir && (e = readdir(dir)))
		if (key_make(BUS_PCI, e->d_name, &key))
			found(ctx, &key);
		else
			each_behind(nodes, path, e->d_name, found, ctx);
}

static void each_in(struct node_search *at, const char *dir_path,
		    void (*each)(struct node_search *at, const char *name))
{
	_closedir_ DIR *dir = list(at->nodes, ROOT_DEV, dir_path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		snprintf(at->path, sizeof(at->path), "%s/%s", dir_path, e->d_name);
		if (e->d_name[0] != '.')
			each(at, e->d_name);
	}
}

static void each_group(struct node_search *at, const char *name)
{
	uint64_t number;

	if (!parse_u64(name, INT32_MAX, &number))
		each_member(at->nodes, name, add_named, at);
}

static void each_cdev(struct node_search *at, const char *name)
{
	each_behind(at->nodes, "class/vfio-dev", name, add_named, at);
}

/* A node that a vendor's driver knows and sysfs does not. */
static void each_vendor(void *ctx, const char *address, const char *node)
{
	struct node_search *at = ctx;
	struct key key;

	STR_COPY(at->path, node);
	if (key_make(BUS_PCI, address, &key))
		add_named(at, &key);
}

static int add_all_named(struct hold_nodes *nodes)
{
	struct node_search at = { .nodes = nodes, .vfio = true };
	int rc = 0;

	each_in(&at, "vfio", each_group);
	each_in(&at, "vfio/devices", each_cdev);
	at.vfio = false;
	for (const struct backend_ops *const *b = backends; *b && !rc; b++)
		if ((*b)->nodes)
			rc = (*b)->nodes(nodes->s, each_vendor, &at);
	return rc;
}

int hold_nodes_open(struct hold_nodes *nodes, const struct sysfs *s, const char *only)
{
	struct statfs fs;
	struct stat st;
	int rc;

	*nodes = (struct hold_nodes){ .s = s, .only = only };
	if (fstat(s->fd[ROOT_SYS], &st) || fstatfs(s->fd[ROOT_SYS], &fs))
		return -errno;
	nodes->sysfs_dev = st.st_dev;
	nodes->real_sysfs = fs.f_type == SYSFS_MAGIC;
	rc = add_all_named(nodes);
	sort(nodes);
	return rc ? rc : nodes->error;
}

void hold_nodes_close(struct hold_nodes *nodes)
{
	free(nodes->rows);
}

/* ---- device numbers */

struct numbered {
	struct hold_nodes *nodes;
	struct hold_node row;
};

static void add_numbered(void *ctx, const struct key *dev)
{
	struct numbered *at = ctx;

	at->row.device = *dev;
	add(at->nodes, at->row);
}

/* False: sysfs has no device of ours for this number. */
static bool devices_of(struct hold_nodes *nodes, bool block, unsigned int maj, unsigned int min,
		       bool *ret_vfio, device_found *found, void *ctx)
{
	char path[PATH_MAX];
	const char *group;
	bool there = !sysfs_target(nodes->s, path, "dev/%s/%u:%u", block ? "block" : "char", maj,
				   min);

	*ret_vfio = there && (!strncmp(path, GROUP_PATH, strlen(GROUP_PATH)) ||
			      strstr(path, "/vfio-dev/"));
	if (!there)
		return false;
	if (strncmp(path, GROUP_PATH, strlen(GROUP_PATH)))
		return devpath_devices(nodes->s, path, found, ctx);
	group = path + strlen(GROUP_PATH);
	each_member(nodes, group + (strncmp(group, "noiommu-", 8) ? 0 : 8), found, ctx);
	return true;
}

static struct hold_node *by_number(struct hold_nodes *nodes, enum hold_by by,
				   const struct statx *st, size_t *ret_n)
{
	dev_t number = makedev(st->stx_rdev_major, st->stx_rdev_minor);
	struct hold_node *row = look_up(nodes, by, number, 0, ret_n);
	struct numbered at = { nodes, { .by = by, .dev = number } };
	size_t before = nodes->n;
	bool vfio;

	if (*ret_n || number == NULL_NODE)
		return row;
	devices_of(nodes, by == BY_BLOCK, st->stx_rdev_major, st->stx_rdev_minor, &vfio,
		   add_numbered, &at);
	for (size_t i = before; i < nodes->n; i++)
		nodes->rows[i].vfio = vfio;
	if (nodes->n == before && before < CACHE_MAX)
		add(nodes, at.row);
	place(nodes, before);
	return look_up(nodes, by, number, 0, ret_n);
}

/* ---- files of sysfs */

static void add_resources(void *ctx, const struct key *dev)
{
	struct hold_nodes *nodes = ctx;
	char path[128];
	struct stat st;

	for (int i = 0; i < 12; i++) {
		snprintf(path, sizeof(path), PCI_DEVICES "/%s/resource%d%s", dev->name,
			 i / 2,
			 i % 2 ? "_wc" : "");
		if (!fstatat(nodes->s->fd[ROOT_SYS], path, &st, AT_SYMLINK_NOFOLLOW))
			add(nodes, (struct hold_node){ .by = BY_RESOURCE,
						       .ino = st.st_ino,
						       .device = *dev });
	}
}

static void read_resources(struct hold_nodes *nodes)
{
	int rc = only_functions(nodes->s, nodes->only, add_resources, nodes);

	nodes->has_resources = true;
	if (rc && rc != -ENOENT && rc != -EACCES && rc != -EPERM)
		nodes->error = rc;
	sort(nodes);
}

bool hold_is_sysfs(int dir, const char *name)
{
	struct {
		struct file_handle head;
		unsigned char bytes[MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	_close_ int fd = -1;
	struct statfs fs;
	int mount;

	/* statfs() would ask the server of the file system. FUSE and NFS, whose servers may hang,
	 * have file handles; sysfs has none. */
	if (!name_to_handle_at(dir, name, &handle.head, &mount, AT_SYMLINK_FOLLOW) ||
	    errno != EOPNOTSUPP)
		return false;
	fd = openat(dir, name, O_PATH | O_CLOEXEC);
	return fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == SYSFS_MAGIC;
}

static dev_t dev_of(const struct statx *st)
{
	return makedev(st->stx_dev_major, st->stx_dev_minor);
}

static int seen_at(const struct hold_nodes *nodes, dev_t dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(nodes->seen) && i < nodes->n_seen; i++)
		if (nodes->seen[i].dev == dev)
			return (int)i;
	return -1;
}

/* Each network namespace has its own sysfs, with the same inodes for all but the network. */
bool hold_nodes_asks(const struct hold_nodes *nodes, const struct statx *st)
{
	return nodes->real_sysfs && S_ISREG(st->stx_mode) && !st->stx_dev_major &&
	       dev_of(st) != nodes->sysfs_dev && seen_at(nodes, dev_of(st)) < 0;
}

void hold_nodes_told(struct hold_nodes *nodes, const struct statx *st, bool is_sysfs)
{
	size_t i = nodes->n_seen++ % ARRAY_SIZE(nodes->seen);

	nodes->seen[i].dev = dev_of(st);
	nodes->seen[i].is_sysfs = is_sysfs;
}

static struct hold_node *by_resource(struct hold_nodes *nodes, const struct statx *st,
				     size_t *ret_n)
{
	int seen = seen_at(nodes, dev_of(st));

	*ret_n = 0;
	if (dev_of(st) != nodes->sysfs_dev && (seen < 0 || !nodes->seen[seen].is_sysfs))
		return NULL;
	if (!nodes->has_resources)
		read_resources(nodes);
	return look_up(nodes, BY_RESOURCE, 0, st->stx_ino, ret_n);
}

struct hold_node *hold_nodes_find(struct hold_nodes *nodes, const struct statx *st, size_t *ret_n)
{
	struct hold_node *row = look_up(nodes, BY_INODE, dev_of(st), st->stx_ino, ret_n);

	if (*ret_n)
		return row;
	if (S_ISCHR(st->stx_mode))
		return by_number(nodes, BY_CHAR, st, ret_n);
	if (S_ISBLK(st->stx_mode))
		return by_number(nodes, BY_BLOCK, st, ret_n);
	if (S_ISREG(st->stx_mode))
		return by_resource(nodes, st, ret_n);
	return NULL;
}

/* ---- users that could open them */

struct rights {
	struct hold_nodes *nodes;
	void (*found)(void *ctx, const struct key *dev, const struct stat *st);
	void *ctx;
	struct stat st;
};

static void tell_numbered(void *ctx, const struct key *dev)
{
	struct rights *r = ctx;

	r->found(r->ctx, dev, &r->st);
}

/* Takes the node's name from devtmpfs. */
static bool stat_numbered(struct rights *r, const char *class, const char *number)
{
	static const char key[] = "DEVNAME=";
	char text[SYSFS_VALUE], *name;

	if (sysfs_read(r->nodes->s, ROOT_SYS, text, sizeof(text), "dev/%s/%s/uevent", class,
		       number) < 0)
		return false;
	name = strstr(text, key);
	if (!name)
		return false;
	name += strlen(key);
	name[strcspn(name, "\n")] = '\0';
	return stat_node(r->nodes, name, &r->st);
}

static void tell_class(struct rights *r, bool block)
{
	const char *class = block ? "block" : "char";
	_closedir_ DIR *dir = list(r->nodes, ROOT_SYS, block ? "dev/block" : "dev/char");
	unsigned int maj, min;
	struct dirent *e;
	bool vfio;

	while (dir && (e = readdir(dir)))
		if (sscanf(e->d_name, "%u:%u", &maj, &min) == 2 &&
		    stat_numbered(r, class, e->d_name))
			devices_of(r->nodes, block, maj, min, &vfio, tell_numbered, r);
}

void hold_nodes_rights(struct hold_nodes *nodes,
		       void (*found)(void *ctx, const struct key *dev, const struct stat *st),
		       void *ctx)
{
	struct rights r = { .nodes = nodes, .found = found, .ctx = ctx };

	for (size_t i = 0; i < nodes->n; i++) {
		const struct hold_node *row = &nodes->rows[i];

		r.st = (struct stat){ .st_uid = row->uid,
				      .st_gid = row->gid,
				      .st_mode = row->mode };
		if (row->by == BY_INODE)
			found(ctx, &row->device, &r.st);
	}
	tell_class(&r, false);
	tell_class(&r, true);
}
