// SPDX-License-Identifier: GPL-2.0-or-later
#include "devices.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../client/record.h"
#include "pcidevfs/util.h"

static void dev_free(struct dev *d)
{
	if (!d)
		return;
	free(d->id);
	free(d->resource);
	free(d->claim);
	free(d->state);
	free(d->reason);
	free(d->nodes);
	free(d->allocated);
	free(d->kept);
	free(d->given);
	free(d);
}

/* Where it is, or would be. */
static size_t place_of(const struct devices *t, const char *id, bool *ret_there)
{
	size_t from = 0, to = t->n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		int c = strcmp(t->v[mid]->id, id);

		if (!c) {
			*ret_there = true;
			return mid;
		}
		if (c < 0)
			from = mid + 1;
		else
			to = mid;
	}
	*ret_there = false;
	return from;
}

static int number(const char *text)
{
	uint64_t n;

	return parse_u64(text, INT_MAX, &n) ? -1 : (int)n;
}

/* What of the line is kept, by the inventory's key. */
static const struct {
	const char *key;
	size_t at;
	bool number;
} fields[] = {
	{ "resource_name", offsetof(struct dev, resource), false },
	{ "claim", offsetof(struct dev, claim), false },
	{ "state", offsetof(struct dev, state), false },
	{ "reason", offsetof(struct dev, reason), false },
	{ "nodes", offsetof(struct dev, nodes), false },
	{ "allocated_to", offsetof(struct dev, allocated), false },
	{ "allocated_nodes", offsetof(struct dev, kept), false },
	{ "numa_node", offsetof(struct dev, numa), true },
	{ "iommu_group", offsetof(struct dev, group), true },
};

static int set_field(struct dev *d, const struct pair *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char *at = (char *)d + fields[i].at, *copy;

		if (strcmp(fields[i].key, p->key))
			continue;
		if (fields[i].number) {
			*(int *)at = number(p->value);
			return 0;
		}
		copy = strdup(strcmp(p->value, "none") ? p->value : "");
		if (!copy)
			return -ENOMEM;
		free(*(char **)at);
		*(char **)at = copy;
		return 0;
	}
	return 0;
}

static bool is_whole(const struct dev *d)
{
	return d->id && d->resource && d->claim && d->state && d->reason && d->nodes && d->allocated && d->kept;
}

static int dev_parse(const char *id, char *pairs, struct dev **ret)
{
	struct dev *d = calloc(1, sizeof(*d));
	struct pair p;
	int r = 1;

	if (!d)
		return -ENOMEM;
	d->numa = d->group = -1;
	d->id = strdup(id);
	for (size_t i = 0; i < ARRAY_SIZE(fields) && r == 1; i++)
		if (!fields[i].number)
			r = set_field(d, &(struct pair){ fields[i].key, "" }) ? -ENOMEM : 1;
	while (r == 1 && (r = record_next(&pairs, &p)) == 1)
		if (set_field(d, &p))
			r = -ENOMEM;
	if (!r && !is_whole(d))
		r = -ENOMEM;
	if (r)
		dev_free(d);
	else
		*ret = d;
	return r;
}

static void remove_at(struct devices *t, size_t i)
{
	t->shape++;
	dev_free(t->v[i]);
	memmove(&t->v[i], &t->v[i + 1], (t->n - i - 1) * sizeof(t->v[0]));
	t->n--;
}

static bool same_shape(const struct dev *a, const struct dev *b)
{
	return a->group == b->group && !strcmp(a->resource, b->resource) && !strcmp(a->nodes, b->nodes);
}

/* What is known of it besides the tree's line. */
static void inherit(struct devices *t, struct dev *d, struct dev *old)
{
	d->announced = old->announced;
	d->good_at = old->good_at;
	d->pending_at = old->pending_at;
	d->seen = old->seen;
	d->mate_taken = old->mate_taken;
	d->told_sick = old->told_sick;
	if (dev_allocated(d)) {
		d->given = old->given;
		old->given = NULL;
		d->keeps_name = old->keeps_name;
	}
	d->freed = dev_allocated(old) && !dev_allocated(d) ? ++t->freed : old->freed;
	t->shape += !same_shape(d, old);
}

int devices_take(struct devices *t, const char *id, char *pairs)
{
	struct dev *d;
	bool there;
	size_t i;
	int r = dev_parse(id, pairs, &d);

	if (r)
		return r;
	i = place_of(t, id, &there);
	d->here = true;
	if (there) {
		inherit(t, d, t->v[i]);
		dev_free(t->v[i]);
		t->v[i] = d;
	} else if (d->claim[0]) {
		struct dev **v = more_rows(t->v, t->n, &t->cap, sizeof(t->v[0]));

		if (!v) {
			dev_free(d);
			return -ENOMEM;
		}
		t->v = v;
		memmove(&v[i + 1], &v[i], (t->n - i) * sizeof(v[0]));
		v[i] = d;
		t->n++;
		t->shape++;
	} else {
		dev_free(d);
		return 0;
	}
	if (!t->v[i]->claim[0])
		remove_at(t, i);
	return 0;
}

void devices_drop(struct devices *t, const char *id)
{
	bool there;
	size_t i = place_of(t, id, &there);

	if (there)
		remove_at(t, i);
}

void devices_begin(struct devices *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->v[i]->here = false;
}

void devices_settle(struct devices *t)
{
	for (size_t i = t->n; i-- > 0;)
		if (!t->v[i]->here)
			remove_at(t, i);
}

void devices_free(struct devices *t)
{
	while (t->n)
		remove_at(t, t->n - 1);
	free(t->v);
	*t = (struct devices){ 0 };
}

