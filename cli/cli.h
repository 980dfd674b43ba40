/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command pcidevfs: a client of the tree, which knows nothing but what the tree says. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "client/name.h"

struct cli;
struct err;
struct json_object;
struct out;

/* Returns 0, -errno with a sentence, or WRONG_USE after it has said why. */
typedef int cli_run(struct cli *cli, struct err *err);
/* Shows one device that is there: in out, and in o, which is its pairs. Returns 0, or 1: it is not
 * among those that are shown. */
typedef int show_device(struct cli *cli, const struct target *t, struct out *out,
			struct json_object *o);

enum { WRONG_USE = 2 }; /* exit status; 1: refused */

/* Rows of options[]. */
enum option_id {
	OPT_TREE,
	OPT_JSON,
	OPT_TIMEOUT,
	OPT_DRY_RUN,
	OPT_FORCE,
	OPT_FREE,
	OPT_CLAIMED,
	OPT_KIND,
	OPT_TOP,
	OPT_ANONYMOUS,
	OPT_OUTPUT,
	OPT_FORM,
	OPT_HELP,
	OPT_VERSION,
	OPT_COUNT,
};

struct option_text {
	const char *name;
	const char *arg; /* what stands for its value in the help; NULL: it has none */
	const char *help;
};
extern const struct option_text options[OPT_COUNT];

/* A verb is a row of verbs[], and a function in a file of its own. Help, man page and completion
 * are made of these rows. */
struct cli_verb {
	const char *name;
	const char *args;     /* as in the synopsis, "DEV... NAME" */
	const char *summary;  /* for --help */
	const char *text;     /* more sentences */
	const char *json;     /* what --json prints */
	unsigned int options; /* bits of enum option_id, but for what all have */
	int least, most;      /* words behind the verb; most -1: any number */
	/* What completion offers for the first of them, and what besides for those behind it: d
	 * devices, n claimants, t types. Three: again and again these, with f files. */
	const char *words;
	cli_run *run;
	const char *file;  /* of verb_setting(): it writes this file of all devices named */
	const char *value; /* likewise: this; NULL: the last word */
	/* What run() would do that people must see before it does: supervised by itself, so that
	 * what it prints is out before run() begins. NULL: nothing. */
	cli_run *before;
	show_device *show; /* of verb_showing() */
	int refused;	   /* exit status of a refusal, where 1 says something else; 0: 1 */
};
extern const struct cli_verb verbs[]; /* a row without a name ends them */
const struct cli_verb *verb_by_name(const char *name);
/* Has the verb this option? NULL: those that all have. */
bool verb_takes(const struct cli_verb *v, enum option_id opt);

struct cli {
	const char *tree;
	const struct cli_verb *verb;
	const char *opt[OPT_COUNT]; /* NULL: not given; "" if it has no argument */
	int argc;		    /* of the words behind the verb */
	char **argv;
	char *input;		 /* of layouts: what the file that the verb names has, read once */
	unsigned int width;	 /* of the terminal, or COLUMNS; 0: no limit */
	unsigned int timeout_ms; /* 0: the default of each access */
	struct desk *desk;	 /* of access.c */
	struct tree_inventory inv;
	struct targets targets;
};

/* Says that the command line is wrong, and how it would be right. Returns WRONG_USE. */
__attribute__((format(printf, 2, 3))) int wrong_use(const struct cli_verb *verb, const char *fmt,
						    ...);

/* help.c */
void print_help(const struct cli_verb *verb); /* NULL: of the command */
int print_man(void);
/* complete.c */
/* Prints the words that may stand in the place of the last one of argv, one a line. The others are
 * without their options. */
cli_run complete;

/* Of the verbs that write one value to one file (write.c), of those that show each device of the
 * command line, or all (out.c), and the others, each in verbs/NAME.c. */
cli_run verb_setting, verb_showing;
cli_run verb_list, verb_why, verb_set, verb_check, verb_watch, verb_log, verb_bundle;
cli_run apply_tells, verb_apply, verb_diff, verb_export;
show_device show_files, show_why, show_card;

#endif
