// SPDX-License-Identifier: GPL-2.0-or-later
/* PCI drivers: which function they match, and the core's rules of binding and unbinding. */
#include "device.h"
#include "driver.h"
#include "facts.h"
#include "func.h"
#include "iommu.h"
#include "sim.h"
#include "vfio.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct dynamic_id {
	struct dynamic_id *next;
	uint32_t vendor, device, sub_vendor, sub_device, class_code, class_mask;
};

/* What is known of a driver by name; any other is an ordinary one. */
struct driver_kind {
	const char *name;
	bool sriov;	/* sriov_numvfs may be written */
	bool keeps_vfs; /* its VFs stay when it lets go of the PF */
	bool own_dma;	/* binds in a group that somebody holds */
	bool builtin;	/* there without a recording that names it */
	int (*probe)(struct sim *s, struct func *f);
	int (*remove)(struct sim *s, struct func *f);
};

struct driver {
	const struct driver_kind *kind;
	struct driver *next;
	struct node *dir;
	char **aliases;
	size_t n_aliases;
	struct dynamic_id *ids;
	char name[];
};

static int host_probe(struct sim *s, struct func *f);
static int host_remove(struct sim *s, struct func *f);

static const struct driver_kind kinds[] = {
	{ .name = "vfio-pci",
	  .own_dma = true,
	  .builtin = true,
	  .probe = vfio_probe,
	  .remove = vfio_remove },
	{ .name = "pci-stub",
	  .own_dma = true,
	  .builtin = true,
	  .probe = host_probe,
	  .remove = host_remove },
	{ .name = "pci-pf-stub",
	  .sriov = true,
	  .keeps_vfs = true,
	  .builtin = true,
	  .probe = host_probe,
	  .remove = host_remove },
	{ .name = "pcieport", .own_dma = true, .probe = host_probe, .remove = host_remove },
	{ .name = "nvme",
	  .sriov = true,
	  .keeps_vfs = true,
	  .probe = host_probe,
	  .remove = host_remove },
	{ .name = "ixgbe", .sriov = true, .probe = host_probe, .remove = host_remove },
	{ .name = "igb", .sriov = true, .probe = host_probe, .remove = host_remove },
	{ .name = "i40e", .sriov = true, .probe = host_probe, .remove = host_remove },
	{ .name = "ice", .sriov = true, .probe = host_probe, .remove = host_remove },
	{ .name = "mlx5_core", .sriov = true, .probe = host_probe, .remove = host_remove },
	{ .name = "bnxt_en", .sriov = true, .probe = host_probe, .remove = host_remove },
	{ .name = "", .probe = host_probe, .remove = host_remove },
};

static const struct reaction driver_rows[];

const char *driver_name(const struct driver *d)
{
	return d->name;
}

struct driver *driver_find(struct sim *s, const char *name)
{
	struct driver *d = s->drivers;

	while (d && strcmp(d->name, name))
		d = d->next;
	return d;
}

struct driver *driver_get(struct sim *s, const char *name)
{
	struct driver *d = driver_find(s, name);
	const struct driver_kind *k = kinds;

	if (d || !*name || *name == '.' || strchr(name, '/') || strlen(name) > 200)
		return d;
	d = calloc(1, sizeof(*d) + strlen(name) + 1);
	if (!d)
		return NULL;
	strcpy(d->name, name);
	while (*k->name && strcmp(k->name, name))
		k++;
	d->kind = k;
	d->dir = tree_dir(s->tree, tree_walk(s->tree, s->bus_pci, "drivers"), name);
	if (d->dir) {
		sim_rows(s, d->dir, driver_rows, d);
		device_modules(s, "pci", name, d->dir);
	}
	*s->drivers_tail = d;
	s->drivers_tail = &d->next;
	return d;
}