struct dev *devices_find(const struct devices *t, const char *id)
{
	bool there;
	size_t i = place_of(t, id, &there);

	return there ? t->v[i] : NULL;
}

const char *dev_kubelet_id(const struct dev *d)
{
	const char *slash = strchr(d->id, '/');

	return slash ? slash + 1 : d->id;
}

struct dev *devices_of_kubelet(const struct devices *t, const char *resource, const char *kubelet_id)
{
	static const char *const buses[] = { "", "mdev/", "usb/" };

	for (size_t i = 0; i < ARRAY_SIZE(buses); i++) {
		char id[128];
		struct dev *d;

		if ((size_t)snprintf(id, sizeof(id), "%s%s", buses[i], kubelet_id) >= sizeof(id))
			return NULL;
		d = devices_find(t, id);
		if (d && !strcmp(dev_resource(d), resource))
			return d;
	}
	return NULL;
}

const char *dev_withheld(const struct dev *d)
{
	if (!d->claim[0])
		return "nobody claims it";
	if (!d->resource[0])
		return "it has no resource_name";
	if (!strncmp(d->id, "usb/", 4))
		return "KubeVirt takes USB devices by numbers that the tree does not tell";
	/* VMD's domains have more than four digits (tests/k8s/ground/kubevirt, case 15). */
	if (!strchr(d->id, '/') && strcspn(d->id, ":") > 4)
		return "KubeVirt takes no PCI domain above ffff";
	return NULL;
}

bool dev_offered(const struct dev *d)
{
	return !dev_withheld(d);
}

const char *dev_resource(const struct dev *d)
{
	return d->keeps_name && dev_allocated(d) ? d->given : d->resource;
}

void dev_given(struct dev *d, const char *resource, bool by_us)
{
	bool same = d->given && !strcmp(d->given, resource);
	char *copy = same ? d->given : strdup(resource);

	if (!copy)
		return;
	if (!same)
		free(d->given);
	d->given = copy;
	d->keeps_name = by_us || (same && d->keeps_name);
}

void dev_kept(const struct devices *t, struct dev *d)
{
	for (size_t i = 0; i < t->n; i++) {
		struct dev *m = t->v[i];
		char *copy = m == d || (d->group >= 0 && m->group == d->group) ? strdup(m->nodes) : NULL;

		if (!copy)
			continue;
		free(m->kept);
		m->kept = copy;
	}
}

bool dev_allocated(const struct dev *d)
{
	return d->allocated[0];
}

static bool is_with_pod(const struct dev *d)
{
	return dev_allocated(d) && strcmp(d->allocated, "pending");
}

/* A group is one pod's: two of its functions in two pods could read each other's memory. */
static const struct dev *taken_mate(const struct devices *t, const struct dev *d)
{
	for (size_t i = 0; d->mate_taken && i < t->n; i++)
		if (t->v[i] != d && t->v[i]->group == d->group && is_with_pod(t->v[i]))
			return t->v[i];
	return NULL;
}

static void mark_mates(struct devices *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->v[i]->mate_taken = false;
	for (size_t i = 0; i < t->n; i++)
		for (size_t j = 0; t->v[i]->group >= 0 && is_with_pod(t->v[i]) && j < t->n; j++)
			t->v[j]->mate_taken |= j != i && t->v[j]->group == t->v[i]->group;
}

/* Only what can be said of a device whose pod kubelet cannot take for another's. */
static const char *sick_allocated(const struct dev *d)
{
	if (!strncmp(d->allocated, "claim:", 6))
		return "it is with a resource claim";
	if (d->given && strcmp(d->given, dev_resource(d)))
		return "it is with a pod under the name that it had before";
	if (!strcmp(d->state, "allocated") || !strcmp(d->state, "busy"))
		return NULL;
	return d->reason[0] ? d->reason : "the tree gives no reason";
}

const char *dev_sick(const struct devices *t, const struct dev *d, uint64_t now, char *buf, size_t size)
{
	const struct dev *mate;

	if (dev_allocated(d))
		return sick_allocated(d);
	if (!strcmp(d->state, "busy")) {
		return d->announced ? NULL : d->reason;
	} else if (!strcmp(d->state, "claimed")) {
		mate = taken_mate(t, d);
		if (!mate && now >= d->good_at)
			return NULL;
		if (!mate)
			return "it was not usable a moment ago";
		snprintf(buf, size, "its IOMMU group %d is with %s", d->group, mate->allocated);
		return buf;
	}
	return d->reason[0] ? d->reason : "the tree gives no reason";
}

uint64_t devices_judge(struct devices *t, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	char buf[512];

	mark_mates(t);
	for (size_t i = 0; i < t->n; i++) {
		struct dev *d = t->v[i];
		bool known = d->announced;

		if (strcmp(d->allocated, "pending"))
			d->pending_at = 0;
		else if (!d->pending_at)
			d->pending_at = now;
		/* What a pod has, or holds up another, kubelet has heard of, be it from a former one of us. */
		d->announced |= dev_allocated(d) || !strcmp(d->state, "held") || !strcmp(d->state, "claimed");
		if (dev_sick(t, d, UINT64_MAX, buf, sizeof(buf))) {
			d->good_at = known ? UINT64_MAX : 0;
			continue;
		}
		if (d->good_at == UINT64_MAX)
			d->good_at = dev_allocated(d) ? now : now + HEALTHY_AFTER_MS;
		d->announced |= d->good_at <= now;
		next = d->good_at > now && d->good_at < next ? d->good_at : next;
	}
	return next;
}
