/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes into allocated_to which pod has which device, according to kubelet's PodResources. Asks
 * after an Allocate, when a pod's directory or a device comes or goes, and every 10 s while
 * something is allocated (DESIGN.md 8) or kubelet or the set of offered devices is new. Failures
 * are retried.
 */
#ifndef PLUGIN_PODS_H
#define PLUGIN_PODS_H

#include "plugin/kubelet/devices.h"

struct err;
struct plugin;
struct pods;

/* dir: kubelet's own. */
int pods_new(struct plugin *p, const char *dir, struct pods **ret, struct err *err);
/* Stops asking. An outstanding question may be answered until pods_free(). */
void pods_stop(struct pods *pods);
void pods_free(struct pods *pods);
/* Asks soon: something was just given to a pod. */
void pods_ask(struct pods *pods);
/* The table changed. Call it with the table's lock held. */
void pods_count(struct pods *pods, const struct devices *t);

#endif
