// SPDX-License-Identifier: GPL-2.0-or-later
/* The driver that a device had before its claim, as who claims it tells. */
#include "fakegroup.h"

#include <errno.h>

static const char *tell(struct world_fake *w, const char *address, const char *driver,
			const char *who)
{
	const struct request requests[] = { fake_request(address, 0, "former_driver", driver),
					    request_of(AUDIO, who ?: "", false) };

	return fake_plan(w, requests, who ? 2 : 1, false);
}

static void by_vfio_of_vf(struct device *dev)
{
	set_driver(&dev->facts, "vfio-pci");
}

DEFINE_TEST(claim_is_told_the_driver_of_what_is_on_vfio)
{
	struct world_fake w = server();
	struct request told = fake_request(GPU, 0, "former_driver", "nvidia");
	const struct method *m = method_find(backend_methods(w.backend), &told);
	struct err err = { 0 };

	CHECK_IN(tell(&w, GPU, "nouveau", "alice"), "EBUSY: " GPU " is on nvidia, and not on vfio-pci");
	fake_edit(&w, GPU, to_vfio);
	fake_edit(&w, AUDIO, to_vfio);
	CHECK_IN(tell(&w, GPU, "nvidia", NULL), "EINVAL: the driver of " GPU " can only be told together");
	CHECK_IN(tell(&w, GPU, "nvidia", ""), "EINVAL: the driver of " GPU " can only be told together");
	CHECK_IN(tell(&w, GPU, "mlx5_vfio_pci", "alice"), "EINVAL: mlx5_vfio_pci is a driver for guests");
	/* Together with the claim of another member of its group. */
	CHECK_IN(tell(&w, GPU, "nvidia", "alice"), "1 " GPU " driver_override vfio-pci\n");
	CHECK_EQ(call(&w, claim_of(&w)->prepare, GPU, "alice", &err), 0);
	CHECK_EQ(call(&w, m->settle, GPU, "nvidia", &err), 0);
	CHECK_EQ(call(&w, claim_of(&w)->settle, GPU, "alice", &err), 0);
	CHECK_STR(tell(&w, GPU, "nvidia", NULL), "nothing to do\n");
	CHECK_IN(tell(&w, GPU, "nouveau", "alice"), "EBUSY: " GPU " had nvidia before its claim");
	CHECK_IN(plan_of(&w, GPU, "", false), "3 " GPU " rebind_told nvidia\n");
	/* The release may end where it began. */
	CHECK_EQ(call(&w, claim_of(&w)->settle, GPU, "", &err), 0);
	fake_close(&w);
}

static void with_long_serial(struct device *dev)
{
	memset(dev->facts.host_serial, 'S', sizeof(dev->facts.host_serial) - 1);
}

/* The claim must not be refused for ever: somebody may say of any device what was seen once. */
DEFINE_TEST(claim_is_told_a_driver_besides_the_one_that_was_seen)
{
	struct world_fake w = server();
	struct request told = fake_request(GPU, 0, "former_driver", "nouveau");
	const struct method *m = method_find(backend_methods(w.backend), &told);
	struct err err = { 0 };

	fake_edit(&w, GPU, to_vfio);
	fake_edit(&w, AUDIO, to_vfio);
	fake_edit(&w, GPU, from_nvidia);
	CHECK_IN(tell(&w, GPU, "nouveau", "alice"), "1 " GPU " driver_override vfio-pci\n");
	CHECK_EQ(call(&w, claim_of(&w)->prepare, GPU, "alice", &err), 0);
	CHECK_EQ(call(&w, m->settle, GPU, "nouveau", &err), 0);
	CHECK_EQ(call(&w, claim_of(&w)->settle, GPU, "alice", &err), 0);
	CHECK_IN(plan_of(&w, GPU, "", false), "3 " GPU " rebind nvidia\n");
	CHECK_IN(tell(&w, GPU, "nouveau", "alice"), "EBUSY: " GPU " had nvidia before its claim");
	fake_close(&w);
}

/* Before the first step. */
DEFINE_TEST(claim_is_told_no_driver_that_there_is_no_room_for)
{
	static const char longest[] = "01234567890123456789012345678901234567890123456";
	struct world_fake w = server();

	fake_edit(&w, GPU, to_vfio);
	fake_edit(&w, GPU, with_long_serial);
	CHECK_IN(tell(&w, GPU, "nvidia", "alice"), " driver_override vfio-pci\n");
	CHECK_IN(tell(&w, GPU, longest, "alice"), "E2BIG: there is no room for the name 0123");
	fake_close(&w);
}

/* An override makes a driver take whatever the device is: it names none that somebody told. */
DEFINE_TEST(claim_of_a_vf_gives_no_override_to_a_told_driver)
{
	struct world_fake w = server();
	struct request told = fake_request(VF, 0, "former_driver", "e1000");
	const struct method *m = method_find(backend_methods(w.backend), &told);
	struct err err = { 0 };

	fake_edit(&w, VF, by_vfio_of_vf);
	CHECK_EQ(call(&w, claim_of(&w)->prepare, VF, "alice", &err), 0);
	CHECK_EQ(call(&w, m->settle, VF, "e1000", &err), 0);
	fake_edit(&w, VF, fake_by_alice);
	CHECK_STR(plan_of(&w, VF, "", false), "1 " VF " unbind vfio-pci\n"
					      "2 " VF " driver_override none\n"
					      "3 " VF " rebind_told e1000\n");
	/* What was seen counts more. */
	fake_edit(&w, VF, from_igbvf);
	CHECK_IN(plan_of(&w, VF, "", false), " rebind igbvf\n");
	fake_close(&w);
}
