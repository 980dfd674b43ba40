/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FS_QUERY_H
#define FS_QUERY_H

struct err;
struct out;
struct subject;
struct request;

/* The `plan` row's show and store. */
void plan_show(const struct subject *s, struct out *o);
int plan_store(const struct subject *s, const char *text, struct request *ret, struct err *err);

#endif
