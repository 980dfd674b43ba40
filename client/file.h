/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CLIENT_FILE_H
#define CLIENT_FILE_H

#include <stdbool.h>

struct err;
struct stat;

/* The text of a file that a user names, of at most YAML_SIZE_MAX bytes; the caller frees it. Only a
 * regular file is read: a FIFO or a device in its place would hold up the caller. Returns 0, or
 * -EINVAL, -E2BIG, -EILSEQ (it has a NUL), -ENOMEM or -errno with a sentence that names the file. */
int small_file(const char *path, char **ret, struct err *err);
/* Likewise what is open, also a pipe, with the name for sentences; -ETIMEDOUT: nothing has come for
 * so long, and it has no end. silence_ms -1: waits as long as it takes. */
int small_text(int fd, const char *name, int silence_ms, char **ret, struct err *err);
/* Is it the same file, or socket, unchanged? An inode number may be reused at once, but not at the
 * same time. One that is not there is all zeros. */
bool file_is_same(const struct stat *a, const struct stat *b);

#endif
