/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI drivers, and the rules of the PCI core for them. */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include <stdbool.h>

struct driver;
struct func;
struct sim;

struct driver *driver_find(struct sim *s, const char *name);
struct driver *driver_get(struct sim *s, const char *name);
int driver_alias(struct driver *d, const char *pattern);
const char *driver_name(const struct driver *d);
/* The rules of the PCI core; the function's lock is held. */
int driver_bind(struct sim *s, struct driver *d, struct func *f);
int driver_attach_recorded(struct sim *s, struct func *f);
void driver_probe_all(struct sim *s, struct func *f);
int driver_release(struct sim *s, struct func *f);
/* -ENOENT: no driver, or one without SR-IOV. */
int driver_sriov(const struct driver *d);
/* Does it drive a function in a group that somebody holds? */
bool driver_own_dma(const struct driver *d);
void driver_build(struct sim *s);

#endif
