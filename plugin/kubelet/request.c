// SPDX-License-Identifier: GPL-2.0-or-later
/* The requests of kubelet, and whether they can be granted (answer.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#include "answer.h"
#include "deviceplugin.pb-c.h"

int request_size(size_t containers, size_t ids, struct err *err)
{
	if (containers <= IDS_MAX && ids <= IDS_MAX)
		return 0;
	return fail(err, EINVAL,
		    "%zu devices for %zu containers are asked for at once; at most %d can be", ids,
		    containers, IDS_MAX);
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* kubelet passes ids in no order. They are sorted so that a VM's devices keep their places. */
static int add_container(struct kubelet_request *r, char **ids, size_t n, struct err *err)
{
	r->v[r->n++] = (struct container){ ids, n };
	if (!n)
		return fail(err, EINVAL, "a request for no device");
	qsort(ids, n, sizeof(*ids), compare_ids);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(ids[i - 1], ids[i]))
			return fail(err, EINVAL, "device %.80s is asked for twice", ids[i]);
	return 0;
}

/* msg is the request's from then on. */
static int start_request(struct kubelet_request *r, ProtobufCMessage *msg, size_t containers,
			 size_t ids, struct err *err)
{
	int e = request_size(containers, ids, err);

	*r = (struct kubelet_request){ .msg = msg };
	if (!e && !containers)
		return fail(err, EINVAL, "a request for no container");
	if (!e && !(r->v = calloc(containers, sizeof(*r->v))))
		return fail_nomem(err);
	return e;
}

/* Gives the request to the caller if e is 0, else frees it. Returns e. */
static int hand_over(int e, struct kubelet_request *r, struct kubelet_request *ret)
{
	if (e)
		request_free(r);
	else
		*ret = *r;
	return e;
}

int request_allocate(const uint8_t *msg, size_t len, struct kubelet_request *ret, struct err *err)
{
	V1beta1__AllocateRequest *q = v1beta1__allocate_request__unpack(NULL, len, msg);
	struct kubelet_request r;
	size_t ids = 0;
	int e;

	if (!q)
		return fail(err, EINVAL, "not an AllocateRequest");
	for (size_t i = 0; i < q->n_container_requests; i++)
		ids += q->container_requests[i]->n_devices_ids;
	e = start_request(&r, &q->base, q->n_container_requests, ids, err);
	for (size_t i = 0; !e && i < q->n_container_requests; i++)
		e = add_container(&r, q->container_requests[i]->devices_ids,
				  q->container_requests[i]->n_devices_ids, err);
	return hand_over(e, &r, ret);
}

int request_prestart(const uint8_t *msg, size_t len, struct kubelet_request *ret, struct err *err)
{
	V1beta1__PreStartContainerRequest *q =
		v1beta1__pre_start_container_request__unpack(NULL, len, msg);
	struct kubelet_request r;
	int e;

	if (!q)
		return fail(err, EINVAL, "not a PreStartContainerRequest");
	e = start_request(&r, &q->base, 1, q->n_devices_ids, err)
		    ?: add_container(&r, q->devices_ids, q->n_devices_ids, err);
	return hand_over(e, &r, ret);
}

void request_free(struct kubelet_request *r)
{
	free(r->v);
	protobuf_c_message_free_unpacked(r->msg, NULL);
	*r = (struct kubelet_request){ 0 };
}

/* NULL: no more. */
static const char *next_id(const struct kubelet_request *r, struct request_at *at)
{
	while (at->container < r->n && at->id == r->v[at->container].n)
		*at = (struct request_at){ .container = at->container + 1 };
	return at->container < r->n ? r->v[at->container].ids[at->id++] : NULL;
}

struct dev *request_dev(const struct devices *t, const char *resource,
			const struct kubelet_request *r, struct request_at *at)
{
	struct dev *d = NULL;
	const char *id;

	while (!d && (id = next_id(r, at)))
		d = devices_of_kubelet(t, resource, id);
	return d;
}

