/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vfio-pci, and the processes that have its devices open. */
#ifndef SIM_VFIO_H
#define SIM_VFIO_H

#include <stdbool.h>
#include <sys/types.h>

struct dev;
struct func;
struct sim;

int vfio_probe(struct sim *s, struct dev *d);
int vfio_remove(struct sim *s, struct dev *d);
/* Makes the nodes of a function on vfio-pci. */
void vfio_nodes(struct sim *s, const struct func *f);
bool vfio_is_open(const struct func *f);
/* -EPERM: the host has one of its functions, so an opener of the group gets no device. */
int vfio_viable(struct sim *s, int group);
int vfio_hold(struct sim *s, int group, pid_t pid, const char *comm);
int vfio_release(struct sim *s, int group);

#endif
