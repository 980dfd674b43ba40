/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which pod has which device, as kubelet's PodResources tells, written into allocated_to: after an
 * Allocate, when a pod's directory or a device comes or goes, and every 10 s while something is
 * allocated (DESIGN.md 8) or what is offered, or kubelet, is new. What failed is tried again.
 */
#ifndef PLUGIN_PODS_H
#define PLUGIN_PODS_H

#include "plugin/kubelet/devices.h"

struct err;
struct plugin;
struct pods;

/* dir: kubelet's own. */
int pods_new(struct plugin *p, const char *dir, struct pods **ret, struct err *err);
/* It asks nothing more; what it had asked may be answered until it is freed. */
void pods_stop(struct pods *pods);
void pods_free(struct pods *pods);
/* Something was given to a pod just now. */
void pods_ask(struct pods *pods);
/* The table changed; with its lock held. */
void pods_count(struct pods *pods, const struct devices *t);

#endif
