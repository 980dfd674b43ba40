// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/holders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "devpath.h"
#include "ops.h"
#include "pcidevfs/key.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define NODE_NAME 96
#define COMM_NAME 128

/* A name below the dev root that a process has open. */
struct opened {
	char name[NODE_NAME];
	pid_t pid;
};

struct hold {
	char address[KEY_NAME];
	pid_t pid;
};

struct search {
	const struct sysfs *s;
	const char *only; /* the functions it is about, NULL all: devpath.h */
	struct opened *opened;
	size_t n_opened, cap_opened;
	struct hold *holds;
	size_t n_holds, cap_holds;
	size_t unseen; /* processes */
	bool counted;  /* proc tells how many files each has open */
	int error;
};

static void *grow(struct search *search, void *rows, size_t n, size_t *cap, size_t size)
{
	void *grown = more_rows(rows, n, cap, size);

	if (!grown)
		search->error = -ENOMEM;
	return grown;
}

/* ---- what is open */

static void add_hold(struct search *search, const char *address, pid_t pid)
{
	struct hold *rows, hold = { .pid = pid };

	if (!only_has(search->only, address))
		return;
	rows = grow(search, search->holds, search->n_holds, &search->cap_holds, sizeof(hold));
	if (!rows)
		return;
	search->holds = rows;
	STR_COPY(hold.address, address);
	rows[search->n_holds++] = hold;
}

/* What follows "/dev/", or the dev root as it was given; NULL for other files. */
static const char *below_dev(const struct sysfs *s, const char *text)
{
	size_t len = strlen(s->path[ROOT_DEV]);

	if (!strncmp(text, "/dev/", 5))
		return text + 5;
	while (len && s->path[ROOT_DEV][len - 1] == '/')
		len--;
	if (!len || strncmp(text, s->path[ROOT_DEV], len) || text[len] != '/')
		return NULL;
	return text + len + 1;
}

/* A process may have the same open a thousand times, one after the other. What every process has is worth no
 * look. */
static void add_opened(struct search *search, const char *name, pid_t pid)
{
	struct opened *rows, row = { .pid = pid };
	const struct opened *last = search->n_opened ? &search->opened[search->n_opened - 1] : NULL;

	if (!strcmp(name, "null") || !strncmp(name, "pts/", 4) || !strncmp(name, "shm/", 4) ||
	    !STR_COPY(row.name, name) || (last && last->pid == pid && !strcmp(last->name, name)))
		return;
	rows = grow(search, search->opened, search->n_opened, &search->cap_opened, sizeof(row));
	if (!rows)
		return;
	search->opened = rows;
	rows[search->n_opened++] = row;
}

/* .../0000:08:00.0/resource0 or resource0_wc */
static void match_resource(struct search *search, const char *text, pid_t pid)
{
	const char *file = strrchr(text, '/'), *start = file;
	char address[KEY_NAME];
	struct pci_addr addr;

	if (!file || strncmp(file, "/resource", 9) || file[9] < '0' || file[9] > '9' ||
	    (file[10] && strcmp(file + 10, "_wc")))
		return;
	while (start > text && start[-1] != '/')
		start--;
	if ((size_t)(file - start) >= sizeof(address))
		return;
	memcpy(address, start, (size_t)(file - start));
	address[file - start] = '\0';
	if (pci_addr_parse(address, &addr))
		add_hold(search, address, pid);
}

/* True: it is kept from us, which is told. What is gone by now holds nothing, and what is no process, no link,
 * or has a longer name than any node (whoever likes can open such a file) neither. Anything else, as running
 * out of descriptors, says nothing about who holds what. */
static bool is_refused(struct search *search, int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return true;
	case ENOENT:
	case ESRCH:
	case ENOTDIR:
	case EINVAL:
	case ENAMETOOLONG:
		return false;
	default:
		search->error = -error;
		return false;
	}
}

/* Since 6.2 the size of the directory, before that 0. Kernel threads, half of all processes, have none
 * open: one call each instead of seven. Unknown counts as some. */
static off_t count_files(const struct sysfs *s, const char *process)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "%s/fd", process);
	return fstatat(s->fd[ROOT_PROC], path, &st, 0) ? 1 : st.st_size;
}

static void visit_process(struct search *search, const char *name)
{
	_closedir_ DIR *dir = NULL;
	bool refused = false;
	struct dirent *e;
	uint64_t pid;

	if (name[0] < '1' || name[0] > '9' || parse_u64(name, INT32_MAX, &pid) ||
	    (search->counted && !count_files(search->s, name)))
		return;
	dir = sysfs_dir(search->s, ROOT_PROC, "%s/fd", name);
	if (!dir)
		refused = is_refused(search, errno);
	while (dir && (errno = 0, e = readdir(dir))) {
		char text[PATH_MAX];
		const char *node;
		ssize_t n;

		if (e->d_name[0] == '.')
			continue;
		n = readlinkat(dirfd(dir), e->d_name, text, sizeof(text) - 1);
		if (n < 0) {
			refused |= is_refused(search, errno);
			continue;
		}
		text[n] = '\0';
		node = below_dev(search->s, text);
		if (node)
			add_opened(search, node, (pid_t)pid);
		else
			match_resource(search, text, (pid_t)pid);
	}
	if (dir && errno)
		refused |= is_refused(search, errno);
	search->unseen += refused;
}

/* ---- to which function it belongs */

/* All processes that have one node open. */
struct openers {
	struct search *search;
	const struct opened *rows;
	size_t n;
};

static void held_by_all(void *ctx, const char *address)
{
	const struct openers *o = ctx;

	for (size_t i = 0; i < o->n; i++)
		add_hold(o->search, address, o->rows[i].pid);
}

