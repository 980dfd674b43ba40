/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pcidevfs-nvml: one request to NVIDIA's management library, answered in lines.
 *
 * The library is loaded at run time from below the driver's root, where it must belong to root and
 * be writable by nobody else. Nothing of a library's answer is believed to be in bounds.
 */
#ifndef NVML_NVML_H
#define NVML_NVML_H

#include <stdbool.h>

#include "abi.h"

struct err;

struct nvml {
	void *library;
	bool begun;
	char path[96]; /* below the root */
		       /* NULL: this library does not have it */
#define FUNCTION(field, symbol, older, params) int(*field) params;
#include "functions.def"
};

/* The answer of a function; NVML_FUNCTION_NOT_FOUND if the library does not have it. */
#define NVML(n, function, ...)                                                                     \
	((n)->function ? (n)->function(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

/* Opens the library below root, a directory that root_fd is, unless that is < 0. Returns 0 or an
 * answer; the sentence says what to do. */
int nvml_load(struct nvml *n, const char *root, int root_fd, struct err *err);
/* Likewise. */
int nvml_begin(struct nvml *n, struct err *err);
void nvml_end(struct nvml *n);

/* Says why a function did not do what it should for a device, unless it did; what: "MIG mode cannot
 * be changed". Returns the answer. */
int nvml_fail(const struct nvml *n, int answer, const char *address, const char *what,
	      struct err *err);

/* One request; argv[0] is its word, argv[1] an address. */
struct card {
	const struct nvml *n;
	struct nvml_device *device;
	const char *address;
};

/* They print lines. Each returns 0 or an answer, with a sentence. */
int ask_card(const struct card *c, char **argv, struct err *err);
int ask_card_instances(const struct card *c, char **argv, struct err *err);
int ask_instances(const struct card *c, char **argv, struct err *err);
int set_mig_mode(const struct card *c, char **argv, struct err *err);
int create_instance(const struct card *c, char **argv, struct err *err);
int destroy_instance(const struct card *c, char **argv, struct err *err);
int create_compute(const struct card *c, char **argv, struct err *err);
int destroy_compute(const struct card *c, char **argv, struct err *err);
int set_mixed_sizes(const struct card *c, char **argv, struct err *err);
int set_scheduler(const struct card *c, char **argv, struct err *err);

/* A part of an answer. instances: those that the card has, too. */
int tell_mig(const struct card *c, bool instances, struct err *err);

/* Reads the word of a request that sets one of two. Returns 0, or NVML_INVALID_ARGUMENT with the
 * sentence. */
int nvml_bool(const char *word, uint32_t *ret, struct err *err);

/* Profiles are numbered from 0, with gaps, and end at the first that is no argument. */
enum { PROFILES_MAX = 64, PLACEMENTS_MAX = 64, INSTANCES_MAX = 64, TYPES_MAX = 1024 };

/* The compute profile that is asked for with this number, its name likewise. Returns an answer. */
int ci_profile(const struct card *c, struct nvml_gpu_instance *gi, unsigned int number,
	       struct nvml_ci_profile_v2 *ret);
/* The name in a fixed array of the library's, ended and clean. */
void nvml_clean(char *name, size_t size);

#endif
