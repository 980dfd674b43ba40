// SPDX-License-Identifier: GPL-2.0-or-later
/* What the tables promise. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fs/files.h"
#include "fs/internal.h"
#include "fs/inventory.h"
#include "fs/request.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "test.h"

static void check_row(enum obj_kind kind, const struct attr *row)
{
	CHECK(row->id > ROW_SELF && row->id < ROW_MAX);
	CHECK(attr_by_id(kind, row->id) == row);
	CHECK(attr_by_name(kind, row->name) == row);
	CHECK(!row_readable(row) == !(row->mode & 0444) || S_ISDIR(row->mode));
	CHECK(!row->key || row->show);
	CHECK(!row_writable(row) == !(row->mode & 0222) || row->mode & S_IFMT);
	CHECK(!(row->flags & ATTR_CONST && row->store));
	CHECK(!row->store || strlen(row->name) < REQUEST_FILE);
	CHECK(row->help);
}

DEFINE_TEST(rows_are_complete)
{
	const struct attr *row;

	for (enum obj_kind k = 0; k < OBJ_KINDS; k++)
		for (size_t i = 0; (row = row_at(k, i)); i++)
			check_row(k, row);
}

DEFINE_TEST(buses_have_directories)
{
	for (enum bus bus = BUS_NONE + 1; bus < BUS_COUNT; bus++) {
		enum obj_kind kind = kind_of_bus(bus);
		const struct obj_type *type = obj_type(kind);

		CHECK(kind != OBJ_ROOT);
		CHECK_EQ(type->dir->id, type->home);
		CHECK_EQ(type->dir->entries->child, kind);
		CHECK(attr_by_id(OBJ_ROOT, type->home) == type->dir);
		CHECK(!strncmp(type->path, type->dir->name, strlen(type->dir->name)));
	}
}

/* From the view's directory down the path, to links that are rows of devices. */
static void check_view(const struct view *v)
{
	const struct entries *e = v->dir.entries;

	CHECK(!v->dir.name || attr_by_id(OBJ_ROOT, v->dir.id) == &v->dir);
	CHECK((v->member || v->caps) && view_by_dir(v->dir.id) == v && view_by_link(v->link.id) == v);
	for (size_t d = 0; d < VIEW_DEPTH && v->path[d]; d++) {
		const struct obj_type *type = obj_type(v->path[d]);

		CHECK(!e || (e->child == v->path[d] && !e->link));
		CHECK(!type->derived || type->home == (d ? ROW_SELF : v->dir.id));
		e = type->entries ? type->entries : attr_by_id(v->path[d], v->leaf)->entries;
	}
	CHECK_EQ(e->link, v->link.id);
	for (enum obj_kind k = 0; k < OBJ_KINDS; k++)
		CHECK(!obj_type(k)->bus || attr_by_id(k, e->link) == &v->link);
}

DEFINE_TEST(views_lead_to_rows)
{
	for (size_t i = 0; i < n_views; i++)
		check_view(&views[i]);
}

static struct device sample(void)
{
	struct device dev = {
		.key = { BUS_PCI, "0000:02:00.0" },
		.caps = CAP_PCI | CAP_IDS | CAP_CLAIM | CAP_NAMED | CAP_SRIOV | CAP_GROUP,
		.kind = KIND_SRIOV,
		.facts = { .vendor = 0x8086,
			   .device = 0x10fb,
			   .class_code = 0x020000,
			   .numa_node = -1,
			   .iommu_group = 11,
			   .total_vfs = 8,
			   .index = -1,
			   .nodes = "/dev/vfio/vfio /dev/vfio/11" },
		.state = STATE_FREE,
	};

	STR_COPY(dev.names.description, "a \"name\"\nof two lines");
	return dev;
}

DEFINE_TEST(inventory_line_from_rows)
{
	struct device dev = sample();
	struct out o = { 0 };

	inventory_line(NULL, &dev, &o);
	CHECK(!strncmp(
		o.data,
		"0000:02:00.0 vendor=0x8086 device=0x10fb class=0x020000 numa_node=-1 driver=none ",
		80));
	CHECK_IN(o.data,
		 " iommu_group=11 nodes=\"/dev/vfio/vfio /dev/vfio/11\" state=free reason=none");
	CHECK_IN(o.data, " sriov_totalvfs=8 sriov_numvfs=0 ");
	CHECK(!strstr(o.data, "physfn") && !strchr(o.data, '\n'));
	out_free(&o);
}

