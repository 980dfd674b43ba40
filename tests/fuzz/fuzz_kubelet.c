// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first byte says which of kubelet's messages the rest is; one is a line of inventory. What is
 * answered names the devices that were asked for, once, and no path but below /dev; what is refused
 * has a sentence.
 */
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "plugin/kubelet/answer.h"
#include "plugin/kubelet/cdi.h"
#include "plugin/kubelet/devices.h"
#include "deviceplugin.pb-c.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define NODES "/dev/vfio/vfio /dev/vfio/1"
#define LINE                                                                                       \
	"resource_name=a.b/C claim=x iommu_group=%d nodes=\"" NODES "\" state=claimed "            \
	"allocated_nodes=\"%s\""

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As their pods were given them, two of each group: a and b, c and d, e and f, g and h. */
static const char *const kept[] = { NODES, NODES,  NODES,  "/dev/vfio/9",
				    NODES, "none", "none", "none" };
#define AS_GIVEN "abe" /* whose pod may go on with what it was given */

static void check_refusal(const struct err *err)
{
	check(err->code > 0 && err->text[0]);
}

static void fill(struct devices *t)
{
	for (int i = 0; i < 8; i++) {
		char id[16], line[256];

		snprintf(id, sizeof(id), "%c", 'a' + i);
		snprintf(line, sizeof(line), LINE, i / 2, kept[i]);
		check(!devices_take(t, id, line));
	}
}

static void check_path(const char *path)
{
	check(!strncmp(path, "/dev/", 5) && !strstr(path, ".."));
}

static void check_container(const struct container *c, const V1beta1__ContainerAllocateResponse *m)
{
	const char *value;

	check(m->n_devices > 0 && m->n_envs == 1 && m->n_cdi_devices == c->n);
	for (size_t i = 0; i < m->n_devices; i++) {
		check_path(m->devices[i]->container_path);
		check(!strcmp(m->devices[i]->container_path, m->devices[i]->host_path));
		for (size_t j = 0; j < i; j++)
			check(strcmp(m->devices[i]->container_path,
				     m->devices[j]->container_path) != 0);
	}
	value = m->envs[0]->value;
	for (size_t i = 0; i < c->n; i++) {
		size_t n = strlen(c->ids[i]);

		check(!strncmp(value, c->ids[i], n) && value[n] == (i + 1 < c->n ? ',' : '\0'));
		value += n + 1;
		check(!i || strcmp(c->ids[i - 1], c->ids[i]) < 0);
	}
}

static void allocate(const struct devices *t, const uint8_t *data, size_t size)
{
	V1beta1__AllocateResponse *m;
	struct kubelet_request r = { 0 };
	struct err err = { 0 };
	struct out o = { 0 };

	if (request_allocate(data, size, &r, &err) || request_check(t, "a.b/C", &r, 1000, &err) ||
	    request_names(t, "a.b/C", &r, &err) ||
	    answer_allocate(t, "a.b/C", &r, "/dev", "pcidevfs/device", &o, &err)) {
		check_refusal(&err);
	} else {
		m = v1beta1__allocate_response__unpack(NULL, o.len, (uint8_t *)o.data);
		check(m && m->n_container_responses == r.n);
		for (size_t i = 0; i < r.n; i++)
			check_container(&r.v[i], m->container_responses[i]);
		v1beta1__allocate_response__free_unpacked(m, NULL);
	}
	out_free(&o);
	request_free(&r);
}

/* A pod may go on only with devices of which each, and its peer if that was given, has the nodes of
 * then. */
static void prestart(const struct devices *t, const uint8_t *data, size_t size)
{
	struct kubelet_request r = { 0 };
	struct err err = { 0 };
	int e = request_prestart(data, size, &r, &err);

	e = e ? e : request_check(t, "a.b/C", &r, 1000, &err);
	if (!e) {
		bool right = true;

		for (size_t i = 0; i < r.v[0].n; i++)
			right &= strchr(AS_GIVEN, r.v[0].ids[i][0]) != NULL;
		e = request_nodes(t, "a.b/C", &r, &err);
		check(!e == right);
	}
	if (e)
		check_refusal(&err);
	request_free(&r);
}

static bool has(char *const *ids, size_t n, const char *id)
{
	while (n--)
		if (!strcmp(ids[n], id))
			return true;
	return false;
}

static void check_preferred(const struct devices *t,
			    const V1beta1__ContainerPreferredAllocationRequest *q,
			    const V1beta1__ContainerPreferredAllocationResponse *m)
{
	size_t musts = 0;

	for (size_t i = 0; i < t->n; i++) {
		bool must =
			has(q->available_deviceids, q->n_available_deviceids, t->v[i]->id) &&
			has(q->must_include_deviceids, q->n_must_include_deviceids, t->v[i]->id);

		musts += must;
		check(!must || has(m->deviceids, m->n_deviceids, t->v[i]->id));
	}
	for (size_t i = 0; i < m->n_deviceids; i++) {
		check(devices_find(t, m->deviceids[i]) != NULL);
		check(has(q->available_deviceids, q->n_available_deviceids, m->deviceids[i]));
		check(!has(m->deviceids, i, m->deviceids[i]));
	}
	check(m->n_deviceids ==
	      (musts > (size_t)q->allocation_size ? musts : (size_t)q->allocation_size));
}

