/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registration: tells kubelet of every resource as soon as its socket exists, and again after
 * kubelet has forgotten it. Speed matters when kubelet starts: pods are admitted if we register
 * within about 10 ms (DESIGN.md 8). */
#ifndef PLUGIN_KUBELET_H
#define PLUGIN_KUBELET_H

#include <stdbool.h>

struct err;
struct kubelet;
struct plugin;

/* dir: the directory of kubelet.sock; it may not exist yet. */
int kubelet_new(struct plugin *p, const char *dir, struct kubelet **ret, struct err *err);
/* Stops registering. An outstanding registration may be answered until kubelet_free(). */
void kubelet_stop(struct kubelet *k);
void kubelet_free(struct kubelet *k);
/* Is the peer of fd kubelet? Also true if that cannot be found out. */
bool kubelet_is_at(const struct kubelet *k, int fd);
/* Registers resources that kubelet does not know yet. */
void kubelet_tell(struct kubelet *k);

#endif
