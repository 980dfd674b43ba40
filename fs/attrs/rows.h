/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For attrs_*.c: macros that begin a row, { RO("vendor", 3, vendor_show), .bits = CH_IDS, ... }. */
#ifndef FS_ROWS_H
#define FS_ROWS_H

#include "fs/attr.h"
#include "pcidevfs/util.h"

#define ROW(n, i, m) .name = (n), .id = (i), .mode = (m)
#define RO(n, i, shows) ROW(n, i, 0444), .show = (shows)
#define RW(n, i, shows, stores) ROW(n, i, 0664), .show = (shows), .store = (stores)
#define LINK(n, i, shows) ROW(n, i, S_IFLNK | 0777), .show = (shows)
/* Also in inventory and events, under its name. */
#define KEY_RO(n, i, shows) RO(n, i, shows), .key = (n)
#define KEY_RW(n, i, shows, stores) RW(n, i, shows, stores), .key = (n)
#define KEY_LINK(n, i, shows) LINK(n, i, shows), .key = (n)

/* Prints "none" for "". */
static inline void out_line(struct out *o, const char *text)
{
	out_printf(o, "%s\n", text[0] ? text : "none");
}

/* The offset in struct facts of a fact that is a room (FACT_ROOM). */
void out_room(const struct subject *s, size_t fact, struct out *o);

#endif