int driver_alias(struct driver *d, const char *pattern)
{
	char **more;

	for (size_t i = 0; i < d->n_aliases; i++)
		if (!strcmp(d->aliases[i], pattern))
			return 0;
	more = reallocarray(d->aliases, d->n_aliases + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->aliases = more;
	more[d->n_aliases] = strdup(pattern);
	if (!more[d->n_aliases])
		return -ENOMEM;
	d->n_aliases++;
	return 0;
}

int driver_sriov(const struct driver *d)
{
	return d && d->kind->sriov ? 0 : -ENOENT;
}

bool driver_own_dma(const struct driver *d)
{
	return d->kind->own_dma;
}

static bool is_any(uint32_t id, uint32_t value)
{
	return id == UINT32_MAX || id == value;
}

static bool id_matches(const struct dynamic_id *id, const struct func *f)
{
	return is_any(id->vendor, f->vendor) && is_any(id->device, f->device) &&
	       is_any(id->sub_vendor, f->sub_vendor) && is_any(id->sub_device, f->sub_device) &&
	       !((id->class_code ^ f->class_code) & id->class_mask);
}

static bool matches(const struct driver *d, const struct func *f)
{
	if (f->override)
		return !strcmp(f->override, d->name);
	for (const struct dynamic_id *id = d->ids; id; id = id->next)
		if (id_matches(id, f))
			return true;
	for (size_t i = 0; i < d->n_aliases; i++)
		if (!fnmatch(d->aliases[i], f->modalias, 0))
			return true;
	return false;
}

static void link_driver(struct sim *s, struct driver *d, struct func *f)
{
	f->drv = d;
	tree_link_to(s->tree, f->dir, "driver", d->dir);
	tree_link_to(s->tree, d->dir, f->addr, f->dir);
}

static void unlink_driver(struct sim *s, struct func *f)
{
	tree_remove_name(s->tree, f->dir, "driver");
	tree_remove_name(s->tree, f->drv->dir, f->addr);
}

static int probe(struct sim *s, struct driver *d, struct func *f)
{
	int r;

	/* Without an override a VF is only for whom its PF's autoprobe lets near. */
	if (f->pf && !f->pf->autoprobe && !f->override)
		return -ENODEV;
	if (!d->kind->own_dma && f->group && f->group->holder)
		return -EBUSY;
	link_driver(s, d, f);
	r = d->kind->probe(s, f);
	if (r) {
		unlink_driver(s, f);
		f->drv = NULL;
		return r;
	}
	func_event(s, f, "bind");
	return 0;
}

int driver_bind(struct sim *s, struct driver *d, struct func *f)
{
	if (!matches(d, f))
		return -ENODEV;
	return f->drv ? -EBUSY : probe(s, d, f);
}

void driver_probe_all(struct sim *s, struct func *f)
{
	for (struct driver *d = s->drivers; d && !f->drv; d = d->next)
		if (matches(d, f))
			probe(s, d, f);
}

int driver_release(struct sim *s, struct func *f)
{
	struct driver *d = f->drv;
	int r;

	if (!d)
		return 0;
	unlink_driver(s, f);
	r = d->kind->remove(s, f);
	f->drv = NULL;
	func_event(s, f, "unbind");
	return r;
}

int driver_attach_recorded(struct sim *s, struct func *f)
{
	const char *target = record_text(f->rec, 'L', "driver");
	struct driver *d = target && strchr(target, '/') ? driver_get(s, base_name(target)) : NULL;
	char alias[40];

	if (!d)
		return 0;
	/* vfio-pci may have had it without an IOMMU, which we do not play. */
	if (d->kind->probe == vfio_probe)
		return probe(s, d, f);
	f->rec_drv = d;
	link_driver(s, d, f);
	/* What it drove when it was recorded it will take again. */
	snprintf(alias, sizeof(alias), "pci:v%08Xd%08Xsv*", f->vendor, f->device);
	return driver_alias(d, alias);
}

/* What a driver makes is what was recorded below the function while that driver had it. */
static int host_probe(struct sim *s, struct func *f)
{
	if (f->drv == f->rec_drv)
		func_children_add(s, f, true);
	return 0;
}

static int host_remove(struct sim *s, struct func *f)
{
	const struct driver_kind *k = f->drv->kind;

	/* Who cannot make VFs knows of none that another has left. */
	if (k->sriov && !k->keeps_vfs && f->num_vfs)
		sriov_disable(s, f);
	if (f->drv == f->rec_drv)
		func_children_remove(s, f, true);
	tree_remove_name(s->tree, f->dir, "msi_irqs");
	return 0;
}

void driver_build(struct sim *s)
{
	for (const struct driver_kind *k = kinds; *k->name; k++)
		if (k->builtin)
			driver_get(s, k->name);
	facts_drivers(s);
	for (const char *const *m = (const char *const[]){ "vfio", "vfio_iommu_type1", NULL }; *m;
	     m++)
		tree_mkdirs(s->tree, tree_walk(s->tree, s->tree->root, "module"), *m);
}

/* The function a name written to bind or unbind means. */
static struct func *named(struct sim *s, const char *text)
{
	char name[ADDR_LEN + 8];
	struct func *f;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "\n"), text);
	f = func_find(s, name);
	return f && f->dir ? f : NULL;
}