/* "12", a node below vfio/: the group's members. "vfio" is no group. */
static void open_group(struct openers *o, const char *group)
{
	_closedir_ DIR *dir =
		sysfs_dir(o->search->s, ROOT_SYS, "kernel/iommu_groups/%s/devices", group);
	struct pci_addr addr;
	struct dirent *e;

	if (!dir)
		is_refused(o->search, errno);
	while (dir && (e = readdir(dir)))
		if (pci_addr_parse(e->d_name, &addr))
			held_by_all(o, e->d_name);
}

static void open_cdev(struct openers *o, const char *name)
{
	_free_ char *path = devpath_link(o->search->s, "class/vfio-dev/%s", name);

	if (path)
		devpath_functions(o->search->s, path, held_by_all, o);
}

/* Any other node: its number leads to the device. A file in a user's own mount namespace may have the
 * name of a node, but not here. */
static void open_node(struct openers *o, const char *name)
{
	_free_ char *path = NULL;
	struct stat st;

	if (fstatat(o->search->s->fd[ROOT_DEV], name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
		return;
	path = devpath_link(o->search->s, "dev/%s/%u:%u", S_ISCHR(st.st_mode) ? "char" : "block",
			    major(st.st_rdev), minor(st.st_rdev));
	if (path)
		devpath_functions(o->search->s, path, held_by_all, o);
}

static void open_one(struct openers *o)
{
	const char *name = o->rows->name;

	if (!strncmp(name, "vfio/devices/", 13))
		open_cdev(o, name + 13);
	else if (!strncmp(name, "vfio/", 5))
		open_group(o, name + 5);
	else
		open_node(o, name);
}

static int by_name(const void *left, const void *right)
{
	const struct opened *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* A node of which a vendor knows more than sysfs. */
static void found_node(void *ctx, const char *address, const char *node)
{
	struct search *search = ctx;

	for (size_t i = 0; i < search->n_opened; i++)
		if (!strcmp(search->opened[i].name, node))
			add_hold(search, address, search->opened[i].pid);
}

static int find_functions(struct search *search)
{
	struct opened *rows = search->opened;
	size_t first = 0;
	int rc = 0;

	if (!search->n_opened)
		return 0;
	qsort(rows, search->n_opened, sizeof(*rows), by_name);
	for (const struct backend_ops *const *b = backends; *b && !rc; b++)
		if ((*b)->nodes)
			rc = (*b)->nodes(search->s, found_node, search);
	for (size_t i = 1; i <= search->n_opened; i++) {
		struct openers o = { search, rows + first, i - first };

		if (i < search->n_opened && !strcmp(rows[i].name, rows[first].name))
			continue;
		open_one(&o);
		first = i;
	}
	return rc;
}

/* ---- the answer */

static int by_address(const void *left, const void *right)
{
	const struct hold *a = left, *b = right;

	return strcmp(a->address, b->address) ?: (a->pid > b->pid) - (a->pid < b->pid);
}

/* False when the process is gone. What would end the quotes becomes '?' too. */
static bool read_comm(const struct sysfs *s, pid_t pid, char *comm, size_t size)
{
	int rc = sysfs_read(s, ROOT_PROC, comm, size, "%d/comm", (int)pid);

	if (rc == -ENOENT || rc == -ESRCH)
		return false;
	if (rc < 0)
		str_copy(comm, size, "?");
	for (; *comm; comm++)
		if ((unsigned char)*comm < ' ' || *comm == 0x7f || *comm == '"' || *comm == '\\')
			*comm = '?';
	return true;
}

/* The holders of one function: n rows in ascending order, a process as often as it has it open. */
static void print(const struct search *search, const struct hold *rows, size_t n, struct out *ret)
{
	char comm[COMM_NAME];
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && rows[i].pid == rows[i - 1].pid)
			continue;
		if (shown == HOLDERS_MAX) {
			more++;
		} else if (read_comm(search->s, rows[i].pid, comm, sizeof(comm))) {
			out_printf(ret, "%s pid=%d comm=\"%s\"\n", rows->address, (int)rows[i].pid,
				   comm);
			shown++;
		}
	}
	if (more)
		out_printf(ret, "%s more=%zu\n", rows->address, more);
}

static void print_all(const struct search *search, struct out *ret)
{
	const struct hold *rows = search->holds;
	size_t first = 0;

	if (search->n_holds)
		qsort(search->holds, search->n_holds, sizeof(*rows), by_address);
	for (size_t i = 1; i <= search->n_holds; i++) {
		if (i < search->n_holds && !strcmp(rows[i].address, rows[first].address))
			continue;
		print(search, rows + first, i - first, ret);
		first = i;
	}
	if (search->unseen)
		out_printf(ret, "- unseen=%zu\n", search->unseen);
}

static int visit_processes(struct search *search)
{
	_closedir_ DIR *dir = sysfs_dir(search->s, ROOT_PROC, ".");
	struct stat st;
	struct dirent *e;

	if (!dir)
		return -errno;
	search->counted = !fstatat(search->s->fd[ROOT_PROC], "self/fd", &st, 0) && st.st_size;
	for (errno = 0; !search->error && (e = readdir(dir)); errno = 0)
		visit_process(search, e->d_name);
	return search->error ?: -errno;
}

int holders_scan(const struct sysfs *s, const char *only, struct out *ret)
{
	struct search search = { .s = s, .only = only };
	int rc = visit_processes(&search);

	rc = rc ?: find_functions(&search);
	rc = rc ?: search.error;
	if (!rc)
		print_all(&search, ret);
	free(search.opened);
	free(search.holds);
	return rc ?: ret->failed ? -ENOMEM : 0;
}
