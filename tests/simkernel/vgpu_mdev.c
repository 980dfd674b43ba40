// SPDX-License-Identifier: GPL-2.0-or-later
/* The bus of mediated devices: a parent offers types, a UUID written to one makes a device, which
 * the vendor's second driver hands to VFIO. */
#include "vgpu_mdev.h"
#include "dev.h"
#include "iommu.h"
#include "sim.h"
#include "vfio.h"
#include "vgpu.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UUID_LEN 36

struct offer {
	struct mdev_parent *parent;
	const struct vgpu_type *type;
	struct node *dir;
};

struct mdev_parent {
	struct dev *dev;
	struct card *card;
	unsigned int limit, count;
	unsigned int inside; /* who makes or removes a device; the end awaits them */
	bool gone;
	size_t n;
	struct offer offers[];
};

struct mdev {
	struct dev dev; /* must be first */
	const struct offer *offer;
	int gi; /* the GPU instance of its vGPU, -1: none */
};

/* ---- the bus */

static bool is_uuid(const char *text)
{
	for (int i = 0; i < UUID_LEN; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

static bool is_name(const char *text)
{
	return is_uuid(text) && !text[UUID_LEN];
}

static struct dev *find(struct sim *s, const char *name)
{
	struct dev *d = s->mdev.devs;

	while (d && !(d->dir && !strcmp(d->name, name)))
		d = d->next;
	return d;
}

/* Its events tell nothing more. */
static size_t env(struct dev *d, char *buf, size_t size)
{
	(void)d, (void)buf, (void)size;
	return 0;
}

/* No driver takes one by itself, and none that is told to: only its maker gives it to one. */
static bool has_id(const struct driver *drv, struct dev *d)
{
	(void)drv, (void)d;
	return false;
}

static bool is_shut(struct dev *d)
{
	return false;
}

static int probe(struct sim *s, struct dev *d)
{
	const struct offer *o = ((struct mdev *)d)->offer;
	struct mdev_parent *p = o->parent;
	int r;

	gpu_delay(s);
	if (p->count >= p->limit || card_take(s, p->card, o->type, d, &((struct mdev *)d)->gi))
		return -ENOSPC;
	p->count++;
	group_join(s, d, -1);
	r = vfio_register(s, d);
	if (!r)
		return 0;
	group_leave(s, d);
	card_give(p->card, o->type, d);
	p->count--;
	return r;
}

static int remove_(struct sim *s, struct dev *d)
{
	const struct offer *o = ((struct mdev *)d)->offer;
	int r = vfio_unregister(s, d);

	if (r)
		return r;
	group_leave(s, d);
	gpu_delay(s);
	card_give(o->parent->card, o->type, d);
	o->parent->count--;
	return 0;
}

static const struct driver_kind drivers[] = {
	{ .name = "nvidia-vgpu-vfio",
	  .own_dma = true,
	  .builtin = true,
	  .probe = probe,
	  .remove = remove_ },
	{ .name = "", .own_dma = true, .probe = probe, .remove = remove_ },
};

static const struct reaction none[] = { { .name = NULL } };

static const struct bus_rules mdev_rules = {
	.name = "mdev",
	.rows = none,
	.driver_rows = none,
	.drivers = drivers,
	.is_name = is_name,
	.find = find,
	.env = env,
	.has_id = has_id,
	.is_shut = is_shut,
	.own_groups = true,
};

int mdev_build(struct sim *s)
{
	if (s->mdev.rules)
		return 0;
	if (!tree_mkdirs(s->tree, s->tree->root, "class/mdev_bus"))
		return -ENOMEM;
	return bus_build(s, &s->mdev, &mdev_rules);
}

/* ---- a device comes and goes */

static void end(struct sim *s, struct mdev *m)
{
	struct node *list = tree_find(s->tree, m->offer->dir, "devices");

	tree_remove_name(s->tree, m->dev.dir, "remove");
	tree_remove_name(s->tree, m->dev.dir, "mdev_type");
	if (list)
		tree_remove_name(s->tree, list, m->dev.name);
	if (dev_lock(s, &m->dev))
		return;
	if (!driver_release(s, &m->dev))
		dev_vanish(s, &m->dev);
	dev_unlock(s, &m->dev);
}

static void leave(struct sim *s, struct mdev_parent *p)
{
	p->inside--;
	pthread_cond_broadcast(&s->changed);
}

static int remove_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct mdev *m = obj;
	struct mdev_parent *p = m->offer->parent;
	char *rest;
	unsigned long yes = strtoul(text, &rest, 0);

	if (rest == text || (*rest && strcmp(rest, "\n")))
		return -EINVAL;
	if (!yes)
		return 0;
	if (p->gone)
		return -ENODEV;
	p->inside++;
	end(s, m);
	leave(s, p);
	return 0;
}

static const struct reaction mdev_rows[] = {
	{ .name = "remove", .mode = 0200, .store = remove_store },
	{ .name = NULL },
};

static ssize_t instance_show(struct sim *s, void *obj, char *page)
{
	return instance_print(((struct mdev *)obj)->gi, page);
}

static const struct reaction vgpu_rows[] = {
	{ .name = "gpu_instance_id", .mode = 0444, .show = instance_show },
	{ .name = NULL },
};

/* One that was there before is used again, because somebody may still wait for its lock. */
static struct mdev *mdev_get(struct sim *s, const struct dev *parent, const char *uuid)
{
	char path[TREE_PATH_MAX];
	struct record *r;
	struct mdev *m;

	snprintf(path, sizeof(path), "%.4000s/%s", parent->rec->path, uuid);
	for (struct dev *d = s->mdev.devs; d; d = d->next)
		if (!d->dir && !strcmp(d->rec->path, path))
			return (struct mdev *)d;
	r = machine_record_new(path);
	m = r ? calloc(1, sizeof(*m)) : NULL;
	if (!m) {
		machine_record_free(r);
		return NULL;
	}
	dev_init(s, &s->mdev, &m->dev, r);
	return m;
}

static int begin(struct sim *s, const struct offer *o, const char *uuid)
{
	struct mdev *m = mdev_get(s, o->parent->dev, uuid);
	int r = m ? dev_appear(s, &m->dev) : -ENOMEM;

	if (r)
		return r;
	m->offer = o;
	dev_event(s, &m->dev, "add");
	r = dev_lock(s, &m->dev);
	if (r)
		return r;
	r = driver_probe(s, driver_get(s, &s->mdev, drivers->name), &m->dev);
	if (r) {
		dev_vanish(s, &m->dev);
	} else {
		tree_link_to(s->tree, m->dev.dir, "mdev_type", o->dir);
		tree_link_to(s->tree, tree_dir(s->tree, o->dir, "devices"), uuid, m->dev.dir);
		sim_rows(s, m->dev.dir, mdev_rows, m);
		if (o->parent->card->nvml)
			sim_rows(s, tree_dir(s->tree, m->dev.dir, "nvidia"), vgpu_rows, m);
	}
	dev_unlock(s, &m->dev);
	return r;
}

/* ---- the files of a type */

static int create_store(struct sim *s, void *obj, const char *text, size_t len)
{
	const struct offer *o = obj;
	char uuid[UUID_LEN + 1];
	int r;

	if (len < UUID_LEN || len > UUID_LEN + 1 || !is_uuid(text))
		return -EINVAL;
	for (int i = 0; i < UUID_LEN; i++)
		uuid[i] = (char)tolower((unsigned char)text[i]);
	uuid[UUID_LEN] = 0;
	if (find(s, uuid))
		return -EEXIST;
	if (o->parent->gone)
		return -ENODEV;
	o->parent->inside++;
	r = begin(s, o, uuid);
	leave(s, o->parent);
	return r;
}

static ssize_t available_show(struct sim *s, void *obj, char *page)
{
	const struct offer *o = obj;
	const struct mdev_parent *p = o->parent;
	unsigned int n = card_room(s, p->card, o->type), left = p->limit - p->count;

	return snprintf(page, PAGE_TEXT, "%u\n", n < left ? n : left);
}

static ssize_t name_show(struct sim *s, void *obj, char *page)
{
	return snprintf(page, PAGE_TEXT, "%s\n", ((struct offer *)obj)->type->name);
}

static ssize_t description_show(struct sim *s, void *obj, char *page)
{
	unsigned int size = ((struct offer *)obj)->type->size,
		     max = ((struct offer *)obj)->type->max;

	return snprintf(page, PAGE_TEXT,
			"num_heads=4, frl_config=60, framebuffer=%uM, max_resolution=4096x2160, "
			"max_instance=%u\n",
			size * 1024, max ? max : s->gpu->fb / size);
}

static ssize_t device_api_show(struct sim *s, void *obj, char *page)
{
	(void)s, (void)obj;
	return snprintf(page, PAGE_TEXT, "vfio-pci\n");
}

static const struct reaction type_rows[] = {
	{ .name = "create", .mode = 0200, .store = create_store },
	{ .name = "available_instances", .mode = 0444, .show = available_show },
	{ .name = "name", .mode = 0444, .show = name_show },
	{ .name = "description", .mode = 0444, .show = description_show },
	{ .name = "device_api", .mode = 0444, .show = device_api_show },
	{ .name = NULL },
};

/* ---- a parent */

static void add_offer(struct sim *s, struct offer *o, struct node *types)
{
	char name[40];

	snprintf(name, sizeof(name), "nvidia-%u", o->type->id + o->parent->card->ids);
	o->dir = tree_dir(s->tree, types, name);
	if (!o->dir)
		return;
	sim_rows(s, o->dir, type_rows, o);
	tree_dir(s->tree, o->dir, "devices");
}

struct mdev_parent *mdev_parent_add(struct sim *s, struct dev *d, struct card *c,
				    unsigned int limit)
{
	const struct vgpu_types *types = card_types(s, c);
	struct mdev_parent *p = calloc(1, sizeof(*p) + types->n * sizeof(p->offers[0]));
	struct node *dir = tree_dir(s->tree, d->dir, "mdev_supported_types");

	if (!p || !dir) {
		free(p);
		return NULL;
	}
	p->dev = d;
	p->card = c;
	p->limit = limit;
	p->n = types->n;
	for (size_t i = 0; i < p->n; i++) {
		p->offers[i] = (struct offer){ .parent = p, .type = &types->list[i] };
		add_offer(s, &p->offers[i], dir);
	}
	tree_link_to(s->tree, tree_mkdirs(s->tree, s->tree->root, "class/mdev_bus"), d->name,
		     d->dir);
	dev_event_with(s, d, "change", "MDEV_STATE=registered\n");
	return p;
}

void mdev_parent_del(struct sim *s, struct mdev_parent *p)
{
	p->gone = true;
	while (p->inside)
		if (sim_wait(s))
			return;
	tree_remove_name(s->tree, tree_mkdirs(s->tree, s->tree->root, "class/mdev_bus"),
			 p->dev->name);
	for (struct dev *d = s->mdev.devs; d; d = d->next)
		if (d->dir && ((struct mdev *)d)->offer->parent == p)
			end(s, (struct mdev *)d);
	tree_remove_name(s->tree, p->dev->dir, "mdev_supported_types");
	dev_event_with(s, p->dev, "change", "MDEV_STATE=unregistered\n");
}
