// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 312
#include "rights.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include "internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"

static bool in_groups(struct fuse_req *req, gid_t gid)
{
	gid_t list[256];
	int n = req ? fuse_req_getgroups(req, ARRAY_SIZE(list), list) : 0;

	for (int i = 0; i < n && i < (int)ARRAY_SIZE(list); i++)
		if (list[i] == gid)
			return true;
	return false;
}

static bool mode_allows(struct fuse_req *req, const struct actor *who, const struct stat *st)
{
	if (!who->uid)
		return true;
	if (who->uid == st->st_uid)
		return st->st_mode & 0200;
	if (who->gid == st->st_gid || in_groups(req, st->st_gid))
		return st->st_mode & 0020;
	return st->st_mode & 0002;
}

static bool may_write(struct tree *t, struct fuse_req *req, const struct actor *who, const struct key *dev,
		      const struct attr *row)
{
	struct stat st;
	uint64_t dir_ino = 0;
	uint32_t slot;

	pthread_mutex_lock(&t->lock);
	slot = device_slot(t, dev);
	if (slot != NO_SLOT)
		dir_ino = objects_ino(t->objects, slot, ROW_SELF);
	pthread_mutex_unlock(&t->lock);
	if (slot == NO_SLOT)
		return !who->uid;
	file_rights(t, kind_of_bus(dev->bus), dir_ino, dev->name, row, &st);
	return mode_allows(req, who, &st);
}

#define GROUP_MAX 256

int rights_check_group(struct tree *t, struct fuse_req *req, const struct actor *who,
		       const struct device *dev, const struct attr *row, struct err *err)
{
	const struct device *members[GROUP_MAX];
	struct key keys[GROUP_MAX];
	size_t count, k = 0;

	if (!who->uid || !(row->flags & ATTR_GROUP))
		return 0;
	model_lock(t->conf.model);
	count = model_group(t->conf.model, dev->facts.iommu_group, members, GROUP_MAX);
	for (size_t i = 0; i < count && i < GROUP_MAX; i++)
		if (row_fits(row, members[i]->caps))
			keys[k++] = members[i]->key;
	model_unlock(t->conf.model);
	for (size_t i = 0; i < k; i++)
		if (!may_write(t, req, who, &keys[i], row))
			return fail(err, EACCES, "%s: %s shares IOMMU group %d with %s, whose %s user %u may not write",
				    row->name, dev->key.name, (int)dev->facts.iommu_group, keys[i].name,
				    row->name, (unsigned int)who->uid);
	return count > GROUP_MAX ? fail(err, E2BIG, "%s: IOMMU group %d has more than %d members", row->name,
					(int)dev->facts.iommu_group, GROUP_MAX) : 0;
}

int rights_check(struct tree *t, struct fuse_req *req, const struct actor *who, const struct device *dev,
		 const struct attr *row, struct err *err)
{
	if (!may_write(t, req, who, &dev->key, row))
		return fail(err, EACCES, "%s: user %u may not write the %s of %s; its owner is changed with chown",
			    row->name, (unsigned int)who->uid, row->name, dev->key.name);
	return rights_check_group(t, req, who, dev, row, err);
}

int rights_check_unborn(struct tree *t, struct fuse_req *req, const struct actor *who, const struct attr *row,
			struct err *err)
{
	struct stat st;

	rights_at_birth(t, row, &st);
	if (mode_allows(req, who, &st))
		return 0;
	return fail(err, EACCES, "%s: user %u may not write the %s of a VF that is not there yet", row->name,
		    (unsigned int)who->uid, row->name);
}
