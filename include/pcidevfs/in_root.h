/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below another root directory, such as that of a driver in a container. */
#ifndef PCIDEVFS_IN_ROOT_H
#define PCIDEVFS_IN_ROOT_H

#include <stdbool.h>

/* Opens it with O_PATH; a link may lead to another place below the root, never out of it. Returns
 * -1 with errno. */
int open_in_root(int root, const char *path);
/* Does it belong to root, and can nobody else write it? */
bool only_roots(int fd);

#endif
