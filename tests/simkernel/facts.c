// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of dev/ and proc/: plain files in a tmpfs, so that tests may change them. They come from
 * the machine's record of such facts, or else are derived from sysfs. */
#include "facts.h"
#include "func.h"
#include "sim.h"
#include "usb.h"
#include "vfio.h"
#include "vgpu.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Makes the directories on the way to path. */
static int make_way(struct sim *s, const char *path)
{
	char part[TREE_PATH_MAX];

	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		if (mkdirat(s->base, part, 0755) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int write_file(struct sim *s, const char *path, const char *text, size_t len, mode_t mode)
{
	int fd, r = make_way(s, path);

	if (r)
		return r;
	fd = openat(s->base, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		r = -EIO;
	close(fd);
	return r;
}

int facts_file(struct sim *s, const char *path, const char *text)
{
	return s->base < 0 ? 0 : write_file(s, path, text, strlen(text), 0644);
}

ssize_t facts_read(struct sim *s, const char *path, char *buf, size_t size)
{
	int fd = s->base < 0 ? -1 : openat(s->base, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n < 0 ? 0 : n] = 0;
	return n;
}

int facts_char(struct sim *s, const char *path, dev_t number, mode_t mode)
{
	int r = s->base < 0 ? 0 : make_way(s, path);

	if (r || s->base < 0)
		return r;
	if (!mknodat(s->base, path, S_IFCHR | mode, number) || errno == EEXIST)
		return 0;
	return -errno;
}

int facts_dir(struct sim *s, const char *path)
{
	int r = s->base < 0 ? 0 : make_way(s, path);

	if (r || s->base < 0)
		return r;
	return mkdirat(s->base, path, 0755) && errno != EEXIST ? -errno : 0;
}

/* A VMM must be able to open it, but its number must never lead to real hardware. */
int facts_node(struct sim *s, const char *path)
{
	return facts_char(s, path, makedev(1, 3), 0600);
}

int facts_link(struct sim *s, const char *path, const char *target)
{
	int r = s->base < 0 ? 0 : make_way(s, path);

	if (r || s->base < 0)
		return r;
	unlinkat(s->base, path, 0);
	return symlinkat(target, s->base, path) ? -errno : 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

void facts_remove(struct sim *s, const char *path)
{
	char full[TREE_PATH_MAX];

	if (s->base < 0)
		return;
	snprintf(full, sizeof(full), "/proc/self/fd/%d/%s", s->base, path);
	nftw(full, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* "DRIVER_<name>=<alias> <alias>": drivers without a device when the machine was recorded. */
void facts_drivers(struct sim *s)
{
	const struct record *facts = machine_find(s->machine, MACHINE_FACTS);

	for (size_t i = 0; facts && i < facts->n; i++) {
		const struct field *f = &facts->fields[i];
		struct driver *d;
		char alias[200];

		if (f->type != 'E' || strncmp(f->name, "DRIVER_", 7))
			continue;
		d = driver_get(s, &s->pci, f->name + 7);
		for (const char *p = f->data; d && *p; p += *p == ' ') {
			size_t n = strcspn(p, " ");

			snprintf(alias, sizeof(alias), "%.*s", (int)n, p);
			if (n)
				driver_alias(d, alias);
			p += n;
		}
	}
}

static bool is_fact_path(const char *path)
{
	return !strncmp(path, "dev/", 4) || !strncmp(path, "proc/", 5);
}

static void write_recorded(struct sim *s)
{
	const struct record *facts = machine_find(s->machine, MACHINE_FACTS);

	for (size_t i = 0; facts && i < facts->n; i++) {
		const struct field *f = &facts->fields[i];

		if (f->type == 'A' && is_fact_path(f->name))
			write_file(s, f->name, f->data, f->len, 0644);
		if (f->type == 'L' && is_fact_path(f->name))
			facts_link(s, f->name, f->data);
	}
}

/* disk/by-uuid/X needs as many ".." to its node as it is deep. */
static void write_dev_link(struct sim *s, const struct record *r, const char *name)
{
	const char *node = NULL;
	char path[TREE_PATH_MAX], target[TREE_PATH_MAX];
	size_t at = 0;

	for (size_t i = 0; i < r->n && !node; i++)
		node = r->fields[i].type == 'N' ? r->fields[i].name : NULL;
	if (!node)
		return;
	for (const char *p = strchr(name, '/'); p && at < 1000; p = strchr(p + 1, '/'))
		at += (size_t)snprintf(target + at, sizeof(target) - at, "../");
	snprintf(target + at, sizeof(target) - at, "%s", node);
	snprintf(path, sizeof(path), "dev/%s", name);
	facts_link(s, path, target);
}

/* As devtmpfs and udev keep them. */
void facts_dev(struct sim *s, const struct record *r, bool there)
{
	char path[TREE_PATH_MAX];

	if (s->base < 0)
		return;
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->fields[i];

		snprintf(path, sizeof(path), "dev/%s", f->name);
		if (!there && (f->type == 'N' || f->type == 'S'))
			unlinkat(s->base, path, 0);
		else if (f->type == 'N' && !strncmp(f->name, "vfio/", 5))
			facts_node(s, path);
		else if (f->type == 'N' && strncmp(f->name, "bus/usb/", 8)) /* usb_nodes() */
			write_file(s, path, f->data, f->len, 0600);
		else if (f->type == 'S')
			write_dev_link(s, r, f->name);
	}
}

int facts_write(struct sim *s)
{
	static const char *const links[][2] = {
		{ "proc/self", "1" },
		{ "proc/net", "1/net" },
		{ "proc/mounts", "1/mounts" },
		{ "dev/fd", "/proc/self/fd" },
	};
	int r;

	if (mkdirat(s->base, "dev", 0755) || mkdirat(s->base, "proc", 0555))
		return -errno;
	for (size_t i = 0; i < s->machine->n; i++)
		facts_dev(s, &s->machine->records[i], true);
	for_each_func(s, f)
		if (f->dev.vfio_dev >= 0)
			vfio_nodes(s, &f->dev);
	usb_nodes(s);
	vgpu_facts(s);
	r = facts_node(s, "dev/vfio/vfio");
	if (!r && s->cdev)
		r = facts_node(s, "dev/iommu");
	if (r)
		return r;
	proc_derive(s);
	write_recorded(s);
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		facts_link(s, links[i][0], links[i][1]);
	return 0;
}
