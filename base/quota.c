// SPDX-License-Identifier: GPL-2.0-or-later
#include "pcidevfs/quota.h"

#include <errno.h>
#include <stdlib.h>

#include "pcidevfs/creds.h"
#include "pcidevfs/err.h"

struct quota_user {
	uid_t uid;
	size_t used; /* not 0 */
	bool told;
};

static struct quota_user *user_of(const struct quota *q, uid_t uid)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->users[i].uid == uid)
			return &q->users[i];
	return NULL;
}

size_t quota_of(const struct quota *q, const struct creds *who)
{
	const struct quota_user *u = who->reserve ? NULL : user_of(q, who->uid);

	return u ? u->used : 0;
}

int quota_check(const struct quota *q, const struct creds *who, size_t n, struct err *err)
{
	size_t mine = quota_of(q, who), left = q->used < q->of_all ? q->of_all - q->used : 0;
	size_t unit = q->unit ? q->unit : 1;

	if (who->reserve ||
	    (n <= left && (!mine || mine + n <= (left < q->of_user ? left : q->of_user))))
		return 0;
	if (mine)
		return fail(err, q->code ? q->code : EMFILE,
			    "%suser %u has %zu %s, which is the most for one user%s; close some",
			    q->file ? q->file : "", (unsigned int)who->uid,
			    (mine + unit / 2) / unit, q->what,
			    mine + n <= q->of_user ? " while others have so many" : "");
	return fail(err, q->code ? q->code : ENFILE,
		    "%susers have %zu %s, which is the most for all; try again when some are closed",
		    q->file ? q->file : "", (q->used + unit / 2) / unit, q->what);
}

int quota_count(struct quota *q, const struct creds *who, size_t n)
{
	struct quota_user *u = who->reserve ? NULL : user_of(q, who->uid);

	if (who->reserve || !n)
		return 0;
	if (!u) {
		u = reallocarray(q->users, q->n + 1, sizeof(*u));
		if (!u)
			return -ENOMEM;
		q->users = u;
		u = &u[q->n++];
		*u = (struct quota_user){ .uid = who->uid };
	}
	u->used += n;
	q->used += n;
	return 0;
}

int quota_take(struct quota *q, const struct creds *who, size_t n, struct err *err)
{
	int r = quota_check(q, who, n, err);

	return r ? r : quota_count(q, who, n);
}

void quota_give(struct quota *q, const struct creds *who, size_t n)
{
	struct quota_user *u = who->reserve ? NULL : user_of(q, who->uid);

	if (!u)
		return;
	q->used -= n;
	q->told &= q->used > q->of_all / 2;
	u->used -= n;
	if (!u->used)
		*u = q->users[--q->n];
}

bool quota_told(struct quota *q, uid_t uid)
{
	struct quota_user *u = user_of(q, uid);
	bool *told = u ? &u->told : &q->told, was = *told;

	*told = true;
	return was;
}

void quota_free(struct quota *q)
{
	free(q->users);
	q->users = NULL;
}
