// SPDX-License-Identifier: GPL-2.0-or-later
/* The records of what is wished, and how they follow the model onto the disk. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "intents.h"
#include "pcidevfs/model.h"

/* ---- the directory */

static int refuse_dir(struct intents *in, int rc, const char *what, struct err *err)
{
	return fail(err, -rc, "what is asked cannot be kept: %s%s: %s; mend that, or give --state another "
		    "directory", in->dir, what, strerror(-rc));
}

static int take_lock(struct intents *in, int fd, struct err *err)
{
	/* The one before us may just be dying. */
	for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB); tries++) {
		static const struct timespec pause = { .tv_nsec = 10000000 };

		if (errno != EWOULDBLOCK)
			return refuse_dir(in, -errno, "", err);
		if (tries == 50)
			return fail(err, EBUSY, "another pcidevfsd keeps its wishes in %s; give --state another "
				    "directory", in->dir);
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int open_dir(struct intents *in, struct err *err)
{
	struct statfs fs;
	int fd, rc;

	if (mkdir(in->dir, 0700) && errno != EEXIST)
		return refuse_dir(in, -errno, "", err);
	fd = open(in->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return refuse_dir(in, -errno, "", err);
	rc = take_lock(in, fd, err);
	if (rc) {
		close(fd);
		return rc;
	}
	in->is_volatile = !fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
	in->dirfd = fd;
	return 0;
}

/* What cannot be understood may still be worth something to a person. */
static int set_aside(struct intents *in, const char *why, struct err *err)
{
	char name[64];
	int rc = 0;

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), INTENT_FILE ".damaged-%lld", (long long)time(NULL) + i);
		rc = renameat2(in->dirfd, INTENT_FILE, in->dirfd, name, RENAME_NOREPLACE) ? -errno : 0;
		if (rc != -EEXIST)
			break;
	}
	if (rc)
		return refuse_dir(in, rc, "/" INTENT_FILE, err);
	snprintf(in->damaged, sizeof(in->damaged), "%s was set aside as %s: %.160s", INTENT_FILE, name, why);
	return 0;
}

/* A file that is there but cannot be read is not written over either. */
static int load(struct intents *in, struct err *err)
{
	struct err why = { 0 };
	char *text;
	size_t len;
	int rc = intent_read(in->dirfd, &text, &len);

	if (rc == -ENOENT)
		return 0;
	if (rc == -EINVAL || rc == -EFBIG || rc == -ELOOP)
		return set_aside(in, rc == -EFBIG ? "it is too large" : "it is no regular file", err);
	if (rc)
		return refuse_dir(in, rc, "/" INTENT_FILE, err);
	out_put(&in->on_disk, text, len);
	rc = intent_parse(text, len, &in->rs, &why);
	free(text);
	if (!rc)
		return 0;
	out_free(&in->on_disk);
	return rc == -ENOMEM ? fail(err, ENOMEM, "no memory to read %s/" INTENT_FILE, in->dir)
			     : set_aside(in, why.text, err);
}

/* With save held. */
static int make_ready(struct intents *in, struct err *err)
{
	struct err why = { 0 };
	int rc = 0;

	if (in->dirfd >= 0 && !in->broken.code)
		return 0;
	pthread_mutex_lock(&in->lock);
	if (in->dirfd < 0)
		rc = open_dir(in, &why);
	if (!rc)
		rc = load(in, &why);
	if (rc && in->dirfd >= 0) {
		close(in->dirfd);
		in->dirfd = -1;
	}
	in->broken = why;
	pthread_mutex_unlock(&in->lock);
	if (rc && err)
		*err = why;
	return rc;
}

/* ---- a change */

int rewrite_begin(struct rewrite *w, struct intents *in, struct err *err)
{
	int rc = make_ready(in, err);

	*w = (struct rewrite){ .in = in };
	if (rc)
		return rc;
	w->next.other = in->rs.other;
	for (size_t i = 0; i < in->rs.n && !rc; i++)
		rc = records_add(&w->next, in->rs.v[i]);
	if (rc) {
		rewrite_abort(w);
		return fail(err, ENOMEM, "no memory to keep what was asked");
	}
	return 0;
}

struct record *rewrite_edit(struct rewrite *w, size_t i)
{
	struct record *copy;

	if (w->next.v[i]->fresh)
		return w->next.v[i];
	copy = record_copy(w->next.v[i]);
	if (copy)
		w->next.v[i] = copy;
	return copy;
}

void rewrite_drop(struct rewrite *w, size_t i)
{
	if (w->next.v[i]->fresh)
		record_free(w->next.v[i]);
	w->next.v[i] = NULL;
}

