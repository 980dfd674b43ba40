// SPDX-License-Identifier: GPL-2.0-or-later
/* Disks: mounted file systems, swap, holders and exclusive openers, down to the devices below. */
#include "critical.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define DISK_NAME 64
#define WHAT_MAX 120
#define POINT_MAX 96 /* length of a mount point in a sentence */

struct disks {
	struct items all;
	struct mount_line *mounts; /* point into mount_text */
	size_t n_mounts, cap_mounts;
	char *mount_text;
};

/* ---- the disks */

static struct item *find_dev(struct disks *disks, unsigned int major, unsigned int minor)
{
	char name[DISK_NAME];

	if (sysfs_link(disks->all.scan->s, ROOT_SYS, name, sizeof(name), "dev/block/%u:%u", major,
		       minor))
		return NULL;
	return items_find(&disks->all, name);
}

/* The disk whose directory contains that of a partition; NULL if d is not a partition. */
static struct item *whole_disk(struct disks *disks, const struct item *d)
{
	char name[DISK_NAME];
	const char *end = strrchr(d->path, '/'), *start = end;

	while (start && start > d->path && start[-1] != '/')
		start--;
	if (!start || (size_t)(end - start) >= sizeof(name))
		return NULL;
	memcpy(name, start, (size_t)(end - start));
	name[end - start] = '\0';
	return items_find(&disks->all, name);
}

static int load_mounts(struct disks *disks)
{
	struct mount_line mount, *rows;
	char *next;
	int rc = scan_proc(disks->all.scan, "mountinfo", &disks->mount_text);

	if (rc)
		return rc;
	next = disks->mount_text;
	while (mount_next(&next, &mount)) {
		rows = scan_grow(disks->all.scan, disks->mounts, disks->n_mounts,
				 &disks->cap_mounts, sizeof(mount));
		if (!rows)
			return -ENOMEM;
		disks->mounts = rows;
		rows[disks->n_mounts++] = mount;
	}
	return 0;
}

/* ---- from a disk down to devices */

static void mark_used(struct disks *disks, const struct item *d)
{
	struct item *whole = whole_disk(disks, d);

	if (whole)
		whole->used = true;
}

static struct item *find_node(struct disks *disks, const char *path);

static void below_disk(struct items *all, struct item *d, enum cause_rank rank, const char *what,
		       bool found)
{
	struct disks *disks = container_of(all, struct disks, all);
	const struct sysfs *s = all->scan->s;
	_closedir_ DIR *slaves = NULL;
	char backing[SYSFS_VALUE];
	struct dirent *e;

	mark_used(disks, d);
	if (found)
		return;
	slaves = sysfs_dir(s, ROOT_SYS, "class/block/%s/slaves", d->name);
	while (slaves && (e = readdir(slaves)))
		items_walk(all, items_find(all, e->d_name), rank, what);
	if (sysfs_read(s, ROOT_SYS, backing, sizeof(backing), "class/block/%s/loop/backing_file",
		       d->name) > 0)
		items_walk(all, find_node(disks, backing), rank, what);
	items_walk(all, whole_disk(disks, d), rank, what);
}

/* ---- from a name in user space to a disk */

static struct item *find_mapper(struct disks *disks, const char *name)
{
	char dm[256];

	for (size_t i = 0; i < disks->all.n; i++) {
		struct item *d = &disks->all.rows[i];

		if (!strncmp(d->name, "dm-", 3) &&
		    sysfs_read(disks->all.scan->s, ROOT_SYS, dm, sizeof(dm),
			       "class/block/%s/dm/name", d->name) > 0 &&
		    !strcmp(dm, name))
			return d;
	}
	return NULL;
}

/* /dev/sda1, /dev/cciss/c0d0p1, /dev/disk/by-uuid/..., /dev/mapper/vg-root */
static struct item *find_node(struct disks *disks, const char *path)
{
	char name[DISK_NAME];

	if (strncmp(path, "/dev/", 5))
		return NULL;
	path += 5;
	if (!sysfs_link(disks->all.scan->s, ROOT_DEV, name, sizeof(name), "%s", path))
		return items_find(&disks->all, name);
	if (!strncmp(path, "mapper/", 7))
		return find_mapper(disks, path + 7);
	if (!STR_COPY(name, path))
		return NULL;
	for (char *p = name; (p = strchr(p, '/'));)
		*p = '!';
	return items_find(&disks->all, name);
}

/* These mount with an anonymous device number, so only the source names the device, and only root
 * can mount them. For all other types any user may have chosen the source, for example by
 * fusermount3 -o fsname=/dev/sda. */
static bool has_true_source(const struct mount_line *mount)
{
	static const char *const types[] = { "btrfs", "bcachefs", "zfs", "overlay" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(mount->type, types[i]))
			return true;
	return false;
}

/* The source may name several devices, for example "/dev/sda:/dev/sdb". */
static void need_mount(struct disks *disks, const struct mount_line *mount, enum cause_rank rank,
		       const char *what)
{
	struct item *d = mount->major ? find_dev(disks, mount->major, mount->minor) : NULL;
	bool asks_source = !d && has_true_source(mount);
	_free_ char *copy = asks_source ? strdup(mount->source) : NULL;
	char *end;

	items_need_once(&disks->all, d, rank, what);
	for (char *source = copy; source; source = end) {
		end = strstr(source, ":/dev/");
		if (end)
			*end++ = '\0';
		items_need_once(&disks->all, find_node(disks, source), rank, what);
	}
	disks->all.scan->no_memory |= asks_source && !copy;
}

/* ---- reasons */

