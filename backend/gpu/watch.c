// SPDX-License-Identifier: GPL-2.0-or-later
/* A write to current_vgpu_type by others makes no event (spec/kernel.md 6), nor does a driver that
 * begins to list types: VFs that could be vGPUs are looked at again from time to time. */
#include <stdlib.h>

#include "backend/internal.h"
#include "daemons.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "types.h"
#include "world.h"

/* What is stored of it waits, perhaps for NVIDIA's daemons, which come after the driver. */
static bool is_awaited(struct model *m, const struct device *dev)
{
	return dev->unmet[0] && !dev->facts.profile_id[0] && !types_any(m, dev);
}

bool vgpu_watch(struct backend *b, bool now)
{
	_free_ struct touched *v = NULL;
	const struct device *dev;
	size_t pos = 0, n = 0, cap = 0;
	bool any = false;

	model_lock(b->model);
	while ((dev = model_next(b->model, &pos))) {
		struct touched *rows;

		if (!(dev->caps & CAP_VGPU) || !dev->facts.driver[0])
			continue;
		any = true;
		if (!now && !is_awaited(b->model, dev))
			continue;
		rows = more_rows(v, n, &cap, sizeof(*v));
		if (!rows)
			break;
		v = rows;
		v[n++] = (struct touched){ .key = dev->key };
	}
	model_unlock(b->model);
	if (n)
		look_at(b, v, n, PATIENCE_MS);
	if (any && now)
		daemons_look(b);
	return any;
}
