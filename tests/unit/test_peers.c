// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said of a device because of others in its IOMMU group. */
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "facts.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "test.h"

static enum state state_of(struct model *m, const char *name)
{
	struct key key = pci_key(name);
	enum state state;

	model_lock(m);
	state = model_find(m, &key)->state;
	model_unlock(m);
	return state;
}

static void set_pod(struct model *m, const char *name, const char *pod)
{
	struct device *d;

	model_lock(m);
	d = put_nic(m, name);
	d->facts.iommu_group = 7;
	set_node(&d->facts);
	set_driver(&d->facts, "vfio-pci");
	STR_COPY(d->intent.claim, "alice");
	STR_COPY(d->intent.allocated, pod);
	model_publish(m);
	model_unlock(m);
}

/* Whichever of the two is edited. */
DEFINE_TEST(a_device_follows_the_pod_of_its_peer)
{
	static const struct {
		const char *pod;
		enum state state;
	} rows[] = {
		{ "default/b/c", STATE_UNHEALTHY },
		{ "default/a/d", STATE_ALLOCATED },
		{ "default/b/c", STATE_UNHEALTHY },
		{ "pending", STATE_ALLOCATED },
		{ "", STATE_ALLOCATED },
	};
	void *arena = new_arena();
	struct model *m = model_on(arena, false);

	set_pod(m, "0000:01:00.0", "default/a/c");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_pod(m, "0000:01:00.1", rows[i].pod);
		CHECK_EQ(state_of(m, "0000:01:00.0"), rows[i].state);
	}
	model_free(m);
	munmap(arena, model_arena_size());
}

/* A member on a host driver counts from when it joins the group until it goes, even for a process
 * that starts in the middle of such a change. */
DEFINE_TEST(a_claimed_device_follows_its_peers)
{
	static const int32_t groups[] = { -1, 7, 9, 7 };
	struct key edu = pci_key("0000:01:00.0");
	void *arena = new_arena();
	struct model *m = model_on(arena, false);
	struct device *d;

	model_lock(m);
	model_set_iommu(m, true);
	d = put_nic(m, "0000:01:00.0");
	d->caps = CAP_PCI | CAP_CLAIM;
	d->facts.iommu_group = 7;
	set_node(&d->facts);
	set_driver(&d->facts, "vfio-pci");
	STR_COPY(d->intent.claim, "alice");
	d = put_nic(m, "0000:01:00.1");
	set_driver(&d->facts, "e1000");
	model_publish(m);
	model_unlock(m);
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		model_lock(m);
		/* Whichever is edited first. */
		if (i % 2)
			model_edit(m, &edu, false);
		put_nic(m, "0000:01:00.1")->facts.iommu_group = groups[i];
		model_publish(m);
		model_unlock(m);
		CHECK_EQ(state_of(m, "0000:01:00.0"),
			 groups[i] == 7 ? STATE_UNHEALTHY : STATE_CLAIMED);
	}
	model_lock(m);
	((struct device *)model_find(m, &edu))->state = STATE_CLAIMED;
	model_unlock(m);
	model_free(m);
	m = model_on(arena, true);
	CHECK_EQ(state_of(m, "0000:01:00.0"), STATE_UNHEALTHY);
	model_free(m);
	munmap(arena, model_arena_size());
}