static void say_mounted(char buf[static WHAT_MAX], const char *path)
{
	size_t len = strlen(path);

	if (len > POINT_MAX)
		for (len = POINT_MAX - 3; len && ((unsigned char)path[len] & 0xc0) == 0x80; len--)
			;
	snprintf(buf, WHAT_MAX, "is mounted on %.*s%s", (int)len, path, path[len] ? "..." : "");
}

static void mounted_as(struct disks *disks, enum cause_rank rank)
{
	char what[WHAT_MAX];

	for (size_t i = 0; i < disks->n_mounts; i++) {
		const struct mount_line *m = &disks->mounts[i];

		if (!strcmp(m->point, "/") != (rank == RANK_ROOT))
			continue;
		say_mounted(what, m->point);
		disks->all.detail = m->point;
		need_mount(disks, m, rank, what);
	}
}

static int mounted(struct disks *disks)
{
	mounted_as(disks, RANK_ROOT);
	mounted_as(disks, RANK_MOUNT);
	return 0;
}

/* A swap file is skipped: its file system's mount is a weightier reason and was found before. */
static int swapped(struct disks *disks)
{
	_free_ char *text = NULL;
	struct swap_line swap;
	char *next;
	int rc = scan_text(disks->all.scan, "swaps", &text);

	if (rc)
		return rc == -ENOENT ? 0 : rc; /* the kernel has no swap */
	next = text;
	disks->all.detail = NULL;
	while (swap_next(&next, &swap))
		items_need_once(&disks->all, find_node(disks, swap.path), RANK_SWAP, "holds swap");
	return 0;
}

/* The kernel makes no link from a disk to a loop device on it. */
static void loops(struct disks *disks, const struct item *loop)
{
	char backing[SYSFS_VALUE], what[WHAT_MAX];

	snprintf(what, sizeof(what), "is held by %s", loop->name);
	disks->all.detail = loop->name;
	if (!strncmp(loop->name, "loop", 4) &&
	    sysfs_read(disks->all.scan->s, ROOT_SYS, backing, sizeof(backing),
		       "class/block/%s/loop/backing_file", loop->name) > 0)
		items_need(&disks->all, find_node(disks, backing), RANK_HOLDER, what);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* In the order of their names: the first is the one shown, and those forced are the same again. */
static void holders(struct disks *disks, struct item *d)
{
	_closedir_ DIR *dir =
		sysfs_dir(disks->all.scan->s, ROOT_SYS, "class/block/%s/holders", d->name);
	char names[CAUSES_MAX + 1][DISK_NAME], what[WHAT_MAX];
	const struct dirent *e;
	size_t n = 0;

	while (dir && (e = readdir(dir))) {
		size_t last = ARRAY_SIZE(names) - 1;

		if (e->d_name[0] == '.' || (n > last && strcmp(e->d_name, names[last]) >= 0))
			continue;
		STR_COPY(names[n > last ? last : n++], e->d_name);
		if (n > last)
			qsort(names, n, sizeof(names[0]), by_text);
	}
	qsort(names, n, sizeof(names[0]), by_text);
	for (size_t i = 0; i < n; i++) {
		disks->all.detail = names[i];
		snprintf(what, sizeof(what), "is held by %s", names[i]);
		items_guard(&disks->all, d, RANK_HOLDER, what);
		mark_used(disks, d);
	}
	disks->all.detail = NULL;
}

static int held(struct disks *disks)
{
	for (size_t i = 0; i < disks->all.n; i++)
		loops(disks, &disks->all.rows[i]);
	for (size_t i = 0; i < disks->all.n; i++)
		if (disks->all.rows[i].asked)
			holders(disks, &disks->all.rows[i]);
	return 0;
}

/* The kernel opens a disk exclusively only if neither the disk nor a partition is open so. One try
 * per disk finds ZFS, Ceph, iSCSI targets and mounts in other namespaces. Nothing is opened for
 * writing, else udev would probe it again, and nothing known to be in use is opened at all. */
static bool is_exclusive(const struct sysfs *s, const struct item *d)
{
	char node[DISK_NAME], dev[32];
	unsigned int major, minor;
	struct stat st;

	if (!STR_COPY(node, d->name) || strstr(node, ".."))
		return false;
	for (char *p = node; (p = strchr(p, '!'));)
		*p = '/';
	if (sysfs_read(s, ROOT_SYS, dev, sizeof(dev), "class/block/%s/dev", d->name) <= 0 ||
	    sscanf(dev, "%9u:%9u", &major, &minor) != 2)
		return false;
	if (fstatat(s->fd[ROOT_DEV], node, &st, AT_SYMLINK_NOFOLLOW) || !S_ISBLK(st.st_mode) ||
	    st.st_rdev != makedev(major, minor))
		return false;
	_close_ int fd = openat(s->fd[ROOT_DEV], node,
				O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 && errno == EBUSY;
}

/* Disks without a device right below them, such as floppies and stacked devices, are not opened. */
static int opened(struct disks *disks)
{
	disks->all.detail = NULL;
	for (size_t i = 0; i < disks->all.n; i++) {
		struct item *d = &disks->all.rows[i];

		if (d->asked && !d->used && !whole_disk(disks, d) &&
		    is_exclusive(disks->all.scan->s, d))
			items_guard(&disks->all, d, RANK_EXCLUSIVE, "is open exclusively");
	}
	return 0;
}

static int (*const steps[])(struct disks *disks) = {
	load_mounts, mounted, swapped, held, opened,
};

int critical_disks(struct scan *scan)
{
	struct disks disks = { .all = { .scan = scan, .noun = "disk", .below = below_disk } };
	int rc = items_load(&disks.all, "block");

	/* Most devices have no disk, so mounts do not matter for them. */
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !rc && (disks.all.asked || !scan->only); i++)
		rc = steps[i](&disks);
	items_free(&disks.all);
	free(disks.mounts);
	free(disks.mount_text);
	return rc;
}
