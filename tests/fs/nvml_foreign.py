# SPDX-License-Identifier: GPL-2.0-or-later
"""NVIDIA's Python client of the fake library: what it is given is as pcidevfs-nvml prints it, and it can change a card
that pcidevfs-nvml asks afterwards."""
import sys

from pynvml import *

address = sys.argv[1]


def refused(error, call, *args):
    try:
        call(*args)
    except NVMLError as e:
        assert e.value == error, (call.__name__, e.value, error)
    else:
        raise AssertionError(f"{call.__name__}{args} is not refused")


def text(value):
    return value.decode() if isinstance(value, bytes) else value


nvmlInit()
print("library", text(nvmlSystemGetNVMLVersion()))
print("driver", text(nvmlSystemGetDriverVersion()))
refused(NVML_ERROR_NOT_FOUND, nvmlDeviceGetHandleByPciBusId, "0000:7f:00.0")
card = nvmlDeviceGetHandleByPciBusId(address)
print("name", text(nvmlDeviceGetName(card)))
print("host_vgpu", nvmlDeviceGetHostVgpuMode(card))
for t in nvmlDeviceGetSupportedVgpus(card):
    print(f"type {t} {c_int(nvmlVgpuTypeGetGpuInstanceProfileId(t)).value}", nvmlVgpuTypeGetMaxInstances(card, t),
          nvmlVgpuTypeGetMaxInstancesPerVm(t), nvmlVgpuTypeGetFramebufferSize(t) >> 20, nvmlVgpuTypeGetNumDisplayHeads(t),
          nvmlVgpuTypeGetFrameRateLimit(t), "\t".join(map(text, (nvmlVgpuTypeGetClass(t), nvmlVgpuTypeGetLicense(t),
                                                                 nvmlVgpuTypeGetName(t)))))
place = byref(c_nvmlGpuInstancePlacement_t(4, 4))
refused(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceCreateGpuInstanceWithPlacement, card, 9, place)

# All of MIG: the mode, profiles by both versions of the call, instances made and removed.
assert nvmlDeviceSetMigMode(card, 1) == NVML_SUCCESS
print("mode", *nvmlDeviceGetMigMode(card))
ids = {}
for number in range(NVML_GPU_INSTANCE_PROFILE_COUNT):
    try:
        plain = nvmlDeviceGetGpuInstanceProfileInfo(card, number)
        named = nvmlDeviceGetGpuInstanceProfileInfo(card, number, version=2)
    except NVMLError as e:
        assert e.value in (NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_INVALID_ARGUMENT), e.value
        continue
    assert (plain.id, plain.memorySizeMB) == (named.id, named.memorySizeMB)
    ids[text(named.name)] = plain.id
    n = c_uint(0)
    nvmlDeviceGetGpuInstancePossiblePlacements(card, plain.id, None, byref(n))
    places = (c_nvmlGpuInstancePlacement_t * n.value)()
    nvmlDeviceGetGpuInstancePossiblePlacements(card, plain.id, places, byref(n))
    print("profile", plain.id, plain.instanceCount, nvmlDeviceGetGpuInstanceRemainingCapacity(card, plain.id),
          plain.memorySizeMB, plain.sliceCount, ",".join(str(p.start) for p in places) + f":{places[0].size}",
          text(named.name).removeprefix("MIG "))
gi = nvmlDeviceCreateGpuInstanceWithPlacement(card, ids["MIG 3g.40gb"], place)
info = nvmlGpuInstanceGetInfo(gi)
profile = nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE, 0, version=2)
ci = nvmlGpuInstanceCreateComputeInstance(gi, profile.id)
print("instance", info.id, info.profileId, info.placement.start, info.placement.size)
part = nvmlComputeInstanceGetInfo(ci)
print("compute", info.id, part.id, part.placement.start, part.placement.size, text(profile.name).removeprefix("MIG "))
refused(NVML_ERROR_IN_USE, nvmlGpuInstanceDestroy, gi)
for t in nvmlDeviceGetCreatableVgpus(card):
    print("creatable", t)
refused(NVML_ERROR_NOT_SUPPORTED, nvmlDeviceGetVgpuHeterogeneousMode, card)
nvmlShutdown()
