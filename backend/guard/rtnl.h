/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's routes and addresses by rtnetlink: of all tables, with every next hop. The files of
 * proc show only the main table, the first next hop, and no IPv4 addresses. */
#ifndef PCIDEVFS_BACKEND_RTNL_H
#define PCIDEVFS_BACKEND_RTNL_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/key.h"

struct sysfs;

/* Where a simulated kernel listens, below proc. */
#define RTNL_SIMULATED "1/net/rtnetlink"

/* The content of one message about an interface. */
struct rtnl_use {
	int index;	 /* of the interface */
	bool is_default; /* a default route leads through it */
	bool is_global;	 /* shows a global address: itself, or its connected route */
};

typedef void (*rtnl_found)(void *ctx, const struct rtnl_use *use);

/* Pure: parses a datagram of a dump. A default route whose next hops come separately (a next hop
 * object, with nexthop_compat_mode 0) sets *ret_apart, which stays untouched otherwise; in a dump
 * of next hop objects each interface may carry a default route. Returns 0 if more comes, 1 at the
 * end of the dump, or -errno: the kernel's, or -EPROTO if it is not a dump. */
int rtnl_parse(const void *data, size_t size, bool *ret_apart, rtnl_found found, void *ctx);

/* Pure: does an unsolicited datagram tell of something that may change an answer: a default route,
 * a global address, a next hop object, an interface? True also if it cannot be read. *ret: the PCI
 * function of the interface if nothing else is concerned, else "". The removal of an interface is
 * not news: its uevent tells of it. */
bool rtnl_is_news(const void *data, size_t size, char ret[static KEY_NAME]);

/* Returns a socket in the network namespace of the first process, whose files critical.h reads; or
 * -errno: the caller must then use the files. -ENOTTY: proc is not the kernel's own, so the kernel's
 * network is not the one to ask about. */
int rtnl_open(const struct sysfs *s);
#define RTNL_MS 2000
/* Sends a request, and gives take() what comes until it returns 1, or -errno. until: now_ms(), behind
 * which it is -ETIMEDOUT; 0: no limit. */
typedef int rtnl_take(void *ctx, const void *data, size_t size);
int rtnl_exchange(int fd, const void *ask, size_t size, uint64_t until, rtnl_take *take, void *ctx);
/* Calls found() for all, possibly more than once. -ETIMEDOUT after RTNL_MS. */
int rtnl_uses(int fd, rtnl_found found, void *ctx);
/* Returns a descriptor that is readable when something changes there, or -errno as rtnl_open(). */
int rtnl_listen(const struct sysfs *s);
/* Has the kernel dropped messages to this socket since *lost was told? A full one reports that once
 * (ENOBUFS), and drops all that follows until it is read to its end: ask there, and where one stops. */
bool netlink_lost(int fd, uint32_t *lost);
/* Reads what has come, or much of it, and calls news() for each change, with its function or "";
 * NULL: messages were lost. lost: as of netlink_lost().
 * Returns 0, or -errno: nothing will come any more. */
int rtnl_heard(int fd, uint32_t *lost, void (*news)(void *ctx, const char *function), void *ctx);
/* vf: its number; conf: what its PF holds for it (vfconf.h). */
typedef void (*rtnl_vf_found)(void *ctx, unsigned int vf, const char *conf);

struct rtnl_answer {
	rtnl_vf_found found; /* NULL: none are asked for */
	void *ctx;
	char said[96]; /* the kernel's sentence about a refusal, "" if there is none */
};

/* Pure: parses a datagram that may answer the request with this number. Returns 1: it does; 0: not
 * yet; -errno: the kernel's refusal, or -EPROTO. */
int rtnl_parse_answer(const void *data, size_t size, uint32_t seq, struct rtnl_answer *ret);

/* Returns a socket to the simulated kernel whose proc this is, or -errno. */
int rtnl_open_simulated(const struct sysfs *s);
/* A socket for the two calls below, in the network namespace of the first process; to a simulated
 * kernel if proc is its. Returns the descriptor or -errno. */
int rtnl_open_vfs(const struct sysfs *s);
/* Asks for the VFs of an interface. Returns 0 or -errno; -ETIMEDOUT after RTNL_MS. */
int rtnl_vfs(int fd, int index, rtnl_vf_found found, void *ctx);
/* Sets settings of a VF, as in vfconf.h, by one request. A mac of "none" is all zeros; others that
 * are "none" are left alone. Blocks until the kernel has answered. Returns 0 or -errno; said: its
 * sentence, or "". */
int rtnl_set_vf(int fd, int index, unsigned int vf, const char *conf, char *said, size_t size);

/* Returns 0 or -errno; -ENODEV if the interface is gone. */
int rtnl_name(int fd, int index, char ret[static IFNAMSIZ]);

#endif
