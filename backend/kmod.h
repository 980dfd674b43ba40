/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PCIDEVFS_BACKEND_KMOD_H
#define PCIDEVFS_BACKEND_KMOD_H

/* Loads a module and its dependencies, like modprobe. Run it in a helper, because it may block.
 * Returns 0, also if it was loaded before; -EPERM if modprobe.d has a command for it (we run no
 * shell); else -errno. */
int module_load(const char *name);

#endif
