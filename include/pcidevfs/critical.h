/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which devices, of any bus, the host itself needs and must not lose, and why.
 *
 * Reads sysfs, mounts, swaps, consoles and keyboards, and asks rtnetlink for routes and addresses.
 * It reads proc/net instead if proc is not the kernel's own or the network of its first process is
 * closed to us. It tries to open otherwise unused disks exclusively. All this may block on a sick
 * disk: call it in an io helper.
 */
#ifndef PCIDEVFS_CRITICAL_H
#define PCIDEVFS_CRITICAL_H

#include <stdbool.h>
#include <stdint.h>

struct out;
struct sysfs;

/*
 * Appends a line "<id> <sentence>" for each device that the host needs, in ascending order of keys.
 * The sentence gives the weightiest reason only, in less than CRITICAL_TEXT bytes (device.h).
 * Behind it, for each distinct reason, a line "<id> cause=<words>" by which it is known again over
 * a reboot; after 128 of a device a last one, "cause=more", and no further ones. A disk or NIC
 * needs each device that it hangs on (backend/guard/devpath.h), even on a bus that nobody reads.
 * only: ids separated by blanks, or NULL for all. On failure nothing is appended and nothing is
 * known: the caller must then refuse claims. Returns 0; -ENOENT: there is no mount table; -ENOMEM;
 * else the kernel's errno.
 */
#define CRITICAL_CAUSE "cause="
int critical_scan(const struct sysfs *s, const char *only, struct out *ret);

/* Pure parsers of the text formats. Each takes the next valid line from *text, skips others, and
 * returns false at the end. Strings lie in the text, which is overwritten. */
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
	bool is_global;	 /* shows a global address: its connected route, or the address */
};
bool route_next(char **text, struct net_line *ret);    /* net/route */
bool route6_next(char **text, struct net_line *ret);   /* net/ipv6_route */
bool address6_next(char **text, struct net_line *ret); /* net/if_inet6 */

bool pppoe_next(char **text, char **ret_name);	       /* net/pppoe: an interface with a session */

/* IPv4, in host byte order: an address that others can reach, or a network of such. */
bool address_is_global(uint32_t address);

bool console_next(char **text, char **ret_name); /* consoles, enabled ones */

#endif
