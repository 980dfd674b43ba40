// SPDX-License-Identifier: GPL-2.0-or-later
#include "nvidia.h"

#include "pcidevfs/device.h"

#define VENDOR_NVIDIA 0x10de
#define CLASS_DISPLAY 0x03

bool nvidia_makes_vfs(const struct facts *f)
{
	return f->vendor == VENDOR_NVIDIA && f->class_code >> 16 == CLASS_DISPLAY && f->total_vfs >= 0;
}
