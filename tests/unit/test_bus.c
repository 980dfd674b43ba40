// SPDX-License-Identifier: GPL-2.0-or-later
/* A device is shown where its bus says: only the rows of kinds.c and key.c know a bus. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/inventory.h"
#include "baretree.h"
#include "facts.h"
#include "pcidevfs/util.h"
#include "test.h"

#define UUID "8f0b2c1e-4d11-4c1c-9b7f-0a1b2c3d4e5f"

static struct tree *start(void)
{
	static struct tree_conf conf = { .boot_id = "boot" };

	return bare_tree(&conf);
}

static struct key put(struct tree *t, const char *id, const char *claim)
{
	struct model *m = t->conf.model;
	struct device *d;
	struct key key;

	CHECK(key_parse(id, &key));
	model_lock(m);
	d = model_edit(m, &key, true);
	d->facts.numa_node = d->facts.iommu_group = d->facts.total_vfs = d->facts.index = -1;
	set_driver(&d->facts, "some-driver");
	STR_COPY(d->intent.claim, claim);
	model_publish(m);
	model_unlock(m);
	CHECK(model_sync(m, model_generation(m), 10000));
	return key;
}

/* What lies below the root's directory under that name. */
static int find(struct tree *t, const char *dir, const char *name, struct node *ret)
{
	const struct attr *row = attr_by_name(OBJ_ROOT, dir);
	uint32_t slot;
	uint64_t ino = 0;

	CHECK(row && S_ISDIR(row->mode));
	pthread_mutex_lock(&t->lock);
	slot = entry_find(t, row->entries, 0, set_id(0, row->id), name);
	if (slot != NO_SLOT)
		ino = objects_ino(t->objects, slot,
				  row->entries->link ? row->entries->link : ROW_SELF);
	pthread_mutex_unlock(&t->lock);
	return slot == NO_SLOT ? -ENOENT : node_get(t, ino, ret);
}

static const char *shown(const struct node *n, const char *file)
{
	static char text[4096];
	struct out o = { 0 };

	row_show(attr_by_name(n->kind, file), &n->subject, &o);
	str_copy(text, sizeof(text), out_text(&o));
	out_free(&o);
	return text;
}

static const char *events(struct tree *t)
{
	static char text[8192];
	struct out o = { 0 };

	ring_print(t->events, NULL, &o);
	str_copy(text, sizeof(text), out_text(&o));
	out_free(&o);
	return text;
}

static void check_device(struct tree *t, const char *dir, const char *name, const char *kind)
{
	struct node n;
	struct stat st;

	CHECK_EQ(find(t, dir, name, &n), 0);
	CHECK(n.subject.dev && node_is_dir(&n));
	node_stat(t, &n, NULL, &st);
	CHECK(S_ISDIR(st.st_mode) && st.st_nlink == 2);
	CHECK_STR(shown(&n, "address") + strlen(name), "\n");
	CHECK_STR(shown(&n, "driver"), "some-driver\n");
	CHECK_STR(shown(&n, "state"), "claimed\n");
	CHECK(!strncmp(shown(&n, "kind"), kind, strlen(kind)));
	/* What only PCI has it has not. */
	CHECK(!node_has(&n, attr_by_name(n.kind, "vendor")));
	CHECK(!node_has(&n, attr_by_name(n.kind, "sriov_numvfs")));
}

DEFINE_TEST(devices_of_any_bus_have_a_directory)
{
	struct tree *t = start();
	struct node n;

	put(t, "mdev/" UUID, "alice");
	put(t, "usb/2-1.3", "alice");
	check_device(t, "mdevs", UUID, "mdev");
	check_device(t, "usb", "2-1.3", "usb");
	CHECK_EQ(find(t, "devices", UUID, &n), -ENOENT);
	CHECK_EQ(find(t, "devices", "2-1.3", &n), -ENOENT);
	tree_stop(t);
}

DEFINE_TEST(devices_of_any_bus_are_told)
{
	struct tree *t = start();
	struct subject root = { .tree = t };
	struct out o = { 0 };
	struct key usb;

	put(t, "mdev/" UUID, "");
	usb = put(t, "usb/2-1.3", "");
	CHECK_IN(events(t), "action=add mdev/" UUID " numa_node=-1 driver=some-driver kind=mdev ");
	CHECK_IN(events(t), "action=add usb/2-1.3 numa_node=-1 driver=some-driver kind=usb ");
	inventory_show(&root, &o);
	CHECK_IN(o.data, " devices=2\n");
	CHECK_IN(o.data, "\nmdev/" UUID " numa_node=-1 ");
	CHECK_IN(o.data, "\nusb/2-1.3 numa_node=-1 ");
	out_free(&o);
	o = (struct out){ 0 };
	overview_show(&root, &o);
	CHECK_IN(o.data, "\nmdev/8f0b2c1e-4d11-4c1c-9b7f-0a1b2c3d4e5f  -  ");
	CHECK_IN(o.data, "\nusb/2-1.3  ");
	out_free(&o);
	put(t, "usb/2-1.3", "bob");
	CHECK_IN(events(t), "action=change changed=state,reason");
	model_lock(t->conf.model);
	model_remove(t->conf.model, &usb);
	model_publish(t->conf.model);
	model_unlock(t->conf.model);
	CHECK(model_sync(t->conf.model, model_generation(t->conf.model), 10000));
	CHECK_IN(events(t), "action=remove usb/2-1.3\n");
	tree_stop(t);
}

/* Views take in what the rule takes in; their links lead into the bus's own directory. */
DEFINE_TEST(views_have_devices_of_any_bus)
{
	struct tree *t = start();
	const struct view *claims = view_by_dir(attr_by_name(OBJ_ROOT, "claims")->id);
	struct out o = { 0 };
	uint32_t label, slot;
	struct node n = { 0 };
	struct key usb;

	put(t, "mdev/" UUID, "alice");
	usb = put(t, "usb/2-1.3", "alice");
	CHECK_EQ(find(t, "claims", "alice", &n), 0);
	label = n.slot;
	CHECK_EQ(set_count(t->sets, set_id(label, ROW_SELF)), 2);
	slot = entry_find(t, claims->label.entries, label, set_id(label, ROW_SELF), "2-1.3");
	CHECK_EQ(slot, device_slot(t, &usb));
	CHECK_EQ(node_get(t, objects_ino(t->objects, slot, claims->link.id), &n), 0);
	row_show(n.row, &n.subject, &o);
	CHECK_STR(o.data, "../../usb/2-1.3");
	out_free(&o);
	tree_stop(t);
}
