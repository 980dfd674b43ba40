/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A device-plugin server for each resource name that the tree has: it comes with the first usable
 * device and goes some time after the last.
 */
#ifndef PLUGIN_RESOURCES_H
#define PLUGIN_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct plugin;
struct resource;
struct resources;

/* dir: kubelet's plugin directory, which is ours alone: sockets that a killed one of us left go. */
int resources_new(struct plugin *p, const char *dir, struct resources **ret, struct err *err);
void resources_free(struct resources *rs);
/* The table of devices changed, or somebody gets well. */
void resources_refresh(struct resources *rs);

/* The next one that kubelet is to hear of, those with allocated devices first; NULL: none now. Each
 * is told once until resource_heard() or resources_forget(). */
struct resource *resources_unheard(struct resources *rs);
/* kubelet said: it has it (why NULL), or not. */
void resource_heard(struct resource *r, const char *why);
/* Nobody heard it: kubelet went away. */
void resource_untold(struct resource *r);
const char *resource_name(const struct resource *r);
const char *resource_socket(const struct resource *r); /* its name in kubelet's directory */
struct resource *resources_find(struct resources *rs, const char *name);
/* Another channel: all are to be told of again, over sockets that kubelet has not removed. started:
 * a kubelet that has just started, where pods wait; for a moment what they wait for is told
 * alone. */
void resources_forget(struct resources *rs, bool started);

#endif
