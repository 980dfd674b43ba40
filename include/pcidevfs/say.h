/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines to stderr. None waits: a line for which stderr has no room is dropped, and the next one
 * tells how many were. A control character in a text becomes "?", so a text is one line. */
#ifndef PCIDEVFS_SAY_H
#define PCIDEVFS_SAY_H

#include <stdbool.h>

/* As in syslog(3), whose header has names that collide with ours. */
enum say_level { SAY_ERROR = 3, SAY_WARNING = 4, SAY_NOTICE = 5, SAY_INFO = 6, SAY_DEBUG = 7 };

/* Writes one line to stderr, behind the name of the program; cut at 2 KiB. Where stderr is the
 * journal, which has that name, the level stands there instead ("<5>"). Thread-safe. */
__attribute__((format(printf, 2, 3))) void say_at(enum say_level level, const char *fmt, ...);
/* Likewise with SAY_NOTICE. */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);
extern const char say_as[]; /* "pcidevfsd"; another program defines its own */

/* What a support case needs, with SAY_DEBUG: a line only if PCIDEVFS_DEBUG, a list of areas with
 * commas, has this one. */
enum say_area { SAY_REQUESTS, SAY_STEPS, SAY_HELPERS, SAY_LOOKS, SAY_AREAS };
__attribute__((format(printf, 2, 3))) void say_debug(enum say_area area, const char *fmt, ...);

/* Is stderr the journal's? JOURNAL_STREAM names its device and inode, see systemd.exec(5). */
bool say_journals(void);
/* From now on, and in the programs that this one starts, stderr is taken for the journal's. */
void say_as_journal(void);

#endif
