/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree of one PF with 8 VFs to come, and an engine that knows the requests about VFs. */
#ifndef PCIDEVFS_FUZZ_TREE_H
#define PCIDEVFS_FUZZ_TREE_H

#include <stdlib.h>
#include <sys/mman.h>

#include "backend/ops.h"
#include "fs/internal.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"

static const struct key home = { BUS_PCI, "0000:02:00.0" };

static void check(int holds)
{
	if (!holds)
		abort();
}

static void *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	check(at != MAP_FAILED);
	return at;
}

static void plant(struct tree *tree)
{
	struct engine_conf engine = { .world.methods = sriov_ops.methods, .threads = 1 };
	size_t size = model_arena_size();
	struct device *d;
	bool found;

	check(!model_new(map(size), size, &tree->conf.model, &found, NULL));
	model_lock(tree->conf.model);
	d = model_edit(tree->conf.model, &home, true);
	check(d != NULL);
	d->facts.total_vfs = 8;
	d->facts.iommu_group = 1;
	model_publish(tree->conf.model);
	model_unlock(tree->conf.model);
	engine.model = tree->conf.model;
	check(!engine_new(&engine, &tree->conf.engine, NULL));
}

#endif
