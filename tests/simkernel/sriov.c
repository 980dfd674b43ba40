// SPDX-License-Identifier: GPL-2.0-or-later
/* SR-IOV: a number written to a physical function makes and removes virtual functions. */
#include "func.h"
#include "sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VFS 4096

static unsigned long attribute(const struct func *f, const char *name, int base)
{
	const char *text = record_text(f->dev.rec, 'A', name);

	return text ? strtoul(text, NULL, base) : 0;
}

void sriov_init(struct sim *s, struct func *f)
{
	unsigned long total = attribute(f, "sriov_totalvfs", 10);
	const char *autoprobe = record_text(f->dev.rec, 'A', "sriov_drivers_autoprobe");

	if (!total || total > MAX_VFS)
		return;
	f->vfs = calloc(total, sizeof(struct func *));
	if (!f->vfs)
		return;
	f->total_vfs = (unsigned int)total;
	f->vf_offset = (unsigned int)attribute(f, "sriov_offset", 10);
	f->vf_stride = (unsigned int)attribute(f, "sriov_stride", 10);
	f->vf_device = (uint16_t)attribute(f, "sriov_vf_device", 16);
	f->autoprobe = !autoprobe || *autoprobe != '0';
}

static void link_pair(struct sim *s, struct func *vf)
{
	char name[24];

	if (!vf->dev.dir || !vf->pf->dev.dir)
		return;
	snprintf(name, sizeof(name), "virtfn%u", vf->vf_index);
	tree_link_to(s->tree, vf->pf->dev.dir, name, vf->dev.dir);
	tree_link_to(s->tree, vf->dev.dir, "physfn", vf->pf->dev.dir);
	dev_event(s, &vf->dev, "change");
}

void sriov_links(struct sim *s, struct func *f)
{
	if (f->pf)
		link_pair(s, f);
}

/* Attributes that a VF shares with its PF. */
static const char *const inherited[] = {
	"class",	  "revision",	      "numa_node",	  "local_cpus",
	"local_cpulist",  "subsystem_vendor", "subsystem_device", "max_link_speed",
	"max_link_width", "msi_bus",	      "power_state",
};

static struct record *vf_record(const struct func *pf, const char *addr)
{
	const char *beside = pf->dev.rec->path;
	char path[TREE_PATH_MAX];
	struct record *r;

	snprintf(path, sizeof(path), "%.*s%s", (int)(pf->dev.name - beside), beside, addr);
	r = machine_record_new(path);
	if (!r)
		return NULL;
	record_add(r, 'E', "SUBSYSTEM", "pci");
	record_add(r, 'A', "vendor", "0x%04x\n", pf->vendor);
	record_add(r, 'A', "device", "0x%04x\n", pf->vf_device);
	for (size_t i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++) {
		const char *text = record_text(pf->dev.rec, 'A', inherited[i]);

		if (text)
			record_add(r, 'A', inherited[i], "%s", text);
	}
	record_add(r, 'A', "ari_enabled", "0\n");
	record_add(r, 'A', "irq", "0\n");
	record_add(r, 'A', "driver_override", "(null)\n");
	record_add(r, 'A', "reset_method", "flr\n");
	/* One memory resource at any address. */
	record_add(r, 'A', "resource",
		   "0x00000000e0000000 0x00000000e0003fff 0x0000000000140204\n");
	return r;
}

static void add_modalias(struct func *f, struct record *r)
{
	record_add(r, 'A', "modalias", "%s\n", f->dev.modalias);
	record_add(r, 'A', "dma_mask_bits", "64\n");
	record_add(r, 'A', "consistent_dma_mask_bits", "64\n");
}

static struct func *vf_get(struct sim *s, struct func *pf, unsigned int index)
{
	uint32_t rid = pf->rid + pf->vf_offset + index * pf->vf_stride;
	char addr[ADDR_LEN + 8];
	struct func *f = pf->vfs[index];
	struct record *r;

	if (f)
		return f;
	snprintf(addr, sizeof(addr), "%04x:%02x:%02x.%x", pf->domain, rid >> 8, rid >> 3 & 31,
		 rid & 7);
	if (rid > 0xffff || !pf->vf_offset || func_find(s, addr))
		return NULL;
	r = vf_record(pf, addr);
	f = r ? func_new(s, r) : NULL;
	if (!f)
		return NULL;
	add_modalias(f, r);
	f->pf = pf;
	f->vf_index = index;
	pf->vfs[index] = f;
	return f;
}

