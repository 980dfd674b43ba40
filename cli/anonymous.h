/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts without the names of users. */
#ifndef CLI_ANONYMOUS_H
#define CLI_ANONYMOUS_H

#include <stddef.h>

enum { NAMES_MOST = 1024 };

struct known_names {
	char *v[NAMES_MOST];
	size_t n;
};

/* Collects a name, and those of claimants and pods in lines of inventory, intents or log. */
void names_add(struct known_names *names, const char *name);
void names_of(struct known_names *names, const char *text);
void names_free(struct known_names *names);
/* A copy in which name-N stands for the N-th name, and ? for who a process is. Never NULL. */
char *anonymous(const struct known_names *names, const char *text);

#endif
