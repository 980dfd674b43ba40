// SPDX-License-Identifier: GPL-2.0-or-later
/* The owners of files of a device, and of the root: stored as intents. */
#include <errno.h>
#include <string.h>

#include "intents.h"
#include "pcidevfs/model.h"

static int put_owner(struct record *r, const struct file_owner *o, struct err *err)
{
	struct file_owner *is = record_owner_of(r, o->file);

	if (!is && r->n_owners >= OWNERS_MAX)
		return fail(err, ENOSPC,
			    "%s: %d files of %s have an owner of their own, and no more can be "
			    "stored",
			    o->file, OWNERS_MAX, r->at);
	if (!is)
		return record_add_owner(r, o) ? fail_nomem(err) : 0;
	*is = *o;
	return 0;
}

/* A file with its initial owner must be stored if its directory has another owner, or it would
 * follow that. */
static void drop_defaults(struct record *r, const struct owner_default *born)
{
	const struct file_owner *dir = record_owner_of(r, "");
	size_t n = 0;

	if (dir && (dir->is.uid || dir->is.gid))
		return;
	for (size_t i = 0; i < r->n_owners; i++)
		if (!born->is(born->ctx, r->owners[i].file, &r->owners[i].is))
			r->owners[n++] = r->owners[i];
	r->n_owners = n;
}

/* Call it with save held. True: the nodes need another owner. */
static bool note_owner(struct intents *in, const struct key *key)
{
	const struct record nobody = { 0 };
	struct device *dev;
	bool other = false;
	size_t at;

	model_lock(in->m);
	dev = model_edit(in->m, key, false);
	at = dev ? records_of_device(&in->rs, dev) : RECORD_NONE;
	if (dev) {
		uint32_t uid = dev->intent.uid, gid = dev->intent.gid;

		record_note_owner(at == RECORD_NONE ? &nobody : in->rs.v[at], &dev->intent);
		other = uid != dev->intent.uid || gid != dev->intent.gid;
	}
	model_publish(in->m);
	model_unlock(in->m);
	return other;
}

static int edit_root(struct rewrite *w, struct record **ret, struct err *err)
{
	size_t i = 0;

	while (i < w->next.n && !record_is_root(w->next.v[i]))
		i++;
	*ret = i < w->next.n ? rewrite_edit(w, i) : rewrite_add(w);
	if (!*ret)
		return fail_nomem(err);
	STR_COPY((*ret)->id.path, ROOT_PATH);
	STR_COPY((*ret)->at, ROOT_PATH);
	(*ret)->state = RECORD_HELD;
	return 0;
}

static int edit_device(struct rewrite *w, const struct key *key, struct record **ret,
		       struct err *err)
{
	const struct device *dev = model_find(w->in->m, key);

	return dev ? rewrite_record(w, dev, ret, err) : fail(err, ENODEV, "%s is gone", key->name);
}

/* Call it with the model locked. */
static int edit_owner(struct rewrite *w, const struct key *key, const struct file_owner *o,
		      const struct owner_default *born, struct err *err)
{
	struct record *r = NULL;
	int rc = key ? edit_device(w, key, &r, err) : edit_root(w, &r, err);

	rc = rc ? rc : put_owner(r, o, err);
	if (!rc && born)
		drop_defaults(r, born);
	return rc;
}

/* A new card may have to be asked for its serial. Call it without locks. */
static void learn_identity(struct intents *in, const struct key *key)
{
	const struct device *dev;
	bool known;

	model_lock(in->m);
	dev = model_find(in->m, key);
	known = !dev || device_is_known(dev);
	model_unlock(in->m);
	if (!known && in->world.observe)
		in->world.observe(in->world.backend, key, 1, false, NULL);
}

int intents_set_owner(struct intents *in, const struct key *dev, const char *file,
		      const struct ownership *owner, const struct owner_default *born,
		      struct err *err)
{
	struct file_owner o = { .is = *owner };
	bool other = false;
	struct rewrite w;
	int rc;

	if (!STR_COPY(o.file, file))
		return fail(err, EINVAL, "%s is not a file of a device", file);
	if (dev)
		learn_identity(in, dev);
	pthread_mutex_lock(&in->save);
	rc = rewrite_begin(&w, in, err);
	if (!rc) {
		model_lock(in->m);
		rc = edit_owner(&w, dev, &o, born, err);
		model_unlock(in->m);
		rc = rewrite_end(&w, rc, err);
	}
	if (!rc && dev)
		other = note_owner(in, dev);
	pthread_mutex_unlock(&in->save);
	if (other && in->world.give_nodes)
		rc = in->world.give_nodes(in->world.backend, dev, err);
	return rc;
}

static bool is_of(const struct record *r, const struct key *dev)
{
	return dev ? r->birth && key_eq(&r->dev, dev) : record_is_root(r);
}

/* For an absent device, or one whose record is not matched yet. Call it with in->lock held. */
static const struct file_owner *find_coming(struct intents *in, const struct request *about,
					    const char *file)
{
	bool unborn = request_parent(about), known;
	struct identity id;

	model_lock(in->m);
	known = request_identity(in->m, about, &id);
	model_unlock(in->m);
	for (size_t i = 0; i < in->rs.n && known; i++) {
		struct record *r = in->rs.v[i];

		if (r->n_owners && (unborn || !r->birth) && r->state != RECORD_MISMATCH &&
		    identity_eq(&r->id, &id))
			return record_owner_of(r, file);
	}
	return NULL;
}

bool intents_owner(struct intents *in, const struct key *dev, const char *file,
		   struct ownership *ret)
{
	const struct file_owner *o = NULL;
	bool matched = !dev, coming = false;

	pthread_mutex_lock(&in->lock);
	for (size_t i = 0; i < in->rs.n && in->n_owned && !o; i++) {
		struct record *r = in->rs.v[i];
		bool of = r->n_owners && is_of(r, dev);

		matched |= of;
		coming |= r->n_owners && !r->birth;
		o = of ? record_owner_of(r, file) : NULL;
	}
	if (coming && !matched)
		o = find_coming(in, &(struct request){ .dev = *dev }, file);
	if (o)
		*ret = o->is;
	pthread_mutex_unlock(&in->lock);
	return o;
}

bool intents_owner_unborn(struct intents *in, const struct request *about, const char *file,
			  struct ownership *ret)
{
	const struct file_owner *o;

	pthread_mutex_lock(&in->lock);
	o = in->n_owned ? find_coming(in, about, file) : NULL;
	if (o)
		*ret = o->is;
	pthread_mutex_unlock(&in->lock);
	return o;
}
