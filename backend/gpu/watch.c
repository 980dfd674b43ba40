// SPDX-License-Identifier: GPL-2.0-or-later
/* A write to current_vgpu_type by others makes no event (spec/kernel.md 6): VFs that could be vGPUs
 * are looked at again from time to time. */
#include <stdlib.h>

#include "backend/internal.h"
#include "daemons.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "world.h"

bool vgpu_watch(struct backend *b, bool now)
{
	_free_ struct touched *v = NULL;
	const struct device *dev;
	size_t pos = 0, n = 0, cap = 0;

	model_lock(b->model);
	while ((dev = model_next(b->model, &pos))) {
		struct touched *rows;

		if (!(dev->caps & CAP_VGPU) || !dev->facts.driver[0])
			continue;
		rows = more_rows(v, n, &cap, sizeof(*v));
		if (!rows)
			break;
		v = rows;
		v[n++] = (struct touched){ .key = dev->key };
	}
	model_unlock(b->model);
	if (n && now)
		look_at(b, v, n, PATIENCE_MS);
	if (n && now)
		daemons_look(b);
	return n;
}
