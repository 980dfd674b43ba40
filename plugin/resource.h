/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One resource: its device-plugin server and its listeners. resources.c makes and ends it. */
#ifndef PLUGIN_RESOURCE_H
#define PLUGIN_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include "pcidevfs/util.h"

#include "client/loop.h"

struct dev;
struct err;
struct plugin;
struct resources;
struct rpc_call;
struct rpc_server;

enum { STREAMS_MAX = 16 }; /* kubelet has one; debugging clients may listen too */

struct resource {
	struct plugin *p;
	struct resources *all;
	LIST_ENTRY(resource) next;
	char *name;
	struct rpc_server *server;
	struct source listen;
	char socket[48];
	struct rpc_call *streams[STREAMS_MAX];
	size_t n_streams;
	struct rpc_call *main;	    /* kubelet's stream: the one begun after we registered */
	struct out list;	    /* the last one sent */
	struct dev *const *devices; /* offered by it; valid while resources_refresh() runs */
	size_t n_devices;
	bool wanted; /* a device is offered by it */
	bool ended;  /* no device, and kubelet has known that for long enough */
	/* 2: a device is allocated; 1: one, or a member of its group, was given to a pod; 0:
	 * neither. */
	unsigned int hurry;
	bool telling, heard; /* registration runs; kubelet said yes */
	struct source again; /* the next try to register */
	struct source end;   /* when it ends, if nothing is offered */
	unsigned int pause;
	uint64_t since;	    /* ms: when kubelet began to listen */
	unsigned int brief; /* consecutive streams that ended almost at once */
	char *refused;	    /* the last logged reason of a failed registration; NULL: none */
};

/* Makes its server. A new listener gets `list`. */
int resource_serve(struct resource *r, struct err *err);
/* Ends kubelet's stream, if any: kubelet must open it again. */
void resource_hang_up(struct resource *r, const char *why);
/* Returns true if the reason differs from the last one, which is in the log. Stores it. */
bool resource_is_news(struct resource *r, const char *why);
/* Registers again later; the pause grows with each failure. */
void resource_again(struct resource *r);

#endif
