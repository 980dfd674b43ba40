/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes hold a device of any bus open. What a descriptor is decides, never what its path
 * says: an inode below --dev, a device number of the device, or a PCI function's resource file; and
 * only one that can act counts. That is the VFIO group (for each member), the VFIO cdev or device,
 * any other device node that belongs to the device, a resource file; disks and usbfs where they are
 * open for writing; nothing that was opened with O_PATH.
 *
 * How much of /proc is looked at for each process, user and all is bounded (backend/guard/hold.h),
 * and what hangs is left behind. Processes whose descriptors are then unknown count, as unsure, for
 * the devices that have a node below --dev which the process's user could open.
 *
 * Not seen: what is mapped but no longer open (maps are not read), and descriptors on their way in
 * a socket or kept by io_uring.
 */
#ifndef PCIDEVFS_HOLDERS_H
#define PCIDEVFS_HOLDERS_H

struct out;
struct sysfs;

/* One device may be held by many; further ones are counted. */
#define HOLDERS_MAX 64

/*
 * Appends lines `<id> pid=812 comm="nvidia-persiste"` in ascending order of keys, then `<id> unsure
 * pid=...` for unknown ones, and `<id> more=N` for those beyond HOLDERS_MAX. Who holds a device
 * holds what that hangs on (backend/guard/devpath.h): with an mdev its parent. only: ids with
 * blanks between them, or NULL for all. Last lines, for health: `- unseen=N` when N processes could
 * not be looked into: CAP_SYS_PTRACE is missing, or a security module keeps them from us; `-
 * unknown=N` when N processes went beyond their budget or have a descriptor at which a look hangs.
 * Nobody: appends nothing. Returns 0, -ENOMEM, or as the kernel said; then nothing was appended and
 * nothing is known. 1: as 0, but a thread was left behind that hangs, and the process should end.
 */
int holders_scan(const struct sysfs *s, const char *only, struct out *ret);

#endif
