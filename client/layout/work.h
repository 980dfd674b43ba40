/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of a layout's reader share. */
#ifndef LAYOUT_WORK_H
#define LAYOUT_WORK_H

#include <json-c/json.h>

#include "client/inventory.h"
#include "layout.h"
#include "pcidevfs/err.h"

enum {
	LAYOUT_LINES_MAX = 4096, /* of a transaction (docs/CTL.md) */
	LAYOUT_TYPES_MAX = 32,	 /* different ones on one card */
};

/* vGPUs by type and count. */
struct vgpu_counts {
	struct {
		char name[64];
		char mig[32]; /* the GPU instance that each needs; "": none */
		unsigned int count, line;
	} v[LAYOUT_TYPES_MAX];
	size_t n;
};

/* A card whose vGPUs an entry tells. */
struct layout_card {
	const struct tree_device *gpu;
	struct vgpu_counts counts;
	unsigned int line;
	/* The entry has types that another card has: it counts as nothing if another entry has types of
	 * this one, else this is the refusal. */
	struct err foreign;
};

/* Positions by names (index.c). */
struct layout_index {
	struct index_place *places;
	size_t n;
};

struct layout_work {
	struct layout *out;
	const struct layout_view *view;
	struct err *err;
	size_t matched; /* devices that some entry is about */
	bool nvidia;	/* vgpu-configs: types that are not in MIG instances end MIG */
	struct layout_card *cards;
	size_t n_cards, cap_cards;
	struct layout_index vfs, lines;
};

/* ---- lines.c */

/* A file that a layout may set. */
struct layout_file {
	const char *name;
	const char *reads; /* the file that tells what was asked; NULL: itself */
	const char *unset; /* how it reads when nothing was asked */
	bool is_bool;
	bool is_number;	 /* may be written in several ways */
	bool is_of_vgpu; /* nothing of its own once the vGPU is gone */
	bool is_of_nic;	 /* reads also what others have set */
};
#define LAYOUT_VF "/virtfn" /* between the function and the number of a VF that is not there yet */
extern const struct layout_file layout_files[]; /* a row without a name ends them */
const struct layout_file *layout_file(const char *name);

/* Fails with "FILE:LINE: " before the sentence. Returns -code. */
__attribute__((format(printf, 4, 5))) int layout_fail(struct layout_work *w, int code,
						      unsigned int line, const char *fmt, ...);
/* Asks for a value. */
int layout_want(struct layout_work *w, const char *id, const char *file, const char *value,
		unsigned int line);
/* Is there a line for the profile of the VF, by whichever of its ids? */
bool layout_wants_vgpu(const struct layout_work *w, const char *pf, size_t n);
/* Finds VFs by their numbers, refuses contradictions, and drops what is as asked. */
int layout_settle(struct layout_work *w);

/* What the file reads, for the caller to free; NULL: the device has none. */
char *layout_now(const struct layout_view *view, const struct tree_device *d, const char *file);
/* Does a line of intents ask for the file of the device? True of files that read nothing else. */
bool layout_was_asked(const char *intents, const char *id, const struct layout_file *f);
bool layout_is_vf(const struct tree_device *d);
/* How often "1g.5gb*2 3g.20gb 1g.5gb" has the profile. */
unsigned int layout_instances(const char *layout, const char *name, size_t len);
/* Has the device what this key of an entry asks for? layout.c */
bool layout_has_file(struct layout_work *w, const struct tree_device *d, const char *file);
/* The value as text; NULL with a refusal: it is a map or a list. */
const char *layout_scalar(struct layout_work *w, const char *key, json_object *o);

/* ---- index.c */

/* Of the inventory's VFs, and of the lines that there are now, whose ids stay until they are
 * indexed again. Return 0 or -ENOMEM. */
int layout_index_vfs(struct layout_work *w);
int layout_index_lines(struct layout_work *w);
void layout_index_free(struct layout_index *index);
/* The VF with this number of the function; NULL: it has none. Numbers follow addresses. */
const struct tree_device *layout_vf(const struct layout_work *w, const char *pf, size_t n);
/* The n-th line, from 0, that asks for this file of the device; NULL: there are not so many. */
struct layout_line *layout_line_of(const struct layout_work *w, const char *id, const char *file,
				   size_t n);

/* ---- match.c */

/* Calls each() for the devices that an entry of our form, or one of NVIDIA's, is about. */
typedef int layout_each(struct layout_work *w, const struct tree_device *d, json_object *entry,
			bool broad);
int layout_match(struct layout_work *w, json_object *entry, layout_each *each);
int layout_match_nvidia(struct layout_work *w, json_object *entry, layout_each *each);

/* The ids of its subsystem, as in a device-filter; 0: it has none. */
uint32_t layout_board(const struct layout_view *view, const struct tree_device *d);

/* ---- vgpus.c */

/* The GPU is to have these vGPUs, {TYPE: COUNT}, and no others. */
int layout_want_vgpus(struct layout_work *w, const struct tree_device *gpu, json_object *types);
/* Makes lines of what was gathered. */
int layout_plan_vgpus(struct layout_work *w);
/* Does the name of a type, or its last word, read so? */
bool layout_type_is(const char *name, const char *text);
/* "A100-1-5CME" is of instances "1g.5gb+me" (spec/peers.md 1.3). False: it is not MIG-backed. */
bool layout_mig_profile(const char *type, char ret[static 32]);

#endif