static void prefer(const struct devices *t, const uint8_t *data, size_t size)
{
	V1beta1__PreferredAllocationRequest *q;
	V1beta1__PreferredAllocationResponse *m;
	struct err err = { 0 };
	struct out o = { 0 };

	if (answer_preferred(t, "a.b/C", data, size, &o, &err)) {
		check_refusal(&err);
		return;
	}
	q = v1beta1__preferred_allocation_request__unpack(NULL, size, data);
	m = v1beta1__preferred_allocation_response__unpack(NULL, o.len,
							   (const uint8_t *)out_text(&o));
	check(q && m && m->n_container_responses == q->n_container_requests);
	for (size_t i = 0; i < q->n_container_requests; i++)
		check_preferred(t, q->container_requests[i], m->container_responses[i]);
	v1beta1__preferred_allocation_request__free_unpacked(q, NULL);
	v1beta1__preferred_allocation_response__free_unpacked(m, NULL);
	out_free(&o);
}

static void check_spec(const struct out *text)
{
	struct json_object *spec = json_tokener_parse(text->data), *devices;

	devices = json_object_object_get(spec, "devices");
	check(json_object_is_type(devices, json_type_array));
	for (size_t i = 0; i < json_object_array_length(devices); i++) {
		struct json_object *edits = json_object_object_get(
			json_object_array_get_idx(devices, i), "containerEdits");
		struct json_object *nodes = json_object_object_get(edits, "deviceNodes");

		for (size_t j = 0; j < json_object_array_length(nodes); j++) {
			struct json_object *node = json_object_array_get_idx(nodes, j);

			check_path(json_object_get_string(json_object_object_get(node, "path")));
			check_path(
				json_object_get_string(json_object_object_get(node, "hostPath")));
		}
	}
	json_object_put(spec);
}

static void take_line(struct devices *t, const uint8_t *data, size_t size)
{
	char *line = calloc(1, size + 1);
	struct out spec = { 0 }, list = { 0 };
	struct dev **v;
	size_t n;

	memcpy(line, data, size);
	if (devices_take(t, "f", line))
		check(t->n == 8 && !strcmp(devices_find(t, "f")->claim, "x"));
	devices_judge(t, 1000);
	cdi_text(t, "/dev", &spec);
	check_spec(&spec);
	v = devices_offered(t, &n);
	check(v && n + 1 >= t->n);
	answer_list(t, v, n, 1000, false, &list);
	check(!list.failed);
	free(v);
	out_free(&list);
	out_free(&spec);
	free(line);
}

/* A line about a USB device. Its numbers are KubeVirt's: decimal, without zeros in front. */
static void take_usb(struct devices *t, const uint8_t *data, size_t size)
{
	struct container c = { .ids = (char *[]){ (char *)"1-1" }, .n = 1 };
	const struct kubelet_request r = { .v = &c, .n = 1 };
	char *line = calloc(1, size + 1), again[32];
	V1beta1__AllocateResponse *m;
	struct err err = { 0 };
	struct out o = { 0 };
	unsigned int bus, dev;
	const struct dev *d;

	memcpy(line, data, size);
	d = devices_take(t, "usb/1-1", line) ? NULL : devices_find(t, "usb/1-1");
	if (d && answer_allocate(t, dev_resource(d), &r, "/dev", "pcidevfs/device", &o, &err)) {
		check_refusal(&err);
	} else if (d) {
		m = v1beta1__allocate_response__unpack(NULL, o.len, (uint8_t *)o.data);
		check(m && m->n_container_responses == 1 && m->container_responses[0]->n_envs == 1);
		check(sscanf(m->container_responses[0]->envs[0]->value, "%u:%u", &bus, &dev) == 2);
		check(bus && dev);
		snprintf(again, sizeof(again), "%u:%u", bus, dev);
		check(!strcmp(m->container_responses[0]->envs[0]->value, again));
		v1beta1__allocate_response__free_unpacked(m, NULL);
	}
	out_free(&o);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct devices t = { 0 };

	if (!size)
		return 0;
	fill(&t);
	devices_judge(&t, 1000);
	switch (data[0] % 5) {
	case 0:
		allocate(&t, data + 1, size - 1);
		break;
	case 1:
		prestart(&t, data + 1, size - 1);
		break;
	case 2:
		prefer(&t, data + 1, size - 1);
		break;
	case 3:
		take_line(&t, data + 1, size - 1);
		break;
	case 4:
		take_usb(&t, data + 1, size - 1);
		break;
	}
	devices_free(&t);
	return 0;
}
