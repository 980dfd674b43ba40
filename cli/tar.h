/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tar archive (ustar) of texts. */
#ifndef CLI_TAR_H
#define CLI_TAR_H

#include <stddef.h>
#include <stdint.h>

struct out;

/* Appends a file with this path (at most 99 characters), mode 0600 and time. */
void tar_add(struct out *tar, const char *path, const char *text, size_t size, uint64_t time);
void tar_end(struct out *tar);

#endif
