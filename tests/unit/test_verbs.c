// SPDX-License-Identifier: GPL-2.0-or-later
/* What all verbs of all backends promise. */
#include "facts.h"
#include "test.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fakepci.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/mig.h"
#include "pcidevfs/model.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"

#define GPU "0000:3b:00.0"

static struct world_fake machine(void)
{
	fake_machine();
	fake_add(&(struct fake){ GPU, "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia", 41 });
	return fake_open();
}

static void add_mdev(void)
{
	fake_attr(GPU, FAKE_UUID "/remove", "");
	CHECK(!chdir(test_dir()));
	CHECK(!symlink("../mdev_supported_types/nvidia-745",
		       "sys/bus/pci/devices/" GPU "/" FAKE_UUID "/mdev_type"));
	CHECK(!mkdir("sys/bus/mdev", 0755) && !mkdir("sys/bus/mdev/devices", 0755));
	CHECK(!symlink("../../pci/devices/" GPU "/" FAKE_UUID, "sys/bus/mdev/devices/" FAKE_UUID));
}

/* Of helpers that start meanwhile, and so no word of a test that fails. */
static void forbid_writes(bool forbid)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = forbid ? 0 : limit.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void tell_mig(struct world_fake *w)
{
	struct key key = fake_key(GPU);

	model_lock(w->model);
	mig_keep(w->model, model_edit(w->model, &key, false),
		 "mode 0 0\nprofile 9 2 2 40448 3 0,4:4 3g.40gb\n"
		 "instance 1 9 4 4\ncompute 1 0 0 1 1c.3g.40gb\ncompute 1 1 1 2 2c.3g.40gb\n"
		 "mixed_sizes 1\nscheduler equal-share 0 2000000 0\n");
	model_publish(w->model);
	model_unlock(w->model);
}

/* A crash right after the write must not find a step that looks as if it had never begun. */
DEFINE_TEST(what_was_is_recorded_before_the_write)
{
	static const struct {
		const char *verb, *value, *former;
	} rows[] = {
		{ "driver_override", "vfio-pci", "pci-stub" },
		{ "sriov_numvfs", "2", "0" },
		{ "sriov_drivers_autoprobe", "0", "1" },
		{ "sriov-manage", "2", "0" }, /* there is none */
		{ "profile", "NVIDIA A2-8Q", "745 " },
		{ "vgpu_params", "a=1", "" },
		{ "unbind_lock", "1", "0" },
		{ "create", "nvidia-745 4b20d080-1b54-4048-85b3-a6a62d165c01", "" },
		{ "remove", FAKE_UUID, "nvidia-745 " FAKE_UUID },
		{ "rtnetlink", "vlan=5 trust=1", "vlan=none trust=none" }, /* no VF */
		{ "rtnetlink_back", "mac=none", "mac=none" },
		{ "mig/mode", "1", "0" }, /* it has no driver that could be asked */
		{ "mig/create", "9 3g.40gb 0:4", "" },
		{ "mig/destroy", "9 3g.40gb 4:4", "9 3g.40gb 4:4 2c 1c" },
		{ "mig/compute", "9 3g.40gb 4:4", "9 3g.40gb 4:4 2c 1c" },
		{ "mixed_sizes", "0", "1" },
		{ "scheduler", "best-effort", "equal-share timeslice_us=2000 arr=0" },
		{ "own_node", "", "" },	     /* it has none */
		{ "own", "0:0", "0:0 0:0" }, /* no write, and nothing to be given */
	};
	struct world_fake w = machine();
	size_t found = 0;

#ifdef __SANITIZE_THREAD__
	SKIP("a spawner cannot start where it may write no file: its sanitizer does");
#endif
	fake_attr(GPU, "driver_override", "pci-stub\n");
	fake_attr(GPU, "sriov_numvfs", "0\n");
	fake_attr(GPU, "sriov_drivers_autoprobe", "1\n");
	fake_attr(GPU, "nvidia/current_vgpu_type", "745\n");
	add_mdev();
	fake_close(&w); /* with its helpers, which may write */
	forbid_writes(true);
	w = fake_open();
	forbid_writes(false);
	tell_mig(&w);
	for (const struct verb *const *v = backend_verbs(w.backend); *v; v++) {
		struct step step = { .verb = *v, .dev = fake_key(GPU) };
		struct err err = { 0 };
		size_t i = 0;
		int rc;

		if (!(*v)->records)
			continue;
		while (i < ARRAY_SIZE(rows) && strcmp(rows[i].verb, (*v)->name))
			i++;
		if (i == ARRAY_SIZE(rows))
			FAIL("no row for %s", (*v)->name);
		STR_COPY(step.value, rows[i].value);
		forbid_writes(true);
		rc = (*v)->learn ? (*v)->learn(w.backend, &step, 5000, &err) : 0;
		rc = rc < 0 ? rc : (*v)->run(w.backend, &step, 5000, &err);
		forbid_writes(false);
		CHECK(rc < 0 || !strncmp((*v)->name, "own", 3));
		if (!step.recorded)
			FAIL("%s has recorded nothing: %s", (*v)->name, err.text);
		CHECK_STR(step.former, rows[i].former);
		found++;
	}
	CHECK_EQ(found, ARRAY_SIZE(rows));
	fake_close(&w);
}
