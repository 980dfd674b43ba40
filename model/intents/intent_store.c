// SPDX-License-Identifier: GPL-2.0-or-later
/* The state file is read, and a change of the records written atomically. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "intents.h"
#include "persist.h"
#include "pcidevfs/model.h"

#define DAMAGED INTENT_FILE ".damaged-"

/* The last file that was set aside; "": none. False: unknown. */
static bool find_damaged(const struct intents *in, char *ret, size_t size)
{
	int fd = openat(in->at.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir && fd >= 0)
		close(fd);
	ret[0] = '\0';
	while (dir && (e = readdir(dir)))
		if (!strncmp(e->d_name, DAMAGED, strlen(DAMAGED)) && strcmp(e->d_name, ret) > 0)
			str_copy(ret, size, e->d_name);
	return dir;
}

/* Reported as long as the file exists, whichever process set it aside. */
static void tell_damaged(struct intents *in, const char *name)
{
	STR_COPY(in->aside, name);
	snprintf(in->damaged, sizeof(in->damaged),
		 "%s was damaged and is now in %.128s; its requests are not applied: make them "
		 "again, then remove that file",
		 name, in->dir);
}

void intents_look(struct intents *in)
{
	char last[sizeof(in->aside)];
	bool found, moved, gone;

	if (pthread_mutex_trylock(&in->save)) /* the disk may hang */
		return;
	found = in->damaged[0] && find_damaged(in, last, sizeof(last));
	moved = statedir_has_moved(in, &gone);
	pthread_mutex_lock(&in->lock);
	in->moved = moved;
	in->gone = gone;
	if (found && !last[0])
		in->damaged[0] = '\0';
	else if (found && strcmp(in->aside, last))
		tell_damaged(in, last);
	pthread_mutex_unlock(&in->lock);
	pthread_mutex_unlock(&in->save);
}

/* A file that cannot be parsed may still be useful to a person. */
static int set_aside(struct intents *in, const char *why, struct err *err)
{
	char name[sizeof(in->aside)];
	int rc = 0;

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), DAMAGED "%lld", (long long)time(NULL) + i);
		rc = renameat2(in->at.fd, INTENT_FILE, in->at.fd, name, RENAME_NOREPLACE) ? -errno
											  : 0;
		if (rc != -EEXIST)
			break;
	}
	if (rc)
		return statedir_refuse(in, rc, "/" INTENT_FILE, err);
	copy_keep(in, "", 0);
	STR_COPY(in->aside, name);
	snprintf(in->damaged, sizeof(in->damaged), "%s was set aside as %s: %.160s", INTENT_FILE,
		 name, why);
	return 0;
}

/* A file of an earlier version, or in another form, is rewritten with the next change. */
static int parse(struct intents *in, char *text, size_t len, struct err *err)
{
	uint64_t sum = fnv1a(FNV1A, text, len);
	int rc = intent_parse(text, len, &in->rs, err);
	struct out again = { 0 };

	if (rc)
		return rc;
	records_complete_names(&in->rs);
	intent_format(&in->rs, &again);
	in->unsure = again.failed || fnv1a(FNV1A, again.data, again.len) != sum;
	if (!again.failed)
		copy_keep(in, out_text(&again), again.len);
	out_free(&again);
	return 0;
}

/* Reads what a former process of this mount knew, if its directory has gone since. */
static int load_copy(struct intents *in)
{
	char *text;
	size_t len;
	int rc = copy_read(in, &text, &len);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = intent_parse(text, len, &in->rs, NULL);
	free(text);
	in->anew = in->unsure = in->rs.n;
	return rc == -ENOMEM ? rc : 0;
}

/* A file that exists but cannot be read is not overwritten either. */
static int load(struct intents *in, struct err *err)
{
	struct err why = { 0 };
	char *text;
	size_t len;
	int rc = intent_read(in->at.fd, &text, &len);

	if (rc == -ENOENT)
		return load_copy(in) ? fail_nomem(err) : 0;
	if (rc == -EINVAL || rc == -EFBIG || rc == -ELOOP)
		return set_aside(in, rc == -EFBIG ? "it is too large" : "it is not a regular file",
				 err);
	if (rc)
		return statedir_refuse(in, rc, "/" INTENT_FILE, err);
	rc = parse(in, text, len, &why);
	free(text);
	if (!rc)
		return 0;
	return rc == -ENOMEM ? fail_nomem(err) : set_aside(in, why.text, err);
}

