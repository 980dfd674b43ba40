// SPDX-License-Identifier: GPL-2.0-or-later
/* The only keyboard of a text console: who stands before the machine can type on no other. */
#include "critical.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devpath.h"
#include "pcidevfs/util.h"

#define KEYBOARDS_MAX 32 /* with more of them none is the only one, or all hang on one controller */

struct keyboards {
	struct scan *scan;
	char *paths[KEYBOARDS_MAX];
	size_t n;
};

/* tty0, tty1; no ttyS0, whose keys come by a wire. */
static bool is_text_console(const char *name)
{
	return !strncmp(name, "tty", 3) && isdigit((unsigned char)name[3]);
}

static int read_file(struct scan *scan, const char *path, char **ret)
{
	int rc = scan_text(scan, path, ret);

	return rc == -ENOENT ? 0 : rc;
}

static void guard_shared(void *ctx, const struct key *dev)
{
	const struct keyboards *k = ctx;
	char id[KEY_NAME + 8];

	key_id(dev, id);
	for (size_t i = 1; i < k->n; i++)
		if (!only_below(k->scan->s, k->paths[i], id))
			return;
	scan_need(k->scan, dev, RANK_CONSOLE, "the text console's only keyboard is on it");
}

int critical_keyboards(struct scan *scan)
{
	_free_ char *consoles = NULL, *inputs = NULL;
	struct keyboards k = { .scan = scan };
	char *next, *name = NULL;
	int rc = read_file(scan, "consoles", &consoles);

	for (next = consoles; !rc && console_next(&next, &name) && !is_text_console(name);)
		name = NULL;
	if (rc || !name)
		return rc;
	rc = read_file(scan, "bus/input/devices", &inputs);
	for (next = inputs; !rc && k.n < KEYBOARDS_MAX && keyboard_next(&next, &k.paths[k.n]);)
		k.n += strncmp(k.paths[k.n], "devices/virtual/", 16) != 0; /* a program's */
	if (k.n)
		devpath_devices(scan->s, k.paths[0], guard_shared, &k);
	return rc;
}
