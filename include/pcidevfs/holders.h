/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes hold a device of any bus open. This is decided by what a descriptor is, never by
 * its path: an inode below --dev, a device number of the device, or a PCI function's resource file.
 * Only descriptors that can act on the device count: the VFIO group (for each member), the VFIO
 * cdev or device, any other device node that belongs to the device, a resource file; disks and
 * usbfs if open for writing; nothing opened with O_PATH.
 *
 * How much of /proc is read for each process, each user and in total is bounded
 * (backend/guard/hold.h); a read that hangs is abandoned. Processes whose descriptors are then
 * unknown count, as unsure, for each device with a node below --dev that the process's user could
 * open.
 *
 * Not seen: mappings whose descriptor is closed (maps are not read), and descriptors on their way
 * in a socket or kept by io_uring.
 */
#ifndef PCIDEVFS_HOLDERS_H
#define PCIDEVFS_HOLDERS_H

#include <sys/types.h>

struct out;
struct sysfs;

/* The processes of the daemon that ask, as their parents and the kernel told them of each other:
 * the holder of the mount, its child the spawner, and the serving process. */
struct hold_asker {
	pid_t holder, spawner, server;
};

/* One device may have many holders; those beyond this number are only counted. */
#define HOLDERS_MAX 64

/*
 * Appends lines `<id> pid=812 comm="nvidia-persiste"` in ascending order of keys, then `<id> unsure
 * pid=...` for unknown ones, and `<id> more=N` for those beyond HOLDERS_MAX. The holder of a device
 * also holds the devices that it hangs on (backend/guard/devpath.h): for an mdev, its parent.
 * asker: called by a helper of these, which are not holders but for their standard input and
 * outputs; NULL: by somebody else. only: ids separated by blanks, or NULL for all. The last lines
 * are for health: `- unseen=N pid=1 comm="systemd"` if N processes could not be read, this one first
 * (a capability is missing, its user namespace is not below ours, or a security module refused);
 * without pid if it has ended meanwhile. `- unknown=N` if N processes exceeded their budget or have a descriptor
 * at which a look hangs. Appends nothing if nobody holds a device. Returns 0; or 1: as 0, but a
 * hanging thread was left behind and the process should end. On -ENOMEM or the kernel's errno
 * nothing was appended and nothing is known.
 */
int holders_scan(const struct sysfs *s, const struct hold_asker *asker, const char *only,
		 struct out *ret);

#endif
