/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocate and PreStartContainer. The tree records an allocation before kubelet hears yes. */
#ifndef PLUGIN_ALLOCATE_H
#define PLUGIN_ALLOCATE_H

#include <stddef.h>
#include <stdint.h>

struct plugin;
struct rpc_call;

/* Both answer the call, at once or later. */
void allocate_begin(struct plugin *p, const char *resource, struct rpc_call *call,
		    const uint8_t *msg, size_t len);
void allocate_prestart(struct plugin *p, const char *resource, struct rpc_call *call,
		       const uint8_t *msg, size_t len);
/* Refuses all calls that are not answered yet. */
void allocate_stop(struct plugin *p);

#endif
