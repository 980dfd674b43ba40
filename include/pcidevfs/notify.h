/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notifies the service manager without its library (sd_notify(3) describes the datagram). */
#ifndef PCIDEVFS_NOTIFY_H
#define PCIDEVFS_NOTIFY_H

/* Sends "READY=1\n..."; does nothing if NOTIFY_SOCKET is not set. Errors are ignored: a manager
 * that does not listen must not stop us. */
void notify_manager(const char *state);

#endif
