// SPDX-License-Identifier: GPL-2.0-or-later
/* Both ways by which NVIDIA's driver makes vGPUs (spec/peers.md 1.12, spec/kernel.md 7): a number
 * written to a VF, which the driver then offers to VFIO, and mediated devices of any driver. */
#include "world.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/internal.h"
#include "backend/steps.h"
#include "backend/known.h"
#include "backend/mdev/mdev.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/step.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

static bool is_number(const char *text)
{
	size_t n = strlen(text);

	return n && n < 10 && strspn(text, "0123456789") == n;
}

/* All bits set: it has none (spec/peers.md 1.12, 6). */
static int64_t detail(const struct sysfs *at, const char *dir, const char *name, int64_t none)
{
	int64_t n;

	return sysfs_number(at, ROOT_SYS, 0, none - 1, &n, "%s/%s", dir, name) ? -1 : n;
}

/* Beside the parameters lies what the driver has chosen. */
void vgpu_details(const struct sysfs *at, const char *dir, struct facts *f)
{
	if (!sysfs_exists(at, ROOT_SYS, "%s", dir))
		return;
	if (sysfs_read(at, ROOT_SYS, f->vgpu_params, sizeof(f->vgpu_params), "%s/vgpu_params",
		       dir) < 0)
		f->vgpu_params[0] = '\0';
	f->placement_id = detail(at, dir, "placement_id", UINT16_MAX);
	f->gpu_instance_id = detail(at, dir, "gpu_instance_id", UINT32_MAX);
}

/* ---- vendor-VFIO: a number written to the VF */

#define NVIDIA_TYPE "nvidia/current_vgpu_type"
#define NVIDIA_LIST "nvidia/creatable_vgpu_types"

/* A VF that is no vGPU can be opened by nobody, and keeps nobody from the rest of its group. */
static void vendor_observe(const struct sysfs *at, struct facts *f)
{
	char text[32];

	f->use = USE_NONE;
	if (sysfs_read(at, ROOT_SYS, text, sizeof(text), NVIDIA_TYPE) <= 0 || !is_number(text) ||
	    !strcmp(text, "0")) {
		f->nodes[0] = '\0';
		return;
	}
	STR_COPY(f->profile_id, text);
	f->use = USE_GUEST;
	vgpu_details(at, "nvidia", f);
}

/* False: it is not of that world, or cannot be read. */
static bool vendor_id(const struct sysfs *s, const struct key *dev, char ret[static TYPE_ID])
{
	char text[32];

	if (sysfs_read(s, ROOT_SYS, text, sizeof(text), PCI_DEVICES "/%s/" NVIDIA_TYPE, dev->name) <= 0)
		return false;
	str_copy(ret, TYPE_ID, is_number(text) && strcmp(text, "0") ? text : "");
	return true;
}

static void vendor_list(const struct backend *b, const struct key *dev, bool is_vgpu,
			struct vgpu_types *ret)
{
	_free_ char *text = malloc(SYSFS_PAGE);

	if (text && sysfs_read(&b->sys, ROOT_SYS, text, SYSFS_PAGE,
			       PCI_DEVICES "/%s/" NVIDIA_LIST, dev->name) > 0)
		types_parse(text, ret);
}

static int vendor_now(struct backend *b, struct step *step, unsigned int ms, struct vgpu *ret)
{
	struct out text = { 0 };
	int rc = step_read(b, ms, &text, PCI_DEVICES "/%s/" NVIDIA_TYPE, step->dev.name);

	*ret = (struct vgpu){ 0 };
	if (!rc && !is_number(out_text(&text)))
		rc = -EIO;
	if (!rc && strcmp(out_text(&text), "0"))
		STR_COPY(ret->id, out_text(&text));
	out_free(&text);
	return rc;
}

static int vendor_look(struct backend *b, struct step *step, unsigned int ms,
		       struct vgpu_types *list)
{
	struct out text = { 0 };
	int rc = step_read(b, ms, &text, PCI_DEVICES "/%s/" NVIDIA_LIST, step->dev.name);

	if (!rc)
		types_parse(out_text(&text), list);
	out_free(&text);
	return rc;
}

static int vendor_become(struct backend *b, struct step *step, unsigned int ms,
			 const struct vgpu *is, const struct vgpu *as)
{
	return step_write(b, step, ms, as ? as->id : "0", PCI_DEVICES "/%s/" NVIDIA_TYPE,
			  step->dev.name);
}

