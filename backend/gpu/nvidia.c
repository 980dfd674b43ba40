// SPDX-License-Identifier: GPL-2.0-or-later
/* Peculiarities of NVIDIA's driver. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backend/internal.h"
#include "backend/steps.h"
#include "backend/mdev/mdevctl.h"
#include "backend/ops.h"
#include "daemons.h"
#include "mig_ask.h"
#include "nvidia.h"
#include "pcidevfs/device.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"
#include "pcidevfs/valid.h"
#include "world.h"

#define VENDOR_NVIDIA 0x10de
#define CLASS_DISPLAY 0x03
#define PCI_ROM 6	    /* the line of the expansion ROM, which needs no room */
#define CLASS_SWITCH 0x0680 /* other bridge: spec/peers.md 1.2 */
#define GPUS "driver/nvidia/gpus"
#define LOCK GPUS "/%s/unbindLock"

/* MIG-only cards show a VF's id of 0: they make no vGPUs (spec/harvester.md 4.7). */
static bool makes_vgpus(const struct sysfs *at)
{
	char id[16];

	return sysfs_read(at, ROOT_SYS, id, sizeof(id), "sriov_vf_device") > 0 &&
	       id[strspn(id, "0x")];
}

/* A part of its memory, or of its VFs', for which no room was found: the kernel keeps it at 0, and
 * makes no VFs without it (Linux, drivers/pci/iov.c: sriov_enable()). Lines of a start, an end and
 * flags, of which 0x200 is memory (include/linux/ioport.h). */
static bool lacks_room(const struct sysfs *at)
{
	char text[SYSFS_VALUE], *rest = text;
	unsigned long long start, end, flags;
	const char *line;

	if (sysfs_read(at, ROOT_SYS, text, sizeof(text), "resource") <= 0)
		return false;
	for (int i = 0; (line = strsep(&rest, "\n")); i++)
		if (sscanf(line, "0x%16llx 0x%16llx 0x%16llx", &start, &end, &flags) == 3 &&
		    flags & 0x200 && !start && i != PCI_ROM)
			return true;
	return false;
}

static bool is_passed_through(const struct sysfs *at, const struct facts *f)
{
	return f->use == USE_GUEST;
}

static bool shows_no_vfs(const struct sysfs *at, const struct facts *f)
{
	return f->total_vfs < 0;
}

static bool allows_no_vfs(const struct sysfs *at, const struct facts *f)
{
	return !f->total_vfs;
}

static bool has_no_room(const struct sysfs *at, const struct facts *f)
{
	return f->num_vfs <= 0 && lacks_room(at);
}

static bool makes_none(const struct sysfs *at, const struct facts *f)
{
	return !(f->caps & CAP_ENABLE);
}

static bool has_no_driver(const struct sysfs *at, const struct facts *f)
{
	return !f->driver[0];
}

static bool is_with_nouveau(const struct sysfs *at, const struct facts *f)
{
	return !strcmp(f->driver, "nouveau") || !strcmp(f->driver, "nova_core") ||
	       !strcmp(f->driver, "NovaCore");
}

static bool is_with_other(const struct sysfs *at, const struct facts *f)
{
	return strcmp(f->driver, "nvidia") != 0;
}

static bool has_no_vfs(const struct sysfs *at, const struct facts *f)
{
	return f->num_vfs <= 0;
}

#define DISABLED "no: its VFs are not enabled; write 1 to enabled"

/* What is missing on the way to a vGPU, as far as the GPU itself shows it: the first that fits.
 * lacks.c has what the host lacks. */
static const struct {
	bool (*is)(const struct sysfs *at, const struct facts *f);
	char text[VGPU_LACK];
} lacks[] = {
	{ is_passed_through,
	  "no: it is passed through as a whole; write none to its claim first" },
	{ shows_no_vfs,
	  "no: it shows no SR-IOV; the card has none, or SR-IOV or Above 4G Decoding is off in the "
	  "firmware" },
	{ allows_no_vfs,
	  "no: it may have no VFs (sriov_totalvfs is 0); turn on SR-IOV in the firmware" },
	{ has_no_room,
	  "no: the kernel found no room for its memory, or for that of its VFs; turn on Above 4G "
	  "Decoding in the firmware, or boot with pci=realloc" },
	{ makes_none,
	  "no: it makes no VFs for vGPUs (sriov_vf_device is 0, as on cards that only have MIG)" },
	{ has_no_driver, "no: it has no driver; load NVIDIA's vGPU host driver" },
	{ is_with_nouveau,
	  "no: it is with nouveau, and NVIDIA's vGPU host driver is needed; write \"blacklist "
	  "nouveau\" to a file in /etc/modprobe.d, make the initramfs anew and reboot" },
	{ is_with_other,
	  "no: it is with another driver; NVIDIA's vGPU host driver is needed" },
	{ has_no_vfs, DISABLED },
};

static const char *lack(const struct sysfs *at, const struct facts *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++)
		if (lacks[i].is(at, f))
			return lacks[i].text;
	return "";
}

