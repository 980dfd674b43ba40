/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pci.ids and usb.ids: a vendor ("10de  NVIDIA Corporation") with its products below it
 * ("\t25b6  GA107GL [A2 / A16]"), a class ("C 03  Display controller") with its subclasses. */
#ifndef PCIDEVFS_BACKEND_IDS_H
#define PCIDEVFS_BACKEND_IDS_H

struct ids;

enum ids_list { IDS_VENDORS, IDS_CLASSES, IDS_OTHERS };

/* Reads the first of these files (NULL-terminated), of some MiB, that is there and has no line that
 * makes no sense; *ret NULL: none. Returns 0 or -ENOMEM. */
int ids_open(const char *const *places, struct ids **ret);
/* NULL is allowed. */
void ids_close(struct ids *ids);

/* Names of a vendor or a class, and of what has this id below it; NULL: they are not there. ids may
 * be NULL. They last as long as ids. */
struct ids_names {
	const char *top, *below;
};
struct ids_names ids_find(const struct ids *ids, enum ids_list list, unsigned int top,
			  unsigned int below);

#endif
