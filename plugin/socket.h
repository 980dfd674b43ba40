/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listening for kubelet, on sockets of our own making (spec/k8s.md A.4.2). */
#ifndef PLUGIN_SOCKET_H
#define PLUGIN_SOCKET_H

#include <stdbool.h>

struct err;

/* The descriptor of dir/name, for us alone, or -errno. */
int socket_bind(const char *dir, const char *name, struct err *err);
void socket_unlink(const char *dir, const char *name);
/* Whoever may be kubelet is root, or who we are; who is not is logged. */
bool socket_peer_allowed(int fd);

#endif
