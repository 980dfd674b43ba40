// SPDX-License-Identifier: GPL-2.0-or-later
/* MIG of the fake library. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

int nvmlDeviceGetMigMode(struct nvml_device *c, uint32_t *current, uint32_t *pending)
{
	FAULT(current, sizeof(*current));
	if (!c->can_mig)
		return NVML_NOT_SUPPORTED;
	*current = (uint32_t)c->mig[0];
	*pending = (uint32_t)c->mig[1];
	return 0;
}

/* What the change comes to; a fault of "activation" decides else. Unless it is possible at once it is pending. */
static unsigned int activation(const struct nvml_device *c)
{
	int answer = fault("activation", NULL, 0);

	if (answer >= 0)
		return (unsigned int)answer;
	return c->busy || c->vfs || c->n_processes ? NVML_IN_USE
	       : c->keeps			   ? NVML_RESET_REQUIRED
						   : 0;
}

int nvmlDeviceSetMigMode(struct nvml_device *c, uint32_t mode, uint32_t *ret)
{
	CHANGE(c);
	if (!c->can_mig || mode > 1)
		return c->can_mig ? NVML_INVALID_ARGUMENT : NVML_NOT_SUPPORTED;
	c->mig[1] = (int)mode;
	*ret = c->mig[0] == (int)mode ? 0 : activation(c);
	if (!*ret)
		c->mig[0] = (int)mode;
	if (!c->mig[0])
		memset(c->instances, 0, sizeof(c->instances)),
			memset(c->computes, 0, sizeof(c->computes));
	card_write(c);
	return 0;
}

static const struct profile *profile_at(const struct nvml_device *c, unsigned int number)
{
	for (const struct profile *p = c->profiles; p < c->profiles + c->n_profiles; p++)
		if (p->number == number)
			return p;
	return NULL;
}

int nvmlDeviceGetGpuInstanceProfileInfo(struct nvml_device *c, uint32_t number,
					struct nvml_gi_profile *ret)
{
	const struct profile *p = profile_at(c, number);

	FAULT(ret, sizeof(*ret));
	if (number > LAST_PROFILE)
		return NVML_INVALID_ARGUMENT;
	if (!p)
		return NVML_NOT_SUPPORTED;
	*ret = (struct nvml_gi_profile){
		.id = p->id, .slices = p->slices, .instances = p->instances, .memory_mib = p->mib
	};
	return 0;
}

int nvmlDeviceGetGpuInstanceProfileInfoV(struct nvml_device *c, uint32_t number,
					 struct nvml_gi_profile_v2 *ret)
{
	const struct profile *p = profile_at(c, number);

	FAULT(ret, sizeof(*ret));
	if (number > LAST_PROFILE || ret->version != NVML_STRUCT(*ret, 2))
		return NVML_INVALID_ARGUMENT;
	if (!p)
		return NVML_NOT_SUPPORTED;
	*ret = (struct nvml_gi_profile_v2){
		.id = p->id, .slices = p->slices, .instances = p->instances, .memory_mib = p->mib
	};
	snprintf(ret->name, sizeof(ret->name), "MIG %.80s", p->name);
	return 0;
}

int nvmlDeviceGetGpuInstancePossiblePlacements_v2(struct nvml_device *c, uint32_t id,
						  struct nvml_placement *rows, uint32_t *n)
{
	const struct profile *p = card_profile(c, id);

	FAULT(n, sizeof(*n));
	if (!p)
		return NVML_INVALID_ARGUMENT;
	for (unsigned int i = 0; rows && i < p->n; i++)
		rows[i] = (struct nvml_placement){ p->starts[i], p->size };
	*n = p->n;
	return 0;
}

static bool is_free(const struct nvml_device *c, unsigned int start, unsigned int size)
{
	for (const struct nvml_gpu_instance *i = c->instances; i < c->instances + GIS; i++)
		if (i->there && i->start < start + size && start < i->start + i->size)
			return false;
	return true;
}

