/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NVML's binary interface, as far as it is used: numbers, structs and sizes of spec/nvml.md.
 * Handles are opaque; every enum and result is 32 bits wide.
 */
#ifndef NVML_ABI_H
#define NVML_ABI_H

#include <stddef.h>
#include <stdint.h>

/* What a call answers (section 0). Others are carried on as numbers. */
enum nvml_answer {
	NVML_SUCCESS = 0,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_VERSION_MISMATCH = 18,
	NVML_IN_USE = 19,
	NVML_INSUFFICIENT_RESOURCES = 23,
	NVML_ARGUMENT_VERSION_MISMATCH = 25,
	NVML_GPU_NOT_FOUND = 28,
	NVML_UNKNOWN = 999,
	NVML_NO_LIBRARY = 1000, /* ours: there is none below the root */
};

enum {
	NVML_NAME = 96,
	NVML_VERSION = 80,
	NVML_VGPU_NAME = 64,
	NVML_LICENSE = 128,

	NVML_FIELD_RECOVERY_ACTION = 230, /* R570 */
	NVML_NO_INSTANCE = -1,
};

/* The word that begins a struct with a version: its size, and the version in the top byte. */
#define NVML_STRUCT(type, version) ((uint32_t)(sizeof(type) | (version) << 24))

struct nvml_device;
struct nvml_gpu_instance;
struct nvml_compute_instance;

struct nvml_placement {
	uint32_t start, size; /* in memory slices; of a compute instance: in compute slices */
};

/* Without a name, R450. */
struct nvml_gi_profile {
	uint32_t id, p2p, slices, instances, sms, copy_engines, decoders, encoders, jpegs, ofas;
	uint64_t memory_mib;
};
_Static_assert(sizeof(struct nvml_gi_profile) == 48, "2.2");

/* Version 2, R510. That of version 3 has a wrong name in driver 580 (section 9). */
struct nvml_gi_profile_v2 {
	uint32_t version;
	uint32_t id, p2p, slices, instances, sms, copy_engines, decoders, encoders, jpegs, ofas;
	uint64_t memory_mib;
	char name[NVML_NAME];
};
_Static_assert(sizeof(struct nvml_gi_profile_v2) == 152, "2.2");
_Static_assert(offsetof(struct nvml_gi_profile_v2, memory_mib) == 48, "2.2");
_Static_assert(offsetof(struct nvml_gi_profile_v2, name) == 56, "2.2");

struct nvml_gi_info {
	struct nvml_device *device;
	uint32_t id, profile;
	struct nvml_placement placement;
};
_Static_assert(sizeof(struct nvml_gi_info) == 24, "2.2");

struct nvml_ci_profile_v2 {
	uint32_t version;
	uint32_t id, slices, instances, sms, copy_engines, decoders, encoders, jpegs, ofas;
	char name[NVML_NAME];
};
_Static_assert(sizeof(struct nvml_ci_profile_v2) == 136, "2.3");
_Static_assert(offsetof(struct nvml_ci_profile_v2, name) == 40, "2.3");

/* Of R460; that of the plain call ends before the placement. */
struct nvml_ci_info {
	struct nvml_device *device;
	struct nvml_gpu_instance *gi;
	uint32_t id, profile;
	struct nvml_placement placement;
};
_Static_assert(sizeof(struct nvml_ci_info) == 32, "2.3");

struct nvml_process {
	uint32_t pid;
	uint64_t memory;
	uint32_t gi, ci; /* 0xffffffff: none */
};
_Static_assert(sizeof(struct nvml_process) == 24, "4");

struct nvml_mixed_sizes {
	uint32_t version, mode;
};
_Static_assert(sizeof(struct nvml_mixed_sizes) == 8, "3.2");

enum { NVML_BEST_EFFORT = 1, NVML_EQUAL_SHARE, NVML_FIXED_SHARE };
enum { NVML_ARR_OFF = 1, NVML_ARR_ON };

struct nvml_scheduler_caps {
	uint32_t policies[3];
	uint32_t max_timeslice_ns, min_timeslice_ns;
	uint32_t arr;
	uint32_t max_frequency, min_frequency, max_factor, min_factor;
};
_Static_assert(sizeof(struct nvml_scheduler_caps) == 40, "3.3");

struct nvml_scheduler {
	uint32_t policy, arr;
	uint32_t params[2]; /* with ARR its average factor and time slice; else the time slice */
};
_Static_assert(sizeof(struct nvml_scheduler) == 16, "3.3");

struct nvml_scheduler_set {
	uint32_t policy, arr;
	uint32_t params[2]; /* with ARR its average factor and frequency; else the time slice */
};
_Static_assert(sizeof(struct nvml_scheduler_set) == 16, "3.3");

struct nvml_field {
	uint32_t id, scope;
	int64_t timestamp, latency_us;
	uint32_t type, answer;
	union {
		uint32_t number;
		uint64_t wide;
	} value;
};
_Static_assert(sizeof(struct nvml_field) == 40, "4");

#endif
