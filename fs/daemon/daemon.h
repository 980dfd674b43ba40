/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The roles in which pcidevfsd has a model and a backend of its own. Each returns an exit
 * status. */
#ifndef FS_DAEMON_H
#define FS_DAEMON_H

struct options;

/* The serving process, started by a holder (holder.h) with a socket to it in o->serve. */
int daemon_serve(const struct options *o);
/* Asked by a daemon that runs, before it ends for us: what stands in the way is told on stdout. */
int daemon_can_adopt(const struct options *o);
/* Gives all claims back where nothing is mounted. */
int daemon_release(const struct options *o);

#endif
