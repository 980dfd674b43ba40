/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a function is called: description and resource name, as Harvester computes them from
 * pci.ids. The pure part knows no database, so that its rules can be tested without one.
 */
#ifndef PCIDEVFS_NAMES_H
#define PCIDEVFS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct facts;
struct names;
struct names_db;

/*
 * path NULL: the usual places, in Harvester's order, else libpci's own. An absent or unreadable
 * database is no error: names are then made of ids, and names_known() is false, for health.
 * Loading takes some MiB and about 10 ms: open, fill, close, malloc_trim(). libpci itself is loaded
 * with it; where it is missing, names are made of ids likewise. Returns 0 or -ENOMEM.
 */
int names_open(const char *path, struct names_db **ret);
/* Gives the memory back; NULL is fine. */
void names_close(struct names_db *db);
bool names_known(const struct names_db *db);

/* From vendor, device and class_code alone. Returns 0, or -ENOMEM when libpci ran out of memory. */
int names_fill(struct names_db *db, const struct facts *facts, struct names *ret);

/*
 * "nvidia.com/GA107GL_A2___A16": byte for byte what Harvester writes, unless kubelet would refuse
 * that; then "<vendor>/<device id>". vendor and product are pci.ids' names, NULL when unknown.
 * Never empty; size is sizeof(((struct names *)0)->resource) or more.
 */
void names_resource(const char *vendor, const char *product, uint16_t device, char *buf,
		    size_t size);

/* Is it an extended resource's name as kubelet accepts it: a DNS-1123 subdomain, '/', a name? */
bool names_qualified(const char *resource);

/* "3D controller: NVIDIA Corporation GA107GL [A2 / A16]"; class_name is the subclass's, else the
 * class's name; each may be NULL. What does not fit is cut between characters. */
void names_description(const struct facts *facts, const char *class_name, const char *vendor,
		       const char *product, char *buf, size_t size);

#endif
