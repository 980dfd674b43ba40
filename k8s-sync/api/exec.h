/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a credential program beside the loop: no shell, no terminal, bounded in time and size. */
#ifndef SYNC_EXEC_H
#define SYNC_EXEC_H

#include <stddef.h>

struct err;
struct exec_plugin;
struct exec_run;
struct loop;

/* done() gets what the program printed and err NULL; or why there is nothing: a sentence that names
 * it. Called once, later, after which the run is gone. Returns 0 or -errno. */
int exec_start(struct loop *loop, const struct exec_plugin *e, unsigned int deadline_ms,
	       void (*done)(void *ctx, const char *text, size_t size, const struct err *err),
	       void *ctx, struct exec_run **ret, struct err *err);
/* Ends the program without done(). */
void exec_cancel(struct exec_run *r);

#endif
