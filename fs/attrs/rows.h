/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For attrs_*.c: macros that begin a row, { RO("vendor", 3, vendor_show), .bits = CH_IDS, ... }, and
 * what rows share. A file that shows one field of the record needs no function:
 * { RO_OF("driver", 7, facts.driver), ... }. */
#ifndef FS_ROWS_H
#define FS_ROWS_H

#include "fs/attr.h"
#include "pcidevfs/creds.h"
#include "pcidevfs/device.h"
#include "pcidevfs/util.h"

#define ROW(n, i, m) .name = (n), .id = (i), .mode = (m)
#define RO(n, i, shows) ROW(n, i, 0444), .show = (shows)
#define RW(n, i, shows, stores) ROW(n, i, 0664), .show = (shows), .store = (stores)
#define LINK(n, i, shows) ROW(n, i, S_IFLNK | 0777), .show = (shows)
/* Likewise, with a field of struct device in place of show. */
#define RO_OF(n, i, field) ROW(n, i, 0444), OF(field)
#define RW_OF(n, i, field, stores) ROW(n, i, 0664), OF(field), .store = (stores)
/* Also in inventory and events, under its name. */
#define KEY_RO(n, i, shows) RO(n, i, shows), .key = (n)
#define KEY_RW(n, i, shows, stores) RW(n, i, shows, stores), .key = (n)
#define KEY_LINK(n, i, shows) LINK(n, i, shows), .key = (n)
#define KEY_RO_OF(n, i, field) RO_OF(n, i, field), .key = (n)
#define KEY_RW_OF(n, i, field, stores) RW_OF(n, i, field, stores), .key = (n)

/* The field's type tells how it reads. */
#define OF(field)                                                                                  \
	AT(field), .show = _Generic(((struct device *)0)->field, char * : text_show,               \
				    int32_t : number_show, uint16_t : count_show,                  \
				    int64_t : place_show, struct room : room_show)
#define AT(field) .at = offsetof(struct device, field)
void text_show(const struct subject *s, struct out *o); /* none for "" */
void number_show(const struct subject *s, struct out *o);
void count_show(const struct subject *s, struct out *o);
void place_show(const struct subject *s, struct out *o); /* none below 0 */
void room_show(const struct subject *s, struct out *o);
/* For rows with an AT(): a sentence that may name who holds the device, in a file that everybody
 * may read; words separated by blanks, one a line. */
void sentence_show(const struct subject *s, struct out *o);
void words_show(const struct subject *s, struct out *o);
/* A file that always reads the same. */
#define FIXED(words) .show = fixed_show, .text = (words)
void fixed_show(const struct subject *s, struct out *o);

/* Takes a name of less than size characters as the value, "none" as "". */
int name_store(const struct subject *s, const char *text, size_t size, struct request *ret,
	       struct err *err);

/* Prints "none" for "". */
void out_line(struct out *o, const char *text);
/* Likewise, a sentence as sentence_show() prints it. */
void out_line_for_all(struct out *o, const char *text);
/* A refusal: the group and who was refused, uid, are told who holds the device. User 0 without
 * capabilities is anybody. */
void out_refusal(const struct subject *s, const char *text, uid_t uid, struct out *o);
/* The offset in struct device of a fact that is a room (FACT_ROOM). */
void out_room(const struct subject *s, size_t at, struct out *o);

#endif
