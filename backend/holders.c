// SPDX-License-Identifier: GPL-2.0-or-later
/* Who holds which function: what was found, and whom what could not be found out concerns. */
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
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "variant.h"

#define COMM_NAME 128

struct search {
	const struct sysfs *s;
	const char *only; /* the functions it is about, NULL all: devpath.h */
	struct hold_nodes nodes;
	struct hold_found found;
	struct hold_who *who; /* of each unknown process that is listed */
	int error;
};

/* ---- what is found */

int hold_add(struct hold_found *found, const char *address, pid_t pid, bool unsure)
{
	struct hold row = { .pid = pid, .unsure = unsure }, *rows;

	rows = more_rows(found->holds, found->n, &found->cap, sizeof(row));
	if (!rows)
		return -ENOMEM;
	STR_COPY(row.address, address);
	found->holds = rows;
	rows[found->n++] = row;
	return 0;
}

void hold_found_free(struct hold_found *found)
{
	free(found->holds);
	free(found->anonymous);
	free(found->unknown);
}

/* ---- whose devices are not named */

/* A vfio driver enables its function while somebody has it open. */
static bool is_in_use(const struct sysfs *s, const char *address)
{
	char driver[64];
	int64_t times;

	return !sysfs_link(s, ROOT_SYS, driver, sizeof(driver), "bus/pci/devices/%s/driver",
			   address) &&
	       driver_is_vfio(driver) &&
	       !sysfs_number(s, ROOT_SYS, 1, INT32_MAX, &times, "bus/pci/devices/%s/enable",
			     address);
}

static bool is_held(const struct hold_found *found, size_t n, const char *address)
{
	bool held = false;

	for (size_t i = 0; i < n && !held; i++)
		held = !strcmp(found->holds[i].address, address);
	return held;
}

/* n: how many were found by themselves. */
static void blame(struct search *search, size_t n, const char *address)
{
	struct hold_found *found = &search->found;

	if (is_held(found, n, address) || !is_in_use(search->s, address))
		return;
	for (size_t i = 0; i < found->n_anonymous && !search->error; i++)
		search->error = hold_add(found, address, found->anonymous[i], false);
}

static void blame_anonymous(struct search *search)
{
	const char *only = search->only;
	_closedir_ DIR *dir = only ? NULL : sysfs_dir(search->s, ROOT_SYS, "bus/pci/devices");
	size_t n = search->found.n;
	char address[KEY_NAME];
	struct pci_addr addr;
	struct dirent *e;

	while (only && only_next(&only, address))
		blame(search, n, address);
	while (dir && (e = readdir(dir)))
		if (pci_addr_parse(e->d_name, &addr))
			blame(search, n, e->d_name);
}

/* ---- whose descriptors are not known */

static void doubt_node(void *ctx, const char *address, const struct stat *st)
{
	struct search *search = ctx;
	struct hold_found *found = &search->found;

	for (size_t i = 0; i < found->n_listed && !search->error; i++)
		if (hold_could_open(&search->who[i], st))
			search->error = hold_add(found, address, found->unknown[i], true);
}

static int doubt_unknown(struct search *search)
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

static int by_address(const void *left, const void *right)
{
	const struct hold *a = left, *b = right;

	return strcmp(a->address, b->address)	 ?: a->unsure - b->unsure
						 ?: (a->pid > b->pid) - (a->pid < b->pid);
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
		if (i && rows[i].pid == rows[i - 1].pid && rows[i].unsure == rows[i - 1].unsure)
			continue;
		if (shown == HOLDERS_MAX) {
			more++;
		} else if (read_comm(search->s, rows[i].pid, comm, sizeof(comm))) {
			out_printf(ret, "%s %spid=%d comm=\"%s\"\n", rows->address,
				   rows[i].unsure ? "unsure " : "", (int)rows[i].pid, comm);
			shown++;
		}
	}
	if (more)
		out_printf(ret, "%s more=%zu\n", rows->address, more);
}

static void print_all(const struct search *search, struct out *ret)
{
	const struct hold_found *found = &search->found;
	const struct hold *rows = found->holds;
	size_t first = 0;

	if (found->n)
		qsort(found->holds, found->n, sizeof(*rows), by_address);
	for (size_t i = 1; i <= found->n; i++) {
		if (i < found->n && !strcmp(rows[i].address, rows[first].address))
			continue;
		if (only_has(search->only, rows[first].address))
			print(search, rows + first, i - first, ret);
		first = i;
	}
	if (found->n_unseen)
		out_printf(ret, "- unseen=%zu\n", found->n_unseen);
	if (found->n_unknown)
		out_printf(ret, "- unknown=%zu\n", found->n_unknown);
}

static int look(struct search *search)
{
	struct hold_found *found = &search->found;
	int rc = hold_nodes_open(&search->nodes, search->s, search->only);

	rc = rc ? rc : hold_walk(search->s, &search->nodes, found);
	if (!rc && found->n_anonymous)
		blame_anonymous(search);
	if (!rc && !search->error && found->n_listed)
		rc = doubt_unknown(search);
	return rc ? rc : search->error ? search->error : search->nodes.error;
}

int holders_scan(const struct sysfs *s, const char *only, struct out *ret)
{
	struct search search = { .s = s, .only = only };
	int rc = look(&search);

	if (!rc)
		print_all(&search, ret);
	hold_nodes_close(&search.nodes);
	hold_found_free(&search.found);
	free(search.who);
	rc = rc ? rc : ret->failed ? -ENOMEM : 0;
	return rc ? rc : search.found.hangs;
}
