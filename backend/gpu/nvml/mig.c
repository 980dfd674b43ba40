// SPDX-License-Identifier: GPL-2.0-or-later
/* MIG as the driver tells it: modes, profiles, placements, instances and who uses them. */
#include <inttypes.h>
#include <string.h>

#include "nvml.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define PREFIX "MIG "

/* Without the prefix that all names have. */
static void clean_name(char *name, size_t size)
{
	nvml_clean(name, size);
	if (!strncmp(name, PREFIX, strlen(PREFIX)))
		memmove(name, name + strlen(PREFIX), strlen(name + strlen(PREFIX)) + 1);
}

/* As the driver itself names them: slices, and whole GiB rounded up. */
static void make_name(struct nvml_gi_profile_v2 *p)
{
	snprintf(p->name, sizeof(p->name), "%ug.%" PRIu64 "gb", p->slices,
		 (p->memory_mib + 1023) / 1024);
}

/* Before R510 profiles have no names, and are told in another struct. */
static int profile_of(const struct card *c, unsigned int number, struct nvml_gi_profile_v2 *ret)
{
	struct nvml_gi_profile old = { 0 };
	int answer;

	*ret = (struct nvml_gi_profile_v2){ .version = NVML_STRUCT(*ret, 2) };
	if (c->n->gi_profile_v) {
		answer = c->n->gi_profile_v(c->device, number, ret);
		clean_name(ret->name, sizeof(ret->name));
		return answer;
	}
	answer = NVML(c->n, gi_profile, c->device, number, &old);
	*ret = (struct nvml_gi_profile_v2){ .id = old.id,
					    .slices = old.slices,
					    .instances = old.instances,
					    .memory_mib = old.memory_mib };
	make_name(ret);
	return answer;
}

/* Fills rows with those that the card has, their names clean and without "MIG ". Returns their
 * number, or an answer as -N. */
static int find_profiles(const struct card *c, struct nvml_gi_profile_v2 rows[PROFILES_MAX])
{
	int n = 0;

	for (unsigned int number = 0; number < PROFILES_MAX; number++) {
		int answer = profile_of(c, number, &rows[n]);

		if (answer == NVML_INVALID_ARGUMENT)
			break;
		if (!answer)
			n++;
		else if (answer != NVML_NOT_SUPPORTED)
			return -answer;
	}
	return n;
}

/* The list may have grown since it was counted. */
static int placements_of(const struct card *c, unsigned int id,
			 struct nvml_placement rows[PLACEMENTS_MAX], uint32_t *n)
{
	int answer = NVML(c->n, gi_placements, c->device, id, NULL, n);

	if (answer || *n > PLACEMENTS_MAX)
		return answer ? answer : NVML_INSUFFICIENT_SIZE;
	answer = *n ? NVML(c->n, gi_placements, c->device, id, rows, n) : 0;
	return answer ? answer : *n > PLACEMENTS_MAX ? NVML_INSUFFICIENT_SIZE : 0;
}

/* "profile ID MAX AVAILABLE MEMORY_MIB SLICES START,START:SIZE NAME"; -1: it is not told. */
static int tell_profile(const struct card *c, const struct nvml_gi_profile_v2 *p)
{
	struct nvml_placement rows[PLACEMENTS_MAX] = { { 0 } };
	uint32_t n = 0, left = 0;
	int answer = placements_of(c, p->id, rows, &n);
	int available = NVML(c->n, gi_remaining, c->device, p->id, &left) ? -1 : (int)left;

	if (answer && answer != NVML_NOT_SUPPORTED)
		return answer;
	printf("profile %u %u %d %" PRIu64 " %u ", p->id, p->instances, available, p->memory_mib,
	       p->slices);
	for (uint32_t i = 0; i < n; i++)
		printf("%s%u", i ? "," : "", rows[i].start);
	printf("%s:%u %s\n", n ? "" : "-", n ? rows[0].size : 0, p->name);
	return 0;
}

/* ---- instances */

/* The driver writes as many as the profile can have, whatever n says; it may say anything. */
static int listed(int answer, const uint32_t *n)
{
	return answer ? answer : *n > INSTANCES_MAX ? NVML_INSUFFICIENT_SIZE : 0;
}

int ci_profile(const struct card *c, struct nvml_gpu_instance *gi, unsigned int number,
	       struct nvml_ci_profile_v2 *ret)
{
	int answer;

	*ret = (struct nvml_ci_profile_v2){ .version = NVML_STRUCT(*ret, 2) };
	answer = NVML(c->n, ci_profile_v, gi, number, 0, ret);
	clean_name(ret->name, sizeof(ret->name));
	return answer;
}

