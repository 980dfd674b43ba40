/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the serving processes listen to, and the holder keeps open from one to the next. */
#ifndef FS_EARS_H
#define FS_EARS_H

#include <stdint.h>

struct daemon_options;

/* Each returns a descriptor that does no harm where there is none; -1 and errno: not even that. */
int ears_nodes(void);
/* Before rights are given up. *ret_error: -errno, or 0. */
int ears_log(const struct daemon_options *o, int32_t *ret_error);

#endif
