// SPDX-License-Identifier: GPL-2.0-or-later
#include "critical.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "devpath.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define TEXT_FIRST ((size_t)64 << 10)
#define TEXT_MAX ((size_t)64 << 20) /* a mount table of some 300 000 lines */

/* ---- shared by the passes */

void *scan_grow(struct scan *scan, void *rows, size_t n, size_t *cap, size_t size)
{
	void *grown = more_rows(rows, n, cap, size);

	if (!grown)
		scan->no_memory = true;
	return grown;
}

static const char *const rank_words[RANK_NONE] = {
	[RANK_ROOT] = "mount",	    [RANK_MOUNT] = "mount",	  [RANK_SWAP] = "swap",
	[RANK_ROUTE] = "route",	    [RANK_ADDRESS] = "address",	  [RANK_BELOW] = "below",
	[RANK_PPPOE] = "pppoe",	    [RANK_HOLDER] = "held-by",	  [RANK_EXCLUSIVE] = "open",
	[RANK_CONSOLE] = "console", [RANK_FUNCTION] = "function",
};

#define WORD_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-:!"
#define WORD_MAX 28

static void cause_word(char buf[static WORD_MAX + 1], const char *text)
{
	size_t n = strlen(text);

	if (n <= WORD_MAX && !text[strspn(text, WORD_CHARS)])
		memcpy(buf, text, n + 1);
	else
		snprintf(buf, WORD_MAX + 1, "%016llx", (unsigned long long)fnv1a(FNV1A, text, n));
}

/* The cause, of a kind that follows from the rank; detail may be "". */
static void print_cause(char buf[static CAUSE_TEXT], enum cause_rank rank, const char *name,
			const char *detail)
{
	char words[2][WORD_MAX + 1];

	cause_word(words[0], name);
	cause_word(words[1], detail);
	snprintf(buf, CAUSE_TEXT, "%s %s%s%s", rank_words[rank], words[0], *detail ? " " : "",
		 words[1]);
}

void scan_need(struct scan *scan, const struct key *dev, enum cause_rank rank, const char *cause,
	       const char *text)
{
	struct guard *rows;

	if (!only_has(scan->only, dev))
		return;
	rows = scan_grow(scan, scan->guards, scan->n, &scan->cap, sizeof(*rows));
	if (!rows)
		return;
	scan->guards = rows;
	rows[scan->n] = (struct guard){ .device = *dev, .rank = rank, .order = scan->n };
	STR_COPY(rows[scan->n].cause, cause);
	STR_COPY(rows[scan->n].text, text);
	scan->n++;
}

struct reason {
	struct scan *scan;
	enum cause_rank rank;
	const char *cause, *text;
};

static void guard_found(void *ctx, const struct key *dev)
{
	const struct reason *reason = ctx;

	scan_need(reason->scan, dev, reason->rank, reason->cause, reason->text);
}

/* Guards each device that the one at path hangs on (devpath.h). False: there is none. */
static bool guard_at(struct scan *scan, const char *path, enum cause_rank rank, const char *cause,
		     const char *text)
{
	struct reason reason = { scan, rank, cause, text };

	return devpath_devices(scan->s, path, guard_found, &reason);
}

/* " through bond0 and br0"; "" for an empty chain. */
static void through(const struct chain *chain, char *buf, size_t size)
{
	size_t len = 0;

	*buf = '\0';
	for (size_t i = chain->n; i-- && len < size;) {
		const char *joint = i + 1 == chain->n ? " through " : i ? ", " : " and ";
		int n = snprintf(buf + len, size - len, "%s%s", joint, chain->names[i]);

		len += n < 0 ? 0 : (size_t)n;
	}
}

char *scan_link(struct scan *scan, const char *class, const char *name)
{
	char path[PATH_MAX], *copy;
	int rc = sysfs_target(scan->s, path, "class/%s/%s", class, name);

	copy = rc ? NULL : strdup(path);
	scan->no_memory |= rc == -ENOMEM || (!rc && !copy);
	return copy;
}

/* ---- disks and network interfaces */

static int by_name(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	return strcmp(a->name, b->name);
}

struct item *items_find(const struct items *all, const char *name)
{
	struct item key = { .name = (char *)name };

	return all->n ? bsearch(&key, all->rows, all->n, sizeof(key), by_name) : NULL;
}

