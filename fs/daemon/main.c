// SPDX-License-Identifier: GPL-2.0-or-later
/* pcidevfsd: chooses the role of this process. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "control.h"
#include "daemon.h"
#include "holder.h"
#include "options.h"
#include "release.h"
#include "fs/tree.h"

#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"

/* For udev, before a driver meets the function. */
static int early(const struct daemon_options *o)
{
	struct err err = { 0 };
	int r = backend_early(&o->roots, o->roots.state, o->early, &err);

	if (r)
		say("%s", err.text);
	return r == -EINVAL ? 2 : r ? 1 : 0;
}

static void print_files(void)
{
	tree_print_files(stdout);
	backend_print(stdout);
}

int main(int argc, char **argv)
{
	struct daemon_options o;
	int status;

	/* The reader of our output may be gone. */
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && !strcmp(argv[1], SPAWNER_ARG))
		return backend_spawner(argc, argv);
	/* A program started by descriptor has its number as name. */
	prctl(PR_SET_NAME, "pcidevfsd");
	if (options_parse(argc, argv, &o))
		return 2;
	if (o.journal)
		say_as_journal();
	if (o.help)
		options_help(stdout);
	else if (o.version)
		puts("pcidevfsd " VERSION);
	else if (o.early)
		return early(&o);
	else if (o.release_all)
		return release_in_tree(&o, &status) || release_nothing(&o, &status) ?
			       status :
			       daemon_release(&o);
	else if (o.print_files)
		print_files();
	else if (o.serve)
		return daemon_serve(&o);
	else if (o.adopt)
		return holder_adopt(&o);
	else if (o.can_adopt)
		return daemon_can_adopt(&o);
	else
		return o.replace ? replace_run(&o) : holder_run(&o);
	return 0;
}
