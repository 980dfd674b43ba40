// SPDX-License-Identifier: GPL-2.0-or-later
/* The state file is read, and a change of the records written atomically. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "intent_dir.h"
#include "pcidevfs/model.h"

#define DAMAGED INTENT_FILE ".damaged-"

/* The last file that was set aside; "": none. False: unknown. */
static bool find_damaged(const struct intents *in, char *ret, size_t size)
{
	int fd = openat(in->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
	snprintf(
		in->damaged, sizeof(in->damaged),
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
		rc = renameat2(in->dirfd, INTENT_FILE, in->dirfd, name, RENAME_NOREPLACE) ? -errno
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
	int rc = intent_read(in->dirfd, &text, &len);

	if (rc == -ENOENT)
		return load_copy(in) ? fail(err, ENOMEM, "no memory for the stored intents") : 0;
	if (rc == -EINVAL || rc == -EFBIG || rc == -ELOOP)
		return set_aside(in, rc == -EFBIG ? "it is too large" : "it is not a regular file",
				 err);
	if (rc)
		return statedir_refuse(in, rc, "/" INTENT_FILE, err);
	rc = parse(in, text, len, &why);
	free(text);
	if (!rc)
		return 0;
	return rc == -ENOMEM ? fail(err, ENOMEM, "no memory to read %s/" INTENT_FILE, in->dir)
			     : set_aside(in, why.text, err);
}

static int write_out(struct intents *in, const struct out *text, struct err *err)
{
	struct disk disk = statedir_disk(in);
	struct err why = { 0 };
	uint64_t before = now_us();
	int rc = in->far ? 0 : statedir_keep_lock(in, &why);
	unsigned int took;

	if (!rc && (rc = intent_replace(&disk, out_text(text), text->len)))
		fail(&why, -rc, "the request cannot be saved in %s/" INTENT_FILE ": %s; %s",
		     in->dir, strerror(-rc), statedir_way_out(rc));
	took = (unsigned int)(now_us() - before);
	pthread_mutex_lock(&in->lock);
	in->sync_us = took;
	in->sync_max_us = took > in->sync_max_us ? took : in->sync_max_us;
	in->refused = why;
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
	rc = text.failed ? fail(err, ENOMEM, "no memory for the stored intents")
			 : write_out(in, &text, err);
	out_free(&text);
	return rc;
}

/* Loads into another struct, so that nobody waits with lock held for a directory that hangs. */
int intents_ready(struct intents *in, struct err *err)
{
	struct intents got = { .dir = in->dir,
			       .dirfd = in->dirfd,
			       .lock_fd = in->lock_fd,
			       .refused = in->refused,
			       .is_volatile = in->is_volatile,
			       .copy = in->copy,
			       .copy_size = in->copy_size };
	struct err why = { 0 };
	char last[sizeof(got.aside)];
	int rc;

	if (in->loaded)
		return 0;
	rc = in->dirfd < 0 ? statedir_open(&got, &why) : 0;
	if (!rc && find_damaged(&got, last, sizeof(last)) && last[0])
		tell_damaged(&got, last);
	if (!rc)
		rc = load(&got, &why);
	if (rc)
		statedir_close(&got);
	in->adopt(in->m, &got.rs);
	for (size_t i = 0; i < got.rs.n; i++)
		got.n_owned += got.rs.v[i]->n_owners > 0;
	pthread_mutex_lock(&in->lock);
	in->broken = why;
	in->loaded = !rc;
	in->dirfd = rc ? -1 : got.dirfd;
	in->lock_fd = rc ? -1 : got.lock_fd;
	if (!rc) {
		in->refused = got.refused;
		in->is_volatile = got.is_volatile;
		in->unsure = got.unsure;
		model_lock(in->m);
		in->rs = got.rs;
		in->places_known = false;
		model_unlock(in->m);
		in->n_owned = got.n_owned;
		STR_COPY(in->damaged, got.damaged);
		STR_COPY(in->aside, got.aside);
	}
	pthread_mutex_unlock(&in->lock);
	if (rc && err)
		*err = why;
	if (!rc && got.anew)
		write_records(in, &in->rs, NULL); /* if the disk refuses, health says so */
	return rc;
}

/* ---- a change */

int rewrite_begin(struct rewrite *w, struct intents *in, struct err *err)
{
	int rc = intents_ready(in, err);

	*w = (struct rewrite){ .in = in };
	if (rc)
		return rc;
	w->next.other = in->rs.other;
	for (size_t i = 0; i < in->rs.n && !rc; i++)
		rc = records_add(&w->next, in->rs.v[i]);
	if (rc) {
		rewrite_abort(w);
		return fail(err, ENOMEM, "no memory for the stored intents");
	}
	return 0;
}

static void look_away(struct rewrite *w)
{
	if (w->pass)
		w->pass_free(w->pass);
	free(w->pass);
	w->pass = NULL;
}

void rewrite_abort(struct rewrite *w)
{
	look_away(w);
	for (size_t i = 0; i < w->next.n; i++)
		if (w->next.v[i] && w->next.v[i]->fresh)
			record_free(w->next.v[i]);
	free(w->next.v);
	w->next = (struct records){ 0 };
}

/* "" without a record. */
static void line_of(const struct record *r, struct out *o)
{
	if (r)
		intent_format(&(const struct records){ .v = (struct record **)&r, .n = 1 }, o);
}

static bool same_line(const struct record *a, const struct record *b)
{
	struct out x = { 0 }, y = { 0 };
	bool same;

	if (a == b)
		return true;
	line_of(a, &x);
	line_of(b, &y);
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

	look_away(w);
	pthread_mutex_lock(&in->lock);
	model_lock(in->m);
	in->places_known = false;
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
	model_unlock(in->m);
	pthread_mutex_unlock(&in->lock);
}

int rewrite_commit(struct rewrite *w, struct err *err)
{
	struct intents *in = w->in;
	bool gone;
	int rc = statedir_has_moved(in, &gone) ? statedir_follow(in, err) : 0;

	if (!rc && rewrite_merge(w))
		rc = fail(err, ENOMEM, "no memory for the stored intents");
	if (!rc && !is_on_disk(w))
		rc = write_records(in, &w->next, err);
	if (rc && !w->optional)
		rewrite_abort(w);
	else
		publish(w);
	return w->optional ? 0 : rc;
}
