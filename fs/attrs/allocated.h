/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that tell who got a device, and under which name. */
#ifndef FS_ALLOCATED_H
#define FS_ALLOCATED_H

struct err;
struct out;
struct subject;
struct request;

/* Prints nodes, which are separated by blanks, one a line. */
void nodes_print(const char *nodes, struct out *o);
void allocated_nodes_show(const struct subject *s, struct out *o);
void allocated_as_show(const struct subject *s, struct out *o);
void allocated_to_show(const struct subject *s, struct out *o);
int allocated_to_store(const struct subject *s, const char *text, struct request *ret,
		       struct err *err);
int allocated_to_reaches(const struct subject *s, const struct request *request, struct err *err);

#endif
