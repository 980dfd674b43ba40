/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the driver of a NIC's PF holds for each of its VFs: the settings that `ip link show` prints
 * as "vf N". A text has those that the kernel tells, each once, a blank between two:
 * "mac=52:54:00:12:34:56 vlan=100 trust=0 spoofchk=1". Pure. */
#ifndef PCIDEVFS_VFCONF_H
#define PCIDEVFS_VFCONF_H

#define VFCONF_VALUE 18 /* of the longest value, a MAC address */
#define VFCONF_TEXT 64
#define VLAN_MAX 4094

enum vfconf { VFCONF_MAC, VFCONF_VLAN, VFCONF_TRUST, VFCONF_SPOOFCHK, VFCONF_COUNT };

/* The name of the setting, which is that of its file. */
const char *vfconf_name(enum vfconf which);
/* VFCONF_COUNT: no setting has this name. */
enum vfconf vfconf_find(const char *name);
/* "": the text does not have it. */
void vfconf_get(const char *text, enum vfconf which, char ret[static VFCONF_VALUE]);
/* Appends a setting. */
void vfconf_add(char text[static VFCONF_TEXT], enum vfconf which, const char *value);
/* The one spelling of a value: lower case, without leading zeros, 0 or 1. Returns 0; -EINVAL;
 * -ERANGE for a VLAN above VLAN_MAX. An address of all zeros, or a multicast address, is not a
 * value. */
int vfconf_parse(enum vfconf which, const char *value, char ret[static VFCONF_VALUE]);
/* Six bytes of an address. -EINVAL. */
int vfconf_mac(const char *text, unsigned char ret[static 6]);

#endif