void rewrite_abort(struct rewrite *w)
{
	for (size_t i = 0; i < w->next.n; i++)
		if (w->next.v[i] && w->next.v[i]->fresh)
			record_free(w->next.v[i]);
	free(w->next.v);
	w->next = (struct records){ 0 };
}

/* Takes the text over when it is on the disk. */
static int write_out(struct intents *in, struct out *text, struct err *err)
{
	struct disk disk = disk_at(&in->dirfd);
	uint64_t before = now_us();
	int rc = intent_replace(&disk, out_text(text), text->len);
	unsigned int took = (unsigned int)(now_us() - before);

	pthread_mutex_lock(&in->lock);
	in->sync_us = took;
	in->sync_max_us = took > in->sync_max_us ? took : in->sync_max_us;
	pthread_mutex_unlock(&in->lock);
	in->unsure = rc;
	if (rc)
		return fail(err, -rc, "what is asked cannot be kept: %s/" INTENT_FILE ": %s; %s", in->dir,
			    strerror(-rc), rc == -ENOSPC || rc == -EDQUOT ? "make room there and write again"
									 : "mend that and write again");
	out_free(&in->on_disk);
	in->on_disk = *text;
	*text = (struct out){ 0 };
	return 0;
}

static void publish(struct rewrite *w)
{
	struct intents *in = w->in;
	size_t n = 0;

	pthread_mutex_lock(&in->lock);
	for (size_t i = 0; i < in->rs.n; i++)
		if (w->next.v[i] != in->rs.v[i])
			record_free(in->rs.v[i]);
	in->n_owned = 0;
	for (size_t i = 0; i < w->next.n; i++) {
		struct record *r = w->next.v[i];

		if (!r)
			continue;
		r->fresh = false;
		in->n_owned += r->n_owners > 0;
		w->next.v[n++] = r;
	}
	w->next.n = n;
	free(in->rs.v);
	in->rs = w->next;
	pthread_mutex_unlock(&in->lock);
}

int rewrite_commit(struct rewrite *w, struct err *err)
{
	struct intents *in = w->in;
	struct out text = { 0 };
	bool same;
	int rc = 0;

	intent_format(&w->next, &text);
	same = !in->unsure && (in->on_disk.len ? !strcmp(out_text(&in->on_disk), out_text(&text)) : !w->next.n);
	if (text.failed)
		rc = fail(err, ENOMEM, "no memory to keep what was asked");
	else if (!same)
		rc = write_out(in, &text, err);
	out_free(&text);
	if (rc)
		rewrite_abort(w);
	else
		publish(w);
	return rc;
}

/* ---- devices and their records */

void device_identity(struct model *m, const struct device *dev, struct identity *ret)
{
	struct key pf;

	identity_of(ret, dev, key_make(BUS_PCI, dev->facts.physfn, &pf) ? model_find(m, &pf) : NULL);
}

size_t claim_members(struct model *m, const struct device *dev, const struct device **ret)
{
	size_t all = model_group(m, dev->facts.iommu_group, ret, GROUP_MAX), n = 0;

	for (size_t i = 0; i < all && i < GROUP_MAX; i++)
		if (!device_is_bridge(&ret[i]->facts))
			ret[n++] = ret[i];
	if (!n)
		ret[n++] = dev;
	return n;
}

uint64_t claim_group(struct model *m, const struct device *dev)
{
	const struct device *members[GROUP_MAX];
	size_t n = claim_members(m, dev, members);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct identity id;

		device_identity(m, members[i], &id);
		sum += identity_hash(&id); /* in any order */
	}
	return sum ? sum : 1;
}

size_t records_of_device(const struct records *rs, const struct device *dev)
{
	for (size_t i = 0; i < rs->n; i++) {
		const struct record *r = rs->v[i];

		if (r && r->birth == dev->birth && key_eq(&r->dev, &dev->key))
			return i;
	}
	return RECORD_NONE;
}

static size_t records_of_identity(const struct records *rs, const struct identity *id)
{
	for (size_t i = 0; i < rs->n; i++)
		if (rs->v[i] && identity_eq(&rs->v[i]->id, id))
			return i;
	return RECORD_NONE;
}

static void seat_record(struct record *r, const struct device *dev)
{
	r->dev = dev->key;
	r->birth = dev->birth;
	STR_COPY(r->at, dev->key.name);
}

