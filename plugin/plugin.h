/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the parts of the plugin. Everything is used in turns of the loop only. */
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
	/* kubelet's directory, with device-plugins/ and pod-resources/ */
	const char *kubelet;
	const char *dev; /* the host's /dev */
	const char *cdi; /* directory of the CDI specs; "none": no specs */
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
	uint64_t allocations;	    /* begun so far; numbers them */
	struct start *starts;	    /* containers whose start is not answered yet (allocate.c) */
	struct allocation *waiting; /* allocations that wait for news of the tree (allocate.c) */
	struct source trim;	    /* gives free memory back to the kernel (main.c) */
};

/* The mirror's table is a struct devices. */
extern const struct mirror_table plugin_table;

enum { TRIM_MS = 5000 };

/* Call it after a peak of memory use: what is then free is given back later. */
static inline void plugin_trim_later(struct plugin *p)
{
	p->trim.at = now_ms() + TRIM_MS;
}

/* A deadline for others, scaled by --deadline. */
static inline unsigned int plugin_deadline(const struct plugin *p, unsigned int ms)
{
	return (unsigned int)(ms * p->o->deadline_factor);
}

#endif
