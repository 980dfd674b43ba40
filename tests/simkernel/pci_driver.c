// SPDX-License-Identifier: GPL-2.0-or-later
/* PCI drivers: their properties, what they do with a function, and dynamic ids. */
#include "device.h"
#include "func.h"
#include "sim.h"
#include "vfio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct dynamic_id {
	struct dynamic_id *next;
	uint32_t vendor, device, sub_vendor, sub_device, class_code, class_mask;
};

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

bool pci_has_id(const struct driver *drv, struct dev *d)
{
	for (const struct dynamic_id *id = drv->ids; id; id = id->next)
		if (id_matches(id, func_of(d)))
			return true;
	return false;
}

/* A driver makes the devices that were recorded below the function while it was bound. */
int pci_host_probe(struct sim *s, struct dev *d)
{
	if (d->drv == d->rec_drv)
		dev_children_add(s, d, true);
	return 0;
}

int pci_host_remove(struct sim *s, struct dev *d)
{
	const struct driver_kind *k = d->drv->kind;

	/* A driver that cannot make VFs does not know of another one's. */
	if (k->sriov && !k->keeps_vfs && func_of(d)->num_vfs)
		sriov_disable(s, func_of(d));
	if (d->drv == d->rec_drv)
		dev_children_remove(s, d, true);
	tree_remove_name(s->tree, d->dir, "msi_irqs");
	return 0;
}

/* Is a network interface of d up, as its flags say? */
static bool is_up(struct sim *s, const struct dev *d)
{
	struct node *net = tree_find(s->tree, d->dir, "net");
	char flags[16];

	for (struct node *n = net ? net->dir.first : NULL; n; n = n->next) {
		const struct node *f = tree_find(s->tree, n, "flags");

		snprintf(flags, sizeof(flags), "%.*s", f ? (int)f->file.len : 0,
			 f ? f->file.data : "");
		if (strtoul(flags, NULL, 16) & 1)
			return true;
	}
	return false;
}

static int bnxt_sriov_may(struct sim *s, struct dev *d, unsigned int n)
{
	return n && !is_up(s, d);
}

const struct driver_kind pci_drivers[] = {
	{ .name = "vfio-pci",
	  .own_dma = true,
	  .builtin = true,
	  .probe = vfio_pci_probe,
	  .remove = vfio_unregister },
	{ .name = "pci-stub",
	  .own_dma = true,
	  .builtin = true,
	  .probe = pci_host_probe,
	  .remove = pci_host_remove },
	{ .name = "pci-pf-stub",
	  .sriov = true,
	  .keeps_vfs = true,
	  .builtin = true,
	  .probe = pci_host_probe,
	  .remove = pci_host_remove },
	{ .name = "pcieport", .own_dma = true, .probe = pci_host_probe, .remove = pci_host_remove },
	{ .name = "nvme",
	  .sriov = true,
	  .keeps_vfs = true,
	  .probe = pci_host_probe,
	  .remove = pci_host_remove },
	{ .name = "ixgbe", .sriov = true, .probe = pci_host_probe, .remove = pci_host_remove },
	{ .name = "igb", .sriov = true, .probe = pci_host_probe, .remove = pci_host_remove },
	{ .name = "i40e", .sriov = true, .probe = pci_host_probe, .remove = pci_host_remove },
	{ .name = "ice", .sriov = true, .probe = pci_host_probe, .remove = pci_host_remove },
	{ .name = "mlx5_core", .sriov = true, .probe = pci_host_probe, .remove = pci_host_remove },
	{ .name = "i915", .sriov = true, .probe = pci_host_probe, .remove = pci_host_remove },
	{ .name = "bnxt_en",
	  .sriov = true,
	  .sriov_may = bnxt_sriov_may,
	  .probe = pci_host_probe,
	  .remove = pci_host_remove },
	{ .name = "vmd", .probe = vmd_probe, .remove = vmd_remove },
	{ .name = "", .probe = pci_host_probe, .remove = pci_host_remove },
};

int pci_attach_recorded(struct sim *s, struct func *f)
{
	const char *target = record_text(f->dev.rec, 'L', "driver");
	struct driver *drv = target && strchr(target, '/')
				     ? driver_get(s, &s->pci, base_name(target))
				     : NULL;
	char alias[40];

	if (!drv)
		return 0;
	/* vfio-pci may have had it without an IOMMU, which is not simulated. */
	if (drv->kind->probe == vfio_pci_probe)
		return driver_probe(s, drv, &f->dev);
	f->dev.rec_drv = drv;
	if (drv->kind->attaches)
		driver_probe(s, drv, &f->dev);
	else
		driver_link(s, drv, &f->dev);
	/* It will take again the devices that it had when it was recorded. */
	snprintf(alias, sizeof(alias), "pci:v%08Xd%08Xsv*", f->vendor, f->device);
	return driver_alias(drv, alias);
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
	struct driver *drv = obj;
	struct dynamic_id *id = malloc(sizeof(*id));

	if (!id)
		return -ENOMEM;
	if (parse_id(text, id)) {
		free(id);
		return -EINVAL;
	}
	for (const struct dynamic_id *i = drv->ids; i; i = i->next)
		if (i->vendor == id->vendor && i->device == id->device) {
			free(id);
			return -EEXIST;
		}
	id->next = drv->ids;
	drv->ids = id;
	driver_attach(s, drv);
	return 0;
}

static int remove_id_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct driver *drv = obj;
	struct dynamic_id id, *gone;

	(void)s, (void)len;
	if (parse_id(text, &id))
		return -EINVAL;
	for (struct dynamic_id **at = &drv->ids; *at; at = &(*at)->next)
		if ((*at)->vendor == id.vendor && (*at)->device == id.device) {
			gone = *at;
			*at = gone->next;
			free(gone);
			return 0;
		}
	return -ENODEV;
}

const struct reaction pci_driver_rows[] = {
	{ .name = "new_id", .mode = 0200, .flags = ROW_SHARED, .store = new_id_store },
	{ .name = "remove_id", .mode = 0200, .flags = ROW_SHARED, .store = remove_id_store },
	{ .name = NULL },
};