/* The device's record, to be changed; made if there is none. NULL: no memory. */
static struct record *edit_of(struct rewrite *w, const struct device *dev, size_t *ret_at)
{
	size_t at = records_of_device(&w->next, dev);
	struct identity id;
	struct record *r;

	device_identity(w->in->m, dev, &id);
	if (at == RECORD_NONE)
		at = records_of_identity(&w->next, &id);
	if (at != RECORD_NONE) {
		r = rewrite_edit(w, at);
	} else {
		r = record_new();
		at = w->next.n;
		if (r && records_add(&w->next, r)) {
			record_free(r);
			r = NULL;
		}
		if (r)
			r->noted = r->claim_in = r->vfs_in = true;
	}
	if (r) {
		r->id = id;
		seat_record(r, dev);
		*ret_at = at;
	}
	return r;
}

/* A device that came back without its host driver had one all the same. */
static void follow_former(struct record *r, const struct want *want, bool same_claim)
{
	if (!same_claim || want->former_driver[0])
		STR_COPY(r->former_driver, want->former_driver);
	if (!same_claim || want->former_override[0])
		STR_COPY(r->former_override, want->former_override);
	r->former_known = want->former_known || (same_claim && r->former_known);
}

static void follow_claim(struct model *m, struct record *r, const struct device *dev)
{
	bool same = r->claim[0] && !strcmp(r->claim, dev->want.claim);

	STR_COPY(r->claim, dev->want.claim);
	r->group = r->claim[0] ? claim_group(m, dev) : 0;
	if (driver_is_vfio(dev->facts.driver))
		STR_COPY(r->driver, r->claim[0] ? dev->facts.driver : "");
	follow_former(r, &dev->want, same);
	if (!r->claim[0] && !r->pending)
		r->former_known = false;
}

/* The record becomes what the model says, as far as the model speaks for it: what was stored and could not
 * be applied yet is not in there, unless this wish is about it. */
static void follow(struct model *m, struct record *r, const struct device *dev, const char *file, bool pending)
{
	bool claim = !pending && !strcmp(file, "claim"), vfs = !pending && !strcmp(file, "sriov_numvfs");

	r->pending = pending;
	r->claim_in |= claim;
	r->vfs_in |= vfs;
	if (r->claim_in)
		follow_claim(m, r, dev);
	if (r->vfs_in) {
		r->vfs_wanted = dev->want.vfs_wanted;
		r->num_vfs = dev->want.num_vfs;
	}
	if (r->noted || !strcmp(file, "pooled"))
		r->single = dev->want.single;
	if (r->noted || !strcmp(file, "resource_name"))
		STR_COPY(r->resource, dev->want.resource);
	r->state = RECORD_HELD;
	r->reason[0] = '\0';
}

/* With the model locked: everything the wish may change. */
static int follow_wish(struct rewrite *w, const struct wish *wish, bool pending, struct err *err)
{
	const struct device *members[GROUP_MAX], *dev;
	struct model *m = w->in->m;
	struct wish found;
	size_t n = 1;

	if (wish_resolve(m, wish, &found) || !(dev = model_find(m, &found.dev)))
		return 0; /* not there yet */
	members[0] = dev;
	if (!strcmp(wish->file, "claim"))
		n = claim_members(m, dev, members);
	for (size_t i = 0; i < n; i++) {
		size_t at;
		struct record *r = edit_of(w, members[i], &at);

		if (!r)
			return fail(err, ENOMEM, "no memory to keep what was asked");
		/* Restore writes nothing down beforehand: it is all there, and the disk may be full. */
		if (!(pending && r->flying))
			follow(m, r, members[i], wish->file, pending);
		if (record_is_empty(r))
			rewrite_drop(w, at);
	}
	return 0;
}

int intents_keep(void *ctx, const struct wish *wishes, size_t n, bool pending, struct err *err)
{
	struct intents *in = ctx;
	struct rewrite w;
	int rc;

	pthread_mutex_lock(&in->save);
	rc = rewrite_begin(&w, in, err);
	if (!rc) {
		model_lock(in->m);
		for (size_t i = 0; i < n && !rc; i++)
			rc = follow_wish(&w, &wishes[i], pending, err);
		model_unlock(in->m);
		if (rc)
			rewrite_abort(&w);
		else
			rc = rewrite_commit(&w, err);
	}
	pthread_mutex_unlock(&in->save);
	return rc;
}

/* ---- owners */

static struct owner *find_owner(struct record *r, const char *file)
{
	for (size_t i = 0; i < r->n_owners; i++)
		if (!strcmp(r->owners[i].file, file))
			return &r->owners[i];
	return NULL;
}

