/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CDI spec of what is offered: container runtimes take a device by its name (spec/peers.md 4.8). */
#ifndef PLUGIN_CDI_H
#define PLUGIN_CDI_H

#include "devices.h"

struct cdi;
struct err;
struct out;
struct plugin;

/* dir "none": no spec is written. */
int cdi_new(struct plugin *p, const char *dir, struct cdi **ret, struct err *err);
void cdi_free(struct cdi *c);
/* Writes the file if the table has another shape now; with its lock held. */
void cdi_write(struct cdi *c, const struct devices *t);

/* Can a runtime find what is offered? A file that somebody removed is written again; with the table's lock. */
bool cdi_ready(struct cdi *c, const struct devices *t);

/* Pure: the file's text. */
void cdi_text(const struct devices *t, const char *dev_root, struct out *ret);

#endif
