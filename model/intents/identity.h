/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which card a stored request means (DESIGN.md 7): where it sits without bus numbers, its ids, its
 * serial; for a VF those of its PF, and its index. Pure.
 */
#ifndef MODEL_IDENTITY_H
#define MODEL_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/key.h"

struct device;

struct identity {
	char path[136];	 /* "0000:00/1c.4/00.0"; "@0000:05:00.0" where the kernel tells none */
	uint64_t ids;	 /* vendor, device, subvendor, subdevice: 16 bits each, from the top */
	uint64_t serial; /* 0: none */
	int32_t vf;	 /* -1: no VF */
	/* What the rest is the parent of: a mediated device. BUS_NONE: the card itself, or its
	 * VF. */
	struct key child;
};

/* parent: of a VF its PF, of what is made by name who made it; others need none. A VF that a guest
 * was given has none and tells of itself; one whose PF is not here (yet, or any more) is half of
 * one: equal to no other, and named by its address as long as that lasts. */
#define IDENTITY_HALF UINT16_MAX
void identity_of(struct identity *ret, const struct device *dev, const struct device *parent);
bool identity_eq(const struct identity *a, const struct identity *b);

#define IDENTITY_TEXT 272
/* "0000:00/1c.4/00.0,8086:1521:8086:0001,none" and for a VF ",vf3", for what it made ",mdev/UUID":
 * as `intents` names it. */
const char *identity_text(const struct identity *id, char buf[static IDENTITY_TEXT]);
uint64_t identity_hash(const struct identity *id);

/* The parts as the state file has them; -EINVAL for anything but what the printers give. */
int identity_parse_path(const char *text, struct identity *ret);
int identity_parse_ids(const char *text, struct identity *ret);
int identity_parse_serial(const char *text, struct identity *ret);
int identity_parse_vf(const char *text, struct identity *ret);
int identity_parse_child(const char *text, struct identity *ret);

/* One device that is there now. */
struct candidate {
	struct identity id;
	struct key key;
	uint64_t birth;
	bool serial_unknown; /* not read yet: it is no card that has one, nor a mismatch to it */
};

enum match {
	MATCH_NONE,	/* it is not there */
	MATCH_HERE,	/* at *ret_at */
	MATCH_MISMATCH, /* where it was is now another device, at *ret_at */
};

/*
 * A serial that only one function of these ids has is followed wherever it went; functions of one
 * card share a serial and are told apart by their function number. Of several such (cloned
 * serials), and without a serial, only the one in the same place is it.
 */
enum match identity_match(const struct identity *wanted, const struct candidate *candidates,
			  size_t n, size_t *ret_at);

/* By what something is found: a hash of (a part of) its identity, and where it stands. */
struct mark {
	uint64_t value;
	size_t at;
};
void marks_sort(struct mark *v, size_t n);
/* The first of sorted ones that is not below the value; n: there is none. */
size_t marks_first(const struct mark *v, size_t n, uint64_t value);

#endif
