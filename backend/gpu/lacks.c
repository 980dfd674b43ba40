// SPDX-License-Identifier: GPL-2.0-or-later
/* What the host lacks for the vGPUs of a card, as far as the card itself does not show it; and when
 * the vGPUs that others make are looked at. */
#include <string.h>

#include "backend/host.h"
#include "backend/internal.h"
#include "backend/look.h"
#include "daemons.h"
#include "nvidia.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"
#include "types.h"

/* From Linux 6.8 on NVIDIA makes no mediated devices, and R550, of vGPU 17, is the first driver
 * that can do without them (spec/peers.md 1.12). */
#define KERNEL_VENDOR_VFIO 608
#define BRANCH_VENDOR_VFIO 550

/* It waits for its driver. */
static bool is_waiting(const struct device *gpu)
{
	const struct facts *f = &gpu->facts;

	return gpu->caps & CAP_VGPU_HOST && gpu->caps & CAP_ENABLE && !f->driver[0] &&
	       f->use != USE_GUEST && !gpu->intent.claim[0];
}

/* It can make vGPUs: nothing that it shows itself is missing. */
static bool can_serve(const struct device *gpu)
{
	return gpu->caps & CAP_VGPU_HOST && !gpu->facts.vgpu_lack[0] &&
	       (gpu->facts.num_vfs > 0 || gpu->caps & CAP_CREATE);
}

/* It has VFs with its driver, none is a vGPU, and none can become one. Call it with the model
 * locked. */
static bool is_idle(struct model *m, const struct device *gpu)
{
	const struct device *vfs[INTENT_VFS];
	bool any = false;
	size_t n;

	if (!can_serve(gpu) || gpu->facts.num_vfs <= 0)
		return false;
	n = model_children(m, &gpu->key, BUS_PCI, vfs, INTENT_VFS);
	for (size_t i = 0; i < n && i < INTENT_VFS; i++) {
		if (vfs[i]->facts.profile_id[0])
			return false;
		any |= vfs[i]->caps & CAP_VGPU && !strcmp(vfs[i]->facts.driver, gpu->facts.driver);
	}
	return any && !types_any(m, gpu);
}

/* ---- why: the first that fits */

struct finding {
	struct host host;
	bool waits, vgpud, mgr; /* the card waits for its driver; the daemons run, */
	bool unseen;		/* ... or one of them may run where it is not seen */
};

static bool is_locked_down(const struct finding *f)
{
	return f->waits && !f->host.nvidia && f->host.lockdown[0];
}

static bool lacks_module(const struct finding *f)
{
	return f->waits && !f->host.nvidia;
}

static bool is_left_out(const struct finding *f)
{
	return f->waits;
}

static bool lacks_vgpu_module(const struct finding *f)
{
	return f->host.nvidia && !f->host.vgpu_vfio && !f->vgpud && !f->mgr;
}

static bool is_unseen(const struct finding *f)
{
	return f->unseen;
}

static bool lacks_both(const struct finding *f)
{
	return !f->vgpud && !f->mgr;
}

static bool is_of_old_branch(const struct finding *f)
{
	return f->host.kernel >= KERNEL_VENDOR_VFIO && f->host.branch &&
	       f->host.branch < BRANCH_VENDOR_VFIO;
}

static bool lacks_vgpud(const struct finding *f)
{
	return !f->vgpud;
}

static bool lacks_mgr(const struct finding *f)
{
	return !f->mgr;
}

static bool is_other(const struct finding *f)
{
	return true;
}

#define NONE "no: its VFs list no vGPU types"

static const struct {
	bool (*is)(const struct finding *f);
	char text[VGPU_LACK];
} reasons[] = {
	{ is_locked_down,
	  "no: it has no driver: module nvidia is not loaded, and the kernel takes signed "
	  "modules alone (Secure Boot); sign it and enrol its key with mokutil, then run "
	  "modprobe nvidia" },
	{ lacks_module,
	  "no: it has no driver: module nvidia is not loaded; run modprobe nvidia (dmesg says "
	  "why if it fails), or install NVIDIA's vGPU host driver" },
	{ is_left_out,
	  "no: it has no driver, although module nvidia is loaded; dmesg | grep NVRM may say "
	  "why; write its address to bus/pci/drivers/nvidia/bind in /sys" },
	{ lacks_vgpu_module,
	  NONE ": module nvidia_vgpu_vfio is not loaded; run modprobe nvidia_vgpu_vfio, or, if "
	       "there is none, install NVIDIA's vGPU host driver in place of this one" },
	{ is_of_old_branch,
	  NONE ": the driver is older than R550 (vGPU 17), which kernels from 6.8 on need; "
	       "install a newer one, or boot an older kernel" },
	{ is_unseen,
	  NONE "; whether NVIDIA's daemons run cannot be seen in this /proc; run pcidevfsd with "
	       "the host's process ids (hostPID)" },
	{ lacks_both,
	  NONE ", and nvidia-vgpud and nvidia-vgpu-mgr are not running; start both, and read "
	       "the log of nvidia-vgpud if that does not help" },
	/* It may end once it has told the types, and then they would be there. */
	{ lacks_vgpud,
	  NONE ", and nvidia-vgpud is not running; start it, and read its log if that does not "
	       "help" },
	{ lacks_mgr, NONE ", and nvidia-vgpu-mgr is not running; start it" },
	{ is_other,
	  NONE ", although nvidia-vgpud and nvidia-vgpu-mgr run; either the driver is not "
	       "NVIDIA's vGPU host driver, or MIG is on without GPU instances" },
};

