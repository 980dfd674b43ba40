/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users' open files and the texts kept for them, with limits for each user and for all. A user may
 * have as much as is left of the common limit, so something is always left for the next one. Users
 * with a reserve (root, the plugin, sync) are not counted. Not locked. */
#ifndef FS_SHARES_H
#define FS_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct creds;
struct err;

#define FILES_OF_USER 16384
#define TEXT_OF_USER ((size_t)16 << 20) /* or one text */
#define FILES_OF_ALL (2 * FILES_OF_USER)
#define TEXT_OF_ALL (2 * TEXT_OF_USER)

struct shares {
	struct share *v; /* users with an open file */
	size_t n;
	uint32_t files;
	size_t bytes;
	bool told; /* that all have too much */
};

void shares_free(struct shares *s);
/* May the user open another file? -EMFILE: the user has too many; -ENFILE: all have. */
int shares_check(const struct shares *s, const struct creds *who, struct err *err);
/* Count one file more, or one less. -ENOMEM. */
int shares_take(struct shares *s, const struct creds *who);
void shares_give(struct shares *s, const struct creds *who);
/* Count a kept text, -ENOMEM: there is too much; or drop it. */
int shares_keep(struct shares *s, const struct creds *who, size_t len, struct err *err);
void shares_drop(struct shares *s, const struct creds *who, size_t len);
/* As files_told(). */
bool shares_told(struct shares *s, uid_t uid);

#endif
