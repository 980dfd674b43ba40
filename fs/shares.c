// SPDX-License-Identifier: GPL-2.0-or-later
#include "shares.h"

#include <errno.h>
#include <stdlib.h>

#include "files.h"
#include "pcidevfs/err.h"

struct share {
	uid_t uid;
	uint32_t files; /* number of open files; 0: forgotten */
	size_t bytes;	/* of kept texts */
	bool told;
};

void shares_free(struct shares *s)
{
	free(s->v);
}

static struct share *share_of(const struct shares *s, const struct creds *who)
{
	for (size_t i = 0; i < s->n && !who->reserve; i++)
		if (s->v[i].uid == who->uid)
			return &s->v[i];
	return NULL;
}

int shares_check(const struct shares *s, const struct creds *who, struct err *err)
{
	const struct share *share = share_of(s, who);
	uint32_t left = s->files < FILES_OF_ALL ? FILES_OF_ALL - s->files : 0;

	if (who->reserve)
		return 0;
	if (share && (share->files >= FILES_OF_USER || share->files >= left))
		return fail(
			err, EMFILE,
			"user %u has %u files open here, which is the most for one user%s; close "
			"some",
			(unsigned int)who->uid, share->files,
			share->files < FILES_OF_USER ? " while others have so many" : "");
	return left ? 0
		    : fail(err, ENFILE,
			   "users have %u files open here, which is the most for all; try again "
			   "when some are closed",
			   s->files);
}

int shares_take(struct shares *s, const struct creds *who)
{
	struct share *share = share_of(s, who);

	if (who->reserve)
		return 0;
	if (!share) {
		share = reallocarray(s->v, s->n + 1, sizeof(*share));
		if (!share)
			return -ENOMEM;
		s->v = share;
		share = &s->v[s->n++];
		*share = (struct share){ .uid = who->uid };
	}
	share->files++;
	s->files++;
	return 0;
}

void shares_give(struct shares *s, const struct creds *who)
{
	struct share *share = share_of(s, who);

	if (!share)
		return;
	s->files--;
	s->told &= s->files > FILES_OF_USER;
	if (!--share->files)
		*share = s->v[--s->n];
}

int shares_keep(struct shares *s, const struct creds *who, size_t len, struct err *err)
{
	struct share *share = share_of(s, who);
	size_t left = s->bytes < TEXT_OF_ALL ? TEXT_OF_ALL - s->bytes : 0;
	size_t most = left < TEXT_OF_USER ? left : TEXT_OF_USER;

	if (!share)
		return 0;
	/* A user's first text may have any length. */
	if (len > left || (share->bytes && share->bytes + len > most))
		return fail(
			err, ENOMEM,
			"user %u has %zu MiB of long texts open, which is the most for one user%s; "
			"close some",
			(unsigned int)who->uid, (share->bytes + (1 << 19)) >> 20,
			share->bytes + len <= TEXT_OF_USER ? " while others have so many" : "");
	share->bytes += len;
	s->bytes += len;
	return 0;
}

void shares_drop(struct shares *s, const struct creds *who, size_t len)
{
	struct share *share = share_of(s, who);

	if (!share)
		return;
	share->bytes -= len;
	s->bytes -= len;
}

bool shares_told(struct shares *s, uid_t uid)
{
	const struct creds who = { .uid = uid };
	struct share *share = share_of(s, &who);
	bool told = share ? share->told : s->told;

	if (share)
		share->told = true;
	else
		s->told = true;
	return told;
}