static int bind_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = named(s, text);
	int r;

	(void)len;
	if (!f || !matches(obj, f))
		return -ENODEV;
	r = func_lock(s, f);
	if (r)
		return r;
	r = f->drv ? -EBUSY : probe(s, obj, f);
	func_unlock(s, f);
	return r;
}

static int unbind_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = named(s, text);
	int r;

	(void)len;
	if (!f || f->drv != obj)
		return -ENODEV;
	r = func_lock(s, f);
	if (r)
		return r;
	if (f->drv == obj)
		r = driver_release(s, f);
	func_unlock(s, f);
	return r;
}

static int parse_id(const char *text, struct dynamic_id *id)
{
	int n;

	*id = (struct dynamic_id){ .sub_vendor = UINT32_MAX, .sub_device = UINT32_MAX };
	n = sscanf(text, "%8x %8x %8x %8x %8x %8x", &id->vendor, &id->device, &id->sub_vendor,
		   &id->sub_device, &id->class_code, &id->class_mask);
	return n < 2 ? -EINVAL : 0;
}

static int new_id_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct driver *d = obj;
	struct dynamic_id *id = malloc(sizeof(*id));

	(void)len;
	if (!id)
		return -ENOMEM;
	if (parse_id(text, id)) {
		free(id);
		return -EINVAL;
	}
	for (const struct dynamic_id *i = d->ids; i; i = i->next)
		if (i->vendor == id->vendor && i->device == id->device) {
			free(id);
			return -EEXIST;
		}
	id->next = d->ids;
	d->ids = id;
	for (struct func *f = s->funcs; f; f = f->next) {
		if (!f->dir || f->drv || !matches(d, f) || func_lock(s, f))
			continue;
		driver_bind(s, d, f);
		func_unlock(s, f);
	}
	return 0;
}

static int remove_id_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct driver *d = obj;
	struct dynamic_id id, *gone;

	(void)s, (void)len;
	if (parse_id(text, &id))
		return -EINVAL;
	for (struct dynamic_id **at = &d->ids; *at; at = &(*at)->next)
		if ((*at)->vendor == id.vendor && (*at)->device == id.device) {
			gone = *at;
			*at = gone->next;
			free(gone);
			return 0;
		}
	return -ENODEV;
}

static const struct reaction driver_rows[] = {
	{ .name = "bind", .mode = 0200, .flags = ROW_SHARED, .store = bind_store },
	{ .name = "unbind", .mode = 0200, .flags = ROW_SHARED, .store = unbind_store },
	{ .name = "new_id", .mode = 0200, .flags = ROW_SHARED, .store = new_id_store },
	{ .name = "remove_id", .mode = 0200, .flags = ROW_SHARED, .store = remove_id_store },
	{ .name = NULL },
};
