/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MIG of a card: what the driver tells of it, and layouts as text.
 *
 * A layout is what a card is to have: names of profiles, each as often as "*N" says, in any order:
 * "3g.40gb 1g.10gb*2". A name that begins with "Nc." asks for compute instances of N slices, which
 * share as few GPU instances as they fit into; else each GPU instance has one, of its own size.
 */
#ifndef PCIDEVFS_MIG_H
#define PCIDEVFS_MIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device;
struct err;
struct model;
struct out;

enum {
	MIG_PROFILES = 32,
	MIG_SLICES = 16, /* of memory; a placement is in these */
	MIG_INSTANCES = 16,
	MIG_COMPUTES = 64,
	MIG_NAME = 32,
};

struct mig_profile {
	unsigned int id;      /* of the driver; another card's may mean another profile */
	unsigned int max;     /* instances of it */
	int available;	      /* -1: not told */
	unsigned int mib;     /* of memory */
	unsigned int compute; /* slices */
	unsigned int size;    /* of each placement */
	uint16_t starts;      /* a bit for each slice at which it may begin */
	char name[MIG_NAME];  /* "1g.10gb+me" */
};

struct mig_instance {
	unsigned int id;      /* of the driver, which gives it again to another one */
	unsigned int profile; /* index in struct mig */
	unsigned int start;
	bool used;
	char user[48]; /* one of those that use it: "process 812" */
	/* Its compute instances, by slices; an instance that has none has only zeros. */
	uint8_t computes[MIG_SLICES];
};

struct mig_compute {
	unsigned int gi, id, slices;
};

struct mig {
	bool current, pending; /* the mode */
	size_t n_profiles, n_instances, n_computes;
	struct mig_profile profiles[MIG_PROFILES];
	struct mig_instance instances[MIG_INSTANCES];
	struct mig_compute computes[MIG_COMPUTES];
};

/* Reads lines of pcidevfs-nvml; others than those of MIG tell nothing. Returns 0 or -EBADMSG: no
 * number that it takes is out of bounds. */
int mig_read(const char *text, struct mig *ret);

/* What a layout asks for. */
struct mig_wanted {
	uint8_t n[MIG_PROFILES]; /* GPU instances of each profile */
	/* Compute instances by slices, of the first GPU instances of a profile (mig_share()); the
	 * others have one of their own size. */
	uint16_t computes[MIG_PROFILES][MIG_SLICES];
};

/* How many GPU instances of this profile hold these compute instances, and which of them each has; rows
 * behind them are for one of the whole. More than MIG_INSTANCES: there are too many. */
unsigned int mig_share(const struct mig_profile *p, const uint16_t computes[static MIG_SLICES],
		       uint8_t rows[MIG_INSTANCES][MIG_SLICES]);

/* "" and "none" ask for nothing. -EINVAL: a name that the card does not have, with all that it has;
 * -ERANGE: more of one than the card could ever have. */
int mig_parse(const struct mig *m, const char *text, struct mig_wanted *ret, struct err *err);
/* Appends it as text, largest first: "none" for nothing. */
void mig_print_wanted(const struct mig *m, const struct mig_wanted *w, struct out *o);
/* Likewise what the card has. */
void mig_print(const struct mig *m, struct out *o);

/* ---- in the model; call them with it locked */

/* Gives the lines about a card to the card's facts, with what follows of them; "", or more
 * than there is room for: nothing is known. dev is from model_edit(). */
void mig_keep(struct model *m, struct device *dev, const char *lines);
/* Reads them again. -ENODATA: nothing is known. */
int mig_of(struct model *m, const struct device *dev, struct mig *ret);

#endif
