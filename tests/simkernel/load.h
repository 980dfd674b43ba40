/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SIM_LOAD_H
#define SIM_LOAD_H

struct machine;

/* A recording, also gzip'd; NULL: the built-in one. -errno, and one sentence on stderr. */
int load_machine(const char *path, struct machine **ret);

#endif
