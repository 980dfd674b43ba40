/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of pcidevfsd: one table gives parsing and help. */
#ifndef FS_OPTIONS_H
#define FS_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "pcidevfs/backend.h"

struct err;

struct daemon_options {
	struct roots roots;	/* without the descriptors */
	const char *mountpoint; /* NULL only for help, version, print_files and early */
	const char *deadline;	/* as given; NULL if not given */
	double deadline_factor;
	const char *usb_owner; /* as given */
	bool replace, help, version, print_files, release_all, journal;
	const char *early; /* address of a function */
	/* Between the processes of one daemon, not for people. */
	const char *serve; /* number of an inherited socket: be the serving process */
	const char *adopt; /* descriptors left by an older holder: be the holder */
	/* What the older holder has: tell by exit status whether we can go on. */
	const char *can_adopt;
};

/* Returns 0; -EINVAL after one sentence on stderr (exit status 2). The strings stay in argv. */
int options_parse(int argc, char **argv, struct daemon_options *ret);
void options_help(FILE *to);

/* The i-th option with a value; NULL if the default is used. */
const char *options_given(const struct daemon_options *o, size_t i);
/* For --replace: a line "--NAME VALUE" for each option with a value that was given. Paths are made
 * absolute, because the holder has another working directory. 0, or -errno with a sentence. */
int options_offer(const struct daemon_options *o, char *text, size_t size, struct err *err);
/* Sets those of such a text as if they had been given; it is split, and they point into it. -ENOENT
 * with a sentence: there is no such option. */
int options_take(struct daemon_options *o, char *text, struct err *err);

#define OPTIONS_ARGV 20
/* Makes arguments that start this program with the same options in another role: "--serve", "7".
 * mountpoint replaces the one given. NULL-terminated; the strings are borrowed. */
void options_argv(const struct daemon_options *o, const char *role, const char *value,
		  const char *mountpoint, const char *ret[static OPTIONS_ARGV]);

#endif
