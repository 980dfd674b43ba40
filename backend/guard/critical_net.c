// SPDX-License-Identifier: GPL-2.0-or-later
/* NICs: which ones carry the host's routes and addresses, or are below a
 * bond, bridge or OVS, a guest's interface or a PPPoE session. */
#include "critical.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devpath.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "rtnl.h"

#define OVS_DATAPATH "ovs-system"

struct nic {
	char *name;
	char *path;	/* below the sysfs root */
	unsigned int needed; /* reasons followed from it, a bit for each rank */
	unsigned int seen;
	bool asked;  /* it, or a lower one, hangs on a device that the scan is about */
	bool loaded; /* its edges are loaded */
};

struct edge {
	size_t upper, lower;
};

struct nics {
	struct scan *scan;
	struct nic *rows;
	size_t n, cap;
	struct edge *edges;
	size_t n_edges, cap_edges;
	/* number of the current walk: it stops at visited rows, so cycles end */
	unsigned int stamp;
	struct chain chain;
	/* of the cause: what the NIC is below; NULL: the user is the first of chain */
	const char *detail;
};

static int by_name(const void *left, const void *right)
{
	const struct nic *a = left, *b = right;

	return strcmp(a->name, b->name);
}

static struct nic *find(struct nics *nics, const char *name)
{
	struct nic key = { .name = (char *)name };

	return nics->n ? bsearch(&key, nics->rows, nics->n, sizeof(key), by_name) : NULL;
}

static int load(struct nics *nics)
{
	_closedir_ DIR *dir = sysfs_dir(nics->scan->s, ROOT_SYS, "class/net");
	struct dirent *e;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while ((e = readdir(dir))) {
		struct nic *rows, nic = { 0 };

		nic.path = scan_link(nics->scan, "net", e->d_name);
		if (!nic.path)
			continue;
		nic.name = strdup(e->d_name);
		rows = scan_grow(nics->scan, nics->rows, nics->n, &nics->cap, sizeof(nic));
		nics->rows = rows ?: nics->rows;
		if (!rows || !nic.name) {
			free(nic.name);
			free(nic.path);
			return -ENOMEM;
		}
		rows[nics->n++] = nic;
	}
	if (nics->n)
		qsort(nics->rows, nics->n, sizeof(*nics->rows), by_name);
	return 0;
}

static void add_edge(struct nics *nics, struct nic *upper, const struct nic *lower)
{
	struct edge *rows;

	if (!upper || !lower)
		return;
	upper->asked |= lower->asked;
	rows = scan_grow(nics->scan, nics->edges, nics->n_edges, &nics->cap_edges, sizeof(*rows));
	if (!rows)
		return;
	nics->edges = rows;
	rows[nics->n_edges++] = (struct edge){ .upper = (size_t)(upper - nics->rows),
					       .lower = (size_t)(lower - nics->rows) };
}

static struct nic *master_of(struct nics *nics, const struct nic *nic)
{
	char name[IFNAMSIZ];

	if (sysfs_link(nics->scan->s, ROOT_SYS, name, sizeof(name), "class/net/%s/master",
		       nic->name))
		return NULL;
	return find(nics, name);
}

/* The kernel links both directions; older stacks link only the master. */
static void load_edges(struct nics *nics, struct nic *nic)
{
	_closedir_ DIR *dir = sysfs_dir(nics->scan->s, ROOT_SYS, "class/net/%s", nic->name);
	struct dirent *e;

	nic->loaded = true;
	while (dir && (e = readdir(dir))) {
		if (!strncmp(e->d_name, "lower_", 6))
			add_edge(nics, nic, find(nics, e->d_name + 6));
		else if (!strncmp(e->d_name, "upper_", 6))
			add_edge(nics, find(nics, e->d_name + 6), nic);
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

	for (size_t i = 0; i < nics->n;) {
		struct nic *nic = &nics->rows[i];
		bool now = nic->asked && !nic->loaded;

		if (now)
			load_edges(nics, nic);
		any |= now;
		i = now ? 0 : i + 1; /* a NIC above may have a lower index */
	}
	return any;
}

static void walk(struct nics *nics, struct nic *nic, enum rank rank, const char *what)
{
	const char *user = nics->detail ?: nics->chain.n ? nics->chain.names[0] : "";
	char through[CRITICAL_TEXT], text[2 * CRITICAL_TEXT], cause[CAUSE_TEXT];
	size_t upper = (size_t)(nic - nics->rows);

	if (nic->seen == nics->stamp)
		return;
	nic->seen = nics->stamp;
	scan_through(&nics->chain, through, sizeof(through));
	snprintf(text, sizeof(text), "NIC %.16s %.64s%s", nic->name, what, through);
	scan_cause(cause, rank, nic->name, user);
	scan_guard(nics->scan, nic->path, rank, cause, text);
	if (nics->chain.n == CHAIN_MAX)
		return;
	nics->chain.names[nics->chain.n++] = nic->name;
	for (size_t i =
		     rows_first(nics->edges, nics->n_edges, sizeof(*nics->edges), &upper, to_upper);
	     i < nics->n_edges && nics->edges[i].upper == upper; i++)
		walk(nics, &nics->rows[nics->edges[i].lower], rank, what);
	nics->chain.n--;
}

/* The interface is needed, so the NICs at its bottom are needed too. detail may be NULL. */
static void need(struct nics *nics, struct nic *nic, enum rank rank, const char *what,
		 const char *detail)
{
	nics->detail = detail;
	nics->stamp++;
	walk(nics, nic, rank, what);
}

/* However many routes, addresses or sessions it has, each kind is one cause. */
static void need_once(struct nics *nics, struct nic *nic, enum rank rank, const char *what)
{
	if (!nic || nic->needed & 1U << rank)
		return;
	nic->needed |= 1U << rank;
	need(nics, nic, rank, what, NULL);
}

static bool is_up(struct nics *nics, const struct nic *nic)
{
	int64_t flags;

	/* if unreadable, treat it as up: rather guard too much */
	return sysfs_number(nics->scan->s, ROOT_SYS, 0, UINT32_MAX, &flags, "class/net/%s/flags",
			    nic->name) ||
	       flags & IFF_UP;
}

static void note_use(struct nics *nics, const char *name, bool is_default, bool is_global)
{
	struct nic *nic = find(nics, name);

	if (is_default)
		need_once(nics, nic, RANK_ROUTE, "carries the default route");
	else if (nic && is_global && is_up(nics, nic))
		need_once(nics, nic, RANK_ADDRESS, "is up with a global address");
}

struct rtnl_asking {
	struct nics *nics;
	struct rtnl rtnl;
};

static void note_told(void *ctx, const struct rtnl_use *use)
{
	struct rtnl_asking *a = ctx;
	char name[IFNAMSIZ];

	if (!rtnl_name(&a->rtnl, use->index, name)) /* else it is gone */
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
	int rc = scan_proc(nics->scan, tables[table].name, &text);

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
	struct rtnl_asking a = { .nics = nics };
	int rc = rtnl_open(&a.rtnl, nics->scan->s);

	if (!rc) {
		rc = rtnl_uses(&a.rtnl, note_told, &a);
		rtnl_close(&a.rtnl);
		return rc;
	}
	rc = 0;
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !rc; i++)
		rc = read_table(nics, i);
	return rc;
}

