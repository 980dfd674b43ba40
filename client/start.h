/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the main() of each client of the tree begins with. */
#ifndef CLIENT_START_H
#define CLIENT_START_H

struct source;

enum { OPTIONS_MAX = 16 };

struct option_row {
	const char *name;   /* NULL ends the rows: at most OPTIONS_MAX */
	const char *arg;    /* what stands for its value in the help; NULL: it has none */
	const char *help;
	const char **value; /* gets the argument, or "" */
};

/* Reads the options, which are borrowed. --help and --version print it, and end the process.
 * Returns 0, or -EINVAL once it has said why: the exit status is 2 then. */
int client_options(int argc, char **argv, const char *about, const struct option_row *rows);
/* Before there are threads: memory that is freed goes back to the kernel, and what others can make
 * of this process is confined. Where it is started as root CAP_DAC_OVERRIDE is for it what the
 * group pcidevfs is for others; allocated_to of a device that a user owns is that user's file. */
void client_confine(void);
/* A timer's due(): memory that a peak of use has left free goes back to the kernel. */
void client_trim(struct source *s);

#endif
