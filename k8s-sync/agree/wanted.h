/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which devices have an object of which kind, and which never get one. Pure. */
#ifndef SYNC_WANTED_H
#define SYNC_WANTED_H

#include "kinds.h"
#include "pcidevfs/err.h"

bool wanted_pci(const struct world *w, const struct inv_dev *d);
bool wanted_gpu(const struct world *w, const struct inv_dev *d);
bool wanted_vgpu(const struct world *w, const struct inv_dev *d);

#endif
