/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The group that may write every device's files. */
#ifndef PCIDEVFS_GROUP_H
#define PCIDEVFS_GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#define GROUP_NAME "pcidevfs"
#define GROUP_DIR "/etc"
#define GROUP_FILE "group"

/* Its gid; 0: there is none. Reads the file directly: the name service would take a third of our
 * memory, or ask the network. */
gid_t group_find(void);

#endif
