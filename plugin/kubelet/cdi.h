/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CDI spec of the offered devices: container runtimes find a device by its name there
 * (spec/peers.md 4.8). */
#ifndef PLUGIN_CDI_H
#define PLUGIN_CDI_H

#include "devices.h"

#define CDI_KIND "pcidevfs/device"

struct cdi;
struct err;
struct out;

/* dir "none": no spec. dev_root: the host's /dev; it must stay valid. Returns 0 or -ENOMEM. */
int cdi_new(const char *dev_root, const char *dir, struct cdi **ret, struct err *err);
void cdi_free(struct cdi *c);
/* If somebody removed the spec, makes the next cdi_write() write it again. */
void cdi_check(struct cdi *c);
/* Stores the new text if the table's shape has changed. Needs the table's lock; touches no file. */
void cdi_note(struct cdi *c, const struct devices *t);
/* Writes the stored text. Returns true if a runtime can find the offered devices. */
bool cdi_write(struct cdi *c);

/* Appends the file's text. Pure. */
void cdi_text(const struct devices *t, const char *dev_root, struct out *ret);

/* Calls take() for each node that `d` and its group need, with the paths in the container and on
 * the host. A node that several devices need is passed several times. */
void dev_nodes(const struct devices *t, const struct dev *d, const char *dev_root,
	       void (*take)(const char *node, const char *host, void *ctx), void *ctx);

#endif
