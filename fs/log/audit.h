/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the journal keeps over a reboot: operations that changed something, refusals, and claimed
 * devices that are lost or sick. Nothing is said where stderr is not the journal. */
#ifndef FS_AUDIT_H
#define FS_AUDIT_H

#include <stddef.h>
#include <stdint.h>

struct change;
struct device;
struct err;
struct member;

/* line: as the log has it, behind its time: it begins with a blank. again: the number of equal
 * refusals, if the line does not say it; 0: none. */
void audit_line(const char *line, size_t len, const struct err *err, uint64_t again);
/* A change of a device that m stands for; dev NULL: it is not there. For the notifier only. */
void audit_change(struct member *m, const struct change *c, const struct device *dev);
/* Notes what a device is without saying it: a former process said it. */
void audit_note(struct member *m, const struct device *dev);

#endif