DEFINE_TEST(changed_names_follow_bits_and_caps)
{
	struct out o = { 0 };

	changed_names(BUS_PCI, CAP_PCI | CAP_IDS | CAP_CLAIM, CH_CLAIM | CH_STATE | CH_NUMVFS | CH_INTERNAL,
		      &o);
	CHECK_STR(o.data, "claim,state,hostdev.xml,qemu");
	out_free(&o);
	o = (struct out){ 0 };
	changed_names(BUS_PCI, CAP_PCI, CH_INTERNAL, &o);
	CHECK_EQ(o.len, 0);
}

DEFINE_TEST(caps_have_names)
{
	for (uint32_t cap = 1; cap < CAP_END; cap <<= 1) {
		struct out o = { 0 };

		caps_print(cap, &o);
		if (!o.len)
			FAIL("cap %#x has no name", (unsigned int)cap);
		out_free(&o);
	}
}

static void row_shows(const struct device *dev, const char *file, const char *part)
{
	struct subject s = { .dev = dev };
	struct out o = { 0 };

	row_show(attr_by_name(OBJ_DEVICE, file), &s, &o);
	CHECK_IN(o.data, part);
	out_free(&o);
}

DEFINE_TEST(a_field_reads_as_its_type_does)
{
	struct device dev = sample();

	dev.facts.numa_node = dev.facts.placement_id = -1;
	dev.facts.busnum = 65535;
	STR_COPY(dev.facts.nodes, "/dev/a /dev/b");
	row_shows(&dev, "numa_node", "-1\n");
	row_shows(&dev, "placement_id", "none\n");
	row_shows(&dev, "busnum", "65535\n");
	row_shows(&dev, "nodes", "/dev/a\n/dev/b\n");
	row_shows(&dev, "netdev", "none\n");
	dev.facts.placement_id = 0;
	STR_COPY(dev.reason, "it is held by sh (pid 812); end it");
	row_shows(&dev, "placement_id", "0\n");
	row_shows(&dev, "reason", "it is held by a process, see holders; end it\n");
}

DEFINE_TEST(what_a_vmm_takes)
{
	struct device dev = sample();

	row_shows(&dev, "qemu", "none\n");
	STR_COPY(dev.facts.mdev, "aaaaaaaa-0000-4000-8000-000000000001");
	dev.facts.mdevs = 1;
	row_shows(&dev, "qemu",
		  "-device vfio-pci,sysfsdev=/sys/bus/mdev/devices/"
		  "aaaaaaaa-0000-4000-8000-000000000001\n");
	row_shows(&dev, "hostdev.xml", "<address uuid='aaaaaaaa-0000-4000-8000-000000000001'/>\n");
	dev.facts.mdevs = 2; /* each for another guest */
	row_shows(&dev, "qemu", "none\n");
	row_shows(&dev, "hostdev.xml", "none\n");
	dev.facts.mdevs = 0;
	STR_COPY(dev.facts.profile_id, "745");
	row_shows(&dev, "qemu", "-device vfio-pci,host=0000:02:00.0\n");
	row_shows(&dev, "hostdev.xml", "type='pci' managed='no'");
	dev.facts.profile_id[0] = '\0';
	row_shows(&dev, "qemu", "none\n");
	STR_COPY(dev.intent.claim, "alice");
	row_shows(&dev, "qemu", "-device vfio-pci,host=0000:02:00.0\n");
	STR_COPY(dev.key.name, "10000:e1:1f.7"); /* more than QEMU's host= takes */
	row_shows(&dev, "qemu", "-device vfio-pci,sysfsdev=/sys/bus/pci/devices/10000:e1:1f.7\n");
	row_shows(&dev, "hostdev.xml", "none\n");
}

