/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of lines that come: log and events. As a log file that is rotated in place they grow, and
 * then are shorter by their older half. stat tells size and time each time; who has one open reads
 * on from where it was over that, and begins anew at offset 0. Waits for nobody.
 */
#ifndef FS_GROWN_H
#define FS_GROWN_H

#include <stddef.h>
#include <sys/types.h>

#include "files.h"

struct fuse_req;
struct ring;
struct stat;

struct cursor grown_start(struct ring *r);
/* file NULL: of a handle that nobody knows. */
void grown_read(struct ring *r, struct fuse_req *req, struct open_file *file, size_t size,
		off_t off);
void grown_stat(struct ring *r, struct stat *st);

#endif
