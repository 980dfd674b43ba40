// SPDX-License-Identifier: GPL-2.0-or-later
/* Cards, their framebuffer, and VFs that are VFIO devices of the vendor's driver: the type of such a
 * vGPU is a file. The model is tests/lab/kmod/labgpu.c. */
#include "vgpu.h"
#include "facts.h"
#include "func.h"
#include "sim.h"
#include "vfio.h"
#include "vgpu_mdev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR 0x10de
#define DISPLAY 0x03

static bool is_gpu(const struct sim *s, const struct func *f)
{
	return s->gpu && s->gpu->style != GPU_PLAIN && f->vendor == VENDOR &&
	       f->class_code >> 16 == DISPLAY;
}

/* Is it a vGPU by itself? */
static bool is_vgpu(const struct func *f)
{
	return f->vgpu && f->vgpu->card && !f->vgpu->parent;
}

bool vgpu_lacks_type(const struct func *f)
{
	return is_vgpu(f) && !f->vgpu->type;
}

bool vgpu_forbids_vfio(const struct sim *s, const struct func *f)
{
	return f->pf && is_gpu(s, f) && !s->gpu->passthrough;
}

/* ---- a card's framebuffer */

unsigned int card_room(const struct sim *s, const struct card *c, const struct vgpu_type *t)
{
	if (c->count && !c->mixed && !s->gpu->mixed && c->size != t->size)
		return 0;
	return c->used < s->gpu->fb ? (s->gpu->fb - c->used) / t->size : 0;
}

int card_take(const struct sim *s, struct card *c, const struct vgpu_type *t)
{
	if (!card_room(s, c, t))
		return -ENOSPC;
	c->used += t->size;
	c->size = t->size;
	c->count++;
	return 0;
}

void card_give(struct card *c, const struct vgpu_type *t)
{
	c->used -= t->size;
	c->count--;
}

int card_mix(struct sim *s, const char *addr, bool on)
{
	const struct func *f = func_find(s, addr);

	if (!f || !f->card || !f->card->loaded)
		return -ENODEV;
	if (f->card->count)
		return -EBUSY;
	f->card->mixed = on;
	return 0;
}

/* ---- the files of a vGPU */

static size_t print_type(const struct gpu_options *o, unsigned int id, const char *name, char *buf,
			 size_t size)
{
	int n = o->name_first ? snprintf(buf, size, "%s   %u\n", name, id)
			      : snprintf(buf, size, "%-5u : %s\n", id, name);

	return (size_t)n < size ? (size_t)n : 0;
}

static ssize_t creatable_show(struct sim *s, void *obj, char *page)
{
	const struct vgpu *v = ((struct func *)obj)->vgpu;
	const struct gpu_options *o = s->gpu;
	const char *header = o->name_first ? "vGPU Name   ID\n" : "ID    : vGPU Name\n";
	size_t at = strlen(header), lines = 0;

	strcpy(page, header);
	for (size_t i = 0; i < o->types->n && v->card && !v->type; i++) {
		const struct vgpu_type *t = &o->types->list[i];

		if (!card_room(s, v->card, t))
			continue;
		at += print_type(o, t->id + v->card->offset, t->name, page + at, SHOW_MAX - at);
		if (!lines++ && o->garbled && strlen(o->garbled) + 1 < SHOW_MAX - at)
			at += (size_t)sprintf(page + at, "%s\n", o->garbled);
	}
	return lines || o->lone_header ? (ssize_t)at : 0;
}

static ssize_t current_show(struct sim *s, void *obj, char *page)
{
	const struct vgpu *v = ((struct func *)obj)->vgpu;

	(void)s;
	return snprintf(page, PAGE_TEXT, "%u\n", v->type ? v->type->id + v->card->offset : 0);
}

static const struct vgpu_type *type_of(const struct sim *s, const struct card *c, unsigned long id)
{
	for (size_t i = 0; i < s->gpu->types->n; i++)
		if (s->gpu->types->list[i].id + c->offset == id)
			return &s->gpu->types->list[i];
	return NULL;
}

static void clear(struct vgpu *v)
{
	if (v->type)
		card_give(v->card, v->type);
	v->type = NULL;
	free(v->params);
	v->params = NULL;
}

/* A type that is refused leaves none: the vendor says so of its driver. */
static int set_type(struct sim *s, struct func *f, unsigned long id)
{
	struct vgpu *v = f->vgpu;
	const struct vgpu_type *t = type_of(s, v->card, id);
	bool had = v->type != NULL;

	if (vfio_is_open(&f->dev))
		return -EPERM;
	clear(v);
	if (!id)
		return 0;
	if (!t || had || card_take(s, v->card, t))
		return -EIO;
	v->type = t;
	return 0;
}

static int current_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	char *end;
	unsigned long id = strtoul(text, &end, 0);
	int r;

	(void)len;
	if (*text < '0' || *text > '9' || (*end && strcmp(end, "\n")) || id > UINT32_MAX)
		return -EINVAL;
	f->vgpu->inside++;
	gpu_delay(s);
	r = set_type(s, f, id);
	f->vgpu->inside--;
	pthread_cond_broadcast(&s->changed);
	return r;
}

static ssize_t params_show(struct sim *s, void *obj, char *page)
{
	const struct vgpu *v = ((struct func *)obj)->vgpu;

	(void)s;
	return snprintf(page, PAGE_TEXT, "%s\n", v->params ? v->params : "");
}

static int params_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	char *copy;

	(void)s, (void)len;
	if (!f->vgpu->type || vfio_is_open(&f->dev))
		return -EPERM;
	copy = strndup(text, strcspn(text, "\n"));
	if (!copy)
		return -ENOMEM;
	free(f->vgpu->params);
	f->vgpu->params = copy;
	return 0;
}

