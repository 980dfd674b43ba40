// SPDX-License-Identifier: GPL-2.0-or-later
#include "answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#include "cdi.h"
#include "deviceplugin.pb-c.h"

/* Owns the lists of pointers that messages are built on, until they are packed. */
struct pointers {
	void **v;
	size_t n, cap;
	bool failed;
};

static void *pool_get(struct pointers *p, size_t n, size_t size)
{
	void **v = more_rows(p->v, p->n, &p->cap, sizeof(*v));
	void *room = v ? calloc(n ? n : 1, size) : NULL;

	p->v = v ? v : p->v;
	p->failed |= !room;
	if (room)
		p->v[p->n++] = room;
	return room;
}

static char *pool_text(struct pointers *p, const char *text, size_t len)
{
	char *copy = pool_get(p, len + 1, 1);

	return copy ? memcpy(copy, text, len) : NULL;
}

static void pool_free(struct pointers *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
}

void answer_pack(const struct ProtobufCMessage *m, struct out *ret)
{
	size_t n = protobuf_c_message_get_packed_size(m);
	uint8_t *bytes = malloc(n ? n : 1);

	if (!bytes) {
		ret->failed = true;
		return;
	}
	protobuf_c_message_pack(m, bytes);
	out_put(ret, (const char *)bytes, n);
	free(bytes);
}

static V1beta1__DevicePluginOptions options(void)
{
	V1beta1__DevicePluginOptions m = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

	m.pre_start_required = 1;
	m.get_preferred_allocation_available = 1;
	return m;
}

void answer_options(struct out *ret)
{
	V1beta1__DevicePluginOptions ours = options();

	answer_pack(&ours.base, ret);
}

void answer_register(const char *resource, const char *endpoint, struct out *ret)
{
	V1beta1__DevicePluginOptions ours = options();
	V1beta1__RegisterRequest m = V1BETA1__REGISTER_REQUEST__INIT;

	m.version = (char *)"v1beta1";
	m.endpoint = (char *)endpoint;
	m.resource_name = (char *)resource;
	m.options = &ours;
	answer_pack(&m.base, ret);
}

struct numa {
	V1beta1__NUMANode node, *list;
	V1beta1__TopologyInfo topology;
};

static V1beta1__TopologyInfo *topology_of(struct pointers *p, int node)
{
	struct numa *m = node < 0 ? NULL : pool_get(p, 1, sizeof(*m));

	if (!m)
		return NULL; /* "no node" differs from node 0 */
	v1beta1__numanode__init(&m->node);
	v1beta1__topology_info__init(&m->topology);
	m->node.id = node;
	m->list = &m->node;
	m->topology.n_nodes = 1;
	m->topology.nodes = &m->list;
	return &m->topology;
}

void answer_list(const struct devices *t, struct dev *const *v, size_t n, uint64_t now, bool blind,
		 struct out *ret)
{
	V1beta1__ListAndWatchResponse m = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;
	struct pointers p = { 0 };
	V1beta1__Device *rows = pool_get(&p, n, sizeof(*rows));
	char buf[512];

	m.devices = pool_get(&p, n, sizeof(*m.devices));
	for (size_t i = 0; !p.failed && i < n; i++) {
		const struct dev *d = v[i];
		V1beta1__Device *row = &rows[m.n_devices];
		const char *sick = dev_sick(t, d, now, buf, sizeof(buf));

		if (sick && !d->announced)
			continue; /* not listed before it was usable once: kubelet would count it */
		v1beta1__device__init(row);
		row->id = (char *)dev_kubelet_id(d);
		row->health = (char *)(sick || blind ? "Unhealthy" : "Healthy");
		row->topology = topology_of(&p, d->numa);
		m.devices[m.n_devices++] = row;
	}
	ret->failed |= p.failed;
	if (!p.failed)
		answer_pack(&m.base, ret);
	pool_free(&p);
}

void answer_variable(const struct dev *d, struct out *ret)
{
	out_printf(ret, "%s_RESOURCE_", bus_of(d)->variable);
	for (const char *c = dev_resource(d); *c; c++) {
		char sign = *c == '/' || *c == '.' ? '_' : (char)toupper((unsigned char)*c);

		out_put(ret, &sign, 1);
	}
}

/* The answer for one container while it is built. */
struct building {
	struct pointers *pool;
	V1beta1__ContainerAllocateResponse *m;
	size_t room; /* capacity of its list of nodes, which is no part of the pool */
};

static void add_node(const char *node, const char *host, void *ctx)
{
	struct building *b = ctx;
	V1beta1__DeviceSpec *spec, **list;

	for (size_t i = 0; i < b->m->n_devices; i++)
		if (!strcmp(b->m->devices[i]->container_path, node))
			return;
	list = more_rows(b->m->devices, b->m->n_devices, &b->room, sizeof(*list));
	spec = pool_get(b->pool, 1, sizeof(*spec));
	b->m->devices = list ? list : b->m->devices;
	b->pool->failed |= !list;
	if (b->pool->failed)
		return;
	v1beta1__device_spec__init(spec);
	spec->container_path = pool_text(b->pool, node, strlen(node));
	spec->host_path = pool_text(b->pool, host, strlen(host));
	spec->permissions = (char *)"mrw";
	if (b->pool->failed)
		return;
	b->m->devices[b->m->n_devices++] = spec;
}

