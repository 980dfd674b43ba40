// SPDX-License-Identifier: GPL-2.0-or-later
/* NICs: which ones carry the host's routes and addresses, or are below a
 * bond, bridge or OVS, a guest's interface or a PPPoE session. */
#include "critical.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "rtnl.h"

#define OVS_DATAPATH "ovs-system"

struct edge {
	size_t upper, lower;
};

struct nics {
	struct items all;
	struct edge *edges;
	size_t n_edges, cap_edges;
};

static void add_edge(struct nics *nics, struct item *upper, const struct item *lower)
{
	struct edge *rows;

	if (!upper || !lower)
		return;
	upper->asked |= lower->asked;
	rows = scan_grow(nics->all.scan, nics->edges, nics->n_edges, &nics->cap_edges,
			 sizeof(*rows));
	if (!rows)
		return;
	nics->edges = rows;
	rows[nics->n_edges++] = (struct edge){ .upper = (size_t)(upper - nics->all.rows),
					       .lower = (size_t)(lower - nics->all.rows) };
}

static struct item *master_of(struct nics *nics, const struct item *nic)
{
	char name[IFNAMSIZ];

	if (sysfs_link(nics->all.scan->s, ROOT_SYS, name, sizeof(name), "class/net/%s/master",
		       nic->name))
		return NULL;
	return items_find(&nics->all, name);
}

/* The kernel links both directions; older stacks link only the master. */
static void load_edges(struct nics *nics, struct item *nic)
{
	_closedir_ DIR *dir = sysfs_dir(nics->all.scan->s, ROOT_SYS, "class/net/%s", nic->name);
	struct dirent *e;

	nic->loaded = true;
	while (dir && (e = readdir(dir))) {
		if (!strncmp(e->d_name, "lower_", 6))
			add_edge(nics, nic, items_find(&nics->all, e->d_name + 6));
		else if (!strncmp(e->d_name, "upper_", 6))
			add_edge(nics, items_find(&nics->all, e->d_name + 6), nic);
	}
	add_edge(nics, master_of(nics, nic), nic);
}

static int by_upper(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;

	if (a->upper != b->upper)
		return a->upper < b->upper ? -1 : 1;
	return a->lower < b->lower ? -1 : a->lower > b->lower;
}

static int to_upper(const void *row, const void *upper)
{
	const struct edge *e = row;
	size_t u = *(const size_t *)upper;

	return e->upper < u ? -1 : e->upper > u;
}

/* Most edges are found from both ends. */
static void sort_edges(struct nics *nics)
{
	size_t n = 0;

	if (nics->n_edges)
		qsort(nics->edges, nics->n_edges, sizeof(*nics->edges), by_upper);
	for (size_t i = 0; i < nics->n_edges; i++)
		if (!n || by_upper(&nics->edges[n - 1], &nics->edges[i]))
			nics->edges[n++] = nics->edges[i];
	nics->n_edges = n;
}

/* Loads the edges of NICs that are asked about and of those above them. False if there are none. */
static bool load_above(struct nics *nics)
{
	bool any = false;

	for (size_t i = 0; i < nics->all.n;) {
		struct item *nic = &nics->all.rows[i];
		bool now = nic->asked && !nic->loaded;

		if (now)
			load_edges(nics, nic);
		any |= now;
		i = now ? 0 : i + 1; /* a NIC above may have a lower index */
	}
	return any;
}

static void below_nic(struct items *all, struct item *nic, enum cause_rank rank, const char *what,
		      bool found)
{
	const struct nics *nics = container_of(all, struct nics, all);
	size_t upper = (size_t)(nic - all->rows);

	for (size_t i =
		     rows_first(nics->edges, nics->n_edges, sizeof(*nics->edges), &upper, to_upper);
	     i < nics->n_edges && nics->edges[i].upper == upper; i++)
		items_walk(all, &all->rows[nics->edges[i].lower], rank, what);
}

static void need_below(struct nics *nics, struct item *nic, const char *what, const char *detail)
{
	nics->all.detail = detail;
	items_need(&nics->all, nic, RANK_BELOW, what);
	nics->all.detail = NULL;
}

static bool is_up(struct nics *nics, const struct item *nic)
{
	int64_t flags;

	/* if unreadable, treat it as up: rather guard too much */
	return sysfs_number(nics->all.scan->s, ROOT_SYS, 0, UINT32_MAX, &flags,
			    "class/net/%s/flags", nic->name) ||
	       flags & IFF_UP;
}

static void note_use(struct nics *nics, const char *name, bool is_default, bool is_global)
{
	struct item *nic = items_find(&nics->all, name);

	if (is_default)
		items_need_once(&nics->all, nic, RANK_ROUTE, "carries the default route");
	else if (nic && is_global && is_up(nics, nic))
		items_need_once(&nics->all, nic, RANK_ADDRESS, "is up with a global address");
}

struct rtnl_asking {
	struct nics *nics;
	int fd;
};

