/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growing files of lines: log and events. Like a log file that is rotated in place they grow, then
 * lose their older half. stat shows the present size and time. An open file reads on where it was,
 * and starts anew at offset 0. Never waits. */
#ifndef FS_GROWN_H
#define FS_GROWN_H

#include <stddef.h>
#include <sys/types.h>

#include "fs/files.h"

struct fuse_req;
struct ring;
struct stat;

struct cursor grown_start(struct ring *r);
/* file NULL: the handle is unknown. */
void grown_read(struct ring *r, struct fuse_req *req, struct open_file *file, size_t size,
		off_t off);
void grown_stat(struct ring *r, struct stat *st);

#endif