static unsigned int instances_of(const struct nvml_device *c, unsigned int id)
{
	unsigned int n = 0;

	for (const struct nvml_gpu_instance *i = c->instances; i < c->instances + GIS; i++)
		n += i->there && i->profile == id;
	return n;
}

int nvmlDeviceGetGpuInstanceRemainingCapacity(struct nvml_device *c, uint32_t id, uint32_t *n)
{
	const struct profile *p = card_profile(c, id);
	unsigned int left;

	FAULT(n, sizeof(*n));
	if (!p)
		return NVML_INVALID_ARGUMENT;
	left = p->instances - instances_of(c, id);
	*n = 0;
	for (unsigned int i = 0; i < p->n && *n < left; i++)
		*n += is_free(c, p->starts[i], p->size);
	return 0;
}

int nvmlDeviceGetGpuInstances(struct nvml_device *c, uint32_t id, struct nvml_gpu_instance **rows,
			      uint32_t *n)
{
	FAULT(n, sizeof(*n));
	if (geteuid())
		return NVML_NO_PERMISSION;
	*n = 0;
	for (struct nvml_gpu_instance *i = c->instances; i < c->instances + GIS; i++)
		if (i->there && i->profile == id)
			rows[(*n)++] = i;
	return 0;
}

int nvmlDeviceGetGpuInstanceById(struct nvml_device *c, uint32_t id, struct nvml_gpu_instance **ret)
{
	FAULT(NULL, 0);
	if (id >= GIS || !c->instances[id].there)
		return NVML_NOT_FOUND;
	*ret = &c->instances[id];
	return 0;
}

int nvmlGpuInstanceGetInfo(struct nvml_gpu_instance *i, struct nvml_gi_info *ret)
{
	FAULT(ret, sizeof(*ret));
	*ret = (struct nvml_gi_info){ i->card, i->id, i->profile, { i->start, i->size } };
	return 0;
}

/* The whole card is instance 0; else the lowest number from 1 on. NULL: there is none left. */
static struct nvml_gpu_instance *unused(struct nvml_device *c, bool whole)
{
	struct nvml_gpu_instance *i = c->instances + !whole;

	while (i < c->instances + GIS && i->there)
		i++;
	return i < c->instances + GIS ? i : NULL;
}

int nvmlDeviceCreateGpuInstanceWithPlacement(struct nvml_device *c, uint32_t id,
					     const struct nvml_placement *at,
					     struct nvml_gpu_instance **ret)
{
	const struct profile *p = card_profile(c, id);
	bool possible = false;

	CHANGE(c);
	if (!c->mig[0])
		return NVML_NOT_SUPPORTED;
	for (unsigned int k = 0; p && k < p->n; k++)
		possible |= p->starts[k] == at->start && p->size == at->size;
	if (!possible)
		return NVML_INVALID_ARGUMENT;
	*ret = unused(c, p->size == 8);
	if (!is_free(c, at->start, at->size) || instances_of(c, id) == p->instances || !*ret)
		return NVML_INSUFFICIENT_RESOURCES;
	**ret = (struct nvml_gpu_instance){ c,	      (unsigned int)(*ret - c->instances),
					    id,	      at->start,
					    at->size, true };
	card_write(c);
	return 0;
}

static bool has_user(const struct nvml_device *c, unsigned int gi)
{
	bool used = false;

	for (unsigned int k = 0; k < CIS; k++)
		used |= c->computes[gi][k].there;
	for (unsigned int k = 0; k < c->n_used; k++)
		used |= c->used[k] == gi;
	for (unsigned int k = 0; k < c->n_vgpus; k++)
		used |= c->vgpu[k].gi == (int)gi;
	return used;
}

/* A vGPU that exists uses it, whether a guest has it or not (spec/nvml.md 2.2). */
int nvmlGpuInstanceDestroy(struct nvml_gpu_instance *i)
{
	struct nvml_device *c = i->card;

	CHANGE(c);
	if (!i->there)
		return NVML_INVALID_ARGUMENT;
	if (has_user(c, i->id))
		return NVML_IN_USE;
	i->there = false;
	card_write(c);
	return 0;
}

