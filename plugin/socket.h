/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets: ours, to which kubelet connects (spec/k8s.md A.4.2), and kubelet's own. */
#ifndef PLUGIN_SOCKET_H
#define PLUGIN_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct stat;

/* Returns the descriptor of dir/name, accessible to us alone, or -errno. */
int socket_bind(const char *dir, const char *name, struct err *err);
void socket_unlink(const char *dir, const char *name);
/* A peer that may be kubelet runs as root or as our user. Any other one is logged. */
bool socket_peer_allowed(int fd);
/* The pid of the peer that listened or connected. 0: unknown, or not of our pid namespace. */
pid_t socket_peer(int fd);
/* Connects to a socket of kubelet and checks the peer. Returns the descriptor or -errno. */
int socket_connect(const char *path, struct err *err);
/* Are they one socket? An inode number may be reused at once, but not at the same time. */
bool socket_same(const struct stat *a, const struct stat *b);

#endif