static int vf_add(struct sim *s, struct func *vf)
{
	int r = func_appear(s, vf);

	if (r)
		return r;
	vf->dev.added = true;
	vf_config_init(&vf->config);
	r = dev_lock(s, &vf->dev);
	if (r)
		return r;
	if (s->pci.autoprobe)
		driver_probe_all(s, &vf->dev);
	dev_unlock(s, &vf->dev);
	return 0;
}

int sriov_enable(struct sim *s, struct func *pf, unsigned int n)
{
	int r = 0;

	for (unsigned int i = 0; i < n; i++)
		if (!vf_get(s, pf, i))
			return -ENOMEM;
	pf->num_vfs = n;
	for (unsigned int i = 0; i < n && !r; i++)
		r = vf_add(s, pf->vfs[i]);
	dev_event(s, &pf->dev, "change");
	return r;
}

int sriov_disable(struct sim *s, struct func *pf)
{
	char name[24];

	for (unsigned int i = 0; i < pf->total_vfs; i++) {
		struct func *vf = pf->vfs[i];

		if (!vf || !vf->dev.dir)
			continue;
		snprintf(name, sizeof(name), "virtfn%u", i);
		tree_remove_name(s->tree, pf->dev.dir, name);
		tree_remove_name(s->tree, vf->dev.dir, "physfn");
		func_vanish(s, vf);
	}
	pf->num_vfs = 0;
	return 0;
}

static bool is_pf(const void *obj)
{
	return ((const struct func *)obj)->total_vfs > 0;
}

static ssize_t sriov_numvfs_show(struct sim *s, void *obj, char *page)
{
	return snprintf(page, PAGE_TEXT, "%u\n", ((struct func *)obj)->num_vfs);
}

static int change_number(struct sim *s, struct func *f, unsigned int n)
{
	int r = 0;

	if (n == f->num_vfs)
		return 0;
	if (!f->dev.drv || !f->dev.drv->kind->sriov)
		return -ENOENT;
	if (n && f->num_vfs)
		return -EBUSY;
	if (f->dev.drv->kind->sriov_may)
		r = f->dev.drv->kind->sriov_may(s, &f->dev, n);
	if (!r)
		r = rescan_lock(s);
	if (r)
		return r < 0 ? r : 0;
	r = n ? sriov_enable(s, f, n) : sriov_disable(s, f);
	rescan_unlock(s);
	return r;
}

static int sriov_numvfs_store(struct sim *s, void *obj, const char *text, size_t len)
{
	struct func *f = obj;
	char *end;
	unsigned long n = strtoul(text, &end, 0);
	int r;

	if (*text < '0' || *text > '9' || end == text || (*end && *end != '\n') || n > 0xffff)
		return -EINVAL;
	if (n > f->total_vfs)
		return -ERANGE;
	r = dev_lock(s, &f->dev);
	if (r)
		return r;
	r = change_number(s, f, (unsigned int)n);
	dev_unlock(s, &f->dev);
	return r;
}

static ssize_t autoprobe_show(struct sim *s, void *obj, char *page)
{
	return snprintf(page, PAGE_TEXT, "%d\n", ((struct func *)obj)->autoprobe);
}

static int autoprobe_store(struct sim *s, void *obj, const char *text, size_t len)
{
	(void)s, (void)len;
	if (!strchr("01yYnN", *text) || !*text)
		return -EINVAL;
	((struct func *)obj)->autoprobe = strchr("1yY", *text) != NULL;
	return 0;
}

const struct reaction sriov_rows[] = {
	{ .name = "sriov_numvfs",
	  .mode = 0644,
	  .flags = ROW_LOCKED,
	  .has = is_pf,
	  .show = sriov_numvfs_show,
	  .store = sriov_numvfs_store },
	{ .name = "sriov_drivers_autoprobe",
	  .mode = 0644,
	  .has = is_pf,
	  .show = autoprobe_show,
	  .store = autoprobe_store },
	{ .name = NULL },
};
