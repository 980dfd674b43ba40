// SPDX-License-Identifier: GPL-2.0-or-later
/* vGPU types, mixed sizes, the scheduler, and the card's health. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "nvml.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static const char *const policies[] = { [NVML_BEST_EFFORT] = "best-effort",
					[NVML_EQUAL_SHARE] = "equal-share",
					[NVML_FIXED_SHARE] = "fixed-share" };

static const char *policy_name(uint32_t policy)
{
	return policy < ARRAY_SIZE(policies) && policies[policy] ? policies[policy] : "unknown";
}

/* ---- types */

/* -1: the driver does not tell, or there is none. A pointer, since the answer must come first. */
static int64_t told(int answer, const uint32_t *value)
{
	return answer || *value == UINT32_MAX ? -1 : (int64_t)*value;
}

/* "type ID GI_PROFILE MAX MAX_PER_VM FRAMEBUFFER_MIB HEADS FRAME_RATE CLASS", and after a
 * tab each the license and the name, which may have blanks. */
static void tell_type(const struct card *c, uint32_t type)
{
	const struct nvml *n = c->n;
	char name[NVML_VGPU_NAME] = "", class[NVML_VGPU_NAME] = "", license[NVML_LICENSE] = "";
	uint32_t size = sizeof(name), class_size = sizeof(class), v = 0;
	unsigned long long bytes = 0;

	if (NVML(n, type_name, type, name, &size))
		return;
	if (NVML(n, type_class, type, class, &class_size))
		*class = '\0';
	if (NVML(n, type_license, type, license, sizeof(license)))
		*license = '\0';
	if (NVML(n, type_framebuffer, type, &bytes))
		bytes = 0;
	nvml_clean(name, sizeof(name));
	nvml_clean(class, sizeof(class));
	nvml_clean(license, sizeof(license));
	printf("type %u %" PRId64, type, told(NVML(n, type_gi_profile, type, &v), &v));
	printf(" %" PRId64, told(NVML(n, type_max, c->device, type, &v), &v));
	printf(" %" PRId64, told(NVML(n, type_max_per_vm, type, &v), &v));
	printf(" %llu %" PRId64, bytes >> 20, told(NVML(n, type_heads, type, &v), &v));
	printf(" %" PRId64, told(NVML(n, type_frame_rate, type, &v), &v));
	printf(" %s\t%s\t%s\n", *class ? class : "-", license, name);
}

static int tell_types(const struct card *c)
{
	uint32_t ids[TYPES_MAX], n = TYPES_MAX;
	int answer = NVML(c->n, supported, c->device, &n, ids);

	if (answer || n > TYPES_MAX)
		return answer ? answer : NVML_INSUFFICIENT_SIZE;
	for (uint32_t i = 0; i < n; i++)
		tell_type(c, ids[i]);
	n = TYPES_MAX;
	answer = NVML(c->n, creatable, c->device, &n, ids);
	for (uint32_t i = 0; !answer && i < n && i < TYPES_MAX; i++)
		printf("creatable %u\n", ids[i]);
	return answer;
}

/* ---- the card's settings */

/* "mixed_sizes 0|1", where the card can */
static void tell_mixed_sizes(const struct card *c)
{
	struct nvml_mixed_sizes m = { .version = NVML_STRUCT(m, 1) };

	if (!NVML(c->n, mixed_sizes, c->device, &m))
		printf("mixed_sizes %u\n", m.mode);
}

/* "scheduler POLICY ARR PARAM PARAM" and "scheduler_can MIN_NS MAX_NS ARR MIN_HZ MAX_HZ
 * MIN_FACTOR MAX_FACTOR POLICY...", the middle ones for ARR */