/* ---- compute instances: as many slices as the number says, of as many as the instance has */

static unsigned int slices_of(unsigned int number)
{
	static const unsigned int slices[] = { 1, 2, 3, 4, 7 };

	return number < 5 ? slices[number] : 0;
}

static unsigned int slices_in(const struct nvml_gpu_instance *i)
{
	return card_profile(i->card, i->profile)->slices;
}

int nvmlGpuInstanceGetComputeInstanceProfileInfoV(struct nvml_gpu_instance *i, uint32_t number,
						  uint32_t engine, struct nvml_ci_profile_v2 *ret)
{
	unsigned int slices = slices_of(number), of = slices_in(i);
	const char *name = card_profile(i->card, i->profile)->name;

	FAULT(ret, sizeof(*ret));
	if (number > LAST_COMPUTE || engine || ret->version != NVML_STRUCT(*ret, 2))
		return NVML_INVALID_ARGUMENT;
	if (!slices || slices > of)
		return NVML_NOT_SUPPORTED;
	*ret = (struct nvml_ci_profile_v2){ .id = number,
					    .slices = slices,
					    .instances = of / slices };
	if (slices == of)
		snprintf(ret->name, sizeof(ret->name), "MIG %.80s", name);
	else
		snprintf(ret->name, sizeof(ret->name), "MIG %uc.%.60s", slices, name);
	return 0;
}

int nvmlGpuInstanceGetComputeInstances(struct nvml_gpu_instance *i, uint32_t id,
				       struct nvml_compute_instance **rows, uint32_t *n)
{
	struct nvml_compute_instance *all = i->card->computes[i->id];

	FAULT(n, sizeof(*n));
	*n = 0;
	for (struct nvml_compute_instance *k = all; k < all + CIS; k++)
		if (k->there && k->profile == id)
			rows[(*n)++] = k;
	return 0;
}

int nvmlGpuInstanceGetComputeInstanceById(struct nvml_gpu_instance *i, uint32_t id,
					  struct nvml_compute_instance **ret)
{
	FAULT(NULL, 0);
	if (id >= CIS || !i->card->computes[i->id][id].there)
		return NVML_NOT_FOUND;
	*ret = &i->card->computes[i->id][id];
	return 0;
}

int nvmlComputeInstanceGetInfo_v2(struct nvml_compute_instance *c, struct nvml_ci_info *ret)
{
	FAULT(ret, sizeof(*ret));
	*ret = (struct nvml_ci_info){ .device = c->card,
				      .id = c->id,
				      .profile = c->profile,
				      .placement = { c->start, c->size } };
	return 0;
}

int nvmlGpuInstanceCreateComputeInstance(struct nvml_gpu_instance *i, uint32_t id,
					 struct nvml_compute_instance **ret)
{
	struct nvml_device *c = i->card;
	struct nvml_compute_instance *all = c->computes[i->id], *new = NULL;
	unsigned int slices = slices_of(id), start = 0;

	CHANGE(c);
	for (struct nvml_compute_instance *k = all; k < all + CIS; k++)
		if (k->there)
			start += k->size;
		else if (!new)
			new = k;
	if (!i->there || !slices || !new || start + slices > slices_in(i))
		return NVML_INSUFFICIENT_RESOURCES;
	*new = (struct nvml_compute_instance){ c,      i->id, (unsigned int)(new - all), id, start,
					       slices, true };
	card_write(c);
	*ret = new;
	return 0;
}

int nvmlComputeInstanceDestroy(struct nvml_compute_instance *k)
{
	struct nvml_device *c = k->card;

	CHANGE(c);
	if (!k->there)
		return NVML_INVALID_ARGUMENT;
	k->there = false;
	card_write(c);
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *c, uint32_t *n,
					    struct nvml_process *rows)
{
	FAULT(n, sizeof(*n));
	if (*n < c->n_processes)
		return *n = c->n_processes, NVML_INSUFFICIENT_SIZE;
	*n = c->n_processes;
	memcpy(rows, c->processes, *n * sizeof(*rows));
	return 0;
}