static ssize_t instance_show(struct sim *s, void *obj, char *page)
{
	(void)s;
	return vgpu_lacks_type(obj) ? -ENXIO : snprintf(page, PAGE_TEXT, "%u\n", UINT32_MAX);
}

static ssize_t placement_show(struct sim *s, void *obj, char *page)
{
	(void)s;
	return vgpu_lacks_type(obj) ? -ENXIO : snprintf(page, PAGE_TEXT, "0\n");
}

static const struct reaction vgpu_rows[] = {
	{ .name = "creatable_vgpu_types", .mode = 0444, .show = creatable_show },
	{ .name = "current_vgpu_type", .mode = 0644, .show = current_show, .store = current_store },
	{ .name = "vgpu_params", .mode = 0644, .show = params_show, .store = params_store },
	{ .name = "gpu_instance_id", .mode = 0444, .show = instance_show },
	{ .name = "placement_id", .mode = 0444, .show = placement_show },
	{ .name = NULL },
};

/* ---- the driver */

/* Others take it while they work on the card, which nobody may have open. */
static void lock_file(struct sim *s, const struct func *pf, bool there)
{
	char path[128];

	snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s%s", pf->dev.name,
		 there ? "/unbindLock" : "");
	if (there)
		facts_file(s, path, "0\n");
	else
		facts_remove(s, path);
}

void vgpu_facts(struct sim *s)
{
	for_each_func(s, f)
		if (f->card && f->card->loaded)
			lock_file(s, f, true);
}

static int probe_pf(struct sim *s, struct func *f)
{
	struct card *c = f->card ? f->card : calloc(1, sizeof(*c));
	/* At the start what was recorded below it comes without. */
	int r = c ? s->quiet ? 0 : pci_host_probe(s, &f->dev) : -ENOMEM;

	if (r)
		return r;
	f->card = c;
	*c = (struct card){ .loaded = true, .offset = s->gpu->offset };
	lock_file(s, f, true);
	if (s->gpu->style == GPU_MDEV_PF)
		c->parent = mdev_parent_add(s, &f->dev, c, s->gpu->fb);
	return s->gpu->style == GPU_MDEV_PF && !c->parent ? -ENOMEM : 0;
}

static int probe_vf(struct sim *s, struct func *f)
{
	struct card *c = f->pf->card;
	struct vgpu *v = f->vgpu ? f->vgpu : calloc(1, sizeof(*v));
	int r = 0;

	if (!v)
		return -ENOMEM;
	f->vgpu = v;
	*v = (struct vgpu){ .deferred = !c || !c->loaded };
	if (v->deferred)
		return -EAGAIN;
	if (s->gpu->style == GPU_VFIO)
		r = vfio_register(s, &f->dev);
	if (r)
		return r;
	v->card = c;
	if (s->gpu->style == GPU_MDEV)
		v->parent = mdev_parent_add(s, &f->dev, c, 1);
	else if (s->gpu->style == GPU_VFIO)
		sim_rows(s, tree_dir(s->tree, f->dev.dir, "nvidia"), vgpu_rows, f);
	return s->gpu->style == GPU_MDEV && !v->parent ? -ENOMEM : 0;
}

static int probe(struct sim *s, struct dev *d)
{
	struct func *f = func_of(d);

	gpu_delay(s);
	if (!is_gpu(s, f))
		return pci_host_probe(s, d);
	return f->pf ? probe_vf(s, f) : probe_pf(s, f);
}

/* Its VFs that came before it. */
static void bound(struct sim *s, struct dev *d)
{
	struct func *f = func_of(d);

	for (unsigned int i = 0; f->card && i < f->total_vfs; i++) {
		struct func *vf = f->vfs[i];

		if (!vf || !vf->dev.dir || !vf->vgpu || !vf->vgpu->deferred ||
		    dev_lock(s, &vf->dev))
			continue;
		vf->vgpu->deferred = false;
		driver_probe_all(s, &vf->dev);
		dev_unlock(s, &vf->dev);
	}
}

static int remove_vf(struct sim *s, struct func *f)
{
	struct vgpu *v = f->vgpu;
	int r = 0;

	tree_remove_name(s->tree, f->dev.dir, "nvidia");
	while (v->inside)
		if (sim_wait(s))
			return -EINTR;
	if (v->parent)
		mdev_parent_del(s, v->parent);
	else if (f->dev.vfio_dev >= 0)
		r = vfio_unregister(s, &f->dev);
	clear(v);
	v->parent = NULL;
	v->card = NULL;
	return r;
}

static int remove_(struct sim *s, struct dev *d)
{
	struct func *f = func_of(d);
	int r;

	if (f->pf && f->vgpu && f->vgpu->card)
		return remove_vf(s, f);
	r = pci_host_remove(s, d);
	if (!f->card || !f->card->loaded)
		return r;
	if (f->card->parent)
		mdev_parent_del(s, f->card->parent);
	lock_file(s, f, false);
	f->card->loaded = false;
	return r;
}

static int sriov_may(struct sim *s, struct dev *d, unsigned int n)
{
	struct card *c = func_of(d)->card;

	if (!c || !c->loaded)
		return 0;
	if (!s->gpu->numvfs)
		return -EPERM;
	gpu_delay(s);
	if (!n && c->count)
		return -EBUSY;
	c->mixed = false;
	return 0;
}

const struct driver_kind vgpu_driver = {
	.name = "nvidia",
	.sriov = true,
	.own_dma = true,
	.attaches = true,
	.probe = probe,
	.remove = remove_,
	.sriov_may = sriov_may,
	.bound = bound,
};
