// SPDX-License-Identifier: GPL-2.0-or-later
/* Who holds which device: what was found, and which devices the unknown descriptors may concern. */
#include "pcidevfs/holders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "devpath.h"
#include "hold.h"
#include "pcidevfs/device.h"
#include "pcidevfs/key.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"

#define COMM_NAME 128

struct holders_search {
	const struct sysfs *s;
	const struct hold_asker *asker;
	const char *only; /* devices it is about, NULL all: devpath.h */
	struct hold_nodes nodes;
	struct hold_found found;
	size_t direct; /* how many of them were found directly */
	struct hold_who *who; /* one for each listed unknown process */
	int error;
};

/* ---- what is found */

int hold_add(struct hold_found *found, const struct key *dev, pid_t pid, bool unsure)
{
	struct hold row = { *dev, unsure, pid }, *rows;

	rows = more_rows(found->holds, found->n, &found->cap, sizeof(row));
	if (!rows)
		return -ENOMEM;
	found->holds = rows;
	rows[found->n++] = row;
	return 0;
}

static void found_free(struct hold_found *found)
{
	free(found->holds);
	free(found->anonymous);
	free(found->unknown);
}

/* ---- VFIO devices that the kernel does not name */

/* A vfio driver enables its PCI function while somebody has it open. */
static bool is_in_use(const struct sysfs *s, const struct key *dev)
{
	char driver[64];
	int64_t times;

	return !sysfs_link(s, ROOT_SYS, driver, sizeof(driver), PCI_DEVICES "/%s/driver",
			   dev->name) &&
	       driver_is_vfio(driver) &&
	       !sysfs_number(s, ROOT_SYS, 1, INT32_MAX, &times, PCI_DEVICES "/%s/enable",
			     dev->name);
}

static bool is_held(const struct hold_found *found, size_t n, const struct key *dev)
{
	bool held = false;

	for (size_t i = 0; i < n && !held; i++)
		held = key_eq(&found->holds[i].device, dev);
	return held;
}

static void blame(void *ctx, const struct key *dev)
{
	struct holders_search *search = ctx;
	struct hold_found *found = &search->found;

	if (is_held(found, search->direct, dev) || !is_in_use(search->s, dev))
		return;
	for (size_t i = 0; i < found->n_anonymous && !search->error; i++)
		search->error = hold_add(found, dev, found->anonymous[i], false);
}

/* ---- processes with unknown descriptors */

static void doubt_node(void *ctx, const struct key *dev, const struct stat *st)
{
	struct holders_search *search = ctx;
	struct hold_found *found = &search->found;

	for (size_t i = 0; i < found->n_listed && !search->error; i++)
		if (hold_could_open(&search->who[i], st))
			search->error = hold_add(found, dev, found->unknown[i], true);
}

static int doubt_unknown(struct holders_search *search)
{
	struct hold_found *found = &search->found;
	size_t n = 0;

	search->who = calloc(found->n_listed, sizeof(*search->who));
	if (!search->who)
		return -ENOMEM;
	for (size_t i = 0; i < found->n_listed; i++)
		if (hold_who(search->s, found->unknown[i], &search->who[n]))
			found->unknown[n++] = found->unknown[i];
	found->n_listed = n;
	hold_nodes_rights(&search->nodes, doubt_node, search);
	return search->error;
}

/* ---- the answer */

static int by_device(const void *left, const void *right)
{
	const struct hold *a = left, *b = right;

	return key_cmp(&a->device, &b->device)	  ?: a->unsure - b->unsure
						  ?: (a->pid > b->pid) - (a->pid < b->pid);
}

/* False if the process is gone. A character that would end the quotes becomes '?' too. */
static bool read_comm(const struct sysfs *s, pid_t pid, char *comm, size_t size)
{
	int rc = sysfs_read(s, ROOT_PROC, comm, size, "%d/comm", (int)pid);

	if (rc == -ENOENT || rc == -ESRCH)
		return false;
	if (rc < 0)
		str_copy(comm, size, "?");
	str_clean(comm);
	while ((comm = strpbrk(comm, "\"\\")))
		*comm = '?';
	return true;
}

/* The holders of one device: n rows in ascending order, with duplicates of a process. */
static void print(const struct holders_search *search, const struct hold *rows, size_t n,
		  struct out *ret)
{
	char comm[COMM_NAME], id[KEY_NAME + 8];
	size_t shown = 0, more = 0;

	key_id(&rows->device, id);
	for (size_t i = 0; i < n; i++) {
		if (i && rows[i].pid == rows[i - 1].pid && rows[i].unsure == rows[i - 1].unsure)
			continue;
		if (shown == HOLDERS_MAX) {
			more++;
		} else if (read_comm(search->s, rows[i].pid, comm, sizeof(comm))) {
			out_printf(ret, "%s %spid=%d comm=\"%s\"\n", id,
				   rows[i].unsure ? HOLDER_UNSURE : "", (int)rows[i].pid, comm);
			shown++;
		}
	}
	if (more)
		out_printf(ret, "%s more=%zu\n", id, more);
}

static void print_unseen(const struct holders_search *search, struct out *ret)
{
	const struct hold_found *found = &search->found;
	char comm[COMM_NAME];

	out_printf(ret, "- unseen=%zu", found->n_unseen);
	if (read_comm(search->s, found->unseen, comm, sizeof(comm)))
		out_printf(ret, " pid=%d comm=\"%s\"", (int)found->unseen, comm);
	out_printf(ret, "\n");
}

static void print_all(const struct holders_search *search, struct out *ret)
{
	const struct hold_found *found = &search->found;
	const struct hold *rows = found->holds;
	size_t first = 0;

	if (found->n)
		qsort(found->holds, found->n, sizeof(*rows), by_device);
	for (size_t i = 1; i <= found->n; i++) {
		if (i < found->n && key_eq(&rows[i].device, &rows[first].device))
			continue;
		if (only_has(search->only, &rows[first].device))
			print(search, rows + first, i - first, ret);
		first = i;
	}
	if (found->n_unseen)
		print_unseen(search, ret);
	if (found->n_unknown)
		out_printf(ret, "- unknown=%zu\n", found->n_unknown);
}

static int look(struct holders_search *search)
{
	struct hold_found *found = &search->found;
	int rc = hold_nodes_open(&search->nodes, search->s, search->only);

	rc = rc ? rc : hold_walk(search->s, search->asker, &search->nodes, found);
	search->direct = found->n;
	if (!rc && found->n_anonymous)
		only_functions(search->s, search->only, blame, search);
	if (!rc && !search->error && found->n_listed)
		rc = doubt_unknown(search);
	return rc ? rc : search->error ? search->error : search->nodes.error;
}

int holders_scan(const struct sysfs *s, const struct hold_asker *asker, const char *only,
		 struct out *ret)
{
	struct holders_search search = { .s = s, .asker = asker, .only = only };
	int rc = look(&search);

	if (!rc)
		print_all(&search, ret);
	hold_nodes_close(&search.nodes);
	found_free(&search.found);
	free(search.who);
	rc = rc ? rc : ret->failed ? -ENOMEM : 0;
	return rc ? rc : search.found.hangs;
}
