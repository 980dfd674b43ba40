// SPDX-License-Identifier: GPL-2.0-or-later
/* Completion: the shells ask this program, which knows the tables and the live tree. A candidate is
 * a line: a word, a tab, a few words about it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "cli.h"
#include "out.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "access.h"

enum { PATIENCE_MS = 1000 }; /* somebody has pressed a key */

static void offer(const char *before, const char *word, const char *about)
{
	if (*word)
		printf("%s%s\t%s\n", before, word, about);
}

static void offer_devices(const struct tree_inventory *inv)
{
	static const char *const names[] = { "netdev", "disk", "drm" };
	char name[64];

	for (size_t i = 0; i < inv->n; i++) {
		const char *what = device_says(&inv->devices[i], "description");

		offer("", inv->devices[i].id, what);
		for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
			STR_COPY(name, device_says(&inv->devices[i], names[n]));
			name[strcspn(name, " ")] = '\0'; /* of "enp2s0 +2" */
			offer("", name, what);
		}
	}
}

/* Once each. */
static void offer_claimants(const struct tree_inventory *inv, const char *before)
{
	for (size_t i = 0, j; i < inv->n; i++) {
		const char *claim = device_says(&inv->devices[i], "claim");

		for (j = 0; j < i && strcmp(device_says(&inv->devices[j], "claim"), claim); j++)
			;
		if (j == i)
			offer(before, claim, "who claims devices");
	}
}

static void offer_types(struct cli *cli, const struct target *t)
{
	struct json_object *types = device_lines(cli, t, "profiles"), *o;

	for (size_t i = 0; (o = json_object_array_get_idx(types, i)); i++)
		offer("", json_says(o, "name"), "a type of vGPU");
	offer("", "none", "ends the vGPU");
	json_object_put(types);
}

static void offer_files(struct cli *cli, const struct target *t)
{
	struct err none = { 0 };
	_free_ char *text = NULL;

	if (tree_names(cli, t->dir, &text, &none))
		return;
	for (char *names = text, *name; (name = line_next(&names));)
		offer("", name, "a file");
}

/* One more word of the kind; argv ends with the word that is typed. */
static void offer_word(struct cli *cli, char kind, int argc, char **argv)
{
	struct targets t = { 0 };
	struct err none = { 0 };

	if (kind == 'd') {
		offer_devices(&cli->inv);
		offer_claimants(&cli->inv, "claims/");
	} else if (kind == 'n') {
		offer_claimants(&cli->inv, "");
	} else if (argc > 1 && !target_find(&cli->inv, argv[argc - 2], &t, &none) && t.n) {
		if (kind == 't')
			offer_types(cli, &t.v[0]);
		else if (kind == 'f')
			offer_files(cli, &t.v[0]);
	}
	targets_free(&t);
}

static void offer_words(struct cli *cli, const struct cli_verb *v, int argc, char **argv)
{
	struct err none = { 0 };
	size_t n = strlen(v->words);

	if (!n || inventory_read(cli, &none))
		return;
	if (n == 3)
		offer_word(cli, v->words[(argc - 1) % 3], argc, argv);
	for (size_t i = 0; i < n && n < 3 && (!i || argc > 1); i++)
		offer_word(cli, v->words[i], argc, argv);
}

int complete(struct cli *cli, struct err *err)
{
	char **argv = cli->argv;
	const struct cli_verb *v;
	int n = cli->argc;

	cli->timeout_ms = PATIENCE_MS;
	if (!n)
		return 0;
	v = n > 1 ? verb_by_name(argv[0]) : NULL;
	if (argv[n - 1][0] == '-') {
		for (int i = 0; i < OPT_COUNT; i++)
			if (verb_takes(v, i))
				offer("--", options[i].name, options[i].help);
	} else if (v) {
		offer_words(cli, v, n - 1, argv + 1);
	} else if (n == 1) {
		for (v = verbs; v->name; v++)
			offer("", v->name, v->summary);
	}
	return 0;
}