DEFINE_TEST(resource_names_have_an_order)
{
	struct device dev = sample();
	char name[RESOURCE_NAME];

	STR_COPY(dev.names.resource, "intel.com/NIC");
	device_resource(&dev, name);
	CHECK_STR(name, "intel.com/NIC");
	STR_COPY(dev.intent.pinned, "former.com/NIC"); /* under which it was claimed */
	device_resource(&dev, name);
	CHECK_STR(name, "former.com/NIC");
	dev.intent.single = true;
	device_resource(&dev, name);
	CHECK_STR(name, "former.com/0000_02_00_0");
	dev.intent.pinned[0] = '\0';
	device_resource(&dev, name);
	CHECK_STR(name, "intel.com/0000_02_00_0");
	STR_COPY(dev.intent.resource, "example.com/mine");
	device_resource(&dev, name);
	CHECK_STR(name, "example.com/mine");
	dev.caps = CAP_PCI;
	device_resource(&dev, name);
	CHECK_STR(name, "");
}

/* Places on a model of our own, without FUSE. */
static struct tree *small_tree(void)
{
	static struct tree t;
	static bool found;
	size_t size = (size_t)64 << 20;

	void *at = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(at != MAP_FAILED);
	CHECK_EQ(model_new(at, model_arena_size(), &t.conf.model, &found, NULL), 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0);
	CHECK(at != MAP_FAILED);
	CHECK_EQ(objects_open(at, size, obj_type, &t.objects, NULL), 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		  -1, 0);
	CHECK(at != MAP_FAILED);
	CHECK_EQ(files_new(at, size, 0, &t.files, NULL), 0);
	t.sets = sets_new();
	CHECK(t.sets);
	pthread_mutex_init(&t.lock, NULL);
	return &t;
}

static void put_device(struct tree *t, const char *name, const char *claimed, int group,
		       const char *pf, int index)
{
	struct key key = { .bus = BUS_PCI };
	struct device *d;

	STR_COPY(key.name, name);
	model_lock(t->conf.model);
	d = model_edit(t->conf.model, &key, true);
	d->facts.vendor = 0x8086;
	d->facts.class_code = 0x020000;
	d->facts.iommu_group = group;
	d->facts.total_vfs = -1;
	d->facts.index = index;
	key_make(BUS_PCI, pf, &d->facts.parent);
	STR_COPY(d->intent.claim, claimed);
	STR_COPY(d->names.resource, "intel.com/NIC");
	model_publish(t->conf.model);
	model_unlock(t->conf.model);
}

static void edit_device(struct tree *t, const char *name, void (*change)(struct device *d))
{
	struct key key;

	CHECK(key_make(BUS_PCI, name, &key));
	model_lock(t->conf.model);
	change(model_edit(t->conf.model, &key, false));
	model_publish(t->conf.model);
	model_unlock(t->conf.model);
}

static size_t count(struct tree *t, uint32_t slot, uint16_t row)
{
	return set_count(t->sets, set_id(slot, row));
}

static uint16_t dir_id(const char *name)
{
	return attr_by_name(OBJ_ROOT, name)->id;
}

DEFINE_TEST(views_show_and_let_go)
{
	struct tree *t = small_tree();
	struct forgets notes = { 0 };
	uint32_t vf, pf, alice, vendor, nic;

	put_device(t, "0000:02:00.0", "", 1, "", -1);
	put_device(t, "0000:02:10.0", "team/alice", 2, "0000:02:00.0", 3);
	put_device(t, "0000:02:10.2", "team/alice", 3, "0000:02:00.0", 4);
	CHECK_EQ(views_build(t, NULL), 0);
	pf = objects_find(t->objects, OBJ_DEVICE, 0, "0000:02:00.0");
	vf = objects_find(t->objects, OBJ_DEVICE, 0, "0000:02:10.0");
	alice = objects_find(t->objects, OBJ_LABEL + dir_id("claims"), 0, "team!alice");
	vendor = objects_find(t->objects, OBJ_VENDOR, 0, "intel.com");
	nic = objects_find(t->objects, OBJ_RESOURCE, vendor, "NIC");
	CHECK(alice != NO_SLOT && vendor != NO_SLOT && nic != NO_SLOT);
	CHECK_EQ(count(t, 0, dir_id("devices")), 3);
	CHECK_EQ(count(t, 0, dir_id("vfs")), 2);
	CHECK_EQ(count(t, pf, ROW_SELF), 2);
	CHECK_EQ(count(t, alice, ROW_SELF), 2);
	CHECK_EQ(count(t, nic, ROW_RES_DEVICES), 2);
	CHECK_EQ(entry_find(t, obj_type(OBJ_DEVICE)->entries, pf, set_id(pf, ROW_SELF), "virtfn3"),
		 vf);
	CHECK_EQ(entry_find(t, obj_type(OBJ_DEVICE)->entries, pf, set_id(pf, ROW_SELF), "virtfn03"),
		 NO_SLOT);
	CHECK_EQ(entry_find(t, obj_type(OBJ_DEVICE)->entries, pf, set_id(pf, ROW_SELF), "virtfn"),
		 NO_SLOT);
	views_place(t, vf, NULL, &notes);
	CHECK_EQ(count(t, pf, ROW_SELF), 1);
	CHECK_EQ(count(t, alice, ROW_SELF), 1);
	CHECK_EQ(objects_at(t->objects, alice)->state, OBJECT_LIVE);
	views_place(t, objects_find(t->objects, OBJ_DEVICE, 0, "0000:02:10.2"), NULL, &notes);
	CHECK_EQ(objects_at(t->objects, alice)->state, OBJECT_DEAD);
	CHECK_EQ(objects_at(t->objects, nic)->state, OBJECT_DEAD);
	CHECK_EQ(objects_at(t->objects, vendor)->state, OBJECT_DEAD);
	CHECK_EQ(count(t, 0, ROW_RESOURCES), 0);
	CHECK_EQ(count(t, 0, dir_id("iommu_groups")), 1);
	CHECK(notes.n > 10);
	free(notes.v);
}

