// SPDX-License-Identifier: GPL-2.0-or-later
#include "ready.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "backend/gpu/daemons.h"
#include "backend/gpu/nvidia.h"
#include "host.h"
#include "internal.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

/* Both may be read at any rate, and metrics.prom is read all day. */
#define HEALTH_MS 1000
#define METRICS_MS 60000

/* What of the host the rows ask for: read before the model is locked. */
struct ready_host {
	bool maps; /* host_maps() */
	bool lacks[DAEMONS];
};

static bool is_asked_for_mig(const struct device *dev)
{
	return dev->intent.mig_mode[0] || dev->intent.mig_layout[0];
}

/* What is unmet of a card with MIG may be MIG's, which needs no vGPUs. */
static bool is_asked_for_vgpus(const struct device *dev)
{
	return (dev->unmet[0] && !is_asked_for_mig(dev)) || dev->intent.vfs_wanted ||
	       dev->intended_vfs > 0 || dev->facts.num_vfs > 0 || dev->facts.mdevs;
}

/* Something is asked of it, or of its VFs. */
static bool is_asked(const struct device *dev)
{
	return dev->unmet[0] || dev->intent.claim[0] || is_asked_for_mig(dev) ||
	       is_asked_for_vgpus(dev);
}

/* ---- what a device lacks: a sentence, or "" */

static const char *lack_mapping(const struct ready_host *h, const struct device *dev)
{
	if (h->maps || dev->facts.use != USE_GUEST || !device_has_node(dev, "/dev/vfio/vfio"))
		return "";
	return "VFIO has no driver for the IOMMU, so no VMM can open the device; run modprobe "
	       "vfio_iommu_type1, or install the package with the modules of this kernel that are "
	       "not in its base package";
}

static const char *lack_vgpu(const struct ready_host *h, const struct device *dev)
{
	const struct facts *f = &dev->facts;

	if (!(dev->caps & CAP_VGPU_HOST) || f->use == USE_GUEST || dev->intent.claim[0] ||
	    dev->intended[0] || dev->busy[0])
		return "";
	/* They may be as they are wanted: VFs that are not enabled (lack_vfs() has those that are
	 * stored), and no SR-IOV. */
	if (nvidia_is_disabled(dev) || (f->total_vfs < 0 && !is_asked_for_vgpus(dev)))
		return "";
	return device_vgpu_lack(dev);
}

static const char *lack_manager(const struct ready_host *h, const struct device *dev)
{
	const struct facts *f = &dev->facts;

	if (!h->lacks[DAEMON_VGPU_MGR] || !(dev->caps & CAP_VGPU_HOST) || f->vgpu_lack[0] ||
	    f->vgpu_idle[0] || (f->num_vfs <= 0 && !f->mdevs))
		return "";
	return "nvidia-vgpu-mgr is not running, so no VM can start with a vGPU of this card; run "
	       "systemctl start nvidia-vgpu-mgr";
}

static const char *lack_fabric(const struct ready_host *h, const struct device *dev)
{
	if (!h->lacks[DAEMON_FABRIC] || !nvidia_is_switch(dev) || dev->intent.claim[0])
		return "";
	return "nv-fabricmanager is not running, and until it has brought the fabric of this "
	       "NVSwitch up, CUDA fails with error 802; run systemctl start nvidia-fabricmanager";
}

static const char *lack_reset(const struct ready_host *h, const struct device *dev)
{
	if (!strcmp(dev->facts.mig_mode, dev->facts.mig_pending))
		return "";
	return "its MIG mode changes with a reset of the GPU or a reboot, which are left to you; "
	       "end what uses it, then run nvidia-smi --gpu-reset for it, or reboot";
}

static const char *or_else(const struct device *dev, const char *text)
{
	return dev->unmet[0] ? dev->unmet : text;
}

static bool lacks_vfs(const struct device *dev)
{
	return (dev->intent.vfs_wanted && dev->facts.num_vfs < dev->intent.num_vfs) ||
	       dev->intended_vfs > dev->facts.num_vfs;
}