static void tell_scheduler(const struct card *c)
{
	struct nvml_scheduler now = { 0 };
	struct nvml_scheduler_caps can = { 0 };

	if (!NVML(c->n, scheduler, c->device, &now))
		printf("scheduler %s %u %u %u\n", policy_name(now.policy), now.arr, now.params[0],
		       now.params[1]);
	if (NVML(c->n, scheduler_caps, c->device, &can))
		return;
	printf("scheduler_can %u %u %u %u %u %u %u", can.min_timeslice_ns, can.max_timeslice_ns,
	       can.arr, can.min_frequency, can.max_frequency, can.min_factor, can.max_factor);
	for (size_t i = 0; i < ARRAY_SIZE(can.policies); i++)
		if (can.policies[i])
			printf(" %s", policy_name(can.policies[i]));
	putchar('\n');
}

static int tell_vgpus(const struct card *c, struct err *err)
{
	uint32_t mode = 0;
	int answer = NVML(c->n, host_vgpu_mode, c->device, &mode);

	if (!answer) {
		printf("host_vgpu %u\n", mode);
		answer = tell_types(c);
	}
	if (answer)
		return nvml_fail(c->n, answer, c->address, "its vGPU types cannot be read", err);
	tell_mixed_sizes(c);
	tell_scheduler(c);
	return 0;
}

/* "health recovery N", of field 230; "health remapped CORRECTED UNCORRECTED PENDING FAILED"; what
 * the card does not tell is left out. */
static void tell_health(const struct card *c)
{
	struct nvml_field f = { .id = NVML_FIELD_RECOVERY_ACTION };
	uint32_t corrected = 0, uncorrected = 0, pending = 0, failed = 0;

	if (!NVML(c->n, fields, c->device, 1, &f) && !f.answer)
		printf("health recovery %u\n", f.value.number);
	if (!NVML(c->n, remapped, c->device, &corrected, &uncorrected, &pending, &failed))
		printf("health remapped %u %u %u %u\n", corrected, uncorrected, pending, failed);
}

/* ---- a card */

/* Its health is told even if nothing else is. A card need not have both MIG and vGPUs. */
static int tell_card(const struct card *c, bool instances, struct err *err)
{
	struct err unused = { 0 };
	int answer, vgpus;

	tell_health(c);
	answer = tell_mig(c, instances, err);
	if (answer && answer != NVML_NOT_SUPPORTED && answer != NVML_FUNCTION_NOT_FOUND)
		return answer;
	vgpus = tell_vgpus(c, &unused);
	return answer && vgpus ? answer : 0;
}

int ask_card(const struct card *c, char **argv, struct err *err)
{
	return tell_card(c, false, err);
}

int ask_card_instances(const struct card *c, char **argv, struct err *err)
{
	return tell_card(c, true, err);
}

/* ---- setting */

int set_mixed_sizes(const struct card *c, char **argv, struct err *err)
{
	struct nvml_mixed_sizes m = { .version = NVML_STRUCT(m, 1) };
	int answer = nvml_bool(argv[2], &m.mode, err);

	if (answer)
		return answer;
	answer = NVML(c->n, set_mixed_sizes, c->device, &m);
	return nvml_fail(c->n, answer, c->address, "mixed vGPU sizes cannot be set", err);
}

/* POLICY ARR PARAM PARAM: as "scheduler" tells them; with ARR the frequency stands for the slice. */
int set_scheduler(const struct card *c, char **argv, struct err *err)
{
	struct nvml_scheduler_set s = { 0 };
	uint64_t v[3] = { 0 };
	int answer;

	for (uint32_t i = 1; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(argv[2], policies[i]))
			s.policy = i;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++)
		if (!s.policy || parse_u64(argv[3 + i], UINT32_MAX, &v[i])) {
			fail(err, EINVAL, "\"%s %s %s %s\" is not POLICY ARR NUMBER NUMBER",
			     argv[2], argv[3], argv[4], argv[5]);
			return NVML_INVALID_ARGUMENT;
		}
	s.arr = (uint32_t)v[0];
	s.params[0] = (uint32_t)v[1];
	s.params[1] = (uint32_t)v[2];
	answer = NVML(c->n, set_scheduler, c->device, &s);
	return nvml_fail(c->n, answer, c->address, "the vGPU scheduler cannot be set", err);
}
