// SPDX-License-Identifier: GPL-2.0-or-later
/* How many descriptors are read for each user, and which nodes a user could open. */
#include <errno.h>
#include <string.h>

#include "hold.h"
#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

struct hold_user *hold_user(struct hold_budget *b, uid_t uid)
{
	size_t i = 0;

	while (i < b->n && b->users[i].uid != uid)
		i++;
	if (i < b->n || i == HOLD_USERS)
		return &b->users[i];
	b->users[b->n].uid = uid;
	return &b->users[b->n++];
}

static bool is_root(const struct hold_budget *b, const struct hold_user *user)
{
	return !user->uid && user != &b->users[HOLD_USERS];
}

/* How much of the pool the user takes if its use grows to `used`. */
static uint32_t of_pool(const struct hold_budget *b, const struct hold_user *user, uint32_t used)
{
	uint32_t reserve = user == &b->users[HOLD_USERS] ? 0 : HOLD_RESERVE;

	return is_root(b, user) || used < reserve ? 0 : used - reserve;
}

bool hold_take(struct hold_budget *b, struct hold_user *user, uint32_t n)
{
	uint32_t used = user->used + n;
	uint32_t more = of_pool(b, user, used) - of_pool(b, user, user->used);

	if (used > (is_root(b, user) ? HOLD_ROOT : HOLD_USER) ||
	    (more && b->pool + more > HOLD_ALL))
		return false;
	hold_charge(b, user, n);
	return true;
}

static uint32_t add(uint32_t n, uint32_t more)
{
	return n > UINT32_MAX / 2 ? n : n + more;
}

void hold_charge(struct hold_budget *b, struct hold_user *user, uint32_t n)
{
	uint32_t used = add(user->used, n);

	b->pool = add(b->pool, of_pool(b, user, used) - of_pool(b, user, user->used));
	user->used = used;
}

/* "Groups:\t4 24 27 \n" */
static void read_groups(const char *p, struct hold_who *ret)
{
	char *end;

	for (; (p += strspn(p, " \t")), *p && *p != '\n'; p = end) {
		unsigned long gid = strtoul(p, &end, 10);

		if (end == p)
			break;
		if (ret->n_groups < ARRAY_SIZE(ret->groups))
			ret->groups[ret->n_groups++] = (gid_t)gid;
		else
			ret->all_groups = true;
	}
}

/* In the first line, the name, the kernel escapes line ends. */
bool hold_who(const struct sysfs *s, pid_t pid, struct hold_who *ret)
{
	char text[SYSFS_VALUE];
	int rc = sysfs_read(s, ROOT_PROC, text, sizeof(text), "%d/status", (int)pid);
	const char *uid, *gid, *groups;

	*ret = (struct hold_who){ .all_groups = rc == -EFBIG };
	if (rc < 0 && rc != -EFBIG)
		return false;
	uid = strstr(text, "\nUid:");
	gid = strstr(text, "\nGid:");
	groups = strstr(text, "\nGroups:");
	if (!uid || !gid)
		return false;
	ret->uid = (uid_t)strtoul(uid + 5, NULL, 10);
	ret->gid = (gid_t)strtoul(gid + 5, NULL, 10);
	if (groups)
		read_groups(groups + 8, ret);
	return true;
}

static bool is_in(const struct hold_who *who, gid_t gid)
{
	bool in = who->all_groups || who->gid == gid;

	for (size_t i = 0; i < who->n_groups && !in; i++)
		in = who->groups[i] == gid;
	return in;
}

bool hold_could_open(const struct hold_who *who, const struct stat *st)
{
	if (who->uid == st->st_uid)
		return st->st_mode & (S_IRUSR | S_IWUSR);
	if (is_in(who, st->st_gid))
		return st->st_mode & (S_IRGRP | S_IWGRP);
	return st->st_mode & (S_IROTH | S_IWOTH);
}
