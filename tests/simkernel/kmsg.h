/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's log at dev/kmsg: a ring of records, and a reader of its own for each open file. */
#ifndef SIM_KMSG_H
#define SIM_KMSG_H

struct fuse_session;
struct sim;

/* Mounts it at dir/dev/kmsg, with room for so many records. Returns its session, or NULL after one
 * sentence. */
struct fuse_session *kmsg_mount(const char *dir, unsigned int room);
/* The command "PRIORITY TEXT [COUNT]" appends a record, count times; its facility is PRIORITY / 8,
 * 0 the kernel's own. -ENOENT: there is no log. */
int kmsg_log(struct sim *s, int argc, char **argv);

#endif
