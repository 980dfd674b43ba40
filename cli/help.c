// SPDX-License-Identifier: GPL-2.0-or-later
/* --help, and the part of the man page that tells verbs and options, made of the tables. */
#include <stdio.h>

#include "cli.h"

static void print_options(const struct cli_verb *v)
{
	char left[40];

	for (int i = 0; i < OPT_COUNT; i++) {
		if (!verb_takes(v, i))
			continue;
		snprintf(left, sizeof(left), "--%s %s", options[i].name, options[i].arg ?: "");
		printf("  %-20s %s\n", left, options[i].help);
	}
}

static void print_verb(const struct cli_verb *v)
{
	printf("usage: pcidevfs %s%s%s [option]...\n%s: %s.\n%s\n", v->name, *v->args ? " " : "",
	       v->args, v->name, v->summary, v->text);
	if (v->json)
		printf("JSON: %s\n", v->json);
	print_options(v);
}

void print_help(const struct cli_verb *verb)
{
	char left[40];

	if (verb) {
		print_verb(verb);
		return;
	}
	puts("usage: pcidevfs [VERB ...] [option]...\n"
	     "Shows and changes the devices of a pcidevfs tree.\n");
	for (const struct cli_verb *v = verbs; v->name; v++) {
		snprintf(left, sizeof(left), "%s %s", v->name, v->args);
		printf("  %-22s %s\n", left, v->summary);
	}
	puts("\nDEV: an address (05:02.0), port (1-1), interface, disk, serial number, or "
	     "claims/NAME.\npcidevfs VERB --help tells more of a verb. Options of all verbs:\n");
	print_options(NULL);
}

/* In mdoc(7) a sentence ends a line. */
static void man_text(const char *text)
{
	for (; *text; text++) {
		printf(*text == '-' ? "\\-" : "%c", *text);
		if (*text == '.' && text[1] == ' ') {
			putchar('\n');
			text++;
		}
	}
	putchar('\n');
}

/* "--kind KIND" between what stands before and behind it. */
static void man_option(const char *before, const struct option_text *o, const char *behind)
{
	printf("%s Fl -%s%s%s%s", before, o->name, o->arg ? " Ar " : "", o->arg ?: "", behind);
}

static void man_verb(const struct cli_verb *v)
{
	printf(".It Cm %s", v->name);
	if (*v->args)
		printf(" Ar \"%s\"", v->args);
	for (int i = 0; i < OPT_COUNT; i++)
		if (v->options & 1u << i)
			man_option(" Oo", &options[i], " Oc");
	putchar('\n');
	man_text(v->summary);
	puts(".br");
	man_text(v->text);
	if (v->json) {
		puts(".br\nJSON:");
		man_text(v->json);
	}
}

int print_man(void)
{
	for (const struct cli_verb *v = verbs; v->name; v++)
		man_verb(v);
	puts(".El\n.Ss Options\n.Bl -tag -width Ds");
	for (int i = 0; i < OPT_COUNT; i++) {
		man_option(".It", &options[i], "\n");
		man_text(options[i].help);
	}
	puts(".El");
	return 0;
}
