/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vGPU types of a function or of its card: read from the kernel's lists, kept as the lines of
 * the file profiles (struct facts), which name="..." begins. */
#ifndef BACKEND_GPU_TYPES_H
#define BACKEND_GPU_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/facts.h"

struct device;
struct err;
struct extra;
struct model;
struct out;

#define TYPES_MAX 128 /* an L40S has 23 (spec/harvester.md 4.8) */
#define TYPE_ID 16
#define TYPE_WHY 160

/* What only the driver's library tells; 0, "": unknown. */
struct type_details {
	int32_t max_per_vm, heads, frame_rate_limit;
	char class[16], license[64];
};

struct vgpu_type {
	char name[PROFILE_NAME], id[TYPE_ID];
	/* -1: unknown. How many can be made now and at most, and the size of each. */
	int32_t available, max, framebuffer_mib;
	char why[TYPE_WHY]; /* none is available; "" */
	struct type_details details;
	char gi[32]; /* profile of the GPU instance that it needs; "": none, or unknown */
};

struct vgpu_types {
	size_t n;
	struct vgpu_type v[TYPES_MAX]; /* n of them are there after types_shrink() */
};

/* An empty list, to be freed; NULL: no memory. */
struct vgpu_types *types_new(void);
/* Gives back the room for more; the list may be somewhere else then. */
struct vgpu_types *types_shrink(struct vgpu_types *types);

/* Adds a type, or fills in what is known of the one with this name and id. Those beyond TYPES_MAX,
 * without a name, or with a name that no file could show, are left out. */
void types_add(struct vgpu_types *types, const struct vgpu_type *type);
/* The kernel's creatable_vgpu_types: "ID : NAME" as on hosts, or "NAME ID" as in NVIDIA's guide
 * (spec/peers.md 1.12, 3). Lines that are neither, as the head line, are left out. */
void types_parse(const char *text, struct vgpu_types *ret);
/* In MiB, as the end of the name tells ("-4Q"); -1: it does not. */
int32_t types_framebuffer(const char *name);

struct vgpu_type *types_find_id(const struct vgpu_types *types, const char *id);

/* A list as the device's facts have it. Call it with the model locked. */
void types_of(struct model *m, const struct device *dev, struct vgpu_types *ret);
/* Likewise, for struct backend_ops too: a new one, to be freed; NULL: no memory. */
void *types_noted(struct model *m, const struct device *dev);
/* Is one of them available? */
bool types_can(const struct vgpu_types *types);
/* Of a device's. Call it with the model locked. */
bool types_any(struct model *m, const struct device *dev);
/* Sorts the list, and gives it to the device's facts. Call it with the model locked. */
void types_keep(struct model *m, struct device *dev, struct vgpu_types *types);
/* Does the name, "NVIDIA A2-4Q", or its last word, by which NVIDIA's configurations call a type
 * (spec/peers.md 1.3), read so? */
bool types_reads(const char *name, const char *text);
/* By name, by its last word if none is called so, or by id. NULL: there is none. *ret_twice (may be
 * NULL): another one has this name. */
const struct vgpu_type *types_find(const struct vgpu_types *types, const char *name,
				   bool *ret_twice);
/* By what it is found: its name, or its id where another one has that name. */
const char *types_word(const struct vgpu_types *types, const struct vgpu_type *t);
/* "NVIDIA A2-4Q, NVIDIA A2-8Q": those that are available; "none". */
#define TYPES_TEXT 200
void types_available(const struct vgpu_types *types, char buf[static TYPES_TEXT]);

/* What a look at several devices has found goes to their facts and those of their cards: for struct
 * backend_ops. */
void types_after_scan(struct model *m, const struct extra *first);
/* Its first pass: the types and the device's own name. dev is from model_edit(), or NULL. last: of the
 * call before in this pass, {} at first. */
struct types_last {
	const struct device *card, *dev;
	const struct vgpu_types *seen;
};
void types_name(struct model *m, struct device *dev, const struct vgpu_types *seen,
		struct types_last *last);

/* Adds what facts.mig tells of vGPU types: the profile of the GPU instance that each needs, and
 * those that no function lists, since the card has no such instance. dev: a card, from
 * model_edit(). Call it with the model locked. */
void types_tell(struct model *m, struct device *dev);

/* nvidia.com/NVIDIA_A2-4Q: the name under which Harvester offers the type (spec/harvester.md 3). */
void types_resource(const char *name, char buf[static RESOURCE_NAME]);

#endif
