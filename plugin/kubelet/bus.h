/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the buses differ for kubelet: one row each. Pure. */
#ifndef PLUGIN_BUS_H
#define PLUGIN_BUS_H

#include <stdbool.h>
#include <stddef.h>

struct dev;
struct out;

struct bus_row {
	const char *prefix;    /* of the id in inventory; kubelet's id lacks it */
	const char *directory; /* of the tree */
	const char *variable;  /* that KubeVirt reads: <variable>_RESOURCE_<NAME> */
	bool by_uuid;	       /* the id for kubelet is the mediated device's (mdev_uuid) */
	/* Prints the device for that variable; false: it cannot be told now. NULL: kubelet's id. */
	bool (*value)(const struct dev *d, struct out *o);
};

/* The i-th row, or NULL. */
const struct bus_row *bus_at(size_t i);
const struct bus_row *bus_of(const struct dev *d);

#endif
