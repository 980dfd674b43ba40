/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layouts from a file: what devices are to be (docs/LAYOUTS.md). Three forms are read: our own, and
 * NVIDIA's vgpu-configs and mig-configs (spec/peers.md 1.3, 1.6). Pure: what the machine is comes in
 * as texts of the tree, what is to be done goes out as lines for ctl.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct out;
struct tree_device;
struct tree_inventory;

/* What the tree tells. */
struct layout_view {
	const struct tree_inventory *inv;
	/* What a file of a device reads, without the last newline, or with id NULL one of the tree's
	 * root; the caller frees it. NULL: there is no such file, or none that we may read. */
	char *(*text)(void *ctx, const char *id, const char *file);
	void *ctx;
	/* The tree's events, which tell by which names claimed devices were known. May be NULL. */
	const char *events;
};

/* One file that is to read otherwise than it does. */
struct layout_line {
	char *id; /* "0000:0a:00.0", or "0000:0a:00.0/virtfn3" of a VF that is not there yet */
	const char *file;  /* "profile" */
	char *value, *was; /* was is NULL where the file is not there yet */
	unsigned int line; /* of the file that asks for it */
	bool hidden;	   /* drops what is stored of a VF that is not there: nothing to show */
	bool takes; /* the vGPU of others: the claim changes by it, to admin, not the profile */
};

struct layout {
	char *path; /* of the file, for sentences */
	/* Of what the layout says: two that say the same have the same one, whatever else is in
	 * their files and whatever the machine is. 0: there is no such layout. */
	uint64_t hash;
	struct layout_line *v;
	size_t n, cap;
};

/* Reads the file's text, which ends with a NUL, and finds what differs from its layout of this name; name NULL: of the only
 * one. What is there and as asked is left out. Returns 0; -EINVAL, -E2BIG, -ENOENT (no layout of that
 * name), -ENODEV (a device that is not there; no device at all), -EOPNOTSUPP, -ERANGE or -ENOMEM with
 * "FILE:LINE: sentence". layout_free() is needed in each case. */
int layout_read(const char *path, const char *text, size_t size, const char *name,
		const struct layout_view *view, struct layout *ret, struct err *err);
void layout_free(struct layout *l);
/* Puts "FILE:LINE: " before the tree's refusal of one of the lines, "ID/FILE: sentence"; of the first
 * one where none may be written. */
void layout_blame(const struct layout *l, struct err *err);

/* Tells of each thing that somebody has, and will not have, "ID/FILE" and what it reads: also of
 * vGPUs that end with the VFs of their card, and of MIG instances only those that end. */
typedef void layout_tell(void *ctx, const char *id, const char *file, const char *was);
void layout_ends(const struct layout *l, const struct tree_inventory *inv, layout_tell *tell,
		 void *ctx);
/* NVIDIA's way of counting cards (spec/peers.md 1.3): *at is the index of the first device to look
 * at, and becomes that of the one returned; NULL: there is no other. */
const struct tree_device *layout_gpu(const struct tree_inventory *inv, size_t *at);
/* NVIDIA's "other bridge" (spec/peers.md 1.2). */
bool layout_is_nvswitch(const struct tree_device *d);

/* Appends what is as a file with one layout, "now", in the form "layouts", "vgpu-configs" or
 * "mig-configs". What NVIDIA's forms cannot say stands there in comments. -EINVAL: another form. */
int layout_export(const struct layout_view *view, const char *form, struct out *ret,
		  struct err *err);

#endif
