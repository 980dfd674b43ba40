/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a device had before it was claimed, as its way of claiming has written it down: pairs of a
 * name and a value, such as driver and override. Nobody but that way knows what they mean; all
 * others keep them, and the state file has each as former_NAME=VALUE. Pure.
 */
#ifndef PCIDEVFS_FORMER_H
#define PCIDEVFS_FORMER_H

#include <stdbool.h>
#include <stddef.h>

#define FORMER_TEXT 112
#define FORMER_NAME 16

/* The pair at *text, which goes on to the next; false: there is none. text begins with the
 * whole. */
bool former_next(const char **text, char name[static FORMER_NAME], char value[static FORMER_TEXT]);
/* "", and false, where it is not there. */
bool former_get(const char *text, const char *name, char *ret, size_t size);
/* In place of what was there. False, and nothing is changed: it does not fit, or name has other
 * signs than a-z, 0-9, _. */
bool former_set(char text[static FORMER_TEXT], const char *name, const char *value);
/* All values are "". */
bool former_is_none(const char *text);
/* Takes from other what text has not, or has as "". */
void former_fill(char text[static FORMER_TEXT], const char *other);

#endif
