// SPDX-License-Identifier: GPL-2.0-or-later
/* vGPUs and health of the fake library. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

int nvmlDeviceGetHostVgpuMode(struct nvml_device *c, uint32_t *mode)
{
	FAULT(mode, sizeof(*mode));
	*mode = 1;
	return c->vgpus ? 0 : NVML_NOT_SUPPORTED;
}

static int list_types(const struct nvml_device *c, uint32_t *n, uint32_t *ids, bool creatable)
{
	unsigned int found = 0;
	int gi;

	if (!c->vgpus)
		return NVML_NOT_SUPPORTED;
	for (const struct type *t = c->types; t < c->types + c->n_types; t++) {
		if (creatable && !card_vgpu_room(c, t, &gi))
			continue;
		if (found < *n)
			ids[found] = t->id;
		found++;
	}
	if (found > *n)
		return *n = found, NVML_INSUFFICIENT_SIZE;
	*n = found;
	return 0;
}

int nvmlDeviceGetSupportedVgpus(struct nvml_device *c, uint32_t *n, uint32_t *ids)
{
	FAULT(n, sizeof(*n));
	return list_types(c, n, ids, false);
}

int nvmlDeviceGetCreatableVgpus(struct nvml_device *c, uint32_t *n, uint32_t *ids)
{
	FAULT(n, sizeof(*n));
	return list_types(c, n, ids, true);
}

int nvmlVgpuTypeGetName(uint32_t id, char *text, uint32_t *size)
{
	const struct type *t = type_of(id);

	FAULT(text, *size);
	return t ? put(text, *size, t->name) : NVML_INVALID_ARGUMENT;
}

int nvmlVgpuTypeGetClass(uint32_t id, char *text, uint32_t *size)
{
	const struct type *t = type_of(id);

	FAULT(text, *size);
	return t ? put(text, *size, t->class) : NVML_INVALID_ARGUMENT;
}

int nvmlVgpuTypeGetLicense(uint32_t id, char *text, uint32_t size)
{
	const struct type *t = type_of(id);

	FAULT(text, size);
	return t ? put(text, size, t->license) : NVML_INVALID_ARGUMENT;
}

int nvmlVgpuTypeGetFramebufferSize(uint32_t id, unsigned long long *bytes)
{
	const struct type *t = type_of(id);

	FAULT(bytes, sizeof(*bytes));
	*bytes = t ? (unsigned long long)t->mib << 20 : 0;
	return t ? 0 : NVML_INVALID_ARGUMENT;
}

#define TYPE_NUMBER(symbol, field, ...)                                                            \
	int symbol(__VA_ARGS__ uint32_t id, uint32_t *n)                                           \
	{                                                                                          \
		const struct type *t = type_of(id);                                                \
                                                                                                   \
		FAULT(n, sizeof(*n));                                                              \
		*n = t ? (uint32_t)t->field : 0;                                                   \
		return t ? 0 : NVML_INVALID_ARGUMENT;                                              \
	}
TYPE_NUMBER(nvmlVgpuTypeGetGpuInstanceProfileId, gi_profile, )
TYPE_NUMBER(nvmlVgpuTypeGetMaxInstancesPerVm, per_vm, )
TYPE_NUMBER(nvmlVgpuTypeGetNumDisplayHeads, heads, )
TYPE_NUMBER(nvmlVgpuTypeGetFrameRateLimit, rate, )
#define CARD struct nvml_device *c,
TYPE_NUMBER(nvmlVgpuTypeGetMaxInstances, max, CARD)

/* Its number tells the card and its place there. */
static uint32_t number_of(const struct nvml_device *c, unsigned int place)
{
	return card_number(c) * ROWS + place + 1;
}

static const struct card_vgpu *vgpu_of(uint32_t number)
{
	const struct nvml_device *c = number ? card_of(--number / ROWS) : NULL;

	return c && number % ROWS < c->n_vgpus ? &c->vgpu[number % ROWS] : NULL;
}

/* Active: a guest has it. */
int nvmlDeviceGetActiveVgpus(struct nvml_device *c, uint32_t *n, uint32_t *vgpus)
{
	unsigned int found = 0;

	FAULT(n, sizeof(*n));
	if (!c->vgpus)
		return NVML_NOT_SUPPORTED;
	for (unsigned int i = 0; i < c->n_vgpus; i++) {
		if (!c->vgpu[i].active)
			continue;
		if (found < *n)
			vgpus[found] = number_of(c, i);
		found++;
	}
	if (found > *n)
		return *n = found, NVML_INSUFFICIENT_SIZE;
	*n = found;
	return 0;
}

