/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree as the daemon makes it, but for FUSE. */
#ifndef UNIT_BARETREE_H
#define UNIT_BARETREE_H

#include "fs/internal.h"
#include "fs/stash.h"
#include "pcidevfs/model.h"
#include "test.h"

/* Its model and stash go into conf, which lives as long. */
static inline struct tree *bare_tree(struct tree_conf *conf)
{
	struct tree *t;
	size_t size;
	bool found;
	void *arena;
	int fd;

	CHECK_EQ(stash_create(&fd, NULL), 0);
	CHECK_EQ(stash_attach(fd, &conf->stash, NULL), 0);
	arena = stash_region(conf->stash, STASH_MODEL, &size);
	CHECK_EQ(model_new(arena, size, &conf->model, &found, NULL), 0);
	CHECK_EQ(tree_new(conf, &t, NULL), 0);
	CHECK_EQ(tree_start(t, NULL, -1, 1, NULL), 0);
	return t;
}

#endif
