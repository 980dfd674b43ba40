/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Routes and addresses of the host as rtnetlink tells them: of all tables, with every next hop. The
 * files of proc have the main table and the first next hop only, and no IPv4 addresses.
 */
#ifndef PCIDEVFS_BACKEND_RTNL_H
#define PCIDEVFS_BACKEND_RTNL_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "pcidevfs/key.h"

struct sysfs;

/* What one message says of an interface. */
struct rtnl_use {
	int index;	 /* of the interface */
	bool is_default; /* a default route leads through it */
	bool is_global;	 /* a sign of a global address: itself, or its connected route */
};

typedef void (*rtnl_found)(void *ctx, const struct rtnl_use *use);

/* Pure: what a datagram of a dump holds. A default route whose next hops are told elsewhere (a next
 * hop object, with nexthop_compat_mode 0) sets *ret_apart, which is left alone otherwise; in a dump
 * of next hop objects each interface is one that a default route may lead through. Returns 0 when
 * more comes, 1 at the end of the dump, or -errno: the kernel's, or -EPROTO for what is no dump. */
int rtnl_parse(const void *data, size_t size, bool *ret_apart, rtnl_found found, void *ctx);

/* Pure: does a datagram that was not asked for tell of what may change an answer: a default route,
 * a global address, a next hop object, an interface? So does what cannot be read. *ret: the PCI
 * function of the interface where only that is concerned, else "". That an interface is gone is no
 * news here: its uevent tells so. */
bool rtnl_is_news(const void *data, size_t size, char ret[static KEY_NAME]);

/* The network namespace of the first process, as critical.h reads its files. */
struct rtnl {
	int fd;
};

/* 0, or -errno: then there are the files. -ENOTTY: proc is not the kernel's own, so neither is what
 * it knows of the network. */
int rtnl_open(struct rtnl *r, const struct sysfs *s);
void rtnl_close(struct rtnl *r);
/* Tells all, some perhaps more than once. Waits for the kernel, 2 s at most: -ETIMEDOUT. */
int rtnl_uses(struct rtnl *r, rtnl_found found, void *ctx);
/* A descriptor that is readable when the kernel tells of a change there, or -errno as of
 * rtnl_open(). */
int rtnl_listen(const struct sysfs *s);
/* Takes what came, or much of it, and tells each that is news, with its function or "". 0, or
 * -errno: nothing will come any more. */
int rtnl_heard(int fd, void (*news)(void *ctx, const char *function), void *ctx);
/* -errno; -ENODEV when it is gone. */
int rtnl_name(struct rtnl *r, int index, char ret[static IFNAMSIZ]);

#endif