static mode_t mode_of(struct tree *t, const char *name, const char *file)
{
	uint32_t slot = objects_find(t->objects, OBJ_DEVICE, 0, name);
	struct node n;
	struct stat st;

	CHECK_EQ(node_get(t, objects_ino(t->objects, slot, attr_by_name(OBJ_DEVICE, file)->id),
			  &n),
		 0);
	node_stat(t, &n, n.row, &st);
	return st.st_mode & 07777;
}

static void to_pf(struct device *d)
{
	d->facts.total_vfs = 8;
}

static void to_gpu(struct device *d)
{
	d->facts.total_vfs = 8;
	d->facts.own_vfs = true;
}

DEFINE_TEST(what_the_driver_makes_is_not_written)
{
	struct tree *t = small_tree();

	t->group = 7;
	put_device(t, "0000:02:00.0", "", 1, "", -1);
	put_device(t, "0000:03:00.0", "", 2, "", -1);
	edit_device(t, "0000:02:00.0", to_pf);
	edit_device(t, "0000:03:00.0", to_gpu);
	CHECK_EQ(views_build(t, NULL), 0);
	CHECK_EQ(mode_of(t, "0000:02:00.0", "sriov_numvfs"), 0664);
	CHECK_EQ(mode_of(t, "0000:03:00.0", "sriov_numvfs"), 0444);
	CHECK_EQ(mode_of(t, "0000:03:00.0", "claim"), 0664);
}

DEFINE_TEST(node_ids_outlive_the_process)
{
	struct tree *t = small_tree(), *again;
	uint64_t ino;
	struct node n;

	put_device(t, "0000:02:00.0", "alice", 1, "", -1);
	CHECK_EQ(views_build(t, NULL), 0);
	ino = objects_ino(t->objects, objects_find(t->objects, OBJ_DEVICE, 0, "0000:02:00.0"), 3);
	CHECK_EQ(node_get(t, ino, &n), 0);
	CHECK_STR(n.row->name, "vendor");
	sets_free(t->sets);
	t->sets = sets_new();
	free(t->members);
	t->members = NULL;
	t->n_members = 0;
	again = t;
	CHECK_EQ(views_build(again, NULL), 0);
	CHECK_EQ(node_get(again, ino, &n), 0);
	CHECK_STR(n.name, "0000:02:00.0");
	CHECK_EQ(node_get(again, ino + 1000, &n), -ESTALE);
}

DEFINE_TEST(rows_that_nobody_wrote_are_zero)
{
	size_t n = 0;
	uint32_t *rows = rows_upto(NULL, 0, &n, sizeof(*rows)), *more;

	CHECK(rows && n);
	memset(rows, 0xff, n * sizeof(*rows));
	CHECK(rows_upto(rows, n - 1, &n, sizeof(*rows)) == rows);
	more = rows_upto(rows, 1000, &n, sizeof(*rows));
	CHECK(more && n > 1000);
	CHECK_EQ(more[0], UINT32_MAX);
	CHECK_EQ(more[1000] | more[n - 1], 0);
	free(more);
}
