// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/holders.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "devpath.h"
#include "ops.h"
#include "pcidevfs/key.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define NODE_NAME 96
#define COMM_NAME 128

/* A node below the dev root, and a function that it belongs to. */
struct node {
	char name[NODE_NAME];
	char address[KEY_NAME];
	pid_t last; /* process found last: it may have the node open a thousand times */
};

struct hold {
	char address[KEY_NAME];
	pid_t pid;
};

struct search {
	const struct sysfs *s;
	const char *only; /* an address, or NULL for all */
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct hold *holds;
	size_t n_holds, cap_holds;
	size_t unseen; /* processes */
	int error;
};

static void *grow(struct search *search, void *rows, size_t n, size_t *cap, size_t size)
{
	void *grown = more_rows(rows, n, cap, size);

	if (!grown)
		search->error = -ENOMEM;
	return grown;
}

/* ---- which nodes belong to which function */

static void add_node(struct search *search, const char *address, const char *name)
{
	struct node *rows, node = { .name = "" };

	if ((search->only && strcmp(search->only, address)) || !STR_COPY(node.name, name) ||
	    !STR_COPY(node.address, address))
		return;
	rows = grow(search, search->nodes, search->n_nodes, &search->cap_nodes, sizeof(node));
	if (!rows)
		return;
	search->nodes = rows;
	rows[search->n_nodes++] = node;
}

static void add_group(struct search *search, const char *address)
{
	char group[16], name[32];

	if (sysfs_link(search->s, ROOT_SYS, group, sizeof(group), "bus/pci/devices/%s/iommu_group",
		       address))
		return;
	snprintf(name, sizeof(name), "vfio/%s", group);
	add_node(search, address, name);
}

struct uevent {
	struct search *search;
	const char *dir;      /* of the device's uevent file */
	char name[NODE_NAME]; /* its DEVNAME, read when it is first asked for */
	bool read;
};

/* Most devices of a class have neither a function nor a node: the file is read for the former only. */
static void add_device_node(void *ctx, const char *address)
{
	struct uevent *u = ctx;
	char text[SYSFS_VALUE], *next = text, *line;

	if (u->search->only && strcmp(u->search->only, address))
		return;
	if (!u->read &&
	    sysfs_read(u->search->s, ROOT_SYS, text, sizeof(text), "%s/uevent", u->dir) > 0)
		while ((line = strsep(&next, "\n")))
			if (!strncmp(line, "DEVNAME=", 8) && !STR_COPY(u->name, line + 8))
				u->name[0] = '\0';
	u->read = true;
	if (u->name[0])
		add_node(u->search, address, u->name);
}

static int each_entry(struct search *search, enum root root, const char *path,
		      void (*each)(struct search *search, const char *path, const char *name))
{
	_closedir_ DIR *dir = sysfs_dir(search->s, root, "%s", path);
	struct dirent *e;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (!search->error && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			each(search, path, e->d_name);
	return 0;
}

static void visit_device(struct search *search, const char *path, const char *name)
{
	char dir[512];
	struct uevent u = { .search = search, .dir = dir };
	_free_ char *target = devpath_link(search->s, "%s/%s", path, name);

	if (!target && errno == ENOMEM)
		search->error = -ENOMEM;
	if (!target || snprintf(dir, sizeof(dir), "%s/%s", path, name) >= (int)sizeof(dir))
		return;
	devpath_functions(search->s, target, add_device_node, &u);
}

static void visit_class(struct search *search, const char *path, const char *name)
{
	char dir[300];

	snprintf(dir, sizeof(dir), "%s/%s", path, name);
	each_entry(search, ROOT_SYS, dir, visit_device);
}

static void visit_function(struct search *search, const char *path __attribute__((unused)),
			   const char *name)
{
	struct pci_addr addr;

	if (!pci_addr_parse(name, &addr) || (search->only && strcmp(search->only, name)))
		return;
	add_group(search, name);
}

static const struct {
	const char *path;
	void (*each)(struct search *search, const char *path, const char *name);
} places[] = {
	{ "bus/pci/devices", visit_function },
	{ "dev", visit_class }, /* dev/char and dev/block: all with a number, USB's too */
	{ "class", visit_class },
};

static int by_name(const void *left, const void *right)
{
	const struct node *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static void found_node(void *ctx, const char *address, const char *name)
{
	add_node(ctx, address, name);
}

static int find_nodes(struct search *search)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !rc; i++)
		rc = each_entry(search, ROOT_SYS, places[i].path, places[i].each);
	for (const struct backend_ops *const *b = backends; *b && !rc; b++)
		if ((*b)->nodes)
			rc = (*b)->nodes(search->s, search->only, found_node, search);
	if (search->n_nodes)
		qsort(search->nodes, search->n_nodes, sizeof(*search->nodes), by_name);
	return rc ?: search->error;
}

