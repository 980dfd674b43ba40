/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file in which the plugin writes down who got a device. */
#ifndef FS_ALLOCATED_H
#define FS_ALLOCATED_H

struct err;
struct out;
struct subject;
struct wish;

void allocated_to_show(const struct subject *s, struct out *o);
int allocated_to_store(const struct subject *s, const char *text, struct wish *ret, struct err *err);

#endif
