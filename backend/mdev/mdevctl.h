/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What mdevctl(8) defines: /etc/mdevctl.d/<parent>/<uuid>, a JSON object with the type, and whether
 * udev starts it ("start": "auto", else "manual"). Such a mediated device is mdevctl's. */
#ifndef BACKEND_MDEVCTL_H
#define BACKEND_MDEVCTL_H


struct device;
struct err;
struct sysfs;

#define MDEVCTL_START 8

/* Reads "auto" or "manual"; "": mdevctl does not define this mediated device. What is no regular
 * file, or longer than a definition is, defines nothing. Never blocks. */
void mdevctl_start(const struct sysfs *s, const char *parent, const char *uuid,
		   char ret[static MDEVCTL_START]);
/* Likewise, of a definition's text. */
void mdevctl_parse(const char *text, char ret[static MDEVCTL_START]);

/* -EBUSY: mdevctl defines the mediated device that it is. */
int mdevctl_refuse(const struct device *dev, struct err *err);
/* -EBUSY: mdevctl defines a mediated device with this UUID for this parent, so it, and nobody
 * else, makes it. Reads the definition. */
int mdevctl_refuse_make(const struct sysfs *s, const char *parent, const char *uuid,
			struct err *err);

#endif
