// SPDX-License-Identifier: GPL-2.0-or-later
/* The only keyboard of a text console: who stands before the machine can type on no other. */
#include "critical.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devpath.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define KEYS_TEXT 256	 /* a bit for each of 768 keys, in hex words */
#define KEYBOARDS_MAX 32 /* with more of them none is the only one, or all hang on one controller */

struct keyboards {
	struct scan *scan;
	char *paths[KEYBOARDS_MAX];
	size_t n;
};

/* Escape, the digits, Q to S: what udev calls a keyboard, and no power button or remote control is.
 * The lowest keys are in the last word. */
static bool has_keys(const struct sysfs *s, const char *input)
{
	char keys[KEYS_TEXT];
	const char *last;

	if (sysfs_read(s, ROOT_SYS, keys, sizeof(keys), "class/input/%s/capabilities/key", input) <
	    0)
		return false;
	last = strrchr(keys, ' ');
	return (strtoull(last ? last + 1 : keys, NULL, 16) & 0xfffffffe) == 0xfffffffe;
}

/* Where it lies; NULL: it is none, or a program's (uinput, uhid). Nothing counts that a device can
 * choose, for example its name. */
static char *find_keyboard(struct scan *scan, const char *input)
{
	char *path;

	if (strncmp(input, "input", 5) != 0 || !isdigit((unsigned char)input[5]) ||
	    !has_keys(scan->s, input))
		return NULL;
	path = scan_link(scan, "input", input);
	if (!path || strncmp(path, "devices/virtual/", 16) != 0)
		return path;
	free(path);
	return NULL;
}

static void guard_shared(void *ctx, const struct key *dev)
{
	const struct keyboards *k = ctx;
	char id[KEY_NAME + 8];

	key_id(dev, id);
	for (size_t i = 1; i < k->n; i++)
		if (!only_below(k->scan->s, k->paths[i], id))
			return;
	scan_need(k->scan, dev, RANK_CONSOLE, "keyboard",
		  "the text console's only keyboard is on it");
}

int critical_keyboards(struct scan *scan)
{
	struct keyboards k = { .scan = scan };
	_closedir_ DIR *dir = NULL;
	const struct dirent *e;

	if (!scan->text_console)
		return 0;
	dir = sysfs_dir(scan->s, ROOT_SYS, "class/input");
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (k.n < KEYBOARDS_MAX && (e = readdir(dir)))
		k.n += (k.paths[k.n] = find_keyboard(scan, e->d_name)) != NULL;
	if (k.n)
		devpath_devices(scan->s, k.paths[0], guard_shared, &k);
	while (k.n)
		free(k.paths[--k.n]);
	return 0;
}
