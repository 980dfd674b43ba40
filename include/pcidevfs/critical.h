/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host itself needs: which devices, of any bus, must not be taken away, and why.
 *
 * Reads sysfs, mounts, swaps and consoles, asks for routes and addresses by rtnetlink (where proc
 * is not the kernel's own, or its first process's network is closed to us, reads those of
 * proc/net), and tries to open otherwise unused disks exclusively. All this may block on a sick
 * disk: call it in an io helper.
 */
#ifndef PCIDEVFS_CRITICAL_H
#define PCIDEVFS_CRITICAL_H

#include <stdbool.h>
#include <stdint.h>

struct out;
struct sysfs;

/*
 * Appends a line "<id> <sentence>" for each device that the host needs, in ascending order of keys:
 * the weightiest reason only, of less than CRITICAL_TEXT bytes (device.h). A disk or NIC needs each
 * device that it hangs on (backend/guard/devpath.h), also where nobody reads the bus. only: ids with
 * blanks between them, or NULL for all.
 * On failure nothing is appended and nothing is known: the caller must then refuse claims.
 * -ENOENT: there is no mount table; -ENOMEM; else as the kernel said.
 */
int critical_scan(const struct sysfs *s, const char *only, struct out *ret);

/*
 * The text formats, pure. Each takes the next line that makes sense from *text, skipping others,
 * and is false at the end. Strings lie in the text, which is written to.
 */
struct mount_line {
	unsigned int major, minor;
	char *point, *type, *source; /* without the kernel's \040 escapes */
};
bool mount_next(char **text, struct mount_line *ret); /* mountinfo */

struct swap_line {
	char *path;
};
bool swap_next(char **text, struct swap_line *ret); /* swaps */

struct net_line {
	char *name;
	bool is_default; /* a default route */
	bool is_global;	 /* a sign of a global address: its connected route, or itself */
};
bool route_next(char **text, struct net_line *ret);    /* net/route */
bool route6_next(char **text, struct net_line *ret);   /* net/ipv6_route */
bool address6_next(char **text, struct net_line *ret); /* net/if_inet6 */

/* IPv4, of the host's byte order: one that others reach, or a net of such. */
bool address_is_global(uint32_t address);

bool console_next(char **text, char **ret_name); /* consoles, enabled ones */

#endif