/* The driver refuses sriov_numvfs: only its own tool makes VFs, and of them vGPUs. */
static void observe(const struct sysfs *at, const struct key *dev, struct facts *f)
{
	bool gpu = f->vendor == VENDOR_NVIDIA && f->class_code >> 16 == CLASS_DISPLAY;
	const struct vgpu_world *world;

	f->own_vfs |= gpu && f->total_vfs >= 0;
	if (!gpu)
		return;
	f->unbind_lock =
		!strcmp(f->driver, "nvidia") && sysfs_exists(at, ROOT_PROC, LOCK, dev->name);
	if (!f->parent.bus) {
		f->caps |= CAP_VGPU_HOST | (mig_family(f->device) ? CAP_MIG : 0);
		if (f->total_vfs > 0 && makes_vgpus(at))
			f->caps |= CAP_ENABLE | CAP_TYPES;
		if (f->use == USE_GUEST || !sysfs_exists(at, ROOT_SYS, MDEV_TYPES))
			STR_COPY(f->vgpu_lack, lack(at, f));
		return;
	}
	f->caps |= CAP_VGPU | CAP_ENABLE | CAP_TYPES;
	f->kind = KIND_VGPU;
	world = driver_is_vfio(f->driver) ? NULL : vgpu_world_at(at);
	if (world)
		world->observe(at, f);
	if (f->profile_id[0] && f->mdevs)
		mdevctl_start(at, dev->name, f->mdev, f->mdevctl);
}

bool nvidia_is_disabled(const struct device *dev)
{
	return !strcmp(dev->facts.vgpu_lack, DISABLED);
}

bool nvidia_is_switch(const struct device *dev)
{
	const struct facts *f = &dev->facts;

	return dev->key.bus == BUS_PCI && f->vendor == VENDOR_NVIDIA &&
	       f->class_code >> 8 == CLASS_SWITCH && f->driver[0] && f->use != USE_GUEST;
}

bool nvidia_minor(const struct sysfs *s, const char *address, char ret[static NVIDIA_MINOR])
{
	char text[SYSFS_VALUE], digits[NVIDIA_MINOR + 1] = "";
	const char *minor;

	if (sysfs_read(s, ROOT_PROC, text, sizeof(text), GPUS "/%s/information", address) < 0)
		return false;
	minor = strstr(text, "Device Minor:");
	if (!minor || sscanf(minor, "Device Minor:%*[ \t]%10[0-9]", digits) != 1)
		return false;
	return str_copy(ret, NVIDIA_MINOR, digits);
}

/* The proprietary driver's nodes have no device in sysfs. */
static int nodes(const struct sysfs *s, node_found *found, void *ctx)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_PROC, GPUS);
	const struct dirent *e;
	struct pci_addr addr;
	char minor[NVIDIA_MINOR], node[32];

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while ((e = readdir(dir)))
		if (pci_addr_parse(e->d_name, &addr) && nvidia_minor(s, e->d_name, minor)) {
			snprintf(node, sizeof(node), "nvidia%s", minor);
			found(ctx, e->d_name, node);
		}
	return 0;
}

/* ---- the lock before an unbind */

int nvidia_unbind_lock(const struct sysfs *s, const char *address, const char *value,
		       struct out *answer)
{
	struct pci_addr addr;
	char now[16];
	int rc = pci_addr_parse(address, &addr) ? 0 : -EINVAL;

	rc = rc ? rc : sysfs_write(s, ROOT_PROC, value[0] == '1' ? "1" : "0", LOCK, address);
	rc = rc ? rc : sysfs_read(s, ROOT_PROC, now, sizeof(now), LOCK, address);
	if (rc < 0)
		return rc;
	out_put(answer, now, strlen(now));
	return 0;
}

static int set_lock(struct backend *b, struct step *step, const char *value, unsigned int ms,
		    struct out *now)
{
	const char *const argv[] = { "unbind_lock", step->dev.name, value, NULL };

	return io_call(b->io, argv, ms, now, &step->late, &step->helper);
}

static int lock_run(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	struct out now = { 0 };
	int rc;

	STR_COPY(step->former, "0");
	step->recorded = true;
	ask_settle(b, &ask_mig);
	rc = set_lock(b, step, "1", ms, &now);
	if (rc)
		rc = step_trouble(b, "unbindLock", &step->dev, rc, ms,
				  "the driver is still at work", err)
			     ?: fail(err, EIO, "unbindLock of %s was refused: %s", step->dev.name,
				     strerror(-rc));
	else if (strcmp(out_text(&now), "1"))
		rc = fail(err, EBUSY,
			  "somebody has the GPU %s open, and taking it from its driver would never "
			  "end; stop nvidia-persistenced, nvidia-smi, DCGM and whoever holds "
			  "/dev/nvidia*, and write again",
			  step->dev.name);
	out_free(&now);
	return rc;
}

/* It is gone with the driver where that was unbound. */
static int lock_undo(struct backend *b, struct step *step, unsigned int ms, struct err *err)
{
	struct out now = { 0 };
	int rc = set_lock(b, step, step->former, ms, &now);

	out_free(&now);
	if (!rc || rc == -ENOENT || rc == -ENODEV)
		return 0;
	return fail(err, rc == -ETIMEDOUT ? ETIMEDOUT : EIO,
		    "unbindLock of %s cannot be released: %s", step->dev.name, strerror(-rc));
}

static const struct verb nvidia_lock = { .of = "nvidia",
					 .name = "unbind_lock",
					 .deadline_ms = 10000,
					 .records = true,
					 .run = lock_run,
					 .undo = lock_undo };

static int let_go(const struct device *dev, struct plan *plan, struct err *err)
{
	return dev->facts.unbind_lock ? plan_step(plan, &nvidia_lock, &dev->key, "1", err) : 0;
}

static const struct verb *const verbs[] = { &nvidia_lock, NULL };
static const struct ask_row *const watch[] = { &ask_daemons,  &ask_awaited, &ask_vgpus,
					       &ask_siblings, &ask_mig,	    NULL };

const struct backend_ops nvidia_ops = {
	.name = "nvidia",
	.help = "GPUs whose VFs the driver makes itself, and the nodes /dev/nvidia<N>",
	.verbs = verbs,
	.watch = watch,
	.observe = observe,
	.let_go = let_go,
	.nodes = nodes,
};
