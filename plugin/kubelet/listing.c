// SPDX-License-Identifier: GPL-2.0-or-later
#include "listing.h"

#include <errno.h>
#include <string.h>

#include "podresources.pb-c.h"

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* A device of a container in kubelet's list. */
struct listed {
	const char *id, *resource, *container;
	const V1__PodResources *pod;
	size_t i; /* position in the list: if an id comes twice, the first counts */
};

static int by_id(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	int r = strcmp(x->id, y->id);

	return r ? r : (x->i > y->i) - (x->i < y->i);
}

static int to_id(const void *row, const void *id)
{
	return strcmp(((const struct listed *)row)->id, id);
}

static bool add_listed(struct listing *l, const V1__PodResources *pod,
		       const V1__ContainerResources *c)
{
	for (size_t i = 0; i < c->n_devices; i++)
		for (size_t j = 0; j < c->devices[i]->n_device_ids; j++) {
			struct listed *rows = more_rows(l->rows, l->n, &l->cap, sizeof(*rows));

			if (!rows)
				return false;
			l->rows = rows;
			rows[l->n] =
				(struct listed){ c->devices[i]->device_ids[j],
						 c->devices[i]->resource_name, c->name, pod, l->n };
			l->n++;
		}
	return true;
}

void listing_given(struct dev *d, uint64_t at)
{
	d->given_at = at;
	d->seen = 0;
}

/* Sorts the devices by id, so that the table is locked only for fast searches. */
int listing_read(struct listing *l, const uint8_t *msg, size_t len)
{
	V1__ListPodResourcesResponse *list =
		v1__list_pod_resources_response__unpack(NULL, len, msg);

	l->list = list;
	if (!list)
		return -EINVAL;
	for (size_t i = 0; i < list->n_pod_resources; i++)
		for (size_t j = 0; j < list->pod_resources[i]->n_containers; j++)
			if (!add_listed(l, list->pod_resources[i],
					list->pod_resources[i]->containers[j]))
				return -ENOMEM;
	if (l->n)
		qsort(l->rows, l->n, sizeof(l->rows[0]), by_id);
	return 0;
}

static bool is_name(const char *text)
{
	return *text && !text[strspn(text, NAME_CHARS)];
}

/* The pod that has the device, looked up by id alone, because its resource may have been renamed
 * since. "": no pod; NULL: the pod's name cannot be written in a line. */
static const char *pod_of(struct listing *l, struct dev *d, char *buf, size_t size)
{
	const char *id = dev_kubelet_id(d);
	const struct listed *row =
		l->rows + rows_first(l->rows, l->n, sizeof(*l->rows), id, to_id);

	if (row == l->rows + l->n || strcmp(row->id, id))
		return "";
	if (!is_name(row->pod->namespace_) || !is_name(row->pod->name) ||
	    !is_name(row->container) ||
	    (size_t)snprintf(buf, size, "%s/%s/%s", row->pod->namespace_, row->pod->name,
			     row->container) >= size)
		return NULL;
	l->changed |= dev_given(d, row->resource);
	return buf;
}

/* allocated: namespace/pod/container, or "pending". Returns NULL if there is no memory; the next
 * list then retries. */
static struct batch *batch_of(struct listing *l, const char *allocated)
{
	const char *slash = strrchr(allocated, '/');
	size_t n = slash ? (size_t)(slash - allocated) : strlen(allocated);
	struct batch *b = l->batches;

	while (b && (strncmp(b->pod, allocated, n) || b->pod[n]))
		b = b->next;
	if (!b && (b = calloc(1, sizeof(*b)))) {
		snprintf(b->pod, sizeof(b->pod), "%.*s", (int)n, allocated);
		b->next = l->batches;
		l->batches = b;
	}
	return b;
}

static bool is_over(const struct listing *l, const struct dev *d)
{
	if (!strcmp(d->allocated, "pending") &&
	    (!d->pending_at || l->now <= d->pending_at + l->pending_ms))
		return false;
	return d->seen == l->kubelet || l->is_forgotten(l->ctx, dev_kubelet_id(d));
}

/* Does the tree already say so? If it forgot an ended pod, the device's old name may be left. */
static bool is_told(const struct dev *d, const char *pod)
{
	return !strcmp(pod, d->allocated) && (pod[0] || !strcmp(dev_resource(d), d->resource));
}

static void settle_one(struct listing *l, struct dev *d)
{
	char buf[ALLOCATED_MAX];
	const char *pod;
	struct batch *b;

	if (d->given_at >= l->asked)
		/* kubelet was asked before this Allocate: the list is about the previous pod */
		return;
	pod = pod_of(l, d, buf, sizeof(buf));
	l->odd += !pod;
	if (!pod || pod[0])
		d->seen = l->kubelet;
	if (!pod)
		return;
	if (is_told(d, pod) || !strncmp(d->allocated, "claim:", 6))
		return;
	if (!pod[0] && !is_over(l, d))
		return;
	b = batch_of(l, pod[0] ? pod : d->allocated);
	if (!b)
		return;
	if (!pod[0])
		b->ends = true;
	else if (dev_named(d))
		out_printf(&b->clear, "%s/allocated_to none\n", d->id);
	out_printf(&b->set, "%s/allocated_to %s\n", d->id, pod[0] ? pod : "none");
}

/* The device is gone, so the tree needs no line. Returns true if its pod is over. */
static bool settle_gone(struct listing *l, struct dev *d)
{
	char buf[ALLOCATED_MAX];
	const char *pod = pod_of(l, d, buf, sizeof(buf));

	if (!pod || pod[0])
		d->seen = l->kubelet;
	return pod && !pod[0] && d->given_at < l->asked && is_over(l, d);
}

void listing_settle(struct listing *l, struct devices *t)
{
	for (size_t i = t->n; i-- > 0;)
		if (t->v[i]->gone && settle_gone(l, t->v[i])) {
			devices_forget(t, t->v[i]->id);
			l->changed = true;
		} else if (dev_offered(t->v[i])) {
			settle_one(l, t->v[i]);
		}
}

void listing_free(struct listing *l)
{
	while (l->batches) {
		struct batch *b = l->batches;

		l->batches = b->next;
		out_free(&b->clear);
		out_free(&b->set);
		free(b);
	}
	free(l->rows);
	if (l->list)
		v1__list_pod_resources_response__free_unpacked(l->list, NULL);
}
