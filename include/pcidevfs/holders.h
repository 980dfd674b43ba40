/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes hold a PCI function open: found by reading the links in proc/<pid>/fd, never by
 * opening or looking at what they lead to; a name below /dev is looked up there. Counts: the VFIO group
 * (for each member), the VFIO cdev, any device node that belongs to the function, its resource files.
 *
 * Not seen: what is mapped but no longer open (maps are not read), and descriptors of a thread that
 * does not share its process's. A local user can make a file look like a device node in a mount
 * namespace of his own; all that gives him is being named.
 */
#ifndef PCIDEVFS_HOLDERS_H
#define PCIDEVFS_HOLDERS_H

struct out;
struct sysfs;

/* One function may be held by many; further ones are counted. */
#define HOLDERS_MAX 64

/*
 * Appends lines `<address> pid=812 comm="nvidia-persiste"` in ascending order, and `<address> more=N`
 * for those beyond HOLDERS_MAX. only: addresses with blanks between them, or NULL for all. A last line
 * `- unseen=N`, for health, when N processes could not be looked into: CAP_SYS_PTRACE is missing, or a
 * security module keeps them from us. Nobody: appends nothing. Returns 0, -ENOMEM, or as the kernel
 * said; then nothing was appended and nothing is known.
 */
int holders_scan(const struct sysfs *s, const char *only, struct out *ret);

#endif