static int write_out(struct intents *in, const struct out *text, struct err *err)
{
	struct err why = { 0 };
	uint64_t before = now_us();
	int rc = in->at.far ? 0 : statedir_keep_lock(in, &why);
	unsigned int took;

	if (!rc && (rc = statedir_replace(in, out_text(text), text->len)))
		fail(&why, -rc, "the request cannot be saved in %s/" INTENT_FILE ": %s; %s",
		     in->dir, strerror(-rc), statedir_way_out(rc));
	took = (unsigned int)(now_us() - before);
	pthread_mutex_lock(&in->lock);
	in->sync_us = took;
	in->sync_max_us = took > in->sync_max_us ? took : in->sync_max_us;
	in->at.refused = why;
	pthread_mutex_unlock(&in->lock);
	in->unsure = rc;
	if (!rc)
		copy_keep(in, out_text(text), text->len);
	if (rc && err)
		*err = why;
	return rc;
}

/* Writes all records, whether the file has them or not. */
static int write_records(struct intents *in, const struct records *rs, struct err *err)
{
	struct out text = { 0 };
	int rc;

	intent_format(rs, &text);
	rc = text.failed ? fail_nomem(err) : write_out(in, &text, err);
	out_free(&text);
	return rc;
}

/* Call it with both locks and the model's held. */
static void set_records(struct intents *in, const struct records *rs)
{
	in->rs = *rs;
	in->places_known = false;
	in->n_owned = 0;
	for (size_t i = 0; i < rs->n; i++)
		in->n_owned += rs->v[i]->n_owners > 0;
}

void device_identity(struct model *m, const struct device *dev, struct identity *ret)
{
	identity_of(ret, dev, device_is_made(dev) ? model_parent(m, dev) : NULL);
}

/* Matches records with owners to devices that a former process knew: users served before the first
 * pass must find the owners of files. */
static void adopt(struct model *m, struct records *rs)
{
	model_lock(m);
	for (size_t i = 0; i < rs->n; i++) {
		struct record *r = rs->v[i];
		const struct device *dev = NULL;
		struct identity id;
		struct key key;

		if (r->n_owners && record_key(r, &key))
			dev = model_find(m, &key);
		if (!dev)
			continue;
		device_identity(m, dev, &id);
		if (identity_eq(&id, &r->id))
			record_attach(r, dev);
	}
	model_unlock(m);
}

/* Loads into another struct, so that nobody waits with lock held for a directory that hangs. */
int intents_ready(struct intents *in, struct err *err)
{
	struct intents got = {
		.dir = in->dir, .at = in->at, .copy = in->copy, .copy_size = in->copy_size
	};
	struct err why = { 0 };
	char last[sizeof(got.aside)];
	int rc;

	if (in->loaded)
		return 0;
	rc = in->at.fd < 0 ? statedir_open(in, &got.at, &why) : 0;
	if (!rc && find_damaged(&got, last, sizeof(last)) && last[0])
		tell_damaged(&got, last);
	if (!rc)
		rc = load(&got, &why);
	if (rc)
		statedir_close(&got.at);
	adopt(in->m, &got.rs);
	pthread_mutex_lock(&in->lock);
	in->broken = why;
	in->loaded = !rc;
	in->at = got.at;
	in->unsure = got.unsure;
	model_lock(in->m);
	set_records(in, &got.rs);
	model_unlock(in->m);
	STR_COPY(in->damaged, got.damaged);
	STR_COPY(in->aside, got.aside);
	pthread_mutex_unlock(&in->lock);
	if (rc && err)
		*err = why;
	if (!rc && got.anew)
		write_records(in, &in->rs, NULL); /* if the disk refuses, health says so */
	return rc;
}

/* ---- a change */

void pass_free(struct pass *p)
{
	free(p->candidates);
	p->candidates = NULL;
	index_fini(&p->by_key);
	index_fini(&p->by_place);
	index_fini(&p->by_card);
}

static void abandon(struct rewrite *w)
{
	pass_free(&w->look);
	for (size_t i = 0; i < w->next.n; i++)
		if (w->next.v[i] && w->next.v[i]->fresh)
			record_free(w->next.v[i]);
	free(w->next.v);
}

