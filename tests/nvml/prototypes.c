// SPDX-License-Identifier: GPL-2.0-or-later
/* Declares all functions that pcidevfs-nvml calls once more, beside NVIDIA's own header: the compiler refuses
 * what differs. Only structs without a tag cannot be compared so; abi.c has their sizes. */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>
#include <stdint.h>

#define nvml_device nvmlDevice_st
#define nvml_gpu_instance nvmlGpuInstance_st
#define nvml_compute_instance nvmlComputeInstance_st
#define nvml_placement nvmlGpuInstancePlacement_st
#define nvml_gi_profile nvmlGpuInstanceProfileInfo_st
#define nvml_gi_profile_v2 nvmlGpuInstanceProfileInfo_v2_st
#define nvml_gi_info nvmlGpuInstanceInfo_st
#define nvml_ci_profile_v2 nvmlComputeInstanceProfileInfo_v2_st
#define nvml_ci_info nvmlComputeInstanceInfo_st
#define nvml_process nvmlProcessInfo_v2_st
#define nvml_scheduler nvmlVgpuSchedulerGetState_st
#define nvml_scheduler_set nvmlVgpuSchedulerSetState_st
#define nvml_scheduler_caps nvmlVgpuSchedulerCapabilities_st
#define nvml_field nvmlFieldValue_st
#define nvmlDeviceGetVgpuHeterogeneousMode untagged_get
#define nvmlDeviceSetVgpuHeterogeneousMode untagged_set

struct nvml_mixed_sizes;

#define FUNCTION(field, symbol, older, params) nvmlReturn_t symbol params;
#include "backend/gpu/nvml/functions.def"