static int vendor_params(struct backend *b, struct step *step, unsigned int ms, const char *text)
{
	return step_write(b, step, ms, text, PCI_DEVICES "/%s/nvidia/vgpu_params", step->dev.name);
}

/* ---- mediated devices */


/* Whoever opens the mediated device needs the node of its own IOMMU group. */
static void mdev_observe(const struct sysfs *at, struct facts *f)
{
	char type[64], details[64];

	f->use = USE_NONE;
	f->nodes[0] = '\0';
	if (f->mdevs != 1 ||
	    sysfs_link(at, ROOT_SYS, type, sizeof(type), "%s/mdev_type", f->mdev))
		return;
	STR_COPY(f->profile_id, type);
	f->use = USE_GUEST;
	snprintf(details, sizeof(details), "%s/nvidia", f->mdev);
	vgpu_details(at, details, f);
	mdev_group(at, f->mdev, f->nodes);
}

/* "num_heads=4, frl_config=60, framebuffer=4096M, ..., max_instance=4" */
static int32_t described(const char *text, const char *key)
{
	const char *p = strstr(text, key);
	int64_t n;
	char number[16];

	if (!p || p[strlen(key)] != '=')
		return -1;
	p += strlen(key) + 1;
	snprintf(number, sizeof(number), "%.*s", (int)strspn(p, "0123456789"), p);
	return parse_i64(number, 0, INT32_MAX, &n) ? -1 : (int32_t)n;
}

/* at: a sysfs root at the directory of types. False: something could not be read. */
static bool read_type(const struct sysfs *at, struct vgpu_type *t)
{
	char text[512];
	int name = sysfs_read(at, ROOT_SYS, text, sizeof(text), "%s/name", t->id);

	if (name <= 0)
		STR_COPY(t->name, t->id); /* the name is optional: the driver's ABI */
	else if (!STR_COPY(t->name, text))
		t->name[0] = '\0';
	if (sysfs_read(at, ROOT_SYS, text, sizeof(text), "%s/description", t->id) <= 0)
		return false;
	t->max = described(text, "max_instance");
	t->framebuffer_mib = described(text, "framebuffer");
	return name > 0;
}

/* A type whose name does not fit is left out. A VF has one mediated device: none is left then. */
static void mdev_list(const struct backend *b, const struct key *dev, bool is_vgpu,
		      struct vgpu_types *ret)
{
	_closedir_ DIR *dir =
		sysfs_dir(&b->sys, ROOT_SYS, PCI_DEVICES "/%s/" MDEV_TYPES, dev->name);
	struct known *known = b->known;
	struct sysfs at = b->sys;
	const struct dirent *e;

	at.fd[ROOT_SYS] = dir ? dirfd(dir) : -1;
	while (dir && (e = readdir(dir))) {
		struct vgpu_type t = { .max = -1, .framebuffer_mib = -1 };
		int64_t n = 0;

		if (e->d_name[0] == '.' || !STR_COPY(t.id, e->d_name))
			continue;
		if (!(known && known_find(known, e->d_ino, &t)) && read_type(&at, &t) && known)
			known_add(known, e->d_ino, &t);
		if (!is_vgpu)
			sysfs_number(&at, ROOT_SYS, 0, INT32_MAX, &n, "%s/available_instances",
				     t.id);
		t.available = (int32_t)n;
		types_add(ret, &t);
	}
}

/* One VF has one mediated device. */
static int mdev_below(const struct sysfs *s, const struct key *dev, struct vgpu *ret)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_SYS, PCI_DEVICES "/%s", dev->name);
	const struct dirent *e;
	struct key mdev;

	*ret = (struct vgpu){ 0 };
	if (!dir)
		return errno == ENOENT ? -ENODEV : -errno;
	while ((e = readdir(dir))) {
		if (!key_make(BUS_MDEV, e->d_name, &mdev))
			continue;
		if (ret->uuid[0])
			return -EIO;
		STR_COPY(ret->uuid, mdev.name);
	}
	return ret->uuid[0] && sysfs_link(s, ROOT_SYS, ret->id, sizeof(ret->id),
					  MDEV_DEVICES "/%s/mdev_type", ret->uuid)
		       ? -EIO
		       : 0;
}

static int mdev_now(struct backend *b, struct step *step, unsigned int ms, struct vgpu *ret)
{
	return mdev_below(&b->sys, &step->dev, ret);
}

