/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the plugin share. Everything is touched in turns of the loop alone. */
#ifndef PLUGIN_PLUGIN_H
#define PLUGIN_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include "pcidevfs/util.h"

#include "client/loop.h"
#include "client/mirror.h"

struct cdi;
struct kubelet;
struct pods;
struct resources;
struct rpc;
struct start;

struct options {
	const char *tree; /* the mount */
	/* Kubelet's directory: device-plugins/ and pod-resources/ lie below it. */
	const char *kubelet;
	const char *dev; /* where /dev is on the host */
	const char *cdi; /* where CDI specs go; "none": nowhere */
	double deadline_factor;
};

struct plugin {
	const struct options *o;
	struct loop loop;
	struct rpc *rpc;
	struct mirror *tree;
	struct resources *resources;
	struct kubelet *kubelet;
	struct pods *pods;
	struct cdi *cdi;
	uint64_t allocations;	    /* that were begun */
	struct start *starts;	    /* of containers, that are not answered yet (allocate.c) */
	struct allocation *waiting; /* for news of the tree (allocate.c) */
	struct source trim;	    /* when what is free goes back to the kernel (main.c) */
};

/* Its table is a struct devices. */
extern const struct mirror_table plugin_table;

enum { TRIM_MS = 5000 };

/* Much was in use for a moment: once that is over it is given back. */
static inline void plugin_trim_later(struct plugin *p)
{
	p->trim.at = now_ms() + TRIM_MS;
}

/* How long others have for something, as --deadline scales it. */
static inline unsigned int plugin_deadline(const struct plugin *p, unsigned int ms)
{
	return (unsigned int)(ms * p->o->deadline_factor);
}

#endif
