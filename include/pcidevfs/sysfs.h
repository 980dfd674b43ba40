/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine's files below roots that can be moved. Every path is relative to its root; ".." is
 * refused. Nothing here blocks on a device lock as long as the caller keeps to files that do not
 * take it (spec: driver_override and sriov_numvfs do; use io.h for those). */
#ifndef PCIDEVFS_SYSFS_H
#define PCIDEVFS_SYSFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* The default roots. */
#define SYSFS_ROOT "/sys"
#define DEV_ROOT "/dev"
#define PROC_ROOT "/proc"

enum root { ROOT_SYS, ROOT_DEV, ROOT_PROC, ROOT_COUNT };

struct sysfs {
	int fd[ROOT_COUNT];
	const char *path[ROOT_COUNT]; /* as given, for messages and helpers */
};

int sysfs_open(struct sysfs *s, const char *sys, const char *dev, const char *proc,
	       struct err *err);
void sysfs_close(struct sysfs *s);

#define SYSFS_VALUE 4096
#define SYSFS_PAGE 65536 /* the most that an attribute can give: a page of the largest */

/* Reads a whole file into buf without its final newlines, NUL-terminated; an embedded NUL ends it.
 * Returns its length or -errno; -EFBIG if it does not fit: buf then holds, terminated, the part
 * that fits. The path is printf-like. */
__attribute__((format(printf, 5, 6))) int sysfs_read(const struct sysfs *s, enum root root,
						     char *buf, size_t size, const char *fmt, ...);
/* Reads a number (0x.. or decimal, may be negative) in [min, max]; else -EINVAL, -ERANGE
 * outside. */
__attribute__((format(printf, 6, 7))) int sysfs_number(const struct sysfs *s, enum root root,
						       int64_t min, int64_t max, int64_t *ret,
						       const char *fmt, ...);
/* Reads the last component of a symlink's target. Returns 0 or -errno; -ENOENT: there is no
 * link. */
__attribute__((format(printf, 5, 6))) int sysfs_link(const struct sysfs *s, enum root root,
						     char *buf, size_t size, const char *fmt, ...);
/* The whole target, below the sysfs root, of less than PATH_MAX bytes. Returns 0 or -errno; -EINVAL:
 * it is no link. */
__attribute__((format(printf, 3, 4))) int sysfs_target(const struct sysfs *s, char *ret,
						       const char *fmt, ...);
__attribute__((format(printf, 3, 4))) bool sysfs_exists(const struct sysfs *s, enum root root,
							const char *fmt, ...);
/* Of the directory that a link of the bus leads to; 0: it is not there. */
__attribute__((format(printf, 2, 3))) uint64_t sysfs_inode(const struct sysfs *s, const char *fmt,
							   ...);
/* Returns NULL with errno set on failure. */
__attribute__((format(printf, 3, 4))) DIR *sysfs_dir(const struct sysfs *s, enum root root,
						     const char *fmt, ...);
/* Writes the whole text by one write(2). Returns 0 or -errno. Only io helpers call this. */
__attribute__((format(printf, 4, 5))) int sysfs_write(const struct sysfs *s, enum root root,
						      const char *text, const char *fmt, ...);

#endif
