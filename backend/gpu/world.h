/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a kernel makes a vGPU of a function: a row of world.c, chosen by what sysfs offers. */
#ifndef BACKEND_GPU_WORLD_H
#define BACKEND_GPU_WORLD_H

#include "pcidevfs/facts.h"
#include "types.h"

struct backend;
struct err;
struct step;
struct sysfs;

/* In the directory of a function whose driver makes mediated devices of it. */
#define MDEV_TYPES "mdev_supported_types"

/* What a function is: the type's id, and the UUID of its mediated device. Both "": no vGPU. */
struct vgpu {
	char id[TYPE_ID], uuid[40];
};

struct vgpu_world {
	bool mediated; /* its vGPUs have UUIDs */
	const char *offers; /* the file or directory of a function that tells of it */
	/* The function's vGPU as sysfs shows it. at: a sysfs root at the function's directory. */
	void (*observe)(const struct sysfs *at, struct facts *f);
	/* The types that can be made of it; is_vgpu: it is one already. Both may wait for the
	 * driver, but for no device lock. */
	void (*list)(const struct backend *b, const struct key *dev, bool is_vgpu,
		     struct vgpu_types *ret);
	/* In a step, by helpers: what it is now. 0 or -errno without a sentence. */
	int (*now)(struct backend *b, struct step *step, unsigned int ms, struct vgpu *ret);
	/* Brings up to date what the list says of the type that the step names. */
	int (*look)(struct backend *b, struct step *step, unsigned int ms, struct vgpu_types *list);
	/* Makes it that (NULL: none); is: what it is. */
	int (*become)(struct backend *b, struct step *step, unsigned int ms,
		      const struct vgpu *is, const struct vgpu *as);
	/* Sets the parameters of the vGPU that it is. */
	int (*params)(struct backend *b, struct step *step, unsigned int ms, const char *text);
};

/* NULL: the function's driver makes no vGPUs of it now. */
const struct vgpu_world *vgpu_world_at(const struct sysfs *at);
const struct vgpu_world *vgpu_world_of(const struct sysfs *s, const struct key *dev);

/* Reads what lies beside the parameters of a vGPU in this directory. */
void vgpu_details(const struct sysfs *at, const char *dir, struct facts *f);

/* The id of the vGPU that it is now; "": none, or it cannot be read. */
void vgpu_id(const struct sysfs *s, const struct key *dev, char ret[static TYPE_ID]);
/* A list that must be freed, of the types that can be made of the function; NULL: of none. is_vgpu:
 * it is one of its card's vGPUs. */
struct vgpu_types *vgpu_list(const struct backend *b, const struct key *dev, bool is_vgpu);
/* Such a list for struct backend_ops. */
bool vgpu_extra(struct backend *b, const struct key *dev, const struct facts *f, void **ret);

#endif
