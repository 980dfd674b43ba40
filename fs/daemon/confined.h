/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the processes of pcidevfsd give up (docs/SECURITY.md). The process that starts helpers, and
 * helpers: spawner.c. */
#ifndef FS_CONFINED_H
#define FS_CONFINED_H

#include <stdbool.h>

struct options;
struct roots;
struct out;

/* The holder, before it starts others, which have no more than it has. again: it has done so
 * before, as another program. */
void confine_holder(bool again);
/* The serving process, when all is open that needs rights, before it has threads. fault: of
 * PCIDEVFS_FAULT. */
void confine_server(const struct options *o, const struct roots *roots, const char *fault);
/* A line for health. */
void confined_health(struct out *o);

/* foreign.c, for tests: tries what foreign code would; what came of it goes to stderr. */
void foreign_code(const struct options *o, const struct roots *roots);

#endif
