// SPDX-License-Identifier: GPL-2.0-or-later
#include "allocation.h"

#include <stdio.h>
#include <string.h>

#include "changes.h"
#include "k8s-sync/agree/js.h"
#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"

/* A VM's lists of devices, and what Harvester calls them. */
static const struct {
	const char *spec, *told;
} lists[] = { { "gpus", "gpus" }, { "hostDevices", "hostdevices" } };

#define DEVICES "spec.template.spec.domain.devices"
/* Annotations, in a JSON patch. */
#define PATCH_POD "/metadata/annotations/pcidevfs~1allocated-to"
#define PATCH_VM "/metadata/annotations/pcidevfs-cluster~1vm"
#define PATCH_DETAILS "/metadata/annotations/harvesterhci.io~1deviceAllocationDetails"
#define PATCH_DETAILS_POD "/metadata/annotations/pcidevfs-cluster~1pod"

/* ---- what an annotation tells */

static void details_add(json_object *details, const char *list, const char *resource,
			const char *name)
{
	json_object *by_resource = js_get(details, list), *names;

	if (!by_resource) {
		by_resource = json_object_new_object();
		js_set(details, list, by_resource);
	}
	if (!json_object_object_get_ex(by_resource, resource, &names)) {
		names = json_object_new_array();
		json_object_object_add(by_resource, resource, names);
	}
	if (!js_find(names, "", name) && js_length(names) < VM_DEVICES)
		json_object_array_add(names, json_object_new_string(name));
}

/* Adds what it tells, if it has the form; claimed: of these devices alone; NULL: of all. */
static void details_read(json_object *details, json_object *told, json_object *claimed)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		json_object *by_resource = js_get(told, lists[i].told);

		if (!json_object_is_type(by_resource, json_type_object))
			continue;
		json_object_object_foreach(by_resource, resource, names)
		{
			for (size_t n = 0; n < js_length(names); n++) {
				json_object *o = json_object_array_get_idx(names, n);
				const char *name = js_text(o, "");

				if (!claimed || json_object_object_get_ex(claimed, name, NULL))
					details_add(details, lists[i].told, resource, name);
			}
		}
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(js_text(*(json_object *const *)a, ""), js_text(*(json_object *const *)b, ""));
}

static void details_sort(json_object *details)
{
	json_object_object_foreach(details, list, by_resource)
	{
		(void)list;
		json_object_object_foreach(by_resource, resource, names)
		{
			(void)resource;
			json_object_array_sort(names, by_name);
		}
	}
}

/* ---- what counts */

/* A user may give a pod any label; its VM is that of the VMI that owns it. KubeVirt's label with a
 * name has the guest's host name. */
json_object *pod_digest(json_object *pod)
{
	json_object *owner =
		js_find(js_get(pod, "metadata.ownerReferences"), "kind", "VirtualMachineInstance");
	const char *vm = js_text(owner, "name"), *node = js_text(pod, "spec.nodeName");
	const char *phase = js_text(pod, "status.phase");
	json_object *digest;

	if (strncmp(js_text(owner, "apiVersion"), "kubevirt.io/", 12) || !*node ||
	    !json_object_get_boolean(js_get(owner, "controller")) ||
	    !valid_domain(vm, strlen(vm)) || !strcmp(phase, "Succeeded") ||
	    !strcmp(phase, "Failed"))
		return NULL;
	digest = json_object_new_object();
	js_set_text(digest, "node", node);
	js_set_text(digest, "vm", vm);
	return digest;
}

static json_object *devices_digest(json_object *list)
{
	json_object *digest = json_object_new_array();

	for (size_t i = 0; js_length(list) <= VM_DEVICES && i < js_length(list); i++) {
		json_object *o = json_object_array_get_idx(list, i), *d = json_object_new_object();

		js_set_text(d, "name", js_text(o, "name"));
		js_set_text(d, "deviceName", js_text(o, "deviceName"));
		json_object_array_add(digest, d);
	}
	return digest;
}

json_object *vm_digest(json_object *vm)
{
	const char *text = js_meta(vm, "annotations", DETAILS);
	_json_ json_object *told =
		text && strlen(text) <= DETAILS_MAX ? json_tokener_parse(text) : NULL;
	json_object *digest = json_object_new_object(), *details = json_object_new_object();
	size_t n = 0;

	details_read(details, told, NULL);
	details_sort(details);
	js_set(digest, "details", details);

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		json_object *devices = js_get(js_get(vm, DEVICES), lists[i].spec);

		js_set(digest, lists[i].spec, devices_digest(devices));
		n += js_length(devices);
	}
	if (!n && !text) {
		json_object_put(digest);
		return NULL;
	}
	js_set_text(digest, "version", js_text(vm, "metadata.resourceVersion"));
	js_set_text(digest, "uid", js_text(vm, "metadata.uid"));
	js_set_text(digest, "pod", js_meta(vm, "annotations", DETAILS_POD) ?: "");
	js_set_text(digest, "told", text ? "yes" : "");
	js_set(digest, "annotated",
	       json_object_new_boolean(js_get(vm, "metadata.annotations") != NULL));
	js_set(digest, "runs",
	       json_object_new_boolean(json_object_get_boolean(js_get(vm, "status.created"))));
	return digest;
}

