/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access to files of the tree, bounded in size and time. */
#ifndef CLI_ACCESS_H
#define CLI_ACCESS_H

#include "cli.h"

/* Runs the function in a process of its own, which then ends, and prints what it has printed: a
 * process that waits for a mount whose server hangs cannot always be ended, and must hold nothing
 * of ours open. Returns its status, as run_here() does; status_refused() with a sentence if an
 * access has taken too long. */
int supervise(struct cli *cli, cli_run *run);
/* Runs it in this process. Returns the exit status; says why where that is status_refused(). */
int run_here(struct cli *cli, cli_run *run);
/* The exit status of a refusal. */
int status_refused(const struct cli *cli);

/* Reads the file below the tree into *ret_text, which the caller frees; a NUL follows the text, and
 * none is in it. Returns 0 or -errno with a sentence. */
int tree_read(struct cli *cli, const char *path, char **ret_text, struct err *err);
/* Likewise, without the last newline; NULL: it cannot be read. */
__attribute__((format(printf, 2, 3))) char *tree_text(struct cli *cli, const char *fmt, ...);
/* Names of the files in the directory and in those right below it, a line each: "claim",
 * "mig/mode". */
int tree_names(struct cli *cli, const char *path, char **ret_text, struct err *err);
/* Writes the text, in pieces that one write(2) takes, and reads what follows from the same open
 * file into *ret_answer, which the caller has set to NULL and frees. ret_answer NULL: does not
 * read; text NULL: does not write.
 * Returns 0, or the first -errno, with an answer if the file could be opened. */
int tree_exchange(struct cli *cli, const char *path, const char *text, char **ret_answer,
		  struct err *err);
/* Likewise a file of the user's, of at most 1 MiB; "-" is stdin. What is not a terminal must not
 * be silent for long before its end. */
int input_read(struct cli *cli, const char *path, char **ret_text, struct err *err);
/* What the program prints, also if it fails; its stderr is dropped. */
int run_program(struct cli *cli, char *const *argv, char **ret_text, struct err *err);

#endif
