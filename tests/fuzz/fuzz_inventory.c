// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tree as its clients read it. Any value that the daemon writes comes back as it was. Any bytes
 * as inventory and, behind a NUL, as events: an inventory counts only if it is whole, each device
 * has an id, and who stops hears why.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"
#include "pcidevfs/err.h"
#include "pcidevfs/pair.h"
#include "client/inventory.h"
#include "client/watch.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const files[] = { "inventory", "events_pipe" };
static char root[] = "/tmp/fuzz_inventory.XXXXXX";
static int dir = -1, stop = -1;

/* What was heard. */
struct heard {
	uint64_t devices, told; /* as the head says; since it began */
	unsigned int begun, settled, lost;
};

static void clean(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		unlinkat(dir, files[i], 0);
	rmdir(root);
}

static void on_begin(void *ctx)
{
	struct heard *h = ctx;

	check(h->begun == h->settled); /* else it would go on with half of one */
	h->begun++;
	h->told = 0;
}

static void on_device(void *ctx, const char *id, char *pairs)
{
	struct heard *h = ctx;
	struct pair p;
	int r;

	check(h->begun && id[0] && !strchr(id, '\n'));
	h->told++;
	while ((r = pair_next(&pairs, &p)) == 1)
		check(!strchr(p.key, ' ') && !strchr(p.key, '=') && !strchr(p.key, '"'));
	check(r == 0 || r == -EINVAL);
}

static void on_removed(void *ctx, const char *id)
{
	struct heard *h = ctx;

	check(h->settled && id[0]);
}

static void on_settled(void *ctx)
{
	struct heard *h = ctx;

	/* The first one ends the inventory; then events have come. */
	if (h->settled < h->begun) {
		check(h->told == h->devices);
		h->settled++;
	}
}

static void on_lost(void *ctx, const char *why)
{
	struct heard *h = ctx;

	check(why[0] && !strchr(why, '\n'));
	h->lost++;
}

static void put(const char *name, const char *text, size_t size)
{
	_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd >= 0 && write(fd, text, size) == (ssize_t)size);
}

static void set_up(void)
{
	check(mkdtemp(root) != NULL);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	stop = eventfd(1, EFD_CLOEXEC); /* after one try */
	check(dir >= 0 && stop >= 0);
	atexit(clean);
}

/* Of the first line, told in another way than the reader does. */
static uint64_t count_lines(const char *text, size_t size)
{
	uint64_t n = 0;

	while (size--)
		n += *text++ == '\n';
	return n ? n - 1 : 0;
}

static void follow(const char *text, size_t size)
{
	struct heard h = { 0 };
	const struct watcher w = { .name = "fuzz",
				   .begin = on_begin,
				   .device = on_device,
				   .removed = on_removed,
				   .settled = on_settled,
				   .lost = on_lost,
				   .ctx = &h };
	size_t n = strnlen(text, size), rest = n < size ? n + 1 : n;

	h.devices = count_lines(text, n);
	put("inventory", text, n);
	put("events_pipe", text + rest, size - rest);
	watch_run(root, &w, stop);
	check(h.begun > 0 || h.lost > 0);
}

static void round_trip(const uint8_t *data, size_t size)
{
	char *value = strndup((const char *)data, size), *cursor, *line;
	struct out o = { 0 };
	struct pair p;

	out_put(&o, "0000:01:00.0", 12);
	out_pair(&o, "reason", value);
	out_pair(&o, "state", "free");
	check(!o.failed && !strpbrk(o.data, "\n\t\r"));
	line = cursor = o.data;
	check(pair_next(&cursor, &p) == 1 && !p.key[0] && p.value == line);
	check(pair_next(&cursor, &p) == 1 && !strcmp(p.key, "reason") && !strcmp(p.value, value));
	check(pair_next(&cursor, &p) == 1 && !strcmp(p.key, "state") && !strcmp(p.value, "free"));
	check(pair_next(&cursor, &p) == 0);
	out_free(&o);
	free(value);
}

/* The other reader: what it takes can be shown. */
static void parse(const char *text, size_t size)
{
	struct tree_inventory inv;
	struct err err = { 0 };

	if (tree_inventory_parse(strndup(text, size), &inv, &err)) {
		check(*err.text && !inv.text);
		return;
	}
	for (size_t i = 0; i < inv.n; i++)
		for (size_t j = 0; j < inv.devices[i].n; j++) {
			const char *value = inv.devices[i].pairs[j].value;

			check(!value[str_clean_len(value, SIZE_MAX)]);
		}
	tree_inventory_free(&inv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (dir < 0)
		set_up();
	round_trip(data, size);
	follow((const char *)data, size);
	parse((const char *)data, size);
	return 0;
}
