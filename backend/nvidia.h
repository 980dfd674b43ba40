/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PCIDEVFS_BACKEND_NVIDIA_H
#define PCIDEVFS_BACKEND_NVIDIA_H

#include <stdbool.h>

struct facts;

/* A GPU whose VFs only NVIDIA's own tool makes: its driver refuses sriov_numvfs. */
bool nvidia_makes_vfs(const struct facts *f);

#endif