static bool add_value(const struct dev *d, struct out *value)
{
	if (value->len)
		out_put(value, ",", 1);
	if (bus_of(d)->value)
		return bus_of(d)->value(d, value);
	out_printf(value, "%s", dev_kubelet_id(d));
	return true;
}

static void add_variable(struct building *b, const struct dev *any, const struct out *value)
{
	V1beta1__ContainerAllocateResponse__EnvsEntry *e = pool_get(b->pool, 1, sizeof(*e));
	struct out key = { 0 };

	b->m->envs = pool_get(b->pool, 1, sizeof(*b->m->envs));
	answer_variable(any, &key);
	b->pool->failed |= key.failed || value->failed;
	if (!b->pool->failed) {
		v1beta1__container_allocate_response__envs_entry__init(e);
		e->key = pool_text(b->pool, key.data, key.len);
		e->value = pool_text(b->pool, value->data, value->len);
		b->m->envs[0] = e;
		b->m->n_envs = 1;
	}
	out_free(&key);
}

static void add_cdi(struct building *b, const char *kind, const struct container *c)
{
	V1beta1__CDIDevice *rows = pool_get(b->pool, c->n, sizeof(*rows));

	b->m->cdi_devices = pool_get(b->pool, c->n, sizeof(*b->m->cdi_devices));
	for (size_t i = 0; !b->pool->failed && i < c->n; i++) {
		char name[256];

		snprintf(name, sizeof(name), "%s=%s", kind, c->ids[i]);
		v1beta1__cdidevice__init(&rows[i]);
		rows[i].name = pool_text(b->pool, name, strlen(name));
		b->m->cdi_devices[i] = &rows[i];
		b->m->n_cdi_devices = i + 1;
	}
}

/* Adds the nodes, and to value what goes into the variable. */
static int add_devices(struct building *b, const struct devices *t, const char *resource,
		       const struct container *c, const char *dev_root, struct out *value,
		       struct err *err)
{
	const struct dev *first = NULL;

	for (size_t i = 0; i < c->n; i++) {
		const struct dev *d = devices_of_kubelet(t, resource, c->ids[i]);
		size_t before = b->m->n_devices;

		if (!d)
			return fail(err, ENODEV, "%.80s went away", c->ids[i]);
		first = first ? first : d;
		/* KubeVirt makes two devices of a resource that has two variables (k8s/kubevirt,
		 * case 37). */
		if (strcmp(bus_of(d)->variable, bus_of(first)->variable))
			return fail(
				err, EINVAL,
				"%s has devices of two kinds, %s and %s; no VM can take both "
				"under one name: write another resource_name to one of them",
				resource, first->id, d->id);
		dev_nodes(t, d, dev_root, add_node, b);
		if ((!before && !b->m->n_devices) || !add_value(d, value))
			return fail(err, ENODEV, "%s has no device node now", d->id);
	}
	if (first)
		add_variable(b, first, value);
	return 0;
}

static int build_container(struct building *b, const struct devices *t, const char *resource,
			   const struct container *c, const char *dev_root, const char *cdi,
			   struct err *err)
{
	struct out value = { 0 };
	int e = add_devices(b, t, resource, c, dev_root, &value, err);

	out_free(&value);
	if (e)
		return e;
	if (cdi)
		add_cdi(b, cdi, c);
	return b->pool->failed ? fail_nomem(err) : 0;
}

int answer_allocate(const struct devices *t, const char *resource, const struct kubelet_request *r,
		    const char *dev_root, const char *cdi, struct out *ret, struct err *err)
{
	V1beta1__AllocateResponse m = V1BETA1__ALLOCATE_RESPONSE__INIT;
	struct pointers p = { 0 };
	V1beta1__ContainerAllocateResponse *rows = pool_get(&p, r->n, sizeof(*rows));
	int e = 0;

	m.container_responses = pool_get(&p, r->n, sizeof(*m.container_responses));
	for (size_t i = 0; !e && !p.failed && i < r->n; i++) {
		struct building b = { .pool = &p, .m = &rows[i] };

		v1beta1__container_allocate_response__init(&rows[i]);
		e = build_container(&b, t, resource, &r->v[i], dev_root, cdi, err);
		m.container_responses[m.n_container_responses++] = &rows[i];
	}
	if (!e && p.failed)
		e = fail_nomem(err);
	if (!e)
		answer_pack(&m.base, ret);
	for (size_t i = 0; i < m.n_container_responses; i++)
		free(rows[i].devices);
	pool_free(&p);
	return e;
}