int rewrite_begin(struct rewrite *w, struct intents *in, struct err *err)
{
	int rc = intents_ready(in, err);

	*w = (struct rewrite){ .in = in };
	if (rc)
		return rc;
	w->next = in->rs;
	w->next.cap = in->rs.n + 1;
	w->next.v = malloc(w->next.cap * sizeof(*w->next.v));
	if (!w->next.v)
		return fail_nomem(err);
	for (size_t i = 0; i < in->rs.n; i++)
		w->next.v[i] = in->rs.v[i];
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

struct record *rewrite_add(struct rewrite *w)
{
	struct record *r = record_new();

	if (r && records_add(&w->next, r)) {
		record_free(r);
		return NULL;
	}
	return r;
}

/* Does the later record's intent end this one? */
static bool is_ended(const struct persist *k, const struct intent *later)
{
	for (size_t i = 0; persists[i]; i++)
		if (persists[i]->ends == k && persist_has(persists[i], later))
			return true;
	return false;
}

/* The record that met the device on its host driver knows the former state. */
static void merge_former(struct intent *w, const struct intent *former)
{
	if (former_is_none(w->former) && former->former_known) {
		STR_COPY(w->former, former->former);
		w->former_known = true;
	}
}

static void merge_requests(struct record *r, const struct record *former)
{
	bool claimed = r->intent.claim[0];

	for (size_t i = 0; persists[i]; i++)
		if (!persist_has(persists[i], &r->intent) && !is_ended(persists[i], &r->intent) &&
		    !(persists[i]->with_claim && claimed))
			persist_copy(persists[i], &r->intent, &former->intent);
	if (r->intent.claim[0] && !claimed) {
		STR_COPY(r->driver, former->driver);
		r->group = former->group;
	}
	if (r->intent.claim[0])
		merge_former(&r->intent, &former->intent);
	else
		persist_clear_with_claim(&r->intent);
}

static int merge_owners(struct record *r, const struct record *former)
{
	for (size_t i = 0; i < former->n_owners; i++)
		if (record_add_owner(r, &former->owners[i]))
			return -ENOMEM;
	return 0;
}

/* The later record's intents win. */
static int merge(void *ctx, size_t former, size_t later)
{
	struct rewrite *w = ctx;
	struct record *from = w->next.v[former], *r = rewrite_edit(w, later);

	if (!r || merge_owners(r, from))
		return -ENOMEM;
	if (!r->birth && from->birth) {
		r->dev = from->dev;
		r->birth = from->birth;
	}
	r->id.cloned |= from->id.cloned;
	merge_requests(r, from);
	if (!r->extra) {
		r->extra = from->extra ? strdup(from->extra) : NULL;
		if (from->extra && !r->extra)
			return -ENOMEM;
	}
	r->noted = false;
	rewrite_drop(w, former);
	return 0;
}

/* A dropped record has no line. */
static bool same_line(const struct record *a, const struct record *b)
{
	struct out x = { 0 }, y = { 0 };
	bool same;

	if (a == b)
		return true;
	intent_format(&(const struct records){ .v = (struct record **)&a, .n = 1 }, &x);
	intent_format(&(const struct records){ .v = (struct record **)&b, .n = 1 }, &y);
	same = !x.failed && !y.failed && !strcmp(out_text(&x), out_text(&y));
	out_free(&x);
	out_free(&y);
	return same;
}

/* Does the file say this? Only changed records are formatted, because thousands would take time. */
static bool is_on_disk(const struct rewrite *w)
{
	const struct records *now = &w->in->rs, *next = &w->next;

	for (size_t i = 0; i < next->n && !w->in->unsure; i++)
		if (!same_line(i < now->n ? now->v[i] : NULL, next->v[i]))
			return false;
	return !w->in->unsure;
}

static void publish(struct rewrite *w)
{
	struct intents *in = w->in;
	size_t n = 0;

	pass_free(&w->look);
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	for (size_t i = 0; i < in->rs.n; i++)
		if (w->next.v[i] != in->rs.v[i])
			record_free(in->rs.v[i]);
	free(in->rs.v);
	for (size_t i = 0; i < w->next.n; i++)
		if (w->next.v[i]) {
			w->next.v[i]->fresh = false;
			w->next.v[n++] = w->next.v[i];
		}
	w->next.n = n;
	set_records(in, &w->next);
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
}

int rewrite_end(struct rewrite *w, int rc, struct err *err)
{
	struct intents *in = w->in;
	bool gone, optional = !rc && w->optional;

	for (size_t i = 0; i < w->next.n && !rc; i++)
		if (w->next.v[i] && w->next.v[i]->fresh && record_is_empty(w->next.v[i]))
			rewrite_drop(w, i);
	if (!rc && statedir_has_moved(in, &gone))
		rc = statedir_follow(in, err);
	/* Of two records of one device the later one stays, completed from the former. */
	if (!rc && records_each_twin(&w->next, merge, w))
		rc = fail_nomem(err);
	if (!rc && !is_on_disk(w))
		rc = write_records(in, &w->next, err);
	if (rc && !optional)
		abandon(w);
	else
		publish(w);
	return optional ? 0 : rc;
}