/* ---- patches */

/* "": it goes. */
static void add_annotation(json_object *patch, const char *path, const char *was, const char *value)
{
	if (*value)
		op_text(patch, "add", path, value);
	else if (*was)
		op_add(patch, "remove", NULL, "%s", path);
}

/* ---- devices */

static const struct {
	enum pick_kind kind;
	int resource, pod, vm; /* fields of the pick */
} rows[] = {
	{ PICK_PCI_DEVICE, PCI_RESOURCE, PCI_POD, PCI_VM },
	{ PICK_USB_DEVICE, USB_RESOURCE, USB_POD, USB_VM },
};

/* A node speaks for its own devices alone (deploy/kubernetes/rbac.yaml), and of its own pods. */
static json_object *pod_of(json_object *pods, const struct pick *d, const char *node,
			   const char *pod)
{
	json_object *digest = json_object_object_get(pods, pod);
	size_t n = strlen(node);

	if (!digest || strcmp(js_text(digest, "node"), node) || strncmp(d->name, node, n) ||
	    d->name[n] != '-')
		return NULL;
	return digest;
}

/* What stands of a pod that is not known stays as long as the device is that pod's: another of us
 * may know the pod already. */
static void mark(json_object *changes, size_t r, const struct pick *d, const char *vm)
{
	const char *pod = d->v[rows[r].pod], *was = d->v[rows[r].vm];
	size_t n = strlen(pod);
	char want[PICK_TEXT] = "";
	json_object *patch;

	if (!vm && n && !strncmp(was, pod, n) && was[n] == ' ')
		return;
	if (vm && snprintf(want, sizeof(want), "%s %s", pod, vm) >= (int)sizeof(want))
		*want = '\0';
	if (!strcmp(want, was))
		return;
	patch = json_object_new_array();
	if (*want)
		op_text(patch, "test", PATCH_POD, pod);
	else
		op_text(patch, "test", PATCH_VM, was);
	add_annotation(patch, PATCH_VM, was, want);
	changes_add(changes, GROUP_VERSION, "", pick_rows[rows[r].kind].plural, d->name, "", patch);
}

/* Harvester tells of PCI functions alone. */
static void use(json_object *uses, size_t r, const struct pick *d, const char *vm)
{
	const char *pod = d->v[rows[r].pod], *resource = d->v[rows[r].resource];
	int n = (int)strcspn(pod, "/");
	char key[2 * PICK_TEXT];
	json_object *all, *o;

	snprintf(key, sizeof(key), "%.*s/%s", n, pod, vm);
	all = json_object_object_get(uses, key);
	if (!all) {
		all = json_object_new_array();
		json_object_object_add(uses, key, all);
	}
	if (rows[r].kind != PICK_PCI_DEVICE || !valid_resource(resource) ||
	    js_length(all) >= VM_DEVICES)
		return;
	o = json_object_new_object();
	js_set_text(o, "pod", pod + n + 1);
	js_set_text(o, "name", d->name);
	js_set_text(o, "resource", resource);
	json_object_array_add(all, o);
}

/* Returns by NAMESPACE/VM the devices that its pods have. */
static json_object *uses_of(const struct picks *all, json_object *pods, json_object *changes)
{
	json_object *uses = json_object_new_object();

	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		struct lh_entry *e;

		lh_foreach(all->table[rows[r].kind], e)
		{
			const struct pick *d = lh_entry_v(e);
			json_object *pod = pod_of(pods, d, d->v[PICK_NODE], d->v[rows[r].pod]);

			mark(changes, r, d, pod ? js_text(pod, "vm") : NULL);
			if (pod)
				use(uses, r, d, js_text(pod, "vm"));
		}
	}
	return uses;
}

/* The names of devices that are claimed, whatever their claims are called; of mediated devices the
 * former controller has no claims. */
