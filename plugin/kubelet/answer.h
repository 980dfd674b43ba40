/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the messages of kubelet's API from the table of devices and the request. Pure.
 * Messages go to `ret` as bytes; a failure is an errno and a sentence. */
#ifndef PLUGIN_ANSWER_H
#define PLUGIN_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "devices.h"

struct ProtobufCMessage;
struct err;
struct out;

/* The ids that a request names; each is of the resource and comes once. */
struct kubelet_request {
	struct container {
		char **ids;
		size_t n;
	} * v;
	size_t n;
	struct ProtobufCMessage *msg; /* owned; what the ids are in */
};

/* Limit for a whole request: others wait while it is answered. Returns -EINVAL if it is
 * larger. */
enum { IDS_MAX = 4096 };
int request_size(size_t containers, size_t ids, struct err *err);
/* Parse Allocate and PreStartContainer (one "container"). -EINVAL: not such a message, or empty. */
int request_allocate(const uint8_t *msg, size_t len, struct kubelet_request *ret, struct err *err);
int request_prestart(const uint8_t *msg, size_t len, struct kubelet_request *ret, struct err *err);
void request_free(struct kubelet_request *r);
/* Walks the devices of all containers in order, from at = { 0 } on; NULL: no more. Leaves out what
 * is not one of that resource, or, if NULL, of any. */
struct request_at {
	size_t container, id;
};
struct dev *request_dev(const struct devices *t, const char *resource,
			const struct kubelet_request *r, struct request_at *at);

/* Refuses devices that cannot be given to a pod now: -ENODEV not ours, -EBUSY with the reason. */
int request_check(const struct devices *t, const char *resource, const struct kubelet_request *r,
		  uint64_t now, struct err *err);

/* For Allocate only: -ENODEV if a device is asked for by its former name. Its old pod may still use
 * that name; a new one must not. */
int request_names(const struct devices *t, const char *resource, const struct kubelet_request *r,
		  struct err *err);

/* After a reboot kubelet uses the old answer of Allocate. Refuses if other nodes are needed now. */
int request_nodes(const struct devices *t, const char *resource, const struct kubelet_request *r,
		  struct err *err);

/* Before a container starts: no other pod may have a part of the groups. -EBUSY: one has; -EAGAIN:
 * kubelet has not reported the pod yet. */
int request_alone(const struct devices *t, const char *resource, const struct kubelet_request *r,
		  uint64_t now, struct err *err);

void answer_options(struct out *ret);
/* Lists the announced ones of v, which all have one name. blind: nothing is known of them now. */
void answer_list(const struct devices *t, struct dev *const *v, size_t n, uint64_t now, bool blind,
		 struct out *ret);
/* dev_root: the host's /dev ("/dev"); cdi: the CDI kind whose specs are written, NULL for none. */
int answer_allocate(const struct devices *t, const char *resource, const struct kubelet_request *r,
		    const char *dev_root, const char *cdi, struct out *ret, struct err *err);
int answer_preferred(const struct devices *t, const char *resource, const uint8_t *msg, size_t len,
		     struct out *ret, struct err *err);
void answer_register(const char *resource, const char *endpoint, struct out *ret);

/* KubeVirt's name for the variable: prefix, resource in capitals, '/' and '.' as '_', hyphens kept
 * (spec/peers.md 1.9). */
void answer_variable(const struct dev *d, struct out *ret);

void answer_pack(const struct ProtobufCMessage *m, struct out *ret);

#endif
