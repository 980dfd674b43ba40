// SPDX-License-Identifier: GPL-2.0-or-later
/* Cards, their framebuffer, and VFs that are VFIO devices of the vendor's driver: the type of such a
 * vGPU is a file. The model is tests/lab/kmod/labgpu.c. */
#include "vgpu.h"
#include "func.h"
#include "nvml.h"
#include "sim.h"
#include "vfio.h"
#include "vgpu_mdev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR 0x10de
#define DISPLAY 0x03
#define PARAMS_MAX 256

static bool is_gpu(const struct sim *s, const struct func *f)
{
	return s->gpu && s->gpu->style != GPU_PLAIN && f->vendor == VENDOR &&
	       f->class_code >> 16 == DISPLAY;
}

bool is_vgpu(const struct func *f)
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

const struct vgpu_types *card_types(const struct sim *s, const struct card *c)
{
	return c->nvml ? c->types : s->gpu->types;
}

unsigned int card_room(const struct sim *s, const struct card *c, const struct vgpu_type *t)
{
	if (c->nvml)
		return nvml_room(c->nvml, t->id);
	if (c->count && !c->mixed && c->size != t->size)
		return 0;
	return c->used < s->gpu->fb ? (s->gpu->fb - c->used) / t->size : 0;
}

int card_take(const struct sim *s, struct card *c, const struct vgpu_type *t,
	      const struct dev *owner, int *ret_gi)
{
	int r = 0;

	*ret_gi = -1;
	if (c->nvml)
		r = nvml_take(c->nvml, t->id, owner->name, ret_gi);
	else if (!card_room(s, c, t))
		r = -ENOSPC;
	if (r)
		return r;
	c->used += t->size;
	c->size = t->size;
	c->count++;
	return 0;
}

void card_give(struct card *c, const struct vgpu_type *t, const struct dev *owner)
{
	if (c->nvml)
		nvml_give(c->nvml, owner->name);
	c->used -= t->size;
	c->count--;
}

/* Stands in for the vendor's nvidia-smi vgpu -shm. */
static ssize_t mixed_show(struct sim *s, void *obj, char *page)
{
	return snprintf(page, PAGE_TEXT, "%d\n", ((struct card *)obj)->mixed);
}

static int mixed_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct card *c = obj;
	bool on;

	if (gpu_bool(&on, text))
		return -EINVAL;
	gpu_delay(s);
	if (c->count)
		return -EBUSY;
	c->mixed = on;
	return 0;
}

static bool lacks_nvml(const void *obj)
{
	return !((const struct card *)obj)->nvml;
}

static const struct reaction card_rows[] = {
	{ .name = "heterogeneous_mode",
	  .mode = 0644,
	  .has = lacks_nvml,
	  .show = mixed_show,
	  .store = mixed_store },
	{ .name = NULL },
};

/* ---- the files of a vGPU */

static size_t print_type(const struct gpu_options *o, unsigned int id, const char *name, char *buf,
			 size_t size)
{
	int n = o->name_first ? snprintf(buf, size, "%s %u\n", name, id)
			      : snprintf(buf, size, "%-5u : %s\n", id, name);

	return (size_t)n < size ? (size_t)n : 0;
}

static ssize_t creatable_show(struct sim *s, void *obj, char *page)
{
	const struct vgpu *v = ((struct func *)obj)->vgpu;
	const struct vgpu_types *types = v->card ? card_types(s, v->card) : NULL;
	const struct gpu_options *o = s->gpu;
	const char *head = o->name_first ? "vGPU Name : ID\n" : "ID    : vGPU Name\n";
	size_t at = strlen(head), lines = 0;

	strcpy(page, head);
	for (size_t i = 0; types && i < types->n && !v->type; i++) {
		const struct vgpu_type *t = &types->list[i];

		if (!card_room(s, v->card, t))
			continue;
		at += print_type(o, t->id + v->card->ids, t->name, page + at, SHOW_MAX - at);
		if (!lines++ && o->garbled && strlen(o->garbled) + 1 < SHOW_MAX - at)
			at += (size_t)sprintf(page + at, "%s\n", o->garbled);
	}
	return lines || o->header ? (ssize_t)at : 0;
}

static ssize_t current_show(struct sim *s, void *obj, char *page)
{
	const struct vgpu *v = ((struct func *)obj)->vgpu;

	return snprintf(page, PAGE_TEXT, "%u\n", v->type ? v->type->id + v->card->ids : 0);
}

static const struct vgpu_type *type_of(const struct sim *s, const struct card *c, unsigned long id)
{
	const struct vgpu_types *types = card_types(s, c);

	for (size_t i = 0; i < types->n; i++)
		if (types->list[i].id + c->ids == id)
			return &types->list[i];
	return NULL;
}

static void clear(struct func *f)
{
	struct vgpu *v = f->vgpu;

	if (v->type)
		card_give(v->card, v->type, &f->dev);
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
	clear(f);
	if (!id)
		return 0;
	if (!t || had || card_take(s, v->card, t, &f->dev, &v->gi))
		return -EIO;
	v->type = t;
	return 0;
}

