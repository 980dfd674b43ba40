/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of VFs (pcidevfs/vfconf.h) as a helper reads and sets them, through the network
 * interface of their PF. */
#ifndef PCIDEVFS_BACKEND_VFCONF_H
#define PCIDEVFS_BACKEND_VFCONF_H

struct out;
struct sysfs;

/* fd: of rtnl_open_vfs(), or its -errno. Appends a line "<id> mac=... vlan=..." for each VF of a
 * NIC whose PF tells its settings, and "<id> ?" if its PF could not be asked: nobody knows. The
 * errno of that stands in a line "- failed=N". only: ids separated by blanks, or NULL for all.
 * Returns 0 or -errno. */
#define VFCONF_UNKNOWN "?"
int vfconf_scan(const struct sysfs *s, int fd, const char *only, struct out *ret);
/* Sets what conf has of the VF. Returns 0 or -errno with the sentence in said. */
int vfconf_set(const struct sysfs *s, int fd, const char *vf, const char *conf, struct out *said);

#endif
