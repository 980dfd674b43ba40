/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rights that pcidevfsd's processes drop (docs/SECURITY.md). Spawner and helpers: spawner.c. */
#ifndef FS_CONFINED_H
#define FS_CONFINED_H

#include <stdbool.h>

struct daemon_options;
struct roots;
struct out;

/* Confines the holder, before it starts others, which get at most its rights. again: it did so
 * before, as another program. */
void confine_holder(bool again);
/* Confines the serving process, after everything that needs rights is open and before it has
 * threads. */
void confine_server(const struct daemon_options *o, const struct roots *roots);
/* Appends a line for health. */
void confined_health(struct out *o);
/* The same capabilities for metrics.prom. */
void confined_metrics(struct out *o);

/* foreign.c, for tests: tries what foreign code would; prints the results to stderr. */
void foreign_code(const struct daemon_options *o, const struct roots *roots);

#endif
