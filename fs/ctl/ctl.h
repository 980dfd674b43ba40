/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctl: transactions over several devices (docs/CTL.md). Writes to one open file are carried out one
 * after another, in the order in which they came, on threads that may wait. Thread-safe.
 */
#ifndef FS_CTL_H
#define FS_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctl_files;
struct err;
struct files;
struct fuse_req;
struct key;
struct node;
struct out;
struct region_head;
struct tree;

extern const struct region_head ctl_layout;
/* files: those that are open. */
int ctl_new(void *region, size_t size, struct files *files, struct ctl_files **ret,
	    struct err *err);
void ctl_free(struct ctl_files *c);

/* fh: of an open file; reads: its answers can be read. -EMFILE: its user has too many open;
 * -ENFILE: all have. */
int ctl_open(struct tree *t, uint64_t fh, bool reads, struct err *err);
/* home: the device of a device's ctl, else NULL. Lines that were never committed are told in the log
 * and in last_error. */
void ctl_release(struct tree *t, uint64_t fh, const struct key *home);
/* All that is known of the request is taken here: unique, journal slot; answered once it is
 * done. */
void ctl_write(struct tree *t, struct fuse_req *req, const struct node *n, uint64_t fh,
	       const char *buf, size_t size, uint32_t journal_slot);
/* A signal ends or stops who sent the write with this tag (its actor's): a write that waits for
 * another one is withdrawn, of the one that is carried out no further commit begins, and no
 * transaction of it whose first step has yet to run. Unknown tags are ignored. */
void ctl_withdraw(struct tree *t, uint64_t tag);
void ctl_read(struct tree *t, struct fuse_req *req, uint64_t fh, uint64_t unique, size_t size);
/* Unread answers? */
bool ctl_ready(struct ctl_files *c, uint64_t fh);
/* Is no write being carried out? Between two of its commits the engine knows of none. */
bool ctl_idle(struct ctl_files *c);
/* "client=NAME pid=N [says=SENTENCE]" for each that said hello, or that as the metric
 * pcidevfs_client. */
void ctl_clients(struct ctl_files *c, bool metric, struct out *o);

#endif
