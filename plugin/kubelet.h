/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registration: kubelet is told of every resource as soon as its socket is there, and again when it
 * forgets. Its start decides about pods: registered within about 10 ms they are admitted (DESIGN.md
 * 8).
 */
#ifndef PLUGIN_KUBELET_H
#define PLUGIN_KUBELET_H

#include <stdbool.h>

struct err;
struct kubelet;
struct plugin;

/* dir: where kubelet.sock is, or will be; it may be absent. */
int kubelet_new(struct plugin *p, const char *dir, struct kubelet **ret, struct err *err);
/* It tells nothing more; what it had asked may be answered until it is freed. */
void kubelet_stop(struct kubelet *k);
void kubelet_free(struct kubelet *k);
/* Is it kubelet who connected? Anybody may be, where that cannot be told. */
bool kubelet_is_at(const struct kubelet *k, int fd);
/* There may be a resource that it does not know. */
void kubelet_tell(struct kubelet *k);

#endif
