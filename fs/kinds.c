// SPDX-License-Identifier: GPL-2.0-or-later
/* The kinds of objects, and the mapping of a node id to an object and a row. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

const struct view *view_by_dir(unsigned int id)
{
	for (size_t i = 0; i < n_views; i++)
		if (views[i].dir.id == id)
			return &views[i];
	return NULL;
}

const struct view *view_by_link(unsigned int id)
{
	return id > LINK_ID(0) ? view_by_dir(id - LINK_ID(0)) : NULL;
}

const struct attr_table *const no_tables[] = { NULL };
static const struct attr_table *const root_tables[] = { &attrs_root, NULL };
static const struct attr_table *const device_tables[] = { &attrs_pci,	&attrs_claim,  &attrs_sriov,
							  &attrs_vgpu,	&attrs_mig,    &attrs_usb,
							  &attrs_state, &attrs_device, NULL };
static const struct attr_table *const resource_tables[] = { &attrs_resource, NULL };

#define CHILDREN(kind) (&(const struct entries){ .child = (kind) })

/* A kind with a dir is a bus: its devices have their directories there. Ids of dirs: 20 to 50. */
#define BUS(kind, where, is, number, called, about, ...)                                           \
	[kind] = {                                                                                 \
		.path = called "/<" where ">", .bus = (is), .home = (number),                      \
		.tables = device_tables, __VA_ARGS__                                               \
		.dir = &(const struct attr){ .name = (called), .id = (number),                     \
					     .mode = S_IFDIR | 0755,                               \
					     .entries = CHILDREN(kind), .help = (about) }          \
	}

static const struct obj_type obj_types[OBJ_KINDS] = {
	[OBJ_ROOT] = { .path = "", .tables = root_tables },
	BUS(OBJ_DEVICE, "address", BUS_PCI, 20, "devices", "a directory for each PCI function",
	    .entries = &virtfns, ),
	BUS(OBJ_MDEV, "uuid", BUS_MDEV, 21, "mdevs",
	    "a directory for each mediated device of a whole function", ),
	BUS(OBJ_USB, "bus-port", BUS_USB, 22, "usb",
	    "a directory for each USB device, by its port: 1-2.3; usb1 is a root hub", ),
	[OBJ_VENDOR] = { .path = "resources/<vendor.com>",
			 .tables = no_tables,
			 .home = ROW_RESOURCES,
			 .derived = 1,
			 .entries = &(const struct entries){ .child = OBJ_RESOURCE, .brief = 1 } },
	[OBJ_RESOURCE] = { .path = "resources/<vendor.com>/<NAME>",
			   .tables = resource_tables,
			   .home = ROW_SELF,
			   .derived = 1 },
};

const struct obj_type *obj_type(unsigned int kind)
{
	const struct view *v = kind < OBJ_LABEL ? NULL : view_by_dir(kind - OBJ_LABEL);

	if (kind < OBJ_KINDS)
		return &obj_types[kind];
	return v && v->label.tables ? &v->label : NULL;
}

enum obj_kind kind_of_bus(int bus)
{
	for (enum obj_kind k = OBJ_DEVICE; k < OBJ_KINDS; k++)
		if (bus && obj_types[k].bus == bus)
			return k;
	return OBJ_ROOT;
}

const char *bus_dir(int bus)
{
	const struct obj_type *type = obj_type(kind_of_bus(bus));

	return type->dir ? type->dir->name : NULL;
}

/* Directories of the root that come from other tables. */
static const struct attr *root_dir(size_t i)
{
	for (enum obj_kind k = OBJ_DEVICE; k < OBJ_KINDS; k++)
		if (obj_types[k].dir && !i--)
			return obj_types[k].dir;
	for (size_t v = 0; v < n_views; v++)
		if (views[v].dir.name && !i--)
			return &views[v].dir;
	return NULL;
}

const struct attr *row_at(enum obj_kind kind, size_t i)
{
	const struct attr_table *const *t;

	for (t = obj_type(kind)->tables; *t; i -= (*t++)->n)
		if (i < (*t)->n)
			return &(*t)->rows[i];
	return kind == OBJ_ROOT ? root_dir(i) : NULL;
}

const struct attr *attr_by_id(enum obj_kind kind, uint16_t id)
{
	const struct view *v = obj_type(kind)->bus ? view_by_link(id) : NULL;
	const struct attr *row;

	if (v)
		return &v->link;
	for (size_t i = 0; (row = row_at(kind, i)); i++)
		if (row->id == id)
			return row;
	return NULL;
}

bool row_is_in(const struct attr *row, const struct attr *dir)
{
	size_t n = dir ? strlen(dir->name) : 0;

	return dir ? !strncmp(row->name, dir->name, n) && row->name[n] == '/'
		   : !strchr(row->name, '/');
}

const struct attr *row_dir(enum obj_kind kind, const struct attr *row)
{
	const struct attr *dir;

	for (size_t i = 0; strchr(row->name, '/') && (dir = row_at(kind, i)); i++)
		if (row_is_in(row, dir))
			return dir;
	return NULL;
}

const char *row_leaf(const struct attr *row)
{
	const char *slash = strchr(row->name, '/');

	return slash ? slash + 1 : row->name;
}