static const char *reason(const struct device *gpu, const struct told *t)
{
	struct finding f = { .waits = is_waiting(gpu),
			     .vgpud = daemon_told(t, DAEMON_VGPUD) > 0,
			     .mgr = daemon_told(t, DAEMON_VGPU_MGR) > 0,
			     .unseen = daemon_told(t, DAEMON_VGPUD) == DAEMON_UNSEEN ||
				       daemon_told(t, DAEMON_VGPU_MGR) == DAEMON_UNSEEN };
	size_t i = 0;

	host_read(told_value(t, HOST_WORD), &f.host);
	while (!reasons[i].is(&f))
		i++;
	return reasons[i].text;
}

/* ---- asking */

/* What is not seen would be looked for in vain. */
static bool is_known(const struct backend *b, enum vendor_daemon which)
{
	int pid = atomic_load(&b->daemons[which]);

	return pid > 0 || pid == DAEMON_UNSEEN;
}

static enum ask_which which_lacks(struct backend *b, const struct device *dev)
{
	bool asks = dev->facts.vgpu_idle[0] || is_waiting(dev) || is_idle(b->model, dev) ||
		    (can_serve(dev) && !is_known(b, DAEMON_VGPU_MGR)) ||
		    (nvidia_is_switch(dev) && !is_known(b, DAEMON_FABRIC));

	return asks ? ASK_IT : ASK_NOT;
}

static int apply_lacks(struct backend *b, const struct device *dev, const struct told *t)
{
	const char *text = is_waiting(dev) || is_idle(b->model, dev) ? reason(dev, t) : "";

	if (strcmp(dev->facts.vgpu_idle, text) != 0)
		STR_COPY(model_edit(b->model, &dev->key, false)->facts.vgpu_idle, text);
	return 0;
}

static void heard_daemons(struct backend *b, bool all, const struct told *t)
{
	for (int i = 0; i < DAEMONS; i++)
		atomic_store(&b->daemons[i], daemon_told(t, i));
}

bool daemon_lacks(struct backend *b, enum vendor_daemon which)
{
	int pid = atomic_load(&b->daemons[which]);

	if (daemon_runs(&b->sys, which, pid))
		return false;
	if (pid > 0 && atomic_compare_exchange_strong(&b->daemons[which], &pid, DAEMON_ENDED))
		return true;
	return pid == DAEMON_ENDED; /* another answer may have come meanwhile */
}

const struct ask_row ask_daemons = { "daemons", "what vGPUs need of the host",
				     .deadline_ms = 2000, .follows = true, .which = which_lacks,
				     .apply = apply_lacks, .heard = heard_daemons };

/* ---- vGPUs that others make: a write to current_vgpu_type makes no event (spec/kernel.md 6), nor
 * does a driver that begins to list types, so VFs that could be vGPUs are looked at again from time
 * to time. */

static enum ask_which which_vgpu(struct backend *b, const struct device *dev)
{
	return dev->caps & CAP_VGPU && dev->facts.driver[0] ? ASK_IT : ASK_NOT;
}

/* What is stored of it waits, perhaps for NVIDIA's daemons, which come after the driver. */
static enum ask_which which_awaited(struct backend *b, const struct device *dev)
{
	return which_vgpu(b, dev) && dev->unmet[0] && !dev->facts.profile_id[0] &&
			       !types_any(b->model, dev)
		       ? ASK_IT
		       : ASK_NOT;
}

static void vgpus_seen(struct backend *b)
{
	daemon_lacks(b, DAEMON_VGPU_MGR); /* if it has ended, that is asked now */
	ask_soon(b, &ask_daemons, NULL, 0);
}

const struct ask_row ask_awaited = { .what = "the types of awaited vGPUs", .batch = 1,
				     .look = look_at, .thread = ASKER_WATCH, .period_ms = 2000,
				     .on = CH_UNSATISFIED | CH_FACT(driver) | CH_FACT(profile_id),
				     .which = which_awaited };

const struct ask_row ask_vgpus = { .what = "the vGPUs that others make", .batch = 1,
				   .look = look_at, .thread = ASKER_WATCH, .period_ms = 16000,
				   .on = CH_NUMVFS | CH_FACT(driver),
				   .which = which_vgpu, .after = vgpus_seen };
