/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the plugin share. All of it is used in turns of the loop only. */
#ifndef PLUGIN_PLUGIN_H
#define PLUGIN_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include "pcidevfs/util.h"

#include "client/loop.h"
#include "client/mirror.h"

struct cdi;
struct devices;
struct err;
struct kubelet;
struct pods;
struct resource;
struct resources;
struct rpc;
struct rpc_call;
struct ready_cards;
struct validations;

struct plugin_options {
	const char *tree; /* the mount */
	/* kubelet's directory, with device-plugins/ and pod-resources/ */
	const char *kubelet;
	const char *dev; /* the host's /dev */
	const char *cdi; /* directory of the CDI specs; "none": no specs */
	const char *validations; /* of NVIDIA's validators; NULL: they are told nothing */
	double deadline_factor;
};

struct plugin {
	const struct plugin_options *o;
	struct loop loop;
	struct rpc *rpc;
	struct mirror *tree;
	struct resources *resources;
	struct kubelet *kubelet;
	struct pods *pods;
	struct cdi *cdi;
	struct validations *validations;
	uint64_t allocations;	    /* begun so far; numbers them */
	LIST_HEAD(, allocation) waiting; /* calls that wait for news of the tree (allocate.c) */
	struct source trim;	    /* gives free memory back to the kernel */
	struct source ready;	    /* the service manager's patience ends */
	bool told_ready;
};

/* A deadline for others, scaled by --deadline. */
static inline unsigned int plugin_deadline(const struct plugin *p, unsigned int ms)
{
	return (unsigned int)(ms * p->o->deadline_factor);
}

/* ---- allocate.c: the tree records an allocation before kubelet hears yes */
/* Both answer the call, at once or later. */
void allocate_begin(struct plugin *p, const char *resource, struct rpc_call *call,
		    const uint8_t *msg, size_t len);
void allocate_prestart(struct plugin *p, const char *resource, struct rpc_call *call,
		       const uint8_t *msg, size_t len);
/* Refuses all calls that are not answered yet. */
void allocate_stop(struct plugin *p);

/* ---- resources.c: one device-plugin server for each resource name in the tree. It appears with
 * the first usable device and goes some time after the last. */
/* dir: kubelet's plugin directory, used by us alone: sockets of a killed plugin are removed. */
int resources_new(struct plugin *p, const char *dir, struct resources **ret, struct err *err);
void resources_free(struct resources *rs);
/* The table changed, or a device became healthy. */
void resources_refresh(struct resources *rs);
/* Has the tree been lost for so long that nothing counts as known any more? If it is lost, but not
 * for so long, the timer is due then. Call it with the table's lock held. */
bool plugin_is_blind(const struct plugin *p, struct source *then);
/* Returns the next resource to register, those with allocated devices first; NULL: none now. Each
 * is returned once until resource_heard() or resources_forget(). */
struct resource *resources_unheard(struct resources *rs);
/* kubelet's answer: registered (why NULL), or refused. */
void resource_heard(struct resource *r, const char *why);
struct resource *resources_find(struct resources *rs, const char *name);
/* There is a new channel: all resources must be registered again, over sockets that kubelet has not
 * removed. started: kubelet has just started and pods wait; for a moment only the resources that
 * they wait for are registered. */
void resources_forget(struct resources *rs, bool started);

/* ---- kubelet.c: tells kubelet of every resource as soon as its socket exists, and again after
 * kubelet has forgotten it. Speed matters when kubelet starts: pods are admitted if we register
 * within about 10 ms (DESIGN.md 8). */
/* dir: the directory of kubelet.sock; it may not exist yet. */
int kubelet_new(struct plugin *p, const char *dir, struct kubelet **ret, struct err *err);
/* Stops registering. An outstanding registration may be answered until kubelet_free(). */
void kubelet_stop(struct kubelet *k);
void kubelet_free(struct kubelet *k);
/* Is the peer of fd kubelet? Also true if that cannot be found out. */
bool kubelet_is_at(const struct kubelet *k, int fd);
/* Registers resources that kubelet does not know yet. */
void kubelet_tell(struct kubelet *k);

/* ---- pods.c: writes into allocated_to which pod has which device, according to kubelet's
 * PodResources. Asks after an Allocate, when a pod's directory or a device comes or goes, and every
 * 10 s while something is allocated (DESIGN.md 8) or kubelet or the set of offered devices is new.
 * Failures are retried. */
int pods_new(struct plugin *p, struct pods **ret, struct err *err);
/* Stops asking. An outstanding question may be answered until pods_free(). */
void pods_stop(struct pods *pods);
void pods_free(struct pods *pods);
/* Asks soon: something was just given to a pod. */
void pods_ask(struct pods *pods);
/* The table changed. Call it with the table's lock held. */
void pods_count(struct pods *pods, const struct devices *t);

/* ---- validations.c: tells NVIDIA's operator what is ready, by files */
/* path: of the directory; NULL: *ret stays as it is, and nothing is told. */
int validations_new(struct plugin *p, const char *path, struct validations **ret, struct err *err);
/* The cards changed, or the tree is lost or there again. cards NULL: they are not known yet. Does
 * nothing without a v. Call it with the table's lock held. */
void validations_refresh(struct validations *v, const struct ready_cards *cards);
/* Takes the files back. */
void validations_free(struct validations *v);

/* ---- socket.c: ours, to which kubelet connects (spec/k8s.md A.4.2), and kubelet's own */
/* Returns the descriptor of dir/name, accessible to us alone, or -errno. */
int socket_bind(const char *dir, const char *name, struct err *err);
void socket_unlink(const char *dir, const char *name);
/* A peer that may be kubelet runs as root or as our user. Any other one is logged. */
bool socket_peer_allowed(int fd);
/* The pid of the peer that listened or connected. 0: unknown, or not of our pid namespace. */
pid_t socket_peer(int fd);
/* Connects to a socket of kubelet and checks the peer. Returns the descriptor or -errno. */
int socket_connect(const char *path, struct err *err);

#endif
