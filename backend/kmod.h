/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PCIDEVFS_BACKEND_KMOD_H
#define PCIDEVFS_BACKEND_KMOD_H

/* Loads a module and what it needs, as modprobe would; in a helper, for it may block. -EPERM where
 * modprobe.d gives a command for it: that is a shell's, and not run. -errno; 0 also when it was
 * there. */
int module_load(const char *name);

#endif