int nvmlVgpuInstanceGetType(uint32_t number, uint32_t *type)
{
	const struct card_vgpu *v = vgpu_of(number);

	FAULT(type, sizeof(*type));
	*type = v ? v->type : 0;
	return v ? 0 : NVML_NOT_FOUND;
}

int nvmlVgpuInstanceGetGpuInstanceId(uint32_t number, uint32_t *gi)
{
	const struct card_vgpu *v = vgpu_of(number);

	FAULT(gi, sizeof(*gi));
	*gi = v ? (uint32_t)v->gi : 0;
	return v ? 0 : NVML_NOT_FOUND;
}

/* The guest has the name of what it has. */
int nvmlVgpuInstanceGetVmID(uint32_t number, char *text, unsigned int size, uint32_t *kind)
{
	const struct card_vgpu *v = vgpu_of(number);

	FAULT(text, size);
	*kind = 0;
	return v ? put(text, size, v->owner) : NVML_NOT_FOUND;
}

int nvmlDeviceGetVgpuHeterogeneousMode(struct nvml_device *c, struct nvml_mixed_sizes *m)
{
	FAULT(m, sizeof(*m));
	if (m->version != NVML_STRUCT(*m, 1))
		return NVML_ARGUMENT_VERSION_MISMATCH;
	m->mode = (uint32_t)c->mixed_sizes;
	return c->mixed_sizes < 0 || c->mig[0] ? NVML_NOT_SUPPORTED : 0;
}

int nvmlDeviceSetVgpuHeterogeneousMode(struct nvml_device *c, const struct nvml_mixed_sizes *m)
{
	CHANGE(c);
	if (c->mixed_sizes < 0 || c->mig[0])
		return NVML_NOT_SUPPORTED;
	if (c->busy || c->n_vgpus)
		return NVML_IN_USE;
	c->mixed_sizes = (int)m->mode;
	card_write(c);
	return 0;
}

int nvmlDeviceGetVgpuSchedulerCapabilities(struct nvml_device *c, struct nvml_scheduler_caps *ret)
{
	FAULT(ret, sizeof(*ret));
	*ret = (struct nvml_scheduler_caps){ { 1, 2, 3 }, 30000000, 1000000, 1, 960, 63, 60, 1 };
	return c->scheduler.policy ? 0 : NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetVgpuSchedulerState(struct nvml_device *c, struct nvml_scheduler *ret)
{
	FAULT(ret, sizeof(*ret));
	*ret = c->scheduler;
	return c->scheduler.policy ? 0 : NVML_NOT_SUPPORTED;
}

int nvmlDeviceSetVgpuSchedulerState(struct nvml_device *c, struct nvml_scheduler_set *s)
{
	CHANGE(c);
	if (!c->scheduler.policy || c->mig[0] || c->busy || c->n_vgpus)
		return NVML_NOT_SUPPORTED;
	c->scheduler = (struct nvml_scheduler){ s->policy, s->arr, { s->params[0], s->params[1] } };
	if (s->arr == NVML_ARR_ON) /* set as a frequency, told as a time slice */
		c->scheduler.params[1] = 1000000000 / (s->params[1] ?: 480);
	else if (s->policy != NVML_BEST_EFFORT)
		c->scheduler.params[0] = s->params[0] ?: 2000000;
	card_write(c);
	return 0;
}

/* ---- health */

int nvmlDeviceGetFieldValues(struct nvml_device *c, int n, struct nvml_field *f)
{
	FAULT(f, sizeof(*f));
	f->answer = c->recovery < 0 ? NVML_NOT_SUPPORTED : 0;
	f->value.number = (uint32_t)c->recovery;
	return 0;
}

int nvmlDeviceGetRemappedRows(struct nvml_device *c, uint32_t *corrected, uint32_t *uncorrected,
			      uint32_t *pending, uint32_t *failed)
{
	FAULT(corrected, sizeof(*corrected));
	*corrected = c->remapped[0];
	*uncorrected = c->remapped[1];
	*pending = c->remapped[2];
	*failed = c->remapped[3];
	return c->has_remapped && !c->mig[0] ? 0 : NVML_NOT_SUPPORTED;
}
