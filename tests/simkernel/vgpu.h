/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vendor's driver for GPUs with vGPUs, as the lab's labgpu plays it: a VF that is a vGPU by
 * itself, or mediated devices below a VF or below the card.
 */
#ifndef SIM_VGPU_H
#define SIM_VGPU_H

#include "reaction.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct dev;
struct driver_kind;
struct func;
struct nvml_device;
struct sim;

enum gpu_style { GPU_PLAIN, GPU_VFIO, GPU_MDEV, GPU_MDEV_PF };

struct vgpu_type {
	unsigned int id, size; /* size: of its framebuffer */
	const char *name;
	unsigned int max; /* of a card; 0: as many as it has room for */
};

/* Lives as long as the simulation, because VFs and mediated devices point into it. */
struct vgpu_types {
	size_t n;
	struct vgpu_type list[];
};

/* What a test can choose; see gpu_help(). */
struct gpu_options {
	enum gpu_style style;
	unsigned int fb, delay_ms, ids;
	bool mixed, numvfs, passthrough;
	bool name_first, header; /* creatable_vgpu_types: its columns; it always has a header */
	const struct vgpu_types *types;
	char *garbled; /* a line of that file, or NULL */
	char *cards;   /* directory of nvml.h, or NULL */
};

/* A physical function while its driver is loaded. */
struct card {
	bool loaded, mixed, open;
	unsigned int used, size, count; /* framebuffer in use; of the last vGPU; number of vGPUs */
	unsigned int ids;		/* is added to those of its types */
	unsigned int minor;		/* N of /dev/nvidiaN */
	unsigned int clients;		/* of NVML, which have it open */
	struct nvml_device *nvml;	/* knows its framebuffer and vGPUs; NULL: it has none */
	const struct vgpu_types *types; /* of that */
	struct mdev_parent *parent;
};

/* A VF on that driver. */
struct vgpu {
	struct card *card; /* NULL: it is not on it */
	const struct vgpu_type *type;
	int gi; /* the type's GPU instance, -1: none */
	char *params;
	unsigned int inside; /* writers, whom its removal awaits */
	bool deferred;	     /* refused while its PF was elsewhere */
	struct mdev_parent *parent;
};

/* vgpu.c */
extern const struct driver_kind vgpu_driver;
bool vgpu_lacks_type(const struct func *f);
/* Is it a vGPU by itself? */
bool is_vgpu(const struct func *f);
/* Is it a VF that vfio-pci cannot drive? */
bool vgpu_forbids_vfio(const struct sim *s, const struct func *f);
const struct vgpu_types *card_types(const struct sim *s, const struct card *c);
/* How many more vGPUs of a type the card has room for. */
unsigned int card_room(const struct sim *s, const struct card *c, const struct vgpu_type *t);
/* ret_gi: the GPU instance that the vGPU is in, -1: in none. */
int card_take(const struct sim *s, struct card *c, const struct vgpu_type *t,
	      const struct dev *owner, int *ret_gi);
void card_give(struct card *c, const struct vgpu_type *t, const struct dev *owner);
ssize_t instance_print(int gi, char *page);

/* vgpu_node.c */
/* What is outside of sysfs at the start. */
void vgpu_facts(struct sim *s);
/* Outside of sysfs while it has its driver. */
void card_show(struct sim *s, const struct func *pf);
void card_hide(struct sim *s, const struct func *pf);
/* Has somebody taken its unbindLock? */
bool card_has_lock(struct sim *s, const struct func *pf);
extern const struct reaction card_client_rows[];
/* By command: somebody opens its node, or closes it. */
int card_open(struct sim *s, const char *addr, bool on);
/* The function was reset. */
void vgpu_reset(const struct func *f);
/* A VMM took a VF, or let it go. */
void vgpu_opened(struct sim *s, const struct func *f);

/* vgpu_options.c */
/* "KEY=VALUE" or a style. -EINVAL, or -errno of a file. */
int gpu_option(struct sim *s, const char *text);
/* As the kernel reads one. */
int gpu_bool(bool *ret, const char *text);
/* Options with blanks between them. */
int gpu_options(struct sim *s, const char *text);
void gpu_help(void);
/* Makes the driver and what it needs, if there is a style. */
int vgpu_build(struct sim *s);
/* Each change takes as long as a test wants. */
void gpu_delay(struct sim *s);

#endif