const struct attr *attr_by_name(enum obj_kind kind, const char *name)
{
	const struct attr *row;

	for (size_t i = 0; (row = row_at(kind, i)); i++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

void row_show(const struct attr *row, const struct subject *s, struct out *o)
{
	struct subject of = *s;

	of.row = row;
	row->show(&of, o);
}

int row_refuse_write(const struct attr *row, const struct device *dev, struct err *err)
{
	if (row->instead)
		return fail(err, EACCES,
			    "%s: the driver of %s does not let others set it; write to %s instead",
			    row->name, dev->key.name, row->instead);
	return fail(err, EACCES, "%s: that of %s can only be read", row->name, dev->key.name);
}

static const struct {
	uint32_t cap;
	const char *name;
} cap_names[] = {
	{ CAP_PCI, "PCI" },
	{ CAP_CLAIM, "claimable" },
	{ CAP_SRIOV, "PF" },
	{ CAP_VF, "VF" },
	{ CAP_GROUP, "in an IOMMU group" },
	{ CAP_RESET, "resettable" },
	{ CAP_GPU, "GPU" },
	{ CAP_NIC, "NIC" },
	{ CAP_NUMVFS, "PF whose VFs are written to sriov_numvfs" },
	{ CAP_VGPU, "can be a vGPU" },
	{ CAP_TYPES, "has vGPU types" },
	{ CAP_CREATE, "makes mediated devices" },
	{ CAP_VGPU_HOST, "NVIDIA GPU" },
	{ CAP_ENABLE, "SR-IOV GPU or VF of one" },
	{ CAP_NAMED, "all but PCI bridges" },
	{ CAP_IDS, "has ids" },
	{ CAP_USB, "USB" },
	{ CAP_HOSTED, "USB behind a PCI controller" },
	{ CAP_MIG, "MIG-capable GPU" },
	{ CAP_PORT, "USB on a hub's port, or mdev" },
};

void caps_print(uint32_t caps, struct out *o)
{
	const char *sep = "";

	if (!caps)
		out_printf(o, "all");
	for (size_t i = 0; i < ARRAY_SIZE(cap_names); i++)
		if (caps & cap_names[i].cap) {
			out_printf(o, "%s%s", sep, cap_names[i].name);
			sep = ", ";
		}
}

/* Copies the object; false if the id is no longer valid. */
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

bool node_has(const struct node *n, const struct attr *row)
{
	return !n->subject.dev || row_fits(row, n->dev.caps);
}

int node_get(struct tree *t, uint64_t ino, struct node *ret)
{
	struct key key;
	uint64_t birth;

	ret->node = ino;
	ret->ino = ino = objects_untwinned(ino);
	if (!get_object(t, ino, ret, &birth))
		return -ESTALE;
	ret->subject = (struct subject){ .tree = t, .slot = ret->slot };
	if (!obj_type(ret->kind)->bus)
		return 0;
	if (!key_make(obj_type(ret->kind)->bus, ret->name, &key) ||
	    !model_copy(t->conf.model, &key, &ret->dev) || ret->dev.birth != birth)
		return -ESTALE;
	ret->subject.dev = &ret->dev;
	return ret->row && !node_has(ret, ret->row) ? -ESTALE : 0;
}

const char *node_path(const struct node *dir, const char *name, char buf[static NODE_PATH])
{
	if (!dir->row)
		return name;
	snprintf(buf, NODE_PATH, "%s/%s", dir->row->name, name);
	return buf;
}

uint64_t node_dir(const struct node *n, const struct attr *row)
{
	const struct attr *dir = row_dir(n->kind, row);

	return objects_sibling(n->ino, dir ? dir->id : ROW_SELF);
}

bool node_is_dir(const struct node *n)
{
	return !n->row || S_ISDIR(n->row->mode);
}

const struct entries *node_entries(const struct node *n)
{
	return n->row ? n->row->entries : obj_type(n->kind)->entries;
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

void object_key(const struct object *obj, struct key *ret)
{
	*ret = (struct key){ .bus = obj_type(obj->kind)->bus };
	STR_COPY(ret->name, obj->name);
}

uint32_t device_slot(const struct tree *t, const struct key *key)
{
	enum obj_kind kind = kind_of_bus(key->bus);

	return kind == OBJ_ROOT ? NO_SLOT : objects_find(t->objects, kind, 0, key->name);
}

/* For any bus: no two buses have the same names. */
static uint32_t slot_by_name(const struct tree *t, const char *name)
{
	struct key key;

	for (enum bus bus = BUS_NONE + 1; bus < BUS_COUNT; bus++)
		if (key_make(bus, name, &key))
			return device_slot(t, &key);
	return NO_SLOT;
}

/* The key of the entry with this name in the directory's set. */
static bool entry_key(struct tree *t, const struct entries *e, uint32_t dir_slot, const char *name,
		      uint32_t *ret)
{
	size_t n = e->prefix ? strlen(e->prefix) : 0;
	uint64_t number;

	if (!e->prefix) {
		*ret = e->link ? slot_by_name(t, name)
			       : objects_find(t->objects, e->child,
					      obj_type(e->child)->derived ? dir_slot : 0, name);
		return *ret != NO_SLOT;
	}
	/* Only in our own spelling: no sign, no 0x, no leading zero. */
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
