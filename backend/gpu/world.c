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
#include "pcidevfs/io.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/step.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define PATH_SIZE 256

/* ---- by helpers */

static int read_file(struct backend *b, const char *path, unsigned int ms, struct out *ret)
{
	const char *const argv[] = { "read", path, NULL };
	int rc = io_call(b->io, argv, ms, ret, NULL, NULL);

	return !rc && ret->failed ? -ENOMEM : rc;
}

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

bool vgpu_changed(const struct sysfs *s, const struct key *dev, const char *id)
{
	char now[TYPE_ID];

	return vendor_id(s, dev, now) && strcmp(now, id);
}

static void vendor_list(const struct sysfs *at, bool is_vgpu, struct known *known,
			struct vgpu_types *ret)
{
	_free_ char *text = malloc(SYSFS_PAGE);
	int n = text ? sysfs_read(at, ROOT_SYS, text, SYSFS_PAGE, NVIDIA_LIST) : -ENOMEM;

	(void)is_vgpu;
	(void)known;
	if (n > 0)
		types_parse(text, ret);
}

static void vendor_path(const struct step *step, const char *file, char buf[static PATH_SIZE])
{
	snprintf(buf, PATH_SIZE, PCI_DEVICES "/%s/%s", step->dev.name, file);
}

static int vendor_now(struct backend *b, struct step *step, unsigned int ms, struct vgpu *ret)
{
	struct out text = { 0 };
	char path[PATH_SIZE];
	int rc;

	*ret = (struct vgpu){ 0 };
	vendor_path(step, NVIDIA_TYPE, path);
	rc = read_file(b, path, ms, &text);
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
	char path[PATH_SIZE];
	int rc;

	vendor_path(step, NVIDIA_LIST, path);
	rc = read_file(b, path, ms, &text);
	if (!rc)
		types_parse(out_text(&text), list);
	out_free(&text);
	return rc;
}

static int vendor_write(struct backend *b, struct step *step, unsigned int ms, const char *id)
{
	char path[PATH_SIZE];

	vendor_path(step, NVIDIA_TYPE, path);
	return step_write(b, path, id, ms, step);
}

static int vendor_make(struct backend *b, struct step *step, unsigned int ms, const struct vgpu *as)
{
	return vendor_write(b, step, ms, as->id);
}

static int vendor_end(struct backend *b, struct step *step, unsigned int ms, const struct vgpu *is)
{
	(void)is;
	return vendor_write(b, step, ms, "0");
}

static int vendor_params(struct backend *b, struct step *step, unsigned int ms, const char *text)
{
	char path[PATH_SIZE];

	vendor_path(step, "nvidia/vgpu_params", path);
	return step_write(b, path, text, ms, step);
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

/* False: something could not be read. */
static bool read_type(const struct sysfs *at, struct vgpu_type *t)
{
	char text[512];
	int name = sysfs_read(at, ROOT_SYS, text, sizeof(text), MDEV_TYPES "/%s/name", t->id);

	if (name <= 0)
		STR_COPY(t->name, t->id); /* the name is optional: the driver's ABI */
	else if (!STR_COPY(t->name, text))
		t->name[0] = '\0';
	if (sysfs_read(at, ROOT_SYS, text, sizeof(text), MDEV_TYPES "/%s/description", t->id) <= 0)
		return false;
	t->max = described(text, "max_instance");
	t->framebuffer_mib = described(text, "framebuffer");
	return name > 0;
}

/* A type whose name does not fit is left out. A VF has one mediated device: none is left then. */
static void mdev_list(const struct sysfs *at, bool is_vgpu, struct known *known,
		      struct vgpu_types *ret)
{
	_closedir_ DIR *dir = sysfs_dir(at, ROOT_SYS, MDEV_TYPES);
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		struct vgpu_type t = { .max = -1, .framebuffer_mib = -1 };
		int64_t n = 0;

		if (e->d_name[0] == '.' || !STR_COPY(t.id, e->d_name))
			continue;
		if (!(known && known_find(known, e->d_ino, &t)) && read_type(at, &t) && known)
			known_add(known, e->d_ino, &t);
		if (!is_vgpu)
			sysfs_number(at, ROOT_SYS, 0, INT32_MAX, &n,
				     MDEV_TYPES "/%s/available_instances", t.id);
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
	(void)ms;
	return mdev_below(&b->sys, &step->dev, ret);
}

/* What types there are, a look at the device has told; how many are left may wait for the driver. */
static int mdev_look(struct backend *b, struct step *step, unsigned int ms,
		     struct vgpu_types *list)
{
	struct vgpu_type *t = (struct vgpu_type *)types_find(list, step->value, NULL);
	struct out text = { 0 };
	char path[PATH_SIZE];
	int64_t n = 0;
	int rc;

	if (!t || strchr(t->id, '/'))
		return 0;
	snprintf(path, sizeof(path), PCI_DEVICES "/%s/" MDEV_TYPES "/%s/available_instances",
		 step->dev.name, t->id);
	rc = read_file(b, path, ms, &text);
	if (!rc)
		rc = parse_i64(out_text(&text), 0, INT32_MAX, &n);
	t->available = (int32_t)n;
	out_free(&text);
	return rc;
}

static int mdev_begin(struct backend *b, struct step *step, unsigned int ms, const struct vgpu *as)
{
	return mdev_make(b, step, step->dev.name, as->id, as->uuid, ms);
}

static int mdev_end(struct backend *b, struct step *step, unsigned int ms, const struct vgpu *is)
{
	return mdev_remove(b, step, is->uuid, ms);
}

static int mdev_params(struct backend *b, struct step *step, unsigned int ms, const char *text)
{
	char path[PATH_SIZE];
	struct vgpu now;
	int rc = mdev_now(b, step, ms, &now);

	if (rc || !now.uuid[0])
		return rc ? rc : -ENODEV;
	snprintf(path, sizeof(path), MDEV_DEVICES "/%s/nvidia/vgpu_params", now.uuid);
	return step_write(b, path, text, ms, step);
}

/* ---- */

static const struct vgpu_world worlds[] = {
	{ "vendor-vfio", false, NVIDIA_TYPE, vendor_observe, vendor_list, vendor_now, vendor_look,
	  vendor_make, vendor_end, vendor_params },
	{ "mdev", true, MDEV_TYPES, mdev_observe, mdev_list, mdev_now, mdev_look, mdev_begin, mdev_end,
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

struct vgpu_types *vgpu_list_at(const struct sysfs *at, bool is_vgpu, struct known *known)
{
	const struct vgpu_world *world = vgpu_world_at(at);
	struct vgpu_types *types = types_new();

	if (types && world)
		world->list(at, is_vgpu, known, types);
	return types ? types_shrink(types) : NULL;
}

struct vgpu_types *vgpu_list(const struct backend *b, const struct key *dev, bool is_vgpu)
{
	_closedir_ DIR *dir = sysfs_dir(&b->sys, ROOT_SYS, PCI_DEVICES "/%s", dev->name);
	struct sysfs at = b->sys;

	if (!dir)
		return NULL;
	at.fd[ROOT_SYS] = dirfd(dir);
	return vgpu_list_at(&at, is_vgpu, b->known);
}
