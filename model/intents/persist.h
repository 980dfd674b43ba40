/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is kept of a device over reboots: a row for each request, named by the file that asks for
 * it.
 *
 * A row tells how the state file has it, which fields of struct intent it is made of, and what
 * brings it back when its device comes: saying so, or an operation. Who walks the rows (intent*.c)
 * knows no request but the claim, which binds a group.
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

/* key=value in the state file; nothing where nothing is kept. */
struct persist_key {
	const char *name;
	enum { KEY_OTHER, KEY_TEXT, KEY_FLAG } is;
	bool claimed;	 /* printed with a claim alone */
	size_t at, size; /* of the field of struct record, unless it is another */
	int (*parse)(struct record *r, const char *text); /* of KEY_OTHER; -EINVAL */
	void (*print)(const struct record *r,
		      struct out *o); /* likewise; NULL: another row prints it */
};
#define PERSIST_KEY(key, type, claim, field)                                                       \
	{                                                                                          \
		.name = (key), .is = (type), .claimed = (claim),                                   \
		.at = offsetof(struct record, field), .size = sizeof(((struct record *)0)->field)  \
	}
#define PERSIST_OTHER(key, parses, prints) { .name = (key), .parse = (parses), .print = (prints) }

#define PERSIST_KEYS 7

/* A field of struct intent; of a text only what stands before its end. */
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

/* What an operation that nobody carries on may have left of a request. */
enum half {
	HALF_NOT,
	HALF_STAYS, /* a person has to say what shall be: how it was before is not known */
	HALF_MENDS, /* the request as it is stored takes it back */
};

struct persist {
	const char *file; /* of the tree, and of the method that carries the request out */
	struct persist_key
		keys[PERSIST_KEYS];	 /* in the order of a line; those without a name end them */
	struct persist_field fields[3];	 /* something is kept while the first is not 0, or "" */
	bool of_group;	 /* a request for one device changes all members of its IOMMU group */
	bool with_claim; /* goes when the claim does */
	/* What a device cannot have besides: it goes when this is accepted. NULL: nothing is so. */
	const struct persist *ends;
	/* The record becomes what the model says. NULL: its fields do. */
	void (*follow)(struct model *m, struct record *r, const struct device *dev);
	/* The device has come: it is told what needs no operation, or what the operation has to
	 * know, unless it knows better. NULL: the fields, where there is no operation. */
	void (*note)(struct record *r, struct device *dev);

	/* What an operation brings back has the rest: the value of the request that asks for it
	 * (the record may keep none), and the value that ends it, for people. */
	void (*value)(const struct record *r, char ret[static REQUEST_VALUE]);
	const char *none;
	/* The kernel has some of it already, which is never undone: the fields are noted, and a
	 * difference is drift. */
	bool (*is_there)(const struct device *dev);
	/* The operation makes the device, where that has a name: by this file of its parent. NULL:
	 * it does not. */
	const char *made_by;
	/* What the operation has to wait for, or NULL; of what it makes, dev is the parent. */
	const char *(*waits)(const struct device *dev);
	/* Instead of these two, and of an operation for one device alone. */
	void (*apply)(struct pass *p, struct record *r, const struct device *dev);
	/* The record's operation was interrupted. NULL: it leaves nothing behind. */
	enum half (*half)(const struct record *r, const struct device *dev);
	/* Others changed it after it was applied: says how. */
	bool (*drifted)(const struct record *r, const struct device *dev, char *ret, size_t size);
	bool tells_drift; /* the device's own state and reason do already */
	/* The request must be known before a driver meets the device: by which it was had before.
	 * NULL: it need not. */
	const char *(*early)(const struct record *r);
};

/* NULL-terminated, parents before children: what is here first is brought back first. The n-th is
 * bit n of a record's `in`, where it has an operation. */
extern const struct persist *const persists[];
extern const struct persist persist_claim, persist_given, persist_vfs;

/* What others changed after it was applied is told, and left alone. With the model locked. */
bool record_drifted(const struct record *r, const struct persist *k, const struct device *dev,
		    char *ret, size_t size);
const struct persist *persist_find(const char *file);
/* Of a request, or of what a line has besides; NULL. */
const struct persist_key *persist_key_find(const char *name);
uint32_t persist_bit(const struct persist *k);
bool persist_has(const struct persist *k, const struct intent *w);
void persist_copy(const struct persist *k, struct intent *to, const struct intent *from);
bool persist_same(const struct persist *k, const struct intent *a, const struct intent *b);
void persist_clear(const struct persist *k, struct intent *w);
void persist_clear_with_claim(struct intent *w); /* what goes with it, and the claim itself */
/* Is there an operation to be made for it? */
bool persist_is_missing(const struct persist *k, const struct record *r);

/* -EINVAL */
int persist_parse(const struct persist_key *k, struct record *r, const char *text);
void persist_put(const struct persist_key *k, const struct record *r, struct out *o);
/* For the printers of rows: "" is none, and what is called none has quotes. */
void persist_print(struct out *o, const char *key, const char *text);

#endif