static int current_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	char *end;
	unsigned long id = strtoul(text, &end, 10);
	int r;

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

	return snprintf(page, PAGE_TEXT, "%s\n", v->params ? v->params : "");
}

static int params_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	char *copy;

	if (len >= PARAMS_MAX)
		return -EINVAL;
	if (!f->vgpu->type || vfio_is_open(&f->dev))
		return -EPERM;
	copy = strndup(text, strcspn(text, "\n"));
	if (!copy)
		return -ENOMEM;
	free(f->vgpu->params);
	f->vgpu->params = copy;
	return 0;
}

ssize_t instance_print(int gi, char *page)
{
	return snprintf(page, PAGE_TEXT, "%u\n", gi < 0 ? UINT32_MAX : (unsigned int)gi);
}

static ssize_t instance_show(struct sim *s, void *obj, char *page)
{
	return vgpu_lacks_type(obj) ? -ENXIO : instance_print(((struct func *)obj)->vgpu->gi, page);
}

static ssize_t placement_show(struct sim *s, void *obj, char *page)
{
	return vgpu_lacks_type(obj) ? -ENXIO : snprintf(page, PAGE_TEXT, "%u\n", UINT16_MAX);
}

static ssize_t warm_update_show(struct sim *s, void *obj, char *page)
{
	(void)s, (void)obj;
	return snprintf(page, PAGE_TEXT, "0\n");
}

static const struct reaction vgpu_rows[] = {
	{ .name = "creatable_vgpu_types", .mode = 0444, .show = creatable_show },
	{ .name = "current_vgpu_type", .mode = 0644, .show = current_show, .store = current_store },
	{ .name = "vgpu_params", .mode = 0644, .show = params_show, .store = params_store },
	{ .name = "gpu_instance_id", .mode = 0444, .show = instance_show },
	{ .name = "placement_id", .mode = 0444, .show = placement_show },
	{ .name = "warm_update", .mode = 0444, .show = warm_update_show },
	{ .name = NULL },
};

/* ---- the driver */

static unsigned int free_minor(const struct sim *s)
{
	unsigned int n = 0;

	for_each_func(s, f) if (f->card && f->card->loaded && f->card->minor >= n) n =
		f->card->minor + 1;
	return n;
}

static int probe_pf(struct sim *s, struct func *f)
{
	struct card *c = f->card ? f->card : calloc(1, sizeof(*c));
	struct nvml_device *nvml = NULL;
	/* At the start what was recorded below it comes without. */
	int r = c ? s->quiet ? 0 : pci_host_probe(s, &f->dev) : -ENOMEM;

	if (r)
		return r;
	if (s->gpu->cards)
		nvml = c->nvml ? c->nvml : nvml_card(s->gpu->cards, f->dev.name);
	*c = (struct card){ .mixed = s->gpu->mixed,
			    .ids = nvml ? 0 : s->gpu->ids,
			    .minor = free_minor(s),
			    .nvml = nvml,
			    .types = nvml ? nvml_types(nvml) : NULL };
	c->loaded = true;
	f->card = c;
	card_show(s, f);
	if (s->gpu->style == GPU_MDEV_PF)
		c->parent = mdev_parent_add(s, &f->dev, c, s->gpu->fb);
	sim_rows(s, tree_dir(s->tree, f->dev.dir, "nvidia"), card_rows, c);
	sim_rows(s, tree_dir(s->tree, f->dev.dir, "nvidia"), card_client_rows, f);
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
	if (s->gpu->style != GPU_MDEV)
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
	clear(f);
	v->parent = NULL;
	v->card = NULL;
	return r;
}

/* As the vendor's, it waits without end for who has the card open. */
static int remove_(struct sim *s, struct dev *d)
{
	struct func *f = func_of(d);
	int r;

	if (f->pf && f->vgpu && f->vgpu->card)
		return remove_vf(s, f);
	if (!f->card || !f->card->loaded)
		return pci_host_remove(s, d);
	tree_remove_name(s->tree, d->dir, "nvidia");
	while (f->card->open || f->card->clients)
		if (sim_wait(s))
			return -EINTR;
	card_hide(s, f);
	r = pci_host_remove(s, d);
	if (f->card->parent)
		mdev_parent_del(s, f->card->parent);
	f->card->loaded = false;
	if (f->card->nvml)
		nvml_rebound(f->card->nvml, 0);
	return r;
}

static int sriov_may(struct sim *s, struct dev *d, unsigned int n)
{
	struct card *c = func_of(d)->card;

	if (!c || !c->loaded)
		return 0;
	gpu_delay(s);
	if (!s->gpu->numvfs && !card_has_lock(s, func_of(d)))
		return -EPERM;
	if (!n && c->count)
		return -EBUSY;
	c->mixed = s->gpu->mixed;
	/* The vendor's program takes the card from its driver and gives it back. */
	if (c->nvml)
		nvml_rebound(c->nvml, n);
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
