// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files of NVIDIA's validators are true of a node. */
#include <string.h>

#include "pcidevfs/util.h"
#include "plugin/kubelet/ready.h"
#include "test.h"

#define GPU(driver) "vendor=0x10de device=0x25b6 class=0x030200 driver=" driver " profile_id=none"
#define VF(id) "vendor=0x10de class=0x030200 physfn=0000:01:00.0 driver=nvidia profile_id=" id

static struct ready_cards cards;

static void takes(const char *id, const char *pairs)
{
	CHECK_EQ(ready_take(&cards, id, pairs), 0);
}

/* "vfio-pci-ready workload-type=vm-passthrough" */
static void says(const char *want)
{
	struct ready_file files[READY_FILES];
	struct out got = { 0 };

	ready_files(&cards, files);
	for (size_t i = 0; i < READY_FILES; i++) {
		if (!files[i].text)
			continue;
		out_printf(&got, "%s%s", got.len ? " " : "", files[i].name);
		if (*files[i].text)
			out_printf(&got, "=%.*s", (int)strlen(files[i].text) - 1, files[i].text);
	}
	CHECK_STR(out_text(&got), want);
	out_free(&got);
}

DEFINE_TEST(ready_when_all_gpus_are_passed_through)
{
	says("");
	takes("0000:01:00.0", GPU("vfio-pci"));
	says("vfio-pci-ready workload-type=vm-passthrough");
	takes("0000:02:00.0", GPU("nvidia"));
	says("workload-type=vm-passthrough");
	takes("0000:02:00.0", GPU("nvgrace_gpu_vfio_pci"));
	says("vfio-pci-ready workload-type=vm-passthrough");
	takes("0000:02:00.1", "vendor=0x10de class=0x040300 driver=snd_hda_intel"); /* no GPU */
	takes("0000:03:00.0", "vendor=0x8086 class=0x030000 driver=i915");
	takes("0000:04:00.0", VF("none"));
	says("vfio-pci-ready workload-type=vm-passthrough");
	takes("0000:01:00.0", GPU("none"));
	ready_drop(&cards, "0000:02:00.0");
	ready_drop(&cards, "0000:02:00.0");
	says("");
	ready_free(&cards);
}

DEFINE_TEST(ready_when_there_are_vgpus)
{
	takes("0000:01:00.0", GPU("nvidia"));
	takes("0000:01:00.1", VF("747"));
	says("vgpu-devices-ready workload-type=vm-vgpu");
	takes("0000:02:00.0", GPU("vfio-pci")); /* of both kinds */
	says("vgpu-devices-ready workload-type=vm-vgpu");
	takes("0000:01:00.1", VF("none"));
	says("workload-type=vm-passthrough");
	takes("mdev/70a78f40", "kind=mdev parent=0000:01:00.0 profile_id=i915-GVTg");
	says("workload-type=vm-passthrough");
	takes("mdev/70a78f41", "kind=mdev parent=0000:01:00.0 profile_id=nvidia-231");
	says("vgpu-devices-ready workload-type=vm-vgpu");
	/* A new inventory without them. */
	ready_begin(&cards);
	takes("0000:02:00.0", GPU("vfio-pci"));
	ready_settle(&cards);
	says("vfio-pci-ready workload-type=vm-passthrough");
	takes("0000:02:00.0", "vendor=0x10de =x");
	says("");
	ready_free(&cards);
}
