/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A card as a file, which the fake libnvidia-ml.so.1 and the simulated kernel share. Each takes the lock, reads,
 * changes and writes it. Lines:
 *
 *   name NAME                    driver VERSION               library VERSION
 *   mig CURRENT PENDING          (a card without it cannot)   keeps: the mode waits for a reset and stays over a
 *                                                             reboot, as on Ampere
 *   profile NUMBER ID SLICES INSTANCES MEMORY_MIB START,START:SIZE NAME
 *   instance ID PROFILE START SIZE         compute GI ID PROFILE START SIZE
 *   used GI                      busy: somebody uses the card
 *   vgpus                        (a card without it is no vGPU host)
 *   type ID GI_PROFILE MAX PER_VM MIB HEADS RATE CLASS/LICENSE/NAME
 *   mixed_sizes 0|1              scheduler POLICY ARR PARAM PARAM
 *   vfs N                        vgpu OWNER TYPE GI ACTIVE: of the simulated kernel; OWNER is a VF or a UUID
 *   process PID GI CI            recovery N                   remapped N N N N
 *   fault FUNCTION NUMBER        or: hang, crash, garbage, flood (of its standard output)
 *   fault activation NUMBER      of a change of the mode
 */
#ifndef TESTS_NVML_CARD_H
#define TESTS_NVML_CARD_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "backend/gpu/nvml/abi.h"

enum { ROWS = 64, GIS = 16, CIS = 8 };

struct profile {
	unsigned int number, id, slices, instances, mib, n, starts[ROWS], size;
	char name[NVML_NAME];
};

/* Their places follow from their ids, so they stay where they are when the file is read again. */
struct nvml_gpu_instance {
	struct nvml_device *card;
	unsigned int id, profile, start, size;
	bool there;
};

struct nvml_compute_instance {
	struct nvml_device *card;
	unsigned int gi, id, profile, start, size;
	bool there;
};

struct type {
	unsigned int id, max, per_vm, mib, heads, rate;
	int gi_profile;
	char class[NVML_VGPU_NAME], license[NVML_LICENSE], name[NVML_VGPU_NAME];
};

struct card_vgpu {
	char owner[40];
	unsigned int type;
	int gi; /* -1: of the whole card */
	int active;
};

struct nvml_device {
	char file[512];
	uint64_t ino; /* of what was read */
	struct timespec changed;
	char name[NVML_NAME], driver[NVML_VERSION], library[NVML_VERSION];
	int mig[2];
	bool can_mig, keeps, busy, vgpus;
	struct profile profiles[ROWS];
	struct nvml_gpu_instance instances[GIS];
	struct nvml_compute_instance computes[GIS][CIS];
	struct type types[ROWS];
	struct card_vgpu vgpu[ROWS];
	struct nvml_process processes[ROWS];
	unsigned int n_profiles, n_types, n_vgpus, n_processes, vfs;
	unsigned int used[ROWS], n_used;
	int mixed_sizes, recovery;
	struct nvml_scheduler scheduler;
	unsigned int remapped[4];
	bool has_remapped;
	char faults[ROWS][2][64];
	unsigned int n_faults;
	char other[16384]; /* lines that are written back as they were */
};

/* Until the descriptor is closed nobody else changes the card. */
int card_lock(const struct nvml_device *c);
/* Brings it up to date with the file. False: there is none. */
bool card_read(struct nvml_device *c);
void card_write(struct nvml_device *c);
/* The simulated proc, for this process: card_write() shows the card's instances there as the driver
 * does. */
void card_set_proc(const char *path);
/* Shows them, of a card that has its driver. */
void card_show_instances(const struct nvml_device *c);

const struct profile *card_profile(const struct nvml_device *c, unsigned int id);
const struct type *card_type(const struct nvml_device *c, unsigned int id);
/* How many more vGPUs of the type can be made. ret_gi: the instance that the next one gets, -1 for none: the driver
 * takes the lowest one with room (spec/nvml.md 5). */
unsigned int card_vgpu_room(const struct nvml_device *c, const struct type *t, int *ret_gi);

#endif
