/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a device by which others take it: kubelet by a name, a VMM by an address. */
#ifndef FS_OFFER_H
#define FS_OFFER_H

struct err;
struct out;
struct subject;
struct request;

void resource_name_show(const struct subject *s, struct out *o);
void resource_override_show(const struct subject *s, struct out *o);
int resource_name_store(const struct subject *s, const char *text, struct request *ret,
			struct err *err);
int resource_name_reaches(const struct subject *s, const struct request *request, struct err *err);
void pooled_show(const struct subject *s, struct out *o);
int pooled_store(const struct subject *s, const char *text, struct request *ret, struct err *err);
int pooled_reaches(const struct subject *s, const struct request *request, struct err *err);
void hostdev_show(const struct subject *s, struct out *o);
void qemu_show(const struct subject *s, struct out *o);

#endif
