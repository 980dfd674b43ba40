/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets: ours, where kubelet connects (spec/k8s.md A.4.2), and kubelet's own. */
#ifndef PLUGIN_SOCKET_H
#define PLUGIN_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct stat;

/* The descriptor of dir/name, for us alone, or -errno. */
int socket_bind(const char *dir, const char *name, struct err *err);
void socket_unlink(const char *dir, const char *name);
/* Whoever may be kubelet is root, or who we are; who is not is logged. */
bool socket_peer_allowed(int fd);
/* The process at its other end: that which listened, or connected. 0: not known, or not of our pid
 * namespace. */
pid_t socket_peer(int fd);
/* A connection to one of kubelet's, whose peer may be it; or -errno. */
int socket_connect(const char *path, struct err *err);
/* Are they one socket? Its number may come again at once; not at the same moment. */
bool socket_same(const struct stat *a, const struct stat *b);

#endif
