/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vfio-pci, and the processes that have its devices open. */
#ifndef SIM_VFIO_H
#define SIM_VFIO_H

#include <stdbool.h>
#include <sys/types.h>

struct dev;
struct sim;

/* vfio-pci's, whose remove is vfio_unregister(). */
int vfio_pci_probe(struct sim *s, struct dev *d);
/* Makes it a VFIO device, by any driver. It must be in a group. */
int vfio_register(struct sim *s, struct dev *d);
/* Waits while a VMM has it. */
int vfio_unregister(struct sim *s, struct dev *d);
/* Makes the nodes of a VFIO device. */
void vfio_nodes(struct sim *s, const struct dev *d);
bool vfio_is_open(const struct dev *d);
/* -EPERM: the host has one of its functions, so an opener of the group gets no device; -ENXIO: its
 * driver has no device for him. */
int vfio_viable(struct sim *s, int group);
int vfio_hold(struct sim *s, int group, pid_t pid, const char *comm);
int vfio_release(struct sim *s, int group);

#endif
