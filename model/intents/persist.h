/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is stored of a device over reboots: a row for each intent, named by the file that requests
 * it.
 *
 * A row tells its keys in the state file, its fields of struct intent, and how it is restored: by a
 * note, or by an operation. The users of the rows (intent*.c) know no intent but the claim, which
 * binds a group.
 */
#ifndef MODEL_PERSIST_H
#define MODEL_PERSIST_H

#include <stdbool.h>
#include <stddef.h>

#include "intent_file.h"
#include "pcidevfs/device.h"
#include "pcidevfs/plan.h"

struct model;
struct out;
struct pass;

/* key=value in the state file; omitted if nothing is stored. */
struct persist_key {
	const char *name;
	enum { KEY_OTHER, KEY_TEXT, KEY_FLAG } is;
	bool claimed;	 /* printed only with a claim */
	size_t at, size; /* of the field of struct record, for KEY_TEXT and KEY_FLAG */
	int (*parse)(struct record *r, const char *text); /* for KEY_OTHER; -EINVAL, -ENOMEM */
	int (*parse_id)(const char *text, struct identity *ret); /* instead, for its identity */
	void (*print)(const struct record *r,
		      struct out *o); /* likewise; NULL: record_line() does it */
};
#define PERSIST_KEY(key, type, claim, field)                                                       \
	{                                                                                          \
		.name = (key), .is = (type), .claimed = (claim),                                   \
		.at = offsetof(struct record, field), .size = sizeof(((struct record *)0)->field)  \
	}
#define PERSIST_OTHER(key, parses, prints)                                                         \
	{                                                                                          \
		.name = (key), .parse = (parses), .print = (prints)                                \
	}

#define PERSIST_KEYS 7

/* A field of struct intent; of a text only the part before its end. */
struct persist_field {
	size_t at, size;
	bool text;
};
#define PERSIST_TEXT(field)                                                                        \
	{                                                                                          \
		offsetof(struct intent, field), sizeof(((struct intent *)0)->field), true          \
	}
#define PERSIST_NUMBER(field)                                                                      \
	{                                                                                          \
		offsetof(struct intent, field), sizeof(((struct intent *)0)->field), false         \
	}

struct persist {
	const char *file; /* of the tree, and of the method that executes the request */
	struct persist_key
		keys[PERSIST_KEYS]; /* in the order of a line; one without a name ends them */
	/* The first is a text or a flag: something is stored if it is not "", or is set. */
	struct persist_field fields[3];
	bool of_group;	 /* a request for one device changes all members of its IOMMU group */
	bool with_claim; /* ends with the claim */
	/* Of a bool in struct intent: the release of the claim puts back what was there before, and
	 * ends it. 0: it never does. */
	size_t until_release;
	bool ends_claim; /* the claim ends when this ends by a request */
	/* Needs the driver that a claim takes away: restored only once no claim is stored. */
	bool rests_claimed;
	/* Those behind it do not wait for it: if it is refused it is tried again behind them. */
	bool yields;
	/* An intent that cannot be combined with this one and ends when this is accepted. NULL:
	 * none. */
	const struct persist *ends;
	/* Updates the record from the model. NULL: copies the fields. */
	void (*follow)(struct model *m, struct record *r, const struct device *dev);
	/* The device has come: notes what needs no operation, or what the operation must know,
	 * unless the device knows better. ended: a former process had noted it, so what the device
	 * lacks has ended, and only the file does not say so yet; only the record may follow. NULL:
	 * copies the fields of an intent without an operation. */
	void (*note)(const struct persist *k, struct record *r, struct device *dev, bool ended);

	/* For intents that need an operation: the value that ends it, for people; NULL: it needs
	 * none. */
	const char *none;
	/* The value of its request (the record may keep none). NULL: the first field. */
	void (*value)(const struct record *r, char ret[static REQUEST_VALUE]);
	/* Is part of it in the kernel already? That is never undone: the fields are noted, and a
	 * difference is drift. */
	bool (*is_there)(const struct device *dev);
	/* Has it ended with the driver that held it? Then it is not drift, but comes back with the
	 * next driver. gone: the driver is away, or was since the last pass. NULL: never. */
	bool (*lost)(const struct device *dev, bool gone);
	/* The parent's file by which the operation makes a device with a name. NULL: it makes
	 * none. */
	const char *made_by;
	/* What the operation must wait for, or NULL; if it makes the device, dev is the parent. */
	const char *(*waits)(const struct device *dev);
	/* Replaces these two, and the operation for one device alone. */
	void (*apply)(struct pass *p, struct record *r, const struct device *dev);
	/* Did others change it after it was applied? Says how. */
	bool (*drifted)(const struct persist *k, const struct record *r, const struct device *dev,
			char *ret, size_t size);
	bool tells_drift; /* the device's own state and reason show drift */
};

/* NULL-terminated, parents before children: restored in this order. The n-th is bit n of a record's
 * `in`, if it needs an operation. */
extern const struct persist *const persists[];
extern const struct persist persist_claim, persist_given, persist_mig_layout, persist_mig_mode,
	persist_mixed_sizes, persist_scheduler, persist_vfs;

/* Changes by others after it was applied are reported, and left alone. Call it with the model
 * locked. */
bool record_drifted(const struct record *r, const struct persist *k, const struct device *dev,
		    char *ret, size_t size);
const struct persist *persist_find(const char *file);
/* The key of an intent, or another one of a line; NULL. */
const struct persist_key *persist_key_find(const char *name);
uint32_t persist_bit(const struct persist *k);
bool persist_has(const struct persist *k, const struct intent *w);
/* The value of the request that restores it. */
void persist_value(const struct persist *k, const struct record *r, char ret[static REQUEST_VALUE]);
void persist_copy(const struct persist *k, struct intent *to, const struct intent *from);
bool persist_same(const struct persist *k, const struct intent *a, const struct intent *b);
void persist_clear(const struct persist *k, struct intent *w);
void persist_clear_with_claim(struct intent *w); /* the claim, and intents that end with it */
/* Clears what was noted in the device without an operation; requests that came meanwhile are newer
 * and stay. was: the intents as stored, NULL if unknown. */
void record_unnote(struct device *dev, const struct intent *was);
/* Does it need an operation? */
bool persist_is_missing(const struct persist *k, const struct record *r);
/* The first one that does: later rows wait for it, unless it yields. NULL: none does. */
const struct persist *persist_missing(const struct record *r);

/* -EINVAL */
int persist_parse(const struct persist_key *k, struct record *r, const char *text);
void persist_put(const struct persist_key *k, const struct record *r, struct out *o);
/* For the printers of rows: "" prints as none, and a text "none" is quoted. */
void persist_print(struct out *o, const char *key, const char *text);

#endif
