/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the buses differ in for kubelet: a row each. Pure. */
#ifndef PLUGIN_BUS_H
#define PLUGIN_BUS_H

#include <stddef.h>

struct dev;

struct bus_row {
	const char *prefix;    /* of the id in inventory; kubelet knows a device without it */
	const char *directory; /* of the tree */
	const char *variable;  /* in which KubeVirt looks for it: <variable>_RESOURCE_<NAME> */
};

/* The i-th, or NULL. */
const struct bus_row *bus_at(size_t i);
const struct bus_row *bus_of(const struct dev *d);

#endif
