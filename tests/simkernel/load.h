/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SIM_LOAD_H
#define SIM_LOAD_H

struct machine;

/* Loads a recording, which may be gzip'd; NULL: the built-in one. Returns 0, or -errno after one
 * sentence on stderr. */
int load_machine(const char *path, struct machine **ret);

#endif
