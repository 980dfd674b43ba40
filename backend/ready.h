/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has everything that is asked for what it needs? A prerequisite is a row. */
#ifndef BACKEND_READY_H
#define BACKEND_READY_H

struct backend;
struct out;

/* Appends "ready=yes" or "ready=no", and a line "missing=..." for each prerequisite that some
 * device lacks, with what to do. One that only a device lacks of which nothing is asked has
 * needed=no, and leaves ready=yes. */
void ready_health(struct backend *b, struct out *o);
/* Calls tell() with "ready" and its value, and with "missing" and the name of each that is
 * needed. */
void ready_each(struct backend *b, void (*tell)(struct out *o, const char *key, const char *value),
		struct out *o);

#endif
