// SPDX-License-Identifier: GPL-2.0-or-later
/* pcidevfs: what people type instead of writing to the tree. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "client/name.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"
#include "access.h"

const char say_as[] = "pcidevfs";

int wrong_use(const struct cli_verb *verb, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (verb)
		say("%s; usage: pcidevfs %s%s%s", text, verb->name, *verb->args ? " " : "",
		    verb->args);
	else
		say("%s; see pcidevfs --help", text);
	return WRONG_USE;
}

/* Options that are not known are wrong use, and do not count in a line that somebody still types.
 * The other words are argv from optind on. */
static int parse(struct cli *cli, bool typed, int argc, char **argv)
{
	struct option known[OPT_COUNT + 1] = { 0 };
	int c;

	for (int i = 0; i < OPT_COUNT; i++)
		known[i] = (struct option){ options[i].name, options[i].arg != NULL, NULL, i };
	opterr = 0;
	while ((c = getopt_long(argc, argv, "h", known, NULL)) >= 0) {
		if (c == '?' && !typed)
			return optopt > ' '
				       ? wrong_use(NULL, "-%c is not an option", optopt)
				       : wrong_use(NULL,
						   "\"%s\" is not an option, or lacks its value",
						   argv[optind - 1]);
		if (c != '?')
			cli->opt[c == 'h' ? OPT_HELP : c] = optarg ?: "";
	}
	cli->tree = cli->opt[OPT_TREE] ?: cli->tree;
	return 0;
}

static int check_use(struct cli *cli, const struct cli_verb *v, int words)
{
	double seconds;

	for (int i = 0; i < OPT_COUNT; i++)
		if (cli->opt[i] && !verb_takes(v, i))
			return wrong_use(v, "%s has no option --%s", v->name, options[i].name);
	if (words < v->least || (v->most >= 0 && words > v->most))
		return wrong_use(v, "%s has too %s words", v->name,
				 words < v->least ? "few" : "many");
	if (cli->opt[OPT_KIND] && !is_device_kind(cli->opt[OPT_KIND]))
		return wrong_use(v, "\"%.40s\" is not a kind; write one of " DEVICE_KINDS,
				 cli->opt[OPT_KIND]);
	if (cli->opt[OPT_TIMEOUT]) {
		if (parse_factor(cli->opt[OPT_TIMEOUT], &seconds))
			return wrong_use(v, "--timeout is a number of seconds from 0.001 to 1000");
		cli->timeout_ms = (unsigned int)(seconds * 1000);
	}
	return 0;
}

/* What before() looks at, run() does: stdin can be read only once. */
static int read_input(struct cli *cli, struct err *err)
{
	return input_read(cli, cli->argv[0], &cli->input, err);
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct cli_verb *v = verb_by_name(argc ? argv[0] : "list");
	int r;

	if (!v)
		return wrong_use(NULL, "\"%s\" is not a verb", argv[0]);
	cli->verb = v;
	if (cli->opt[OPT_HELP])
		print_help(argc ? v : NULL);
	else if (cli->opt[OPT_VERSION])
		printf("pcidevfs %s\n", VERSION);
	if (cli->opt[OPT_HELP] || cli->opt[OPT_VERSION])
		return 0;
	cli->argc = argc - (argc > 0);
	cli->argv = argv + 1;
	r = check_use(cli, v, cli->argc);
	/* watch waits for as long as one likes, and prints as it goes. */
	if (!r && v->run == verb_watch)
		return run_here(cli, v->run);
	if (!r && v->before)
		r = run_here(cli, read_input) ?: supervise(cli, v->before);
	return r ?: supervise(cli, v->run);
}

/* That of the terminal, or $COLUMNS; 0: there is none. */
static unsigned int terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (columns && !parse_u64(columns, 10000, &n) && n)
		return (unsigned int)n;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

/* A standard file that is closed would give its number to a file of ours, which is then read or
 * written in its place. Of this one each such use fails. */
static void hold_places(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	int r;
	const char *tree = getenv("PCIDEVFS_TREE");
	struct cli cli = { .tree = tree && *tree ? tree : "/run/pcidevfs",
			   .width = terminal_width() };

	hold_places();
	/* The word that is completed may look like anything. */
	if (argc > 1 && !strcmp(argv[1], "--complete")) {
		parse(&cli, true, argc - 2, argv + 1);
		cli.argc = argc - 1 - optind;
		cli.argv = argv + 1 + optind;
		return supervise(&cli, complete);
	}
	if (argc > 1 && !strcmp(argv[1], "--print-man"))
		return print_man();
	r = parse(&cli, false, argc, argv) ?: run(&cli, argc - optind, argv + optind);
	free(cli.input);
	if (!fflush(stdout))
		return r;
	say("stdout: %s", strerror(errno));
	return status_refused(&cli);
}
