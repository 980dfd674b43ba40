/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of something users may have: each, and all together. A user may have as much as is left
 * of the bound for all, so something is always left for the next one. Who has a reserve (root, the
 * plugin, sync) is not counted. Not locked. */
#ifndef PCIDEVFS_QUOTA_H
#define PCIDEVFS_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct creds;
struct err;

struct quota {
	const char *what; /* in a sentence: "user 7 has 3 <what>", maybe "FILE: " before it */
	const char *file;
	size_t of_user, of_all, unit; /* of the number in the sentence; 0: 1 */
	int code;		      /* of refusals; 0: see quota_take() */
	size_t used;
	struct quota_user *users; /* those who have any */
	size_t n;
	bool told; /* that all have too much */
};

/* May the user have n more? A user's first piece may have any size. -EMFILE: the user has too much,
 * -ENFILE: all have, or -code, with the sentence. */
int quota_check(const struct quota *q, const struct creds *who, size_t n, struct err *err);
/* Counts them in any case. -ENOMEM. */
int quota_count(struct quota *q, const struct creds *who, size_t n);
/* Both. */
int quota_take(struct quota *q, const struct creds *who, size_t n, struct err *err);
void quota_give(struct quota *q, const struct creds *who, size_t n);
size_t quota_of(const struct quota *q, const struct creds *who);
/* Was this asked before, and the user had some ever since? If not, a refusal is worth a line. */
bool quota_told(struct quota *q, uid_t uid);
void quota_free(struct quota *q);

#endif
