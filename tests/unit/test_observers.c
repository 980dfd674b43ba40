// SPDX-License-Identifier: GPL-2.0-or-later
/* What observers do while others wait for them, and what behind that. */
#include <sys/mman.h>

#include "pcidevfs/model.h"
#include "test.h"

struct rest {
	struct model *m;
	int changed, told;
};

static void count_changed(void *ctx, const struct change *changes, size_t n)
{
	struct rest *r = ctx;

	r->changed++;
	CHECK(!model_sync(r->m, model_generation(r->m), 0));
}

static void count_told(void *ctx)
{
	struct rest *r = ctx;

	CHECK_EQ(++r->told, r->changed);
	CHECK(model_sync(r->m, model_generation(r->m), 0));
}

static void plug(struct model *m, const char *name)
{
	struct key key;

	CHECK(key_make(BUS_PCI, name, &key));
	model_lock(m);
	model_edit(m, &key, true)->facts.vendor = 0x8086;
	model_publish(m);
	model_unlock(m);
}

DEFINE_TEST(who_waits_for_observers_does_not_wait_for_the_rest)
{
	void *arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct rest r = { 0 };
	bool found;

	CHECK_EQ(model_new(arena, model_arena_size(), &r.m, &found, NULL), 0);
	model_observe(r.m, &(struct observer){ count_changed, &r, count_told });
	plug(r.m, "0000:01:00.0");
	CHECK(model_dispatch(r.m));
	plug(r.m, "0000:02:00.0");
	CHECK(model_dispatch(r.m));
	CHECK_EQ(r.told, 2);
	model_free(r.m);
}
