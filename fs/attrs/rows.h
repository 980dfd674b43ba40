/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For attrs_*.c: macros that begin a row, { RO("vendor", 3, vendor_show), .bits = CH_IDS, ... }. */
#ifndef FS_ROWS_H
#define FS_ROWS_H

#include "fs/attr.h"
#include "pcidevfs/creds.h"
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

/* A sentence that may name who holds the device, in a file that everybody may read. */
static inline void out_line_for_all(struct out *o, const char *text)
{
	out_for_all(o, text[0] ? text : "none");
	out_put(o, "\n", 1);
}

/* Likewise, a refusal: the group and who was refused, uid, are told. User 0 without capabilities is
 * anybody. */
static inline void out_refusal(const struct subject *s, const char *text, uid_t uid, struct out *o)
{
	const struct creds *reader = s->reader;
	bool told = !reader || reader->reserve || (uid && reader->uid == uid);

	if (told || !text[0])
		out_printf(o, "%s\n", text[0] ? text : "ok");
	else
		out_line_for_all(o, text);
}

/* The offset in struct facts of a fact that is a room (FACT_ROOM). */
void out_room(const struct subject *s, size_t fact, struct out *o);

#endif