/* ---- who has them open */

static void add_hold(struct search *search, const char *address, pid_t pid)
{
	struct hold *rows, hold = { .pid = pid };

	if (search->only && strcmp(search->only, address))
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

static void match_node(struct search *search, const char *name, pid_t pid)
{
	size_t low = 0, high = search->n_nodes;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(search->nodes[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < search->n_nodes && !strcmp(search->nodes[low].name, name); low++) {
		if (search->nodes[low].last != pid)
			add_hold(search, search->nodes[low].address, pid);
		search->nodes[low].last = pid;
	}
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

/* What is gone by now holds nothing; what is kept from us is told. */
static bool is_refused(int error)
{
	return error == EACCES || error == EPERM;
}

static void visit_process(struct search *search, const char *path __attribute__((unused)),
			  const char *name)
{
	_closedir_ DIR *dir = NULL;
	bool refused = false;
	struct dirent *e;
	uint64_t pid;

	if (name[0] < '1' || name[0] > '9' || parse_u64(name, INT32_MAX, &pid))
		return;
	dir = sysfs_dir(search->s, ROOT_PROC, "%s/fd", name);
	if (!dir)
		refused = is_refused(errno);
	while (dir && (e = readdir(dir))) {
		char text[PATH_MAX];
		const char *node;
		ssize_t n;

		if (e->d_name[0] == '.')
			continue;
		n = readlinkat(dirfd(dir), e->d_name, text, sizeof(text) - 1);
		if (n < 0) {
			refused |= is_refused(errno);
			continue;
		}
		text[n] = '\0';
		node = below_dev(search->s, text);
		if (node)
			match_node(search, node, (pid_t)pid);
		else
			match_resource(search, text, (pid_t)pid);
	}
	search->unseen += refused;
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

static void print_prefix(const struct search *search, const struct hold *hold, struct out *ret)
{
	if (!search->only)
		out_printf(ret, "%s ", hold->address);
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
			print_prefix(search, rows, ret);
			out_printf(ret, "pid=%d comm=\"%s\"\n", (int)rows[i].pid, comm);
			shown++;
		}
	}
	if (more) {
		print_prefix(search, rows, ret);
		out_printf(ret, "more=%zu\n", more);
	}
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
	if (search->unseen && !search->only)
		out_printf(ret, "- unseen=%zu\n", search->unseen);
}

static int scan(struct search *search, struct out *ret)
{
	int rc = find_nodes(search);

	rc = rc ?: each_entry(search, ROOT_PROC, ".", visit_process);
	rc = rc ?: search->error;
	if (!rc)
		print_all(search, ret);
	free(search->nodes);
	free(search->holds);
	return rc ?: ret->failed ? -ENOMEM : 0;
}

int holders_scan(const struct sysfs *s, const char *address, struct out *ret)
{
	struct pci_addr addr;

	if (!pci_addr_parse(address, &addr))
		return -EINVAL;
	return scan(&(struct search){ .s = s, .only = address }, ret);
}

int holders_scan_all(const struct sysfs *s, struct out *ret)
{
	return scan(&(struct search){ .s = s }, ret);
}