static int add_item(struct items *all, const char *class, const char *name)
{
	struct item *rows, item = { .path = scan_link(all->scan, class, name) };

	if (!item.path)
		return 0;
	item.name = strdup(name);
	rows = scan_grow(all->scan, all->rows, all->n, &all->cap, sizeof(item));
	all->rows = rows ?: all->rows;
	if (!rows || !item.name) {
		free(item.name);
		free(item.path);
		return -ENOMEM;
	}
	item.asked = only_below(all->scan->s, item.path, all->scan->only);
	all->asked |= item.asked;
	rows[all->n++] = item;
	return 0;
}

int items_load(struct items *all, const char *class)
{
	_closedir_ DIR *dir = sysfs_dir(all->scan->s, ROOT_SYS, "class/%s", class);
	struct dirent *e;
	int rc = 0;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (!rc && (e = readdir(dir)))
		rc = add_item(all, class, e->d_name);
	if (all->n)
		qsort(all->rows, all->n, sizeof(*all->rows), by_name);
	return rc;
}

void items_free(struct items *all)
{
	for (size_t i = 0; i < all->n; i++) {
		free(all->rows[i].name);
		free(all->rows[i].path);
	}
	free(all->rows);
}

bool items_guard(struct items *all, struct item *row, enum cause_rank rank, const char *what)
{
	const char *user = all->detail ?: all->chain.n ? all->chain.names[0] : "";
	char between[CRITICAL_TEXT], text[2 * CRITICAL_TEXT], cause[CAUSE_TEXT];

	row->used = true;
	through(&all->chain, between, sizeof(between));
	snprintf(text, sizeof(text), "%s %.32s %.120s%s", all->noun, row->name, what, between);
	print_cause(cause, rank, row->name, user);
	return guard_at(all->scan, row->path, rank, cause, text);
}

void items_walk(struct items *all, struct item *row, enum cause_rank rank, const char *what)
{
	bool found;

	if (!row || row->seen == all->stamp)
		return;
	row->seen = all->stamp;
	found = items_guard(all, row, rank, what);
	if (all->chain.n == CHAIN_MAX)
		return;
	all->chain.names[all->chain.n++] = row->name;
	all->below(all, row, rank, what, found);
	all->chain.n--;
}

void items_need(struct items *all, struct item *row, enum cause_rank rank, const char *what)
{
	all->stamp++;
	items_walk(all, row, rank, what);
}

void items_need_once(struct items *all, struct item *row, enum cause_rank rank, const char *what)
{
	unsigned int bit = 1U << (rank == RANK_ROOT ? RANK_MOUNT : rank);

	if (!row || row->needed & bit)
		return;
	row->needed |= bit;
	items_need(all, row, rank, what);
}

/* ---- files of proc */

/* A file of proc is made while it is read, so its size is unknown before. */
int scan_text(struct scan *scan, const char *path, char **ret)
{
	for (size_t size = TEXT_FIRST; size <= TEXT_MAX; size *= 2) {
		char *text = malloc(size);
		int rc = text ? sysfs_read(scan->s, ROOT_PROC, text, size, "%s", path) : -ENOMEM;

		if (rc >= 0) {
			*ret = text;
			return 0;
		}
		free(text);
		if (rc != -EFBIG)
			return rc;
	}
	return -EFBIG;
}

int scan_proc(struct scan *scan, const char *name, char **ret)
{
	char path[64];
	int rc;

	/* the host's view, in case we are in a namespace of our own */
	snprintf(path, sizeof(path), "1/%s", name);
	rc = scan_text(scan, path, ret);
	if (!rc)
		return 0;
	snprintf(path, sizeof(path), "self/%s", name);
	rc = scan_text(scan, path, ret);
	if (rc != -ENOENT)
		return rc;
	return scan_text(scan, name, ret);
}

/* ---- PCI functions that are needed because of their class */

static const struct {
	uint32_t class;
	const char *cause, *text;
} classes[] = {
	{ 0x0601, "isa-bridge", "it is the ISA bridge" },
	{ 0x0c05, "smbus", "it is the SMBus controller" },
};

#define CLASS_DISPLAY 0x03

/* The class cannot be read: rather guard too much. */
static void guard_unknown(struct scan *scan, const struct key *dev)
{
	if (sysfs_exists(scan->s, ROOT_SYS, PCI_DEVICES "/%s", dev->name))
		scan_need(scan, dev, RANK_FUNCTION, "class-unknown",
			  "its class cannot be read, so it may be what the host runs on");
}

