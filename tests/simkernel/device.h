/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record in the tree: a device that is not a PCI function, or the common part of one. */
#ifndef SIM_DEVICE_H
#define SIM_DEVICE_H

#include <stdbool.h>

struct node;
struct record;
struct sim;

bool device_is_pci(const struct record *r);
const char *base_name(const char *path);
void device_add(struct sim *s, const struct record *r);
/* dir is the directory of the record's device. */
void device_remove(struct sim *s, const struct record *r);
void device_fill(struct sim *s, struct node *dir, const struct record *r, bool pci);
void device_event(struct sim *s, const char *action, const struct record *r);
void device_modules(struct sim *s, const char *bus, const char *driver, struct node *dir);

#endif
