/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The FUSE side. */
#ifndef SIM_OPS_H
#define SIM_OPS_H

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

struct sim;
struct node;

extern const struct fuse_lowlevel_ops sim_ops;

/* FUSE's number of a node: its address, except for the root. */
fuse_ino_t ops_ino(const struct sim *s, const struct node *n);
struct node *ops_node(const struct sim *s, fuse_ino_t ino);
struct sim *ops_sim(fuse_req_t req);

/* attr.c */
void attr_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void attr_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void attr_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void attr_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		struct fuse_file_info *fi);

#endif
