// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose VFs are while an operation runs that may take them away again. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

#define PF "0000:02:00.0"
#define VF0 "0000:02:10.0"
#define VF1 "0000:02:10.2"
#define PLAIN "0000:04:00.0"

static void in_an_op(struct device *dev)
{
	STR_COPY(dev->busy, "sriov_numvfs 4");
}

static bool is_the_pf(const void *ctx, const struct device *dev)
{
	return !strcmp(dev->key.name, ctx);
}

/* The sentence; "" if it is free. */
static const char *refusal(struct world_fake *w, const char *address, plan_is_ours *is_ours)
{
	static struct err err;
	struct key key = fake_key(address);

	err = (struct err){ 0 };
	model_lock(w->model);
	plan_refuse_busy_device(w->model, &key, is_ours, PF, &err);
	model_unlock(w->model);
	CHECK(!err.code || err.code == EBUSY);
	return err.text;
}

DEFINE_TEST(vfs_of_a_busy_pf_are_for_its_op)
{
	struct world_fake w;

	fake_machine();
	fake_add(&(struct fake){ PF, "0x8086\n", "0x10c9\n", "0x020000\n", "igb", 5 });
	fake_add(&(struct fake){ VF0, "0x8086\n", "0x10ca\n", "0x020000\n", "igbvf", 6 });
	fake_add(&(struct fake){ VF1, "0x8086\n", "0x10ca\n", "0x020000\n", "igbvf", 7 });
	fake_add(&(struct fake){ PLAIN, "0x8086\n", "0x100e\n", "0x020000\n", "e1000", 8 });
	fake_virtfn(PF, 0, VF0);
	fake_virtfn(PF, 1, VF1);
	w = fake_open();
	/* Claims of VFs go side by side. */
	fake_edit(&w, VF1, in_an_op);
	CHECK_IN(refusal(&w, VF1, NULL), VF1 " is busy: sriov_numvfs 4 is running");
	CHECK_STR(refusal(&w, VF0, NULL), "");
	CHECK_STR(refusal(&w, PF, NULL), "");
	fake_edit(&w, PF, in_an_op);
	CHECK_IN(refusal(&w, VF0, NULL),
		 VF0 " is a VF of " PF ", which is busy: sriov_numvfs 4 is running; wait");
	CHECK_STR(refusal(&w, VF0, is_the_pf), "");
	CHECK_STR(refusal(&w, PF, is_the_pf), "");
	CHECK_IN(refusal(&w, VF1, is_the_pf), VF1 " is busy");
	CHECK_STR(refusal(&w, PLAIN, NULL), "");
	fake_close(&w);
}