static const char *master_kind(struct nics *nics, const struct nic *master)
{
	if (!strcmp(master->name, OVS_DATAPATH))
		return "the Open vSwitch datapath ";
	if (sysfs_exists(nics->scan->s, ROOT_SYS, "class/net/%s/bonding", master->name))
		return "bond ";
	if (sysfs_exists(nics->scan->s, ROOT_SYS, "class/net/%s/bridge", master->name))
		return "bridge ";
	return "";
}

static void below_master(struct nics *nics, struct nic *nic, bool virtual)
{
	struct nic *master = nic->asked ? master_of(nics, nic) : NULL;
	char what[64];

	if (!master || !strncmp(nic->path, "devices/virtual/", 16) != virtual)
		return;
	snprintf(what, sizeof(what), "is below %s%.16s", master_kind(nics, master), master->name);
	need(nics, nic, RANK_BELOW, what, master->name);
}

/* Devices above a NIC that carry the traffic of a VM or a container. They have no address here. */
static const char *guest_kind(struct nics *nics, const struct nic *upper)
{
	static const char *const kinds[] = { "macvtap", "macvlan", "ipvtap", "ipvlan" };
	char uevent[SYSFS_VALUE], type[32];

	if (sysfs_read(nics->scan->s, ROOT_SYS, uevent, sizeof(uevent), "class/net/%s/uevent",
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
	const struct nic *upper = &nics->rows[e->upper];
	const char *kind = is_up(nics, upper) ? guest_kind(nics, upper) : NULL;
	char what[64];

	if (!kind)
		return;
	snprintf(what, sizeof(what), "is below %s %.16s", kind, upper->name);
	need(nics, &nics->rows[e->lower], RANK_BELOW, what, upper->name);
}

/* Nothing else leads from the interface that has the address, ppp0, to the NIC. */
static int read_pppoe(struct nics *nics)
{
	_free_ char *text = NULL;
	char *next, *name;
	int rc = scan_proc(nics->scan, "net/pppoe", &text);

	if (rc)
		return rc == -ENOENT ? 0 : rc; /* the module is not loaded */
	next = text;
	while (pppoe_next(&next, &name))
		need_once(nics, find(nics, name), RANK_PPPOE, "carries a PPPoE session");
	return 0;
}

static int scan_nics(struct nics *nics)
{
	int rc = load(nics);

	for (size_t i = 0; i < nics->n; i++)
		nics->rows[i].asked =
			only_below(nics->scan->s, nics->rows[i].path, nics->scan->only);
	if (rc || !load_above(nics))
		return rc;
	sort_edges(nics);
	rc = read_uses(nics);
	/* a NIC's own master is a better reason than one further up */
	for (int virtual = 0; virtual < 2; virtual ++)
		for (size_t i = 0; i < nics->n; i++)
			below_master(nics, &nics->rows[i], virtual);
	for (size_t i = 0; i < nics->n_edges; i++)
		below_guest(nics, &nics->edges[i]);
	return rc ? rc : read_pppoe(nics);
}

int critical_nics(struct scan *scan)
{
	struct nics nics = { .scan = scan };
	int rc = scan_nics(&nics);

	for (size_t i = 0; i < nics.n; i++) {
		free(nics.rows[i].name);
		free(nics.rows[i].path);
	}
	free(nics.rows);
	free(nics.edges);
	return rc;
}
