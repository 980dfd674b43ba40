/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all that asks for something has in common. */
#ifndef FS_REQUEST_H
#define FS_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "pcidevfs/txn.h"

struct attr;
struct creds;
struct err;
struct fuse_req;
struct node;
struct subject;
struct tree;

#define WRITE_MAX 4096

/* What was written to a file, as its store gets it: E2BIG over WRITE_MAX bytes; the final newline
 * is taken off; another one, NUL and what else is not clean (str_clean()) are EINVAL. text is "" on
 * failure. */
int request_text(const char *file, const char *buf, size_t size, char text[static WRITE_MAX + 1],
		 struct err *err);

/* What the row makes of such a text: a request for the engine, or, ATTR_ASIDE, one without a file:
 * it is done. ret is untouched on failure. */
int request_parse(const struct subject *s, const struct attr *row, const char *text,
		  struct request *ret, struct err *err);

/* Who sent this request. opened: who opened the file that it is for; NULL: the same. */
struct actor request_actor(struct fuse_req *req, uint64_t tag, const struct creds *opened);

/* A write to this node, with its slot in the journal, goes on on another thread: who comes by path
 * meanwhile gets a twin of the file. Waits for nobody. */
void request_leaves(struct tree *t, const struct node *n, uint32_t slot);
/* Its verdict is known: called once, before it is told. */
void request_ends(struct tree *t, uint32_t slot, int result);
/* Tells it: the bytes written, or -errno. */
void request_reply(struct fuse_req *req, int result);
/* Both. */
void request_over(struct tree *t, struct fuse_req *req, uint32_t slot, int result);

#endif
