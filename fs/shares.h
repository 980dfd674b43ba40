/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What users have of open files and of the texts kept for them, against bounds for one and for all.
 * One may have as much as is left of what all may have, so that there is always something left for
 * who comes. Who has a reserve (root, the plugin, sync) is not counted. Not locked.
 */
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
	struct share *v; /* who has a file open */
	size_t n;
	uint32_t files;
	size_t bytes;
	bool told; /* that all have too much */
};

void shares_free(struct shares *s);
/* May he have another file? -EMFILE: he has too many, -ENFILE: all have. */
int shares_check(const struct shares *s, const struct creds *who, struct err *err);
/* One file more, or less. -ENOMEM. */
int shares_take(struct shares *s, const struct creds *who);
void shares_give(struct shares *s, const struct creds *who);
/* A text more, -ENOMEM: there is too much; or less, of what was kept. */
int shares_keep(struct shares *s, const struct creds *who, size_t len, struct err *err);
void shares_drop(struct shares *s, const struct creds *who, size_t len);
/* As files_told(). */
bool shares_told(struct shares *s, uid_t uid);

#endif
