/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of devices, for list and for watch. */
#ifndef CLI_LIST_H
#define CLI_LIST_H

#include <stdbool.h>

struct cli;
struct tree_device;
struct tree_inventory;
struct out;

/* Is there a device, and among those that --free, --claimed and --kind let through? */
bool list_has(const struct cli *cli, const struct tree_device *d);
/* Returns 0 or -ENOMEM. */
int list_table(const struct cli *cli, const struct tree_inventory *inv, struct out *out);

#endif