static const char *lack_vfs(const struct ready_host *h, const struct device *dev)
{
	if (dev->busy[0] || !lacks_vfs(dev))
		return "";
	return or_else(dev, "it has fewer VFs than are stored for it; asked says how many: write "
			    "that again");
}

static bool lacks_profile(const struct device *dev)
{
	return dev->intent.profile[0] && !dev->facts.profile_id[0];
}

static const char *lack_profile(const struct ready_host *h, const struct device *dev)
{
	if (dev->busy[0] || !lacks_profile(dev))
		return "";
	return or_else(dev, "it is not the vGPU that is stored; write its profile again");
}

static const char *lack_intent(const struct ready_host *h, const struct device *dev)
{
	return dev->busy[0] || lacks_vfs(dev) || lacks_profile(dev) ? "" : dev->unmet;
}

static const struct need {
	const char *name;
	const char *(*lack)(const struct ready_host *h, const struct device *dev);
	/* Is it needed, where it may be lacking without harm? NULL: always. */
	bool (*needed)(const struct device *dev);
} needs[] = {
	{ "vfio_iommu", lack_mapping },
	{ "vgpu", lack_vgpu, is_asked_for_vgpus },
	{ "vgpu_manager", lack_manager, is_asked },
	{ "fabric_manager", lack_fabric },
	{ "reset", lack_reset, is_asked },
	{ "vfs", lack_vfs },
	{ "profile", lack_profile },
	{ "intent", lack_intent },
};

/* ---- all of them */

struct lacking {
	size_t n; /* devices that lack it */
	bool needed;
	char first[KEY_NAME + 8], hint[256]; /* one of them */
};

static void note(struct lacking *l, const struct device *dev, bool needed, const char *hint)
{
	if (!l->n++ || (needed && !l->needed)) {
		key_id(&dev->key, l->first);
		str_copy(l->hint, sizeof(l->hint), hint);
	}
	l->needed |= needed;
}

/* A daemon that starts makes no event. */
static void look_for_daemons(struct backend *b, unsigned int again_ms)
{
	uint64_t last = atomic_load(&b->daemons_ms), now = now_ms();

	if (now - last >= again_ms && atomic_compare_exchange_strong(&b->daemons_ms, &last, now))
		ask_soon(b, &ask_daemons, NULL, HEALTH_MS);
}

/* Returns whether nothing that is needed is missing. again_ms: what is missing is looked for again,
 * but so rarely. */
static bool find(struct backend *b, unsigned int again_ms,
		 struct lacking ret[static ARRAY_SIZE(needs)])
{
	bool ready = backend_has_iommu(b), asks = false;
	struct ready_host h = { .maps = host_maps(&b->sys) };
	const struct device *dev;
	size_t pos = 0;

	for (int i = 0; i < DAEMONS; i++)
		h.lacks[i] = daemon_lacks(b, i);
	memset(ret, 0, ARRAY_SIZE(needs) * sizeof(*ret));
	model_lock(b->model);
	while ((dev = model_next(b->model, &pos)))
		for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
			const char *hint = needs[i].lack(&h, dev);

			if (*hint)
				note(&ret[i], dev, !needs[i].needed || needs[i].needed(dev), hint);
		}
	model_unlock(b->model);
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		ready &= !ret[i].needed;
		asks |= ret[i].n > 0;
	}
	if (asks)
		look_for_daemons(b, again_ms);
	return ready;
}

void ready_health(struct backend *b, struct out *o)
{
	struct lacking of[ARRAY_SIZE(needs)];

	out_printf(o, "ready=%s\n", find(b, HEALTH_MS, of) ? "yes" : "no");
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (!of[i].n)
			continue;
		out_printf(o, "missing=%s device=%s devices=%zu needed=%s", needs[i].name,
			   of[i].first, of[i].n, of[i].needed ? "yes" : "no");
		out_pair(o, "hint", of[i].hint);
		out_put(o, "\n", 1);
	}
}

void ready_each(struct backend *b, void (*tell)(struct out *o, const char *key, const char *value),
		struct out *o)
{
	struct lacking of[ARRAY_SIZE(needs)];

	tell(o, "ready", find(b, METRICS_MS, of) ? "yes" : "no");
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		if (of[i].needed)
			tell(o, "missing", needs[i].name);
}