static int put_owner(struct record *r, const char *file, const struct owner_wish *is, struct err *err)
{
	struct owner *o = find_owner(r, file), *v;

	if (!o) {
		v = reallocarray(r->owners, r->n_owners + 1, sizeof(*v));
		if (!v)
			return fail(err, ENOMEM, "no memory to keep the owner of %s", file);
		r->owners = v;
		o = &r->owners[r->n_owners++];
		*o = (struct owner){ 0 };
		STR_COPY(o->file, file);
	}
	o->is = *is;
	return 0;
}

void record_note_owner(struct record *r, struct want *want)
{
	const struct owner *o = find_owner(r, "claim");

	o = o ? o : find_owner(r, "");
	want->n_owners = (uint32_t)r->n_owners;
	if (!o)
		return;
	want->owned = true;
	want->uid = o->is.uid;
	want->gid = o->is.gid;
}

/* With save held. */
static void note_owner(struct intents *in, const struct key *key)
{
	struct device *dev;
	size_t at;

	model_lock(in->m);
	dev = model_edit(in->m, key, false);
	at = dev ? records_of_device(&in->rs, dev) : RECORD_NONE;
	if (at != RECORD_NONE)
		record_note_owner(in->rs.v[at], &dev->want);
	model_publish(in->m);
	model_unlock(in->m);
}

/* With the model locked. */
static int edit_owner(struct rewrite *w, const struct key *key, const char *file,
		      const struct owner_wish *owner, struct err *err)
{
	const struct device *dev = model_find(w->in->m, key);
	struct record *r;
	size_t at;

	if (!dev)
		return fail(err, ENODEV, "%s is gone", key->name);
	r = edit_of(w, dev, &at);
	if (!r)
		return fail(err, ENOMEM, "no memory to keep the owner of %s", file);
	return put_owner(r, file, owner, err);
}

int intents_set_owner(struct intents *in, const struct key *dev, const char *file,
		      const struct owner_wish *owner, struct err *err)
{
	struct rewrite w;
	int rc;

	if (strlen(file) >= WISH_FILE)
		return fail(err, EINVAL, "%s is no file of a device", file);
	pthread_mutex_lock(&in->save);
	rc = rewrite_begin(&w, in, err);
	if (!rc) {
		model_lock(in->m);
		rc = edit_owner(&w, dev, file, owner, err);
		model_unlock(in->m);
		if (rc)
			rewrite_abort(&w);
		else
			rc = rewrite_commit(&w, err);
	}
	if (!rc)
		note_owner(in, dev);
	pthread_mutex_unlock(&in->save);
	return rc;
}

bool intents_owner(struct intents *in, const struct key *dev, const char *file, struct owner_wish *ret)
{
	bool found = false;

	pthread_mutex_lock(&in->lock);
	for (size_t i = 0; i < in->rs.n && in->n_owned && !found; i++) {
		struct record *r = in->rs.v[i];
		const struct owner *o = r->birth && r->n_owners && key_eq(&r->dev, dev) ? find_owner(r, file)
											: NULL;

		found = o;
		if (o)
			*ret = o->is;
	}
	pthread_mutex_unlock(&in->lock);
	return found;
}

/* ---- open and close */

int intents_open(const char *dir, struct model *m, struct intents **ret, struct err *err)
{
	struct intents *in = calloc(1, sizeof(*in));
	const struct observer observer = { intents_changed, in };

	if (!in || !(in->dir = strdup(dir))) {
		free(in);
		return fail(err, ENOMEM, "no memory for the state file");
	}
	in->m = m;
	in->dirfd = -1;
	pthread_mutex_init(&in->save, NULL);
	pthread_mutex_init(&in->lock, NULL);
	pthread_mutex_init(&in->turn, NULL);
	pthread_cond_init(&in->quiet, NULL);
	pthread_mutex_lock(&in->save);
	make_ready(in, NULL); /* what is wrong is told by health and to who asks for something */
	for (size_t i = 0; i < in->rs.n; i++)
		in->n_owned += in->rs.v[i]->n_owners > 0;
	pthread_mutex_unlock(&in->save);
	model_observe(m, &observer);
	*ret = in;
	return 0;
}

void intents_close(struct intents *in)
{
	if (!in)
		return;
	records_free(&in->rs);
	out_free(&in->on_disk);
	closep(&in->dirfd);
	pthread_cond_destroy(&in->quiet);
	pthread_mutex_destroy(&in->turn);
	pthread_mutex_destroy(&in->lock);
	pthread_mutex_destroy(&in->save);
	free(in->dir);
	free(in);
}
