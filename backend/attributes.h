/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The attributes of sysfs that operations write. */
#ifndef PCIDEVFS_BACKEND_ATTRIBUTES_H
#define PCIDEVFS_BACKEND_ATTRIBUTES_H

struct sysfs;

/* Writes text by one write(2), if a row of the table has this attribute with such a value. Of the
 * directories on the way only a device's may be a link. Returns 0; -EPERM: there is no such row;
 * else -errno. Only helpers call this. */
int attribute_write(const struct sysfs *s, const char *path, const char *text);

#endif
