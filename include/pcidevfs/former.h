/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a device had before it was claimed, as its way of claiming recorded it: pairs of a name and
 * a value, for example driver and override. Only that way knows their meaning, but for those named
 * here; all others just keep them. The state file has each as former_NAME=VALUE. Pure. */
#ifndef PCIDEVFS_FORMER_H
#define PCIDEVFS_FORMER_H

#include <stdbool.h>
#include <stddef.h>

#define FORMER_TEXT 112
#define FORMER_NAME 16
/* facts.host_serial of a card that has no serial number in its config space */
#define FORMER_SERIAL "serial"
/* the driver from which it was taken; the one that it had, as who claims it says (former_driver) */
#define FORMER_DRIVER "driver"
#define FORMER_TOLD "told"

/* Takes the pair at *text and advances *text; false: none is left. text begins with the whole. */
bool former_next(const char **text, char name[static FORMER_NAME], char value[static FORMER_TEXT]);
/* Returns false and "" if there is no such pair. */
bool former_get(const char *text, const char *name, char *ret, size_t size);
/* Adds or replaces a value. Returns false and changes nothing if it does not fit, or if the name
 * has other characters than a-z, 0-9, _. */
bool former_set(char text[static FORMER_TEXT], const char *name, const char *value);
/* The driver that it goes back to: the one from which it was taken, else the one that was told. "":
 * it had none, or nobody knows. */
void former_driver(const char *text, char *ret, size_t size);
/* True if all values are "". */
bool former_is_none(const char *text);
/* Adds the pairs of `other` that text lacks or has as "". */
void former_fill(char text[static FORMER_TEXT], const char *other);

#endif
