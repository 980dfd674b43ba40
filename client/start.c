// SPDX-License-Identifier: GPL-2.0-or-later
#include "start.h"

#include <errno.h>
#include <getopt.h>
#include <linux/capability.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"

static void print_help(const char *about, const struct option_row *rows)
{
	char left[64];

	printf("usage: %s [option]...\n%s\n\n", say_as, about);
	for (; rows->name; rows++) {
		snprintf(left, sizeof(left), "--%s %s", rows->name, rows->arg ?: "");
		printf("  %-18s %s\n", left, rows->help);
	}
	puts("  -h, --help         this text\n  --version          the version");
}

int client_options(int argc, char **argv, const char *about, const struct option_row *rows)
{
	struct option known[OPTIONS_MAX + 3] = { 0 };
	int c, at = 0;
	size_t n = 0;

	for (; n < OPTIONS_MAX && rows[n].name; n++)
		known[n] = (struct option){ .name = rows[n].name, .has_arg = rows[n].arg != NULL };
	known[n] = (struct option){ "help", no_argument, NULL, 'h' };
	known[n + 1] = (struct option){ "version", no_argument, NULL, 'v' };
	while ((c = getopt_long(argc, argv, "h", known, &at)) >= 0) {
		if (c == 'h')
			print_help(about, rows);
		if (c == 'v')
			printf("%s %s\n", say_as, VERSION);
		if (c == 'h' || c == 'v')
			exit(0);
		if (c) {
			say("see --help");
			return -EINVAL;
		}
		*rows[at].value = optarg ?: "";
	}
	if (optind == argc)
		return 0;
	say("\"%s\" is not an option; see --help", argv[optind]);
	return -EINVAL;
}

void client_trim(struct source *s)
{
	malloc_trim(0);
}

void client_confine(void)
{
	struct err err = { 0 };

	/* Else each thread keeps memory that another has freed; large texts go back at once. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 65536);
	if (confine_caps(CAP(DAC_OVERRIDE), CAP(DAC_OVERRIDE), &err) ||
	    confine_calls(DENY_ALL, &err))
		say("goes on unconfined: %s", err.text);
}