static void note_told(void *ctx, const struct rtnl_use *use)
{
	struct rtnl_asking *a = ctx;
	char name[IFNAMSIZ];

	if (!rtnl_name(a->fd, use->index, name)) /* else it is gone */
		note_use(a->nics, name, use->is_default, use->is_global);
}

static const struct {
	const char *name;
	bool (*next)(char **text, struct net_line *ret);
} tables[] = {
	{ "net/route", route_next },
	{ "net/ipv6_route", route6_next },
	{ "net/if_inet6", address6_next },
};

static int read_table(struct nics *nics, size_t table)
{
	_free_ char *text = NULL;
	struct net_line line;
	char *next;
	int rc = scan_proc(nics->all.scan, tables[table].name, &text);

	if (rc)
		return rc == -ENOENT ? 0 : rc; /* the kernel has no IPv6 */
	next = text;
	while (tables[table].next(&next, &line))
		note_use(nics, line.name, line.is_default, line.is_global);
	return 0;
}

/* The files serve only if the kernel cannot be asked: over a simulation, or without the right to
 * enter the first process's network namespace. */
static int read_uses(struct nics *nics)
{
	_close_ int fd = rtnl_open(nics->all.scan->s);
	struct rtnl_asking a = { nics, fd };
	int rc = 0;

	if (fd >= 0)
		return rtnl_uses(fd, note_told, &a);
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !rc; i++)
		rc = read_table(nics, i);
	return rc;
}

static const char *master_kind(struct nics *nics, const struct item *master)
{
	if (!strcmp(master->name, OVS_DATAPATH))
		return "the Open vSwitch datapath ";
	if (sysfs_exists(nics->all.scan->s, ROOT_SYS, "class/net/%s/bonding", master->name))
		return "bond ";
	if (sysfs_exists(nics->all.scan->s, ROOT_SYS, "class/net/%s/bridge", master->name))
		return "bridge ";
	return "";
}

static void below_master(struct nics *nics, struct item *nic, bool virtual)
{
	struct item *master = nic->asked ? master_of(nics, nic) : NULL;
	char what[64];

	if (!master || !strncmp(nic->path, "devices/virtual/", 16) != virtual)
		return;
	snprintf(what, sizeof(what), "is below %s%.16s", master_kind(nics, master), master->name);
	need_below(nics, nic, what, master->name);
}

/* Devices above a NIC that carry the traffic of a VM or a container. They have no address here. */
static const char *guest_kind(struct nics *nics, const struct item *upper)
{
	static const char *const kinds[] = { "macvtap", "macvlan", "ipvtap", "ipvlan" };
	char uevent[SYSFS_VALUE], type[32];

	if (sysfs_read(nics->all.scan->s, ROOT_SYS, uevent, sizeof(uevent), "class/net/%s/uevent",
		       upper->name) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int n = snprintf(type, sizeof(type), "DEVTYPE=%s", kinds[i]);
		const char *at = strstr(uevent, type);

		if (at && (at == uevent || at[-1] == '\n') && (!at[n] || at[n] == '\n'))
			return kinds[i];
	}
	return NULL;
}

static void below_guest(struct nics *nics, const struct edge *e)
{
	const struct item *upper = &nics->all.rows[e->upper];
	const char *kind = is_up(nics, upper) ? guest_kind(nics, upper) : NULL;
	char what[64];

	if (!kind)
		return;
	snprintf(what, sizeof(what), "is below %s %.16s", kind, upper->name);
	need_below(nics, &nics->all.rows[e->lower], what, upper->name);
}

/* Nothing else leads from the interface that has the address, ppp0, to the NIC. */
static int read_pppoe(struct nics *nics)
{
	_free_ char *text = NULL;
	char *next, *name;
	int rc = scan_proc(nics->all.scan, "net/pppoe", &text);

	if (rc)
		return rc == -ENOENT ? 0 : rc; /* the module is not loaded */
	next = text;
	while (pppoe_next(&next, &name))
		items_need_once(&nics->all, items_find(&nics->all, name), RANK_PPPOE,
				"carries a PPPoE session");
	return 0;
}

static int scan_nics(struct nics *nics)
{
	int rc = items_load(&nics->all, "net");

	if (rc || !load_above(nics))
		return rc;
	sort_edges(nics);
	rc = read_uses(nics);
	/* a NIC's own master is a better reason than one further up */
	for (int virtual = 0; virtual < 2; virtual ++)
		for (size_t i = 0; i < nics->all.n; i++)
			below_master(nics, &nics->all.rows[i], virtual);
	for (size_t i = 0; i < nics->n_edges; i++)
		below_guest(nics, &nics->edges[i]);
	return rc ? rc : read_pppoe(nics);
}

int critical_nics(struct scan *scan)
{
	struct nics nics = { .all = { .scan = scan, .noun = "NIC", .below = below_nic } };
	int rc = scan_nics(&nics);

	items_free(&nics.all);
	free(nics.edges);
	return rc;
}