static json_object *claimed_of(const struct picks *all)
{
	json_object *claimed = json_object_new_object();
	char name[OBJECT_NAME];
	struct lh_entry *e;

	lh_foreach(all->table[PICK_PCI_CLAIM], e)
	{
		if (picks_device_of(lh_entry_v(e), name))
			json_object_object_add(claimed, name, NULL);
	}
	lh_foreach(all->table[PICK_VGPU], e)
	{
		const struct pick *vgpu = lh_entry_v(e);

		if (*vgpu->v[VGPU_ENABLED] || *vgpu->v[VGPU_UUID])
			json_object_object_add(claimed, vgpu->name, NULL);
	}
	return claimed;
}

/* ---- a VM's annotation */

static const char *list_of(json_object *vm, const char *resource)
{
	return js_find(js_get(vm, "gpus"), "deviceName", resource) ? "gpus" : "hostdevices";
}

/* The i-th of a VM's devices gets the name of the i-th that it had of this resource. */
static void rename_devices(json_object *patch, json_object *vm, size_t l, json_object *details)
{
	json_object *devices = js_get(vm, lists[l].spec);
	json_object *by_resource = js_get(details, lists[l].told);

	for (size_t i = 0; i < js_length(devices); i++) {
		json_object *d = json_object_array_get_idx(devices, i), *names = NULL, *name;
		const char *resource = js_text(d, "deviceName");
		size_t before = 0, all = 0;
		char path[128];

		for (size_t n = 0; n < js_length(devices); n++)
			if (!strcmp(js_text(json_object_array_get_idx(devices, n), "deviceName"),
				    resource)) {
				before += n < i;
				all++;
			}
		if (!json_object_object_get_ex(by_resource, resource, &names) ||
		    js_length(names) != all)
			continue;
		name = json_object_array_get_idx(names, before);
		if (json_object_equal(name, js_get(d, "name")))
			continue;
		snprintf(path, sizeof(path), "/spec/template/spec/domain/devices/%s/%zu/name",
			 lists[l].spec, i);
		op_add(patch, "replace", json_object_get(name), "%s", path);
	}
}

/* What it should tell; its old devices count as long as the same pod has some of them, or none of
 * its pods has any. */
static json_object *details_of(json_object *vm, json_object *uses, bool kept, json_object *claimed)
{
	json_object *details = json_object_new_object();

	if (kept)
		details_read(details, js_get(vm, "details"), claimed);
	for (size_t i = 0; i < js_length(uses); i++) {
		json_object *u = json_object_array_get_idx(uses, i);

		details_add(details, list_of(vm, js_text(u, "resource")), js_text(u, "resource"),
			    js_text(u, "name"));
	}
	details_sort(details);
	return details;
}

/* Devices go from a VM one after another: what it had is told until it has others. What the former
 * controller tells of a VM that runs stays as it is. */
static json_object *vm_patch(json_object *vm, json_object *uses, json_object *claimed)
{
	const char *pod = js_text(vm, "pod"), *now = pod;
	bool idle = !js_length(uses), same = js_find(uses, "pod", pod);
	bool runs = json_object_get_boolean(js_get(vm, "runs"));
	_json_ json_object *want =
		details_of(vm, uses, idle || same, idle && runs && !*pod ? NULL : claimed);
	json_object *patch = json_object_new_array();

	if (!idle && !same)
		now = js_text(json_object_array_get_idx(uses, 0), "pod");
	else if (idle && !runs)
		now = "";
	op_text(patch, "test", "/metadata/resourceVersion", js_text(vm, "version"));
	if (!json_object_get_boolean(js_get(vm, "annotated")))
		op_add(patch, "add", json_object_new_object(), "/metadata/annotations");
	if (!json_object_equal(want, js_get(vm, "details")))
		add_annotation(patch, PATCH_DETAILS, js_text(vm, "told"),
			       json_object_object_length(want) ? js_line(want) : "");
	if (strcmp(now, pod))
		add_annotation(patch, PATCH_DETAILS_POD, pod, now);
	for (size_t l = 0; l < ARRAY_SIZE(lists) && *pod && !*now; l++)
		rename_devices(patch, vm, l, want);
	return patch;
}

/* ---- all */

json_object *allocation_decide(const struct picks *all, json_object *pods, json_object *vms)
{
	json_object *changes = json_object_new_object();
	_json_ json_object *uses = uses_of(all, pods, changes);
	_json_ json_object *claimed = claimed_of(all);

	json_object_object_foreach(vms, key, vm)
	{
		json_object *patch = vm_patch(vm, json_object_object_get(uses, key), claimed);
		size_t least = json_object_get_boolean(js_get(vm, "annotated")) ? 1 : 2;
		char space[64];

		snprintf(space, sizeof(space), "%.*s", (int)strcspn(key, "/"), key);
		if (js_length(patch) > least)
			changes_add(changes, "kubevirt.io/v1", space, "virtualmachines",
				    strchr(key, '/') + 1, "", patch);
		else
			json_object_put(patch);
	}
	return changes;
}
