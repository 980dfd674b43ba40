/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded machine: the output of umockdev-record(1), parsed and checked.
 *
 * Everything points into one private copy of the text; machine_free() frees all of it. Records are
 * sorted by path, so a parent comes before its children and the records below a device are one
 * range.
 */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include <stddef.h>

#define MACHINE_MAX_SIZE (256u << 20)
/* The record with facts outside of sysfs; it is not a device (tests/machines/README.md). */
#define MACHINE_FACTS "/devices/virtual/pcidevfs-sim"

/* One line: A attribute, H binary attribute, L link, E property, N node, S node's link. */
struct field {
	char type;
	const char *name; /* for A and L possibly "power/control" */
	const char *data; /* ends in NUL for A, L, E; may hold any byte for H */
	size_t len;
};

struct record {
	const char *path; /* "/devices/..." */
	struct field *fields;
	size_t n;
};

struct machine {
	struct record *records;
	size_t n;
	struct field *fields;
	char *text;
};

struct machine_err {
	unsigned int line; /* from 1; 0: no line in particular */
	char text[120];
};

/* Parses len bytes. Returns 0 and *ret; -EINVAL (why gives line and cause), -E2BIG or -ENOMEM, with
 * *ret untouched. Reads nothing but buf and keeps no pointer into it. */
int machine_parse(const char *buf, size_t len, struct machine **ret, struct machine_err *why);
void machine_free(struct machine *m);

/* The record at path, or NULL. */
const struct record *machine_find(const struct machine *m, const char *path);
/* The field of that type and name, or NULL. */
const struct field *record_field(const struct record *r, char type, const char *name);
/* Its text, or NULL. */
const char *record_text(const struct record *r, char type, const char *name);

/* record.c: a record made here, not read */
struct record *machine_record_new(const char *path);
int record_add(struct record *r, char type, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void machine_record_free(struct record *r);

#endif
