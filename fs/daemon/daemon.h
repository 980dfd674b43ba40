/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The roles of pcidevfsd that have a model and a backend. Each returns an exit status. */
#ifndef FS_DAEMON_H
#define FS_DAEMON_H

struct daemon_options;

/* The serving process, started by a holder (holder.h) with a socket to it in o->serve. */
int daemon_serve(const struct daemon_options *o);
/* A running daemon asks this before it ends for us. Obstacles are printed to stdout. */
int daemon_can_adopt(const struct daemon_options *o);
/* Releases all claims while nothing is mounted. */
int daemon_release(const struct daemon_options *o);

#endif
