// SPDX-License-Identifier: GPL-2.0-or-later
#include "arena.h"

#include <sys/mman.h>

#include "pcidevfs/model.h"
#include "test.h"

void *new_arena(void)
{
	void *p = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

struct model *model_on(void *arena, bool want_found)
{
	struct model *m;
	bool found;

	CHECK_EQ(model_new(arena, model_arena_size(), &m, &found, NULL), 0);
	CHECK_EQ(found, want_found);
	model_complete(m);
	return m;
}

struct key pci_key(const char *name)
{
	struct key key;

	CHECK(key_make(BUS_PCI, name, &key));
	return key;
}

struct device *put_nic(struct model *m, const char *name)
{
	struct key key = pci_key(name);
	struct device *d = model_edit(m, &key, true);

	d->facts.vendor = 0x8086;
	d->facts.class_code = 0x020000;
	return d;
}
