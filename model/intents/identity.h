/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which card an intent means (DESIGN.md 7): its place without bus numbers, its ids, its serial; for
 * a VF those of its PF, and its index. Pure. */
#ifndef MODEL_IDENTITY_H
#define MODEL_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/key.h"

struct device;
struct record;

struct identity {
	char path[136];	 /* "0000:00/1c.4/00.0"; "@0000:05:00.0" if the kernel tells none */
	uint64_t ids;	 /* vendor, device, subvendor, subdevice: 16 bits each, from the top */
	uint64_t serial; /* 0: none */
	int32_t vf;	 /* -1: not a VF */
	bool cloned;	 /* another card was seen with this serial: it does not tell the card */
	/* A child of the above: a mediated device. BUS_NONE: the card itself, or its VF. */
	struct key child;
};

/* parent: for a VF its PF, for a named child its maker; others need none. A VF passed to this
 * machine as a guest has no PF and is a card of its own. A VF whose PF is not here (yet, or any
 * more) is half an identity: equal to no other, and named by its address meanwhile. */
#define IDENTITY_HALF UINT16_MAX
void identity_of(struct identity *ret, const struct device *dev, const struct device *parent);
/* Of whichever card: the card itself, the same VF of it, or the same child by name. */
bool identity_same_part(const struct identity *a, const struct identity *b);
bool identity_eq(const struct identity *a, const struct identity *b);
/* Fills in what a stored identity lacks by what its device is now: a serial number that was read
 * late, ids that could not be read, the PF of half an identity; the place is the present one. An
 * identity that says something else is another card's, and changes nothing. True: *id changed. */
bool identity_complete(struct identity *id, const struct identity *is);
/* The same serial, ids and function number, in whichever place. */
bool identity_same_card(const struct identity *a, const struct identity *b);
/* Could they be one USB device, on the SuperSpeed hub of its controller and on the other one? One
 * that falls from SuperSpeed is seen on both for a moment. */
bool identity_may_fall(const struct identity *a, const struct identity *b);

#define IDENTITY_TEXT 272
/* "0000:00/1c.4/00.0,8086:1521:8086:0001,none", with ",vf3" for a VF and ",mdev/UUID" for a named
 * child: the form in `intents`. */
const char *identity_text(const struct identity *id, char buf[static IDENTITY_TEXT]);
/* Its second and third part. */
#define IDENTITY_IDS 20
const char *identity_ids(const struct identity *id, char buf[static IDENTITY_IDS]);
#define IDENTITY_SERIAL 17
const char *identity_serial(const struct identity *id, char buf[static IDENTITY_SERIAL]);
uint64_t identity_hash(const struct identity *id);

/* Parse the parts in the state file, where "" is none as well; -EINVAL for anything else that the
 * printers do not write. */
int identity_parse_path(const char *text, struct identity *ret);
int identity_parse_ids(const char *text, struct identity *ret);
int identity_parse_serial(const char *text, struct identity *ret);
int identity_parse_vf(const char *text, struct identity *ret);
int identity_parse_child(const char *text, struct identity *ret);

/* A device that is here now. */
struct candidate {
	struct identity id;
	struct key key;
	uint64_t birth;
	/* not read yet: it may not be the card with a serial, nor a mismatch of it */
	bool serial_unknown;
	struct record *record; /* what is stored for it, or NULL */
	const char *unmet;     /* why that is not applied, or NULL */
};

enum match {
	MATCH_NONE,	/* it is not here */
	MATCH_HERE,	/* at *ret */
	MATCH_MISMATCH, /* its place has another device, *ret */
};

/* A search for the candidate with an identity. */
struct search {
	const struct identity *wanted;
	/* the one in its place, of several the last of the array; one that is the card, and how
	 * many are */
	const struct candidate *here, *card;
	size_t cards;
};
/* Call it for each candidate, all of one array, that has the place or the serial, in any order;
 * twice for one is fine. A pass has its candidates in the order of model_next(). */
void search_look(struct search *f, const struct candidate *s);
/* A serial that only one function with these ids has is followed to any place; functions of one
 * card share a serial and are distinguished by function number. If several have it or had it
 * (cloned serials), or without a serial, only the one in the same place matches. */
enum match search_end(const struct search *f, const struct candidate **ret);

#endif
