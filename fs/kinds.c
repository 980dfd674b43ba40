// SPDX-License-Identifier: GPL-2.0-or-later
/* What has a directory, and how a node id becomes an object and a row. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static const struct entries vendor_entries = { .child = OBJ_RESOURCE };
static const struct entries claim_entries = { .child = OBJ_DEVICE, .link = LINK_CLAIM };
static const struct entries group_entries = { .child = OBJ_DEVICE, .link = LINK_GROUP };
static const struct entries virtfn_entries = { .child = OBJ_DEVICE,
					       .link = LINK_VIRTFN,
					       .prefix = "virtfn" };
static const size_t no_rows;

const struct obj_type obj_types[OBJ_KINDS] = {
	[OBJ_ROOT] = { .path = "", .rows = attrs_root, .n_rows = &n_attrs_root },
	[OBJ_DEVICE] = { .path = "devices/<address>", .rows = attrs_device, .n_rows = &n_attrs_device,
			 .home = ROW_DEVICES, .bus = BUS_PCI, .entries = &virtfn_entries },
	[OBJ_CLAIM] = { .path = "claims/<name>", .n_rows = &no_rows, .home = ROW_CLAIMS, .derived = 1,
			.entries = &claim_entries },
	[OBJ_GROUP] = { .path = "iommu_groups/<n>", .n_rows = &no_rows, .home = ROW_GROUPS,
			.derived = 1, .entries = &group_entries },
	[OBJ_VENDOR] = { .path = "resources/<vendor.com>", .n_rows = &no_rows, .home = ROW_RESOURCES,
			 .derived = 1, .entries = &vendor_entries },
	[OBJ_RESOURCE] = { .path = "resources/<vendor.com>/<NAME>", .rows = attrs_resource,
			   .n_rows = &n_attrs_resource, .home = ROW_SELF, .derived = 1 },
};

const struct attr *attr_by_id(enum obj_kind kind, uint16_t id)
{
	const struct obj_type *k = &obj_types[kind];

	for (size_t i = 0; i < *k->n_rows; i++)
		if (k->rows[i].id == id)
			return &k->rows[i];
	return NULL;
}

const struct attr *attr_by_name(enum obj_kind kind, uint16_t in, const char *name)
{
	const struct obj_type *k = &obj_types[kind];

	for (size_t i = 0; i < *k->n_rows; i++)
		if (k->rows[i].in == in && !(k->rows[i].flags & ATTR_MEMBER) &&
		    !strcmp(k->rows[i].name, name))
			return &k->rows[i];
	return NULL;
}

static const struct {
	uint32_t cap;
	const char *name;
} cap_names[] = {
	{ CAP_CLAIM, "claimable" }, { CAP_SRIOV, "PF" },       { CAP_VF, "VF" },
	{ CAP_GROUP, "in an IOMMU group" }, { CAP_RESET, "resettable" }, { CAP_GPU, "GPU" },
	{ CAP_NIC, "NIC" },
};

void caps_print(uint32_t caps, struct out *o)
{
	const char *sep = "";

	if (!(caps & ~(uint32_t)CAP_PCI))
		out_printf(o, "all");
	for (size_t i = 0; i < ARRAY_SIZE(cap_names); i++)
		if (caps & cap_names[i].cap) {
			out_printf(o, "%s%s", sep, cap_names[i].name);
			sep = ", ";
		}
}

/* Copies the object; false when the id means nothing now. */
static bool get_object(struct tree *t, uint64_t ino, struct node *n, uint64_t *ret_birth)
{
	uint16_t row;
	bool known;

	pthread_mutex_lock(&t->lock);
	known = objects_node(t->objects, ino, &n->slot, &row);
	if (known) {
		const struct object *obj = objects_at(t->objects, n->slot);

		n->kind = obj->kind;
		n->parent = obj->parent;
		*ret_birth = obj->birth;
		STR_COPY(n->name, obj->name);
		n->row = row == ROW_SELF ? NULL : attr_by_id(n->kind, row);
		known = row == ROW_SELF || n->row;
	}
	pthread_mutex_unlock(&t->lock);
	return known;
}

static bool get_device(struct tree *t, struct node *n, uint64_t birth)
{
	struct key key = { .bus = obj_types[n->kind].bus };
	const struct device *dev;

	if (!STR_COPY(key.name, n->name))
		return false;
	model_lock(t->conf.model);
	dev = model_find(t->conf.model, &key);
	if (dev && dev->birth == birth)
		n->dev = *dev;
	else
		dev = NULL;
	model_unlock(t->conf.model);
	return dev;
}

bool node_has(const struct node *n, const struct attr *row)
{
	return !n->subject.dev || (n->dev.caps & row->caps) == row->caps;
}

int node_get(struct tree *t, uint64_t ino, struct node *ret)
{
	uint64_t birth;

	ret->ino = ino;
	if (!get_object(t, ino, ret, &birth))
		return -ESTALE;
	ret->subject = (struct subject){ .tree = t, .slot = ret->slot, .name = ret->name };
	if (!obj_types[ret->kind].bus)
		return 0;
	if (!get_device(t, ret, birth))
		return -ESTALE;
	ret->subject.dev = &ret->dev;
	return ret->row && !node_has(ret, ret->row) ? -ESTALE : 0;
}

bool node_is_dir(const struct node *n)
{
	return !n->row || S_ISDIR(n->row->mode);
}

const struct entries *node_entries(const struct node *n)
{
	return n->row ? n->row->entries : obj_types[n->kind].entries;
}

void entry_name(struct tree *t, const struct entries *e, const struct elem *elem,
		char buf[OBJECT_NAME])
{
	const struct object *obj = objects_at(t->objects, elem->slot);

	if (e->prefix)
		snprintf(buf, OBJECT_NAME, "%s%u", e->prefix, elem->key);
	else
		str_copy(buf, OBJECT_NAME, obj ? obj->name : "");
}

/* The key in the directory's set of what is called so. */
static bool entry_key(struct tree *t, const struct entries *e, uint32_t dir_slot, const char *name,
		      uint32_t *ret)
{
	size_t n = e->prefix ? strlen(e->prefix) : 0;
	uint64_t number;

	if (!e->prefix) {
		*ret = objects_find(t->objects, e->child, obj_types[e->child].derived ? dir_slot : 0,
				    name);
		return *ret != NO_SLOT;
	}
	/* As we spell it: no sign, no 0x, no leading zero. */
	if (strncmp(name, e->prefix, n) || strspn(name + n, "0123456789") != strlen(name + n) ||
	    (name[n] == '0' && name[n + 1]) || parse_u64(name + n, UINT32_MAX, &number))
		return false;
	*ret = (uint32_t)number;
	return true;
}

uint32_t entry_find(struct tree *t, const struct entries *e, uint32_t dir_slot, uint64_t set,
		    const char *name)
{
	const struct elem *elem;
	uint32_t key;
	size_t n;

	if (!entry_key(t, e, dir_slot, name, &key))
		return NO_SLOT;
	elem = set_from(t->sets, set, key, &n);
	return elem && elem->key == key ? elem->slot : NO_SLOT;
}