/* "compute GI ID START SIZE NAME" */
static int tell_computes(const struct card *c, struct nvml_gpu_instance *gi, uint32_t gi_id)
{
	for (unsigned int number = 0; number < PROFILES_MAX; number++) {
		struct nvml_compute_instance *rows[INSTANCES_MAX] = { NULL };
		struct nvml_ci_profile_v2 p;
		uint32_t n = INSTANCES_MAX;
		int answer = ci_profile(c, gi, number, &p);

		if (answer == NVML_INVALID_ARGUMENT)
			break;
		if (answer == NVML_NOT_SUPPORTED)
			continue;
		if (answer || p.instances > INSTANCES_MAX)
			return answer ? answer : NVML_INSUFFICIENT_SIZE;
		answer = listed(NVML(c->n, ci_list, gi, p.id, rows, &n), &n);
		for (uint32_t i = 0; !answer && i < n; i++) {
			struct nvml_ci_info info = { 0 };

			answer = NVML(c->n, ci_info, rows[i], &info);
			if (!answer)
				printf("compute %u %u %u %u %s\n", gi_id, info.id,
				       info.placement.start, info.placement.size, p.name);
		}
		if (answer)
			return answer;
	}
	return 0;
}

/* "instance ID PROFILE START SIZE" and its compute instances */
static int tell_instances(const struct card *c, const struct nvml_gi_profile_v2 *p)
{
	struct nvml_gpu_instance *rows[INSTANCES_MAX] = { NULL };
	uint32_t n = INSTANCES_MAX;
	int answer;

	if (p->instances > INSTANCES_MAX)
		return NVML_INSUFFICIENT_SIZE;
	answer = listed(NVML(c->n, gi_list, c->device, p->id, rows, &n), &n);
	for (uint32_t i = 0; !answer && i < n; i++) {
		struct nvml_gi_info info = { 0 };

		answer = NVML(c->n, gi_info, rows[i], &info);
		if (answer)
			break;
		printf("instance %u %u %u %u\n", info.id, info.profile, info.placement.start,
		       info.placement.size);
		answer = tell_computes(c, rows[i], info.id);
	}
	return answer;
}

/* "process PID GI CI": whoever computes; a client of this library is none of them. */
static void tell_processes(const struct card *c)
{
	struct nvml_process rows[TYPES_MAX];
	uint32_t n = TYPES_MAX;

	if (NVML(c->n, processes, c->device, &n, rows))
		return;
	for (uint32_t i = 0; i < n && i < TYPES_MAX; i++)
		printf("process %u %d %d\n", rows[i].pid, (int)rows[i].gi, (int)rows[i].ci);
}

/* "vm GI TYPE NAME": a vGPU of which a VM is running. */
static void tell_vms(const struct card *c)
{
	uint32_t rows[TYPES_MAX], n = TYPES_MAX;

	if (NVML(c->n, active, c->device, &n, rows))
		return;
	for (uint32_t i = 0; i < n && i < TYPES_MAX; i++) {
		uint32_t gi = (uint32_t)NVML_NO_INSTANCE, type = 0, kind;
		char vm[NVML_VERSION] = "";

		/* It may have ended meanwhile. */
		if (NVML(c->n, vgpu_type, rows[i], &type))
			continue;
		if (NVML(c->n, vgpu_gi, rows[i], &gi))
			gi = (uint32_t)NVML_NO_INSTANCE;
		if (NVML(c->n, vgpu_vm, rows[i], vm, sizeof(vm), &kind))
			*vm = '\0';
		nvml_clean(vm, sizeof(vm));
		printf("vm %d %u %s\n", (int)gi, type, vm);
	}
}

static int tell_all_instances(const struct card *c, const struct nvml_gi_profile_v2 *rows, int n,
			      struct err *err)
{
	int answer = 0;

	for (int i = 0; !answer && i < n; i++)
		answer = tell_instances(c, &rows[i]);
	if (answer)
		return nvml_fail(c->n, answer, c->address, "its MIG instances cannot be read", err);
	tell_processes(c);
	tell_vms(c);
	return 0;
}

int tell_mig(const struct card *c, bool instances, struct err *err)
{
	struct nvml_gi_profile_v2 rows[PROFILES_MAX];
	uint32_t current = 0, pending = 0;
	int answer = NVML(c->n, mig_mode, c->device, &current, &pending), n;

	if (answer)
		return nvml_fail(c->n, answer, c->address, "MIG", err);
	printf("mode %u %u\n", current, pending);
	n = find_profiles(c, rows);
	if (n < 0)
		return nvml_fail(c->n, -n, c->address, "its MIG profiles cannot be read", err);
	for (int i = 0; !answer && i < n; i++)
		answer = tell_profile(c, &rows[i]);
	if (answer)
		return nvml_fail(c->n, answer, c->address, "its MIG placements cannot be read",
				 err);
	return instances && current ? tell_all_instances(c, rows, n, err) : 0;
}

int ask_instances(const struct card *c, char **argv, struct err *err)
{
	return tell_mig(c, true, err);
}
