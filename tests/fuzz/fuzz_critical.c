// SPDX-License-Identifier: GPL-2.0-or-later
/* The first byte chooses a text of /proc, the rest is the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/critical.h"
#include "pcidevfs/util.h"

static volatile size_t sink;

static void use(const char *text)
{
	sink += strlen(text);
}

static void mounts(char *text)
{
	struct mount_line line;

	while (mount_next(&text, &line)) {
		use(line.point);
		use(line.type);
		use(line.source);
	}
}

static void swaps(char *text)
{
	struct swap_line line;

	while (swap_next(&text, &line)) {
		if (line.path[0] != '/')
			abort();
		use(line.path);
	}
}

static void net(char *text, bool (*next)(char **text, struct net_line *ret))
{
	struct net_line line;

	while (next(&text, &line)) {
		if (!line.name[0] || (!line.is_default && !line.is_global))
			abort();
		use(line.name);
	}
}

static void routes(char *text)
{
	net(text, route_next);
}

static void routes6(char *text)
{
	net(text, route6_next);
}

static void addresses6(char *text)
{
	net(text, address6_next);
}

static void sessions(char *text)
{
	char *name;

	while (pppoe_next(&text, &name))
		use(name);
}

static void consoles(char *text)
{
	char *name;

	while (console_next(&text, &name))
		use(name);
}

static void (*const parsers[])(char *text) = { mounts,	   swaps,    routes,   routes6,
					       addresses6, consoles, sessions };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = size ? malloc(size) : NULL;

	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	parsers[(uint8_t)(data[0] - '0') % ARRAY_SIZE(parsers)](text); /* as the corpus has them */
	free(text);
	return 0;
}
