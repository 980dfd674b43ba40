/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One device-plugin server for each resource name in the tree. A server appears with the first
 * usable device and goes some time after the last. */
#ifndef PLUGIN_RESOURCES_H
#define PLUGIN_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct plugin;
struct resource;
struct resources;

/* dir: kubelet's plugin directory, used by us alone: sockets of a killed plugin are removed. */
int resources_new(struct plugin *p, const char *dir, struct resources **ret, struct err *err);
void resources_free(struct resources *rs);
/* The table changed, or a device became healthy. */
void resources_refresh(struct resources *rs);

/* Returns the next resource to register, those with allocated devices first; NULL: none now. Each
 * is returned once until resource_heard() or resources_forget(). */
struct resource *resources_unheard(struct resources *rs);
/* kubelet's answer: registered (why NULL), or refused. */
void resource_heard(struct resource *r, const char *why);
/* kubelet went away without an answer. */
void resource_untold(struct resource *r);
const char *resource_name(const struct resource *r);
const char *resource_socket(const struct resource *r); /* its name in kubelet's directory */
struct resource *resources_find(struct resources *rs, const char *name);
/* There is a new channel: all resources must be registered again, over sockets that kubelet has not
 * removed. started: kubelet has just started and pods wait; for a moment only the resources that
 * they wait for are registered. */
void resources_forget(struct resources *rs, bool started);

#endif