/* Only a display can have boot_vga. */
static bool is_boot_vga(struct scan *scan, const struct key *dev)
{
	int64_t boot_vga;
	int rc = sysfs_number(scan->s, ROOT_SYS, 0, 1, &boot_vga, PCI_DEVICES "/%s/boot_vga",
			      dev->name);

	return rc ? rc != -ENOENT : boot_vga;
}

static void guard_function(void *ctx, const struct key *dev)
{
	struct scan *scan = ctx;
	int64_t class;

	if (sysfs_number(scan->s, ROOT_SYS, 0, 0xffffff, &class, PCI_DEVICES "/%s/class",
			 dev->name)) {
		guard_unknown(scan, dev);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (class >> 8 == classes[i].class)
			scan_need(scan, dev, RANK_FUNCTION, classes[i].cause, classes[i].text);
	if (class >> 16 == CLASS_DISPLAY && is_boot_vga(scan, dev))
		scan_need(scan, dev, RANK_CONSOLE, "boot-display",
			  "it is the boot console's display");
}

static int critical_functions(struct scan *scan)
{
	int rc = only_functions(scan->s, scan->only, guard_function, scan);

	return rc == -ENOENT ? 0 : rc;
}

static int critical_consoles(struct scan *scan)
{
	_free_ char *text = NULL;
	char *next, *name;
	int rc = scan_text(scan, "consoles", &text);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	next = text;
	while (console_next(&next, &name)) {
		_free_ char *path = strchr(name, '/') ? NULL : scan_link(scan, "tty", name);
		char why[CRITICAL_TEXT], cause[CAUSE_TEXT];

		/* tty0, tty1; no ttyS0, whose keys come by a wire */
		scan->text_console |= !strncmp(name, "tty", 3) && isdigit((unsigned char)name[3]);
		snprintf(why, sizeof(why), "it carries the boot console %.32s", name);
		print_cause(cause, RANK_CONSOLE, name, "");
		if (path)
			guard_at(scan, path, RANK_CONSOLE, cause, why);
	}
	return 0;
}

/* ---- the whole */

static int (*const passes[])(struct scan *) = {
	critical_disks, critical_nics, critical_consoles, critical_keyboards, critical_functions,
};

static int by_weight(const void *left, const void *right)
{
	const struct guard *a = left, *b = right;
	int order = key_cmp(&a->device, &b->device);

	if (order)
		return order;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_cause(const void *left, const void *right)
{
	const struct guard *a = left, *b = right;
	int order = key_cmp(&a->device, &b->device);

	order = order ? order : strcmp(a->cause, b->cause);
	return order ? order : by_weight(left, right);
}

/* A disk may hang on a device in several ways, and a cause lead to it in several. */
static void drop_equal(struct scan *scan)
{
	size_t n = 0;

	qsort(scan->guards, scan->n, sizeof(*scan->guards), by_cause);
	for (size_t i = 0; i < scan->n; i++) {
		const struct guard *last = n ? &scan->guards[n - 1] : NULL, *g = &scan->guards[i];

		if (!last || !key_eq(&last->device, &g->device) || strcmp(last->cause, g->cause))
			scan->guards[n++] = *g;
	}
	scan->n = n;
}

static void print(struct scan *scan, struct out *ret)
{
	char id[KEY_NAME + 8];
	size_t n = 0;

	if (!scan->n)
		return;
	drop_equal(scan);
	qsort(scan->guards, scan->n, sizeof(*scan->guards), by_weight);
	for (size_t i = 0; i < scan->n; i++) {
		struct guard *g = &scan->guards[i];

		n = i && key_eq(&g->device, &g[-1].device) ? n + 1 : 0;
		key_id(&g->device, id);
		str_clean(g->text); /* names on disks and mount points may contain anything */
		if (!n)
			out_printf(ret, "%s %s\n", id, g->text);
		if (n <= CAUSES_MAX)
			out_printf(ret, "%s " CRITICAL_CAUSE "%s\n", id,
				   n < CAUSES_MAX ? g->cause : "more");
	}
}

int critical_scan(const struct sysfs *s, const char *only, struct out *ret)
{
	struct scan scan = { .s = s, .only = only };
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(passes) && !rc; i++)
		rc = passes[i](&scan);
	if (!rc && scan.no_memory)
		rc = -ENOMEM;
	if (!rc)
		print(&scan, ret);
	free(scan.guards);
	return rc ?: ret->failed ? -ENOMEM : 0;
}
