/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine with an IOMMU group of two and a NIC with a VF, and what is asked of the way of
 * claiming by VFIO there. */
#ifndef PCIDEVFS_FAKEGROUP_H
#define PCIDEVFS_FAKEGROUP_H

#include "facts.h"
#include "test.h"

#include <string.h>

#include "backend/vfio/vfio.h"
#include "fakepci.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

#define GPU "0000:3b:00.0"
#define AUDIO "0000:3b:00.1"
#define BRIDGE "0000:3a:00.0"
#define PF "0000:02:00.0"
#define VF "0000:02:10.0"
#define LONE "0000:00:1f.0"

/* A GPU, its audio function and the bridge above them in group 41; a NIC with a VF; a device
 * without a group. */
static inline struct world_fake server(void)
{
	fake_machine();
	fake_add(&(struct fake){ GPU, "0x10de\n", "0x25b6\n", "0x030200\n", "nvidia", 41 });
	fake_add(&(struct fake){ AUDIO, "0x10de\n", "0x228e\n", "0x040300\n", NULL, 41 });
	fake_add(&(struct fake){ BRIDGE, "0x8086\n", "0x2030\n", "0x060400\n", "pcieport", 41 });
	fake_add(&(struct fake){ PF, "0x8086\n", "0x10c9\n", "0x020000\n", "igb", 5 });
	fake_add(&(struct fake){ VF, "0x8086\n", "0x10ca\n", "0x020000\n", "igbvf", 6 });
	fake_add(&(struct fake){ LONE, "0x8086\n", "0x0001\n", "0x078000\n", NULL, -1 });
	fake_virtfn(PF, 0, VF);
	return fake_open();
}

static inline struct request request_of(const char *address, const char *value, bool force)
{
	struct request w = fake_request(address, 0, "claim", value);

	w.force = force;
	return w;
}

static inline const struct method *claim_of(struct world_fake *w)
{
	struct request request = request_of(GPU, "", false);

	return method_find(backend_methods(w->backend), &request);
}

static inline const char *plan_of(struct world_fake *w, const char *address, const char *value, bool force)
{
	struct request request = request_of(address, value, force);

	return fake_plan(w, &request, 1, false);
}

static inline void to_vfio(struct device *dev)
{
	set_driver(&dev->facts, "vfio-pci");
	set_node(&dev->facts);
}

static inline void by_persistenced(struct device *dev)
{
	STR_COPY(dev->facts.holder, "pid=7 comm=nvidia-persiste");
}

static inline void by_root(struct device *dev)
{
	STR_COPY(dev->facts.critical, "disk nvme0n1p2 is mounted on /");
}

static inline void from_nvidia(struct device *dev)
{
	former_set(dev->intent.former, "driver", "nvidia");
	dev->intent.former_known = true;
}

static inline void from_igbvf(struct device *dev)
{
	former_set(dev->intent.former, "driver", "igbvf");
	dev->intent.former_known = true;
}

static inline void from_none(struct device *dev)
{
	dev->intent.former_known = true;
}

static inline void claimed(struct world_fake *w)
{
	fake_edit(w, GPU, to_vfio);
	fake_edit(w, AUDIO, to_vfio);
	fake_edit(w, GPU, fake_by_alice);
	fake_edit(w, AUDIO, fake_by_alice);
	fake_edit(w, GPU, from_nvidia);
	fake_edit(w, AUDIO, from_none);
}

static inline int call(struct world_fake *w,
		int (*fn)(struct model *, struct device *, const struct request *, struct err *),
		const char *address, const char *value, struct err *err)
{
	struct request request = request_of(address, value, false);
	int rc;

	model_lock(w->model);
	rc = fn(w->model, model_edit(w->model, &request.dev, false), &request, err);
	model_publish(w->model);
	model_unlock(w->model);
	return rc;
}

static inline struct intent want_of(struct world_fake *w, const char *address)
{
	struct key key = fake_key(address);
	struct intent intent;

	model_lock(w->model);
	intent = model_find(w->model, &key)->intent;
	model_unlock(w->model);
	return intent;
}

#endif
