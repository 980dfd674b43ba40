/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the service manager, without its library (sd_notify(3) describes the datagram). */
#ifndef PCIDEVFS_NOTIFY_H
#define PCIDEVFS_NOTIFY_H

/* "READY=1\n..."; nothing happens where NOTIFY_SOCKET is not set. A manager that does not listen is
 * no reason to stop: nothing is returned. */
void notify_manager(const char *state);

#endif
