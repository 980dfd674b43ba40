/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages with descriptors over a SOCK_SEQPACKET socket: one send is one receive. */
#ifndef PCIDEVFS_FDMSG_H
#define PCIDEVFS_FDMSG_H

#include <stddef.h>

#define FDMSG_FDS 5

/* Returns 0 or -errno. Never raises SIGPIPE, never blocks for long (a full socket is -EAGAIN). */
int fdmsg_send(int sock, const void *msg, size_t size, const int *fds, size_t n);
/* Receives exactly size bytes and n descriptors (close-on-exec, owned by the caller), else returns
 * -EPROTO; -EPIPE at the end. Blocks as the socket does. */
int fdmsg_recv(int sock, void *msg, size_t size, int *ret_fds, size_t n);

#endif