/* What types there are, a look at the device has told; how many are left may wait for the driver. */
static int mdev_look(struct backend *b, struct step *step, unsigned int ms,
		     struct vgpu_types *list)
{
	struct vgpu_type *t = (struct vgpu_type *)types_find(list, step->value, NULL);
	struct out text = { 0 };
	int64_t n = 0;
	int rc;

	if (!t || strchr(t->id, '/'))
		return 0;
	rc = step_read(b, ms, &text, PCI_DEVICES "/%s/" MDEV_TYPES "/%s/available_instances",
		       step->dev.name, t->id);
	if (!rc)
		rc = parse_i64(out_text(&text), 0, INT32_MAX, &n);
	t->available = (int32_t)n;
	out_free(&text);
	return rc;
}

static int mdev_become(struct backend *b, struct step *step, unsigned int ms,
		       const struct vgpu *is, const struct vgpu *as)
{
	return as ? mdev_make(b, step, step->dev.name, as->id, as->uuid, ms)
		  : mdev_remove(b, step, is->uuid, ms);
}

static int mdev_params(struct backend *b, struct step *step, unsigned int ms, const char *text)
{
	struct vgpu now;
	int rc = mdev_now(b, step, ms, &now);

	if (rc || !now.uuid[0])
		return rc ? rc : -ENODEV;
	return step_write(b, step, ms, text, MDEV_DEVICES "/%s/nvidia/vgpu_params", now.uuid);
}

/* ---- */

static const struct vgpu_world worlds[] = {
	{ false, NVIDIA_TYPE, vendor_observe, vendor_list, vendor_now, vendor_look, vendor_become,
	  vendor_params },
	{ true, MDEV_TYPES, mdev_observe, mdev_list, mdev_now, mdev_look, mdev_become,
	  mdev_params },
};

const struct vgpu_world *vgpu_world_at(const struct sysfs *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(worlds); i++)
		if (sysfs_exists(at, ROOT_SYS, "%s", worlds[i].offers))
			return &worlds[i];
	return NULL;
}

void vgpu_id(const struct sysfs *s, const struct key *dev, char ret[static TYPE_ID])
{
	struct vgpu is;

	ret[0] = '\0';
	if (!vendor_id(s, dev, ret) && !mdev_below(s, dev, &is))
		str_copy(ret, TYPE_ID, is.id);
}

const struct vgpu_world *vgpu_world_of(const struct sysfs *s, const struct key *dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(worlds); i++)
		if (sysfs_exists(s, ROOT_SYS, PCI_DEVICES "/%s/%s", dev->name, worlds[i].offers))
			return &worlds[i];
	return NULL;
}

struct vgpu_types *vgpu_list(const struct backend *b, const struct key *dev, bool is_vgpu)
{
	const struct vgpu_world *world = vgpu_world_of(&b->sys, dev);
	struct vgpu_types *types =
		world || sysfs_exists(&b->sys, ROOT_SYS, PCI_DEVICES "/%s", dev->name) ? types_new()
										       : NULL;

	if (types && world)
		world->list(b, dev, is_vgpu, types);
	return types ? types_shrink(types) : NULL;
}

/* Is it the vGPU that the model has? No event tells of another one. Of mediated devices only their
 * own operation does anything. */
static bool is_same(struct backend *b, const struct key *key, bool *ret_is_vgpu)
{
	char id[TYPE_ID] = "", now[TYPE_ID], mdev[sizeof(((struct facts *)0)->mdev)] = "";
	const struct device *dev;

	model_lock(b->model);
	dev = model_find(b->model, key);
	if (dev) {
		STR_COPY(id, dev->facts.profile_id);
		STR_COPY(mdev, dev->facts.mdev);
	}
	model_unlock(b->model);
	if (!dev || (vendor_id(&b->sys, key, now) && strcmp(now, id)))
		return false;
	/* Another operation may be ending it. */
	*ret_is_vgpu = mdev[0] &&
		       sysfs_exists(&b->sys, ROOT_SYS, PCI_DEVICES "/%s/%s", key->name, mdev);
	return true;
}

bool vgpu_extra(struct backend *b, const struct key *dev, const struct facts *f, void **ret)
{
	bool is_vgpu = f && f->profile_id[0];

	if (dev->bus == BUS_MDEV) /* it becomes nothing else, but has a name */
		*ret = f ? types_new() : NULL;
	else if (!f && !is_same(b, dev, &is_vgpu))
		return false;
	else if (!f || f->caps & CAP_TYPES)
		*ret = vgpu_list(b, dev, is_vgpu);
	return true;
}