int request_check(const struct devices *t, const char *resource, const struct kubelet_request *r,
		  uint64_t now, struct err *err)
{
	struct request_at at = { 0 };
	const char *id;
	char buf[512];

	while ((id = next_id(r, &at))) {
		const struct dev *d = devices_of_kubelet(t, resource, id);
		const char *why = d ? dev_sick(t, d, now, buf, sizeof(buf)) : NULL;

		if (!d || !dev_offered(d))
			return fail(err, ENODEV, "%.80s is not a device of %s", id, resource);
		if (why)
			return fail(err, EBUSY, "%s cannot be given to a pod: %s", d->id, why);
	}
	return 0;
}

int request_names(const struct devices *t, const char *resource, const struct kubelet_request *r,
		  struct err *err)
{
	struct request_at at = { 0 };
	const struct dev *d;

	while ((d = request_dev(t, NULL, r, &at)))
		if (strcmp(d->resource, resource))
			return fail(err, ENODEV,
				    "%s is called %s now, and %s only for the pod that had it "
				    "before; ask for the present name",
				    d->id, d->resource, resource);
	return 0;
}

static int refuse_moved(const struct dev *d, struct err *err)
{
	if (!d->kept[0] || !strcmp(d->kept, d->nodes))
		return 0;
	return fail(
		err, ENODEV,
		"%s was given to its pod as %s before a reboot and is %s now; delete the pod, and its "
		"next one gets those",
		d->id, d->kept, d->nodes[0] ? d->nodes : "none");
}

static int check_nodes(const struct devices *t, const struct dev *d, struct err *err)
{
	size_t n;
	struct dev *const *group = devices_group(t, d, &n);
	int e = refuse_moved(d, err);

	if (!e && !d->kept[0])
		e = fail(
			err, ENODEV,
			"it is not known which nodes the pod of %s was given; delete the pod, and "
			"its next one gets the present nodes",
			d->id);
	for (size_t i = 0; !e && i < n; i++)
		e = refuse_moved(group[i], err);
	return e;
}

int request_nodes(const struct devices *t, const char *resource, const struct kubelet_request *r,
		  struct err *err)
{
	struct request_at at = { 0 };
	const struct dev *d;
	int e = 0;

	while (!e && (d = request_dev(t, resource, r, &at)))
		e = check_nodes(t, d, err);
	return e;
}

static bool asks_for(const struct kubelet_request *r, const struct dev *d)
{
	const char *id = dev_kubelet_id(d);

	for (size_t i = 0; i < r->n; i++)
		if (bsearch(&id, r->v[i].ids, r->v[i].n, sizeof(id), compare_ids))
			return true;
	return false;
}

static int check_alone(const struct devices *t, const struct kubelet_request *r,
		       const struct dev *d, uint64_t now, struct err *err)
{
	size_t n;
	struct dev *const *group = devices_group(t, d, &n);
	char buf[1024];

	for (size_t i = 0; i < n; i++)
		if (dev_rivals(d, group[i], now) && !asks_for(r, group[i]))
			return fail(err, dev_named(d) ? EBUSY : EAGAIN,
				    "%s cannot be given to a pod: %s", d->id,
				    dev_rival_tell(d, group[i], buf, sizeof(buf)));
	return 0;
}

int request_alone(const struct devices *t, const char *resource, const struct kubelet_request *r,
		  uint64_t now, struct err *err)
{
	const struct dev *last = NULL, *d;
	struct request_at at = { 0 };
	int e = 0;

	while (!e && (d = request_dev(t, resource, r, &at))) {
		/* If a whole group is requested, its rivals are looked for once. */
		bool same = last && d->group >= 0 && d->group == last->group &&
			    !strcmp(d->allocated, last->allocated);

		if (!same)
			e = check_alone(t, r, d, now, err);
		last = d;
	}
	return e;
}
