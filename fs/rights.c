// SPDX-License-Identifier: GPL-2.0-or-later
#define FUSE_USE_VERSION 312
#include "rights.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/plan.h"
#include "pcidevfs/util.h"

size_t proc_text(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

void rights_start(struct tree *t)
{
	char self[16] = "";
	size_t n;

	if (readlink("/proc/self", self, sizeof(self) - 1) <= 0 || atoi(self) != getpid())
		return;
	n = proc_text(getpid(), "uid_map", t->uid_map, sizeof(t->uid_map));
	if (n == sizeof(t->uid_map) - 1) /* truncated: others may begin alike */
		t->uid_map[0] = '\0';
}

static uint64_t caps_of(const struct tree *t, pid_t pid)
{
	uint64_t caps = t->uid_map[0] ? confine_effective(pid) : 0;
	char uid_map[UID_MAP];

	if (!caps)
		return 0;
	proc_text(pid, "uid_map", uid_map, sizeof(uid_map));
	return strcmp(uid_map, t->uid_map) ? 0 : caps;
}

static bool in_groups(const struct creds *who, gid_t gid)
{
	for (size_t i = 0; i < who->n_groups && i < CREDS_GROUPS; i++)
		if (who->groups[i] == gid)
			return true;
	return who->gid == gid;
}

/* Of the group pcidevfs. */
static bool is_member(const struct tree *t, const struct creds *who)
{
	gid_t group = atomic_load(&t->group);

	return group && in_groups(who, group);
}

void rights_creds(struct fuse_req *req, bool looks, struct creds *ret)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	const struct tree *t = fuse_req_userdata(req);
	uint64_t caps = looks ? caps_of(t, ctx->pid) : 0;
	int n = 0;

	*ret = (struct creds){ .uid = ctx->uid, .gid = ctx->gid };
	ret->privileged = caps & CAP(SYS_ADMIN);
	ret->overrides = caps & CAP(DAC_OVERRIDE);
	if (looks && !ret->overrides)
		n = fuse_req_getgroups(req, CREDS_GROUPS, ret->groups);
	if (n > 0)
		ret->n_groups = n < CREDS_GROUPS ? (uint32_t)n : CREDS_GROUPS;
	ret->reserve = caps & (CAP(SYS_ADMIN) | CAP(DAC_OVERRIDE)) || (looks && is_member(t, ret));
}

static bool mode_allows(const struct creds *who, const struct stat *st)
{
	if (who->overrides)
		return true;
	if (who->uid == st->st_uid)
		return st->st_mode & 0200;
	if (in_groups(who, st->st_gid))
		return st->st_mode & 0020;
	return st->st_mode & 0002;
}

/* The directory's owner applies to a file without one, as for an existing VF. */
static void rights_unborn(struct tree *t, const struct request *about, const struct attr *row,
			  struct stat *st)
{
	struct intents *in = t->conf.intents;
	struct ownership is;

	rights_at_birth(t, row, st);
	if (!in || !about)
		return;
	if (intents_owner_unborn(in, about, row->name, &is)) {
		st->st_mode = S_IFREG | is.mode;
		st->st_uid = is.uid;
		st->st_gid = is.gid;
	} else if (intents_owner_unborn(in, about, "", &is)) {
		st->st_uid = is.uid;
		st->st_gid = is.gid ? is.gid : st->st_gid;
	}
}

/* The device has just come and has no directory yet. */
static bool find_child(struct tree *t, const struct key *key, struct request *ret)
{
	const struct device *dev;
	bool found;

	model_lock(t->conf.model);
	dev = model_find(t->conf.model, key);
	found = dev && dev->facts.parent.bus;
	if (found && dev->facts.index >= 0)
		*ret = (struct request){ .dev = dev->facts.parent,
					 .child = (uint16_t)(dev->facts.index + 1) };
	else if (found)
		*ret = (struct request){ .dev = *key, .parent = dev->facts.parent };
	model_unlock(t->conf.model);
	return found;
}

static bool may_write(struct tree *t, const struct creds *who, const struct key *dev,
		      const struct attr *row)
{
	struct stat st;
	struct request about;
	uint64_t dir_ino = 0;
	uint32_t slot;

	pthread_mutex_lock(&t->lock);
	slot = device_slot(t, dev);
	if (slot != NO_SLOT)
		dir_ino = objects_ino(t->objects, slot, ROW_SELF);
	pthread_mutex_unlock(&t->lock);
	if (slot == NO_SLOT && !find_child(t, dev, &about))
		return who->overrides;
	if (slot == NO_SLOT)
		rights_unborn(t, &about, row, &st);
	else
		file_rights(t, kind_of_bus(dev->bus), dir_ino, dev->name, row, &st);
	return mode_allows(who, &st);
}

int rights_check_group(struct tree *t, const struct creds *who, const struct device *dev,
		       const struct attr *row, struct err *err)
{
	const struct device *members[CLAIM_MEMBERS];
	struct key keys[CLAIM_MEMBERS];
	size_t count, k = 0;
	bool cut;

	if (who->overrides || !(row->flags & ATTR_GROUP))
		return 0;
	model_lock(t->conf.model);
	count = model_claim_members(t->conf.model, dev, members, &cut);
	for (size_t i = 0; i < count; i++)
		if (!key_eq(&members[i]->key, &dev->key))
			keys[k++] = members[i]->key;
	model_unlock(t->conf.model);
	for (size_t i = 0; i < k; i++)
		if (!may_write(t, who, &keys[i], row))
			return fail(
				err, EACCES,
				"%s: %s shares IOMMU group %d with %s, whose %s user %u may not write",
				row->name, dev->key.name, (int)dev->facts.iommu_group, keys[i].name,
				row->name, (unsigned int)who->uid);
	return cut ? fail(err, EOPNOTSUPP, "%s: IOMMU group %d has more than %d members", row->name,
			  (int)dev->facts.iommu_group, CLAIM_MEMBERS)
		   : 0;
}

int rights_check(struct tree *t, const struct creds *who, const struct device *dev,
		 const struct attr *row, struct err *err)
{
	if (!may_write(t, who, &dev->key, row))
		return fail(err, EACCES,
			    "%s: user %u may not write the %s of %s; change its owner with chown",
			    row->name, (unsigned int)who->uid, row->name, dev->key.name);
	return rights_check_group(t, who, dev, row, err);
}

int rights_check_unborn(struct tree *t, const struct creds *who, const struct request *about,
			const struct attr *row, struct err *err)
{
	struct stat st;

	rights_unborn(t, about, row, &st);
	if (mode_allows(who, &st))
		return 0;
	return fail(err, EACCES, "%s: user %u may not write the %s of a device that is not there",
		    row->name, (unsigned int)who->uid, row->name);
}

int rights_check_value(const struct subject *s, const struct creds *who, const struct attr *row,
		       const struct request *request, struct err *err)
{
	const struct tree *t = s->tree;

	if (!row->reaches || who->overrides || is_member(t, who))
		return 0;
	return row->reaches(s, request, err);
}

int rights_may(struct tree *t, const struct request *request, const struct creds *who,
	       struct err *err)
{
	const struct attr *row = attr_by_name(kind_of_bus(request->dev.bus), request->file);
	struct device dev = { 0 };
	const struct subject s = { .tree = t, .dev = &dev };
	int r;

	if (!model_copy(t->conf.model, &request->dev, &dev) || !row)
		return fail(err, ENODEV, "%s is gone", request->dev.name);
	r = rights_check(t, who, &dev, row, err);
	return r ? r : rights_check_value(&s, who, row, request, err);
}
