/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of NVIDIA's validators say of the node (spec/peers.md 1.4): containers of its
 * operator wait for them. Pure: lines of inventory come in. */
#ifndef PLUGIN_READY_H
#define PLUGIN_READY_H

#include <stdbool.h>
#include <stddef.h>

struct ready_card;

/* NVIDIA's GPUs and vGPUs, claimed or not. */
struct ready_cards {
	struct ready_card *v;
	size_t n, cap;
};

/* A file: its name, and what it reads; NULL: it is not to be there. */
struct ready_file {
	const char *name, *text;
};

enum { READY_FILES = 3 };

/* As the functions of a mirror's table; pairs stay as they are. take() returns 0, also for what is
 * no card, or -ENOMEM. */
int ready_take(struct ready_cards *c, const char *id, const char *pairs);
void ready_drop(struct ready_cards *c, const char *id);
void ready_begin(struct ready_cards *c);
void ready_settle(struct ready_cards *c);
void ready_free(struct ready_cards *c);

void ready_files(const struct ready_cards *c, struct ready_file ret[static READY_FILES]);

#endif
