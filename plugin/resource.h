/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One resource: its device-plugin server, and who listens. Its coming and going is resources.c'. */
#ifndef PLUGIN_RESOURCE_H
#define PLUGIN_RESOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include "pcidevfs/util.h"

#include "client/loop.h"

struct dev;
struct err;
struct plugin;
struct resources;
struct rpc_call;
struct rpc_server;

enum { STREAMS_MAX = 16 }; /* kubelet has one; a debugging client may look on */

struct resource {
	struct plugin *p;
	struct resources *all;
	struct resource *next;
	char *name;
	struct rpc_server *server;
	struct source listen;
	char socket[48];
	struct rpc_call *streams[STREAMS_MAX];
	size_t n_streams;
	struct rpc_call *main;	    /* kubelet's among them: begun after it was told */
	struct out list;	    /* as it was last sent */
	struct dev *const *devices; /* offered by it; while resources_refresh() runs */
	size_t n_devices;
	bool wanted; /* some device is offered by it */
	bool ended;  /* none, and kubelet has been told so for long enough */
	/* 2: one is allocated, 1: a pod was given one, or one of its group, 0: neither. */
	unsigned int hurry;
	bool telling, heard; /* kubelet is being told; it said yes */
	struct source again; /* the next try with kubelet */
	struct source end;   /* nothing is offered by it: when it goes */
	unsigned int pause;
	uint64_t since;	    /* ms: when kubelet began to listen */
	unsigned int brief; /* times in a row that it did so for no time worth the name */
	char *refused;	    /* why it could not be told, as the log has it; NULL: it could */
};

/* Makes its server; `list` goes to whoever begins to listen. */
int resource_serve(struct resource *r, struct err *err);
/* Ends kubelet's stream, if there is one: it is to listen anew. */
void resource_hang_up(struct resource *r, const char *why);
/* Is that another reason than the last, which the log has? It is the last one then. */
bool resource_is_news(struct resource *r, const char *why);
/* kubelet is told again, the later the more often that was in vain. */
void resource_again(struct resource *r);

#endif
