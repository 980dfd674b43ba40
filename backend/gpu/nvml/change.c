// SPDX-License-Identifier: GPL-2.0-or-later
/* What changes MIG: its mode, and instances, each by one request. */
#include <errno.h>
#include <string.h>

#include "nvml.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

static int parse(const char *word, uint32_t *ret, struct err *err)
{
	uint64_t v;

	if (parse_u64(word, UINT32_MAX - 1, &v)) {
		fail(err, EINVAL, "\"%s\" is not a number of an instance, profile or place", word);
		return NVML_INVALID_ARGUMENT;
	}
	*ret = (uint32_t)v;
	return 0;
}

/* SUCCESS alone says nothing: whether it took place is in `activation`, and read again. Prints
 * "activation N" and the modes. */
int set_mig_mode(const struct card *c, char **argv, struct err *err)
{
	uint32_t mode = 0, activation = 0, current = 0, pending = 0;
	int answer = nvml_bool(argv[2], &mode, err);
	struct nvml_device *again;

	if (answer)
		return answer;
	answer = NVML(c->n, set_mig_mode, c->device, mode, &activation);
	if (!answer)
		printf("activation %u\n", activation);
	/* The driver may have let go of the card meanwhile, so it is looked for anew. */
	if (!answer && !NVML(c->n, by_address, c->address, &again) &&
	    !NVML(c->n, mig_mode, again, &current, &pending))
		printf("mode %u %u\n", current, pending);
	if (!answer)
		answer = (int)activation;
	return nvml_fail(c->n, answer, c->address,
			 mode ? "MIG mode cannot be turned on" : "MIG mode cannot be turned off",
			 err);
}

/* PROFILE START SIZE; prints "instance ID PROFILE START SIZE". */
int create_instance(const struct card *c, char **argv, struct err *err)
{
	struct nvml_gpu_instance *gi = NULL;
	struct nvml_gi_info info = { 0 };
	struct nvml_placement at;
	uint32_t profile;
	int answer = parse(argv[2], &profile, err);

	answer = answer ? answer : parse(argv[3], &at.start, err);
	answer = answer ? answer : parse(argv[4], &at.size, err);
	if (answer)
		return answer;
	answer = NVML(c->n, gi_create, c->device, profile, &at, &gi);
	answer = answer ? answer : NVML(c->n, gi_info, gi, &info);
	if (answer)
		return nvml_fail(c->n, answer, c->address, "the MIG instance cannot be made", err);
	printf("instance %u %u %u %u\n", info.id, info.profile, info.placement.start,
	       info.placement.size);
	return 0;
}

static int find_gi(const struct card *c, const char *word, struct nvml_gpu_instance **ret,
		   struct err *err)
{
	uint32_t id;
	int answer = parse(word, &id, err);

	if (answer)
		return answer;
	answer = NVML(c->n, gi_by_id, c->device, id, ret);
	return nvml_fail(c->n, answer, c->address, "the MIG instance cannot be found", err);
}

/* ID */
int destroy_instance(const struct card *c, char **argv, struct err *err)
{
	struct nvml_gpu_instance *gi = NULL;
	int answer = find_gi(c, argv[2], &gi, err);

	if (answer)
		return answer;
	answer = NVML(c->n, gi_destroy, gi);
	return nvml_fail(c->n, answer, c->address, "the MIG instance cannot be removed", err);
}

/* The profile's own number differs from the one it is asked for with, so it is found by name. */
static int find_ci_profile(const struct card *c, struct nvml_gpu_instance *gi, const char *name,
			   uint32_t *ret, struct err *err)
{
	for (unsigned int number = 0; number < PROFILES_MAX; number++) {
		struct nvml_ci_profile_v2 p;
		int answer = ci_profile(c, gi, number, &p);

		if (answer == NVML_INVALID_ARGUMENT)
			break;
		if (answer == NVML_NOT_SUPPORTED)
			continue;
		if (answer)
			return nvml_fail(c->n, answer, c->address,
					 "the instance's compute profiles cannot be read", err);
		if (strcmp(p.name, name))
			continue;
		*ret = p.id;
		return 0;
	}
	fail(err, EINVAL, "%s: the instance has no compute profile \"%s\"", c->address, name);
	return NVML_INVALID_ARGUMENT;
}

/* GI NAME; prints "compute GI ID START SIZE NAME". */
int create_compute(const struct card *c, char **argv, struct err *err)
{
	struct nvml_compute_instance *ci = NULL;
	struct nvml_ci_info info = { 0 };
	struct nvml_gpu_instance *gi = NULL;
	uint32_t profile = 0;
	int answer = find_gi(c, argv[2], &gi, err);

	answer = answer ? answer : find_ci_profile(c, gi, argv[3], &profile, err);
	if (answer)
		return answer;
	answer = NVML(c->n, ci_create, gi, profile, &ci);
	answer = answer ? answer : NVML(c->n, ci_info, ci, &info);
	if (answer)
		return nvml_fail(c->n, answer, c->address, "the compute instance cannot be made",
				 err);
	printf("compute %s %u %u %u %s\n", argv[2], info.id, info.placement.start,
	       info.placement.size, argv[3]);
	return 0;
}

/* GI ID */
int destroy_compute(const struct card *c, char **argv, struct err *err)
{
	struct nvml_compute_instance *ci = NULL;
	struct nvml_gpu_instance *gi = NULL;
	uint32_t id;
	int answer = find_gi(c, argv[2], &gi, err);

	answer = answer ? answer : parse(argv[3], &id, err);
	if (answer)
		return answer;
	answer = NVML(c->n, ci_by_id, gi, id, &ci);
	answer = answer ? answer : NVML(c->n, ci_destroy, ci);
	return nvml_fail(c->n, answer, c->address, "the compute instance cannot be removed", err);
}
