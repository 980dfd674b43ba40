/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CDI spec of what is offered: container runtimes take a device by its name (spec/peers.md
 * 4.8). */
#ifndef PLUGIN_CDI_H
#define PLUGIN_CDI_H

#include "devices.h"

#define CDI_KIND "pcidevfs/device"

struct cdi;
struct err;
struct out;

/* dir "none": no spec is written. dev_root: where /dev is on the host; it must stay valid.
 * -ENOMEM. */
int cdi_new(const char *dev_root, const char *dir, struct cdi **ret, struct err *err);
void cdi_free(struct cdi *c);
/* Was it removed by somebody? It is written again then. */
void cdi_check(struct cdi *c);
/* Notes what is to be written if the table has another shape than then; with its lock held, and no
 * file touched. */
void cdi_note(struct cdi *c, const struct devices *t);
/* Writes what was noted. Can a runtime find what is offered? */
bool cdi_write(struct cdi *c);

/* Pure: the file's text. */
void cdi_text(const struct devices *t, const char *dev_root, struct out *ret);

/* The nodes that `d` needs, with those of its group: where a container sees them and where they are
 * on the host. One that several of them need is told several times. */
void dev_nodes(const struct devices *t, const struct dev *d, const char *dev_root,
	       void (*take)(const char *node, const char *host, void *ctx), void *ctx);

#endif
