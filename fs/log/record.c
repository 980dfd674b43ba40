// SPDX-License-Identifier: GPL-2.0-or-later
/* Records operations and refusals: the log, and last_error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit.h"
#include "fs/internal.h"
#include "log_share.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/region.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "record.h"
#include "fs/request.h"

#define LOG_BYTES (512 << 10)
#define LOG_VALUE 256 /* limit of a value's text */
#define RECORD_ABI 2

/* In the stash, before the ring. */
struct record_head {
	/* alignment for the ring behind it */
	struct region_head region __attribute__((aligned(64)));
	_Atomic uint64_t verdicts[RECORD_CODES]; /* by errno, 0: ok */
	char root_error[LAST_ERROR];		 /* guarded by the tree's lock */
	uint32_t root_uid;			 /* likewise: who was refused with it */
};

const struct region_head record_layout = { "record", RECORD_ABI, sizeof(struct record_head) };
const struct region_head log_layout = { "log", RING_ABI, LOG_BYTES };

/* "<file>: <sentence>"; many sentences begin with their file. */
static void error_text(char *buf, size_t size, const char *file, const struct err *err)
{
	size_t n = strlen(file);

	if (!strncmp(err->text, file, n) && err->text[n] == ':')
		str_copy(buf, size, err->text);
	else
		snprintf(buf, size, "%s: %s", file, err->text);
}

#define WRITTEN_MADE (REQUEST_VALUE + KEY_NAME + 4)

void record_pace(struct tree *t, const struct actor *who)
{
	struct timespec wait;
	uint64_t us;

	pthread_mutex_lock(&t->lock);
	us = log_wait(&t->log_shares, who, now_us());
	pthread_mutex_unlock(&t->lock);
	wait = (struct timespec){ (time_t)(us / 1000000), (long)(us % 1000000 * 1000) };
	if (us)
		nanosleep(&wait, NULL);
}

/* Only the capabilities make user 0 the administrator: who lacks them has a share like others. */
#define NO_CAPS " caps=none"

static size_t share_of(const char *line, size_t len, uint64_t *ret_owner)
{
	const char *uid = ring_field(line, len, " opener=") ?: ring_field(line, len, " uid=");
	bool plain = ring_field(line, len, NO_CAPS);

	*ret_owner = (uid ? strtoull(uid, NULL, 10) : 0) << 1 | plain;
	return *ret_owner ? LOG_OF_USER : LOG_BYTES;
}

int record_open(struct tree *t, void *region, size_t size, struct err *err)
{
	struct record_head *head = region;
	int r;

	if (size < sizeof(*head))
		return fail_nomem(err);
	if (!region_is(&head->region, &record_layout)) {
		memset(head, 0, sizeof(*head));
		region_begin(&head->region, &record_layout);
	}
	t->record = head;
	r = ring_open(head + 1, size - sizeof(*head), &log_layout, &t->log, err);
	if (!r)
		ring_set_share(t->log, share_of);
	return r;
}

/* The hash of what equal refusals, or equal changes, have in common. */
static uint64_t equal_of(const struct verdict_of *a, const char *id, const struct err *err)
{
	uint64_t hash = log_hash(log_hash(0, id), a->file);

	if (err->code)
		return log_hash(hash, err->text);
	return a->value.data ? fnv1a(hash, a->value.data, a->value.size) ?: 1 : hash;
}

static enum log_about about(const struct err *err)
{
	return err->code ? LOG_REFUSED : err->idle ? LOG_IDLE : LOG_CHANGED;
}

/* tell: the user has not used up the share of the log. */
static struct log_told take_share(struct tree *t, const struct actor *who, const struct err *err,
				  uint64_t equal, struct out *o)
{
	struct log_told told;

	pthread_mutex_lock(&t->lock);
	told = log_share(&t->log_shares, who, about(err), equal, o->len, now_us());
	pthread_mutex_unlock(&t->lock);
	if (told.again && told.tell && !who->opener.reserve)
		out_printf(o, " again=%llu", (unsigned long long)told.again);
	if (told.skipped)
		out_printf(o, " skipped=%llu", (unsigned long long)told.skipped);
	return told;
}

struct written written_text(const char *text)
{
	return (struct written){ text, strlen(text) };
}

static void print_value(struct out *o, const struct written *w)
{
	size_t size = w->size, len;
	char text[LOG_VALUE + sizeof("...")];

	if (!w->data) {
		out_printf(o, " value=?");
		return;
	}
	if (size && w->data[size - 1] == '\n')
		size--;
	len = size < LOG_VALUE ? size : LOG_VALUE;
	memcpy(text, w->data, len);
	str_copy(text + len, sizeof(text) - len, size > len ? "..." : "");
	out_pair_bytes(o, "value", text, len + strlen(text + len));
}

/* Returns false if it was logged already. */
static bool log_verdict(struct tree *t, const struct verdict_of *a, const struct actor *who,
			const struct err *err)
{
	struct out o = { 0 };
	const char *text = err->code ? err->text : "";
	size_t n = strlen(a->file), timed;
	struct log_told told = { 0 };
	char id[KEY_NAME + 8];
	bool there;

	if (!strncmp(text, a->file, n) && !strncmp(text + n, ": ", 2))
		text += n + 2; /* file= already says it */
	out_time(&o, "time", now_real_ns());
	timed = o.len;
	if (!a->dev)
		STR_COPY(id, "/");
	out_pair(&o, "id", a->dev ? key_id(a->dev, id) : id);
	if (a->aside) /* as intents has it */
		out_printf(&o, " file=owner.%s", strcmp(a->file, ".") ? a->file : "");
	else
		out_pair(&o, "file", a->file);
	print_value(&o, &a->value);
	if (a->forced)
		out_printf(&o, " force=1");
	out_printf(&o, " pid=%d uid=%u", (int)who->pid, (unsigned int)who->uid);
	if (who->opener.uid != who->uid)
		out_printf(&o, " opener=%u", (unsigned int)who->opener.uid);
	if (!who->opener.uid && !who->opener.reserve)
		out_printf(&o, NO_CAPS);
	if (who->login)
		out_printf(&o, " loginuid=%u", who->login - 1);
	out_pair(&o, "comm", who->comm[0] ? who->comm : "none");
	out_pair(&o, "result", err_name(err->code));
	out_pair(&o, "text", text);
	there = a->since && !o.failed &&
		ring_has(t->log, a->since - 1, o.data + timed, o.len - timed);
	if (!there)
		told = take_share(t, who, err, equal_of(a, id, err), &o);
	if (told.tell && !o.failed)
		ring_put(t->log, o.data, o.len);
	if (told.journal && !o.failed)
		audit_line(o.data + timed, o.len - timed, err,
			   who->opener.reserve ? told.again : 0);
	out_free(&o);
	return !there;
}

static void set_device_error(struct tree *t, const struct key *dev, const char *text, uid_t uid)
{
	struct device *d;

	model_lock(t->conf.model);
	d = model_edit(t->conf.model, dev, false);
	if (d) {
		STR_COPY(d->last_error, text);
		d->error_uid = uid;
	}
	model_publish(t->conf.model);
	model_unlock(t->conf.model);
}

static void set_root_error(struct tree *t, const char *text, uid_t uid)
{
	pthread_mutex_lock(&t->lock);
	STR_COPY(t->record->root_error, text);
	t->record->root_uid = uid;
	pthread_mutex_unlock(&t->lock);
}

uid_t record_root_error(struct tree *t, char buf[static LAST_ERROR])
{
	uid_t uid;

	pthread_mutex_lock(&t->lock);
	str_copy(buf, LAST_ERROR, t->record->root_error);
	uid = t->record->root_uid;
	pthread_mutex_unlock(&t->lock);
	return uid;
}

uint64_t record_count(struct tree *t, int code)
{
	return code >= 0 && code < RECORD_CODES ? t->record->verdicts[code] : 0;
}

static void wake_due(void *ctx)
{
	struct tree *t = ctx;
	struct wakes now;

	pthread_mutex_lock(&t->lock);
	now = t->wakes;
	t->wakes.n = 0;
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; i < now.n; i++)
		tree_touch(t, now.slots[i], CH_LOG);
	files_tell(t->files);
}

/* A log may have thousands of pollers: another thread wakes them than the one that answers. Where
 * there is no place for a device, this one marks them. The root's log has all lines. */
static void wake_later(struct tree *t, const struct key *dev)
{
	struct wakes *w = &t->wakes;
	size_t i = 0;
	uint32_t slot;
	bool first, full;

	pthread_mutex_lock(&t->lock);
	slot = dev ? device_slot(t, dev) : NO_SLOT;
	first = !w->n;
	if (first)
		w->slots[w->n++] = 0;
	while (i < w->n && w->slots[i] != slot)
		i++;
	full = i == ARRAY_SIZE(w->slots) && slot != NO_SLOT;
	if (i == w->n && slot != NO_SLOT && !full)
		w->slots[w->n++] = slot;
	pthread_mutex_unlock(&t->lock);
	if (full)
		tree_touch(t, slot, CH_LOG);
	if ((first || full) && pool_submit(t->worker, wake_due, t))
		wake_due(t);
}

void record_verdict(struct tree *t, const struct verdict_of *a, const struct actor *who,
		    const struct err *err)
{
	bool news = err->code || !(a->aside || err->idle);
	char text[LAST_ERROR] = "";

	if (err->code)
		error_text(text, sizeof(text), a->file, err);
	news &= !a->late;
	if (news && a->dev)
		set_device_error(t, a->dev, text, who->opener.uid);
	else if (news)
		set_root_error(t, text, who->opener.uid);
	if (log_verdict(t, a, who, err))
		t->record->verdicts[err->code > 0 && err->code < RECORD_CODES ? err->code : 0]++;
	wake_later(t, a->dev);
}

void tree_wrote(struct tree *t, const struct key *dev)
{
	model_lock(t->conf.model);
	model_wrote(t->conf.model, dev);
	model_unlock(t->conf.model);
}

void record_refused_open(struct tree *t, struct fuse_req *req, const struct node *n,
			 const char *name, const struct err *err)
{
	const struct actor who = request_actor(req, 0, NULL);

	if (n->kind == OBJ_ROOT || n->subject.dev)
		record_verdict(t, &(struct verdict_of){ .dev = node_device(n), .file = name }, &who,
			       err);
}

/* The file that stands for one that the driver alone sets: restore asks for the latter. */
static const char *instead_of(struct model *m, const struct request *w)
{
	const struct attr *row = attr_by_name(kind_of_bus(w->dev.bus), w->file);
	const struct device *dev = row && row->instead ? model_find(m, &w->dev) : NULL;

	return dev && !row_takes(row, dev->caps) ? row->instead : NULL;
}

/* A request for a device that does not exist, or that names a child, is recorded at the parent;
 * one for a file that stands for another, as it was written. */
static void record_target(struct tree *t, const struct request *asked, struct request *ret,
			  char *file, size_t size)
{
	const char *instead;
	bool absent;

	model_lock(t->conf.model);
	absent = request_resolve(t->conf.model, asked, ret);
	instead = absent ? NULL : instead_of(t->conf.model, ret);
	model_unlock(t->conf.model);
	str_copy(file, size, instead ? instead : request_written(asked));
	if (instead || asked->as[0])
		STR_COPY(ret->value, ret->value[0] && strcmp(ret->value, "0") ? "1" : "0");
	if (asked->made_by[0] || absent)
		ret->dev = *request_parent(asked);
	if (absent && asked->child)
		snprintf(file, size, "virtfn%u/%s", asked->child - 1u, request_written(asked));
}

/* A file whose own line was accepted gets the refusal of the other line, with its label. */
static void tell_other(struct err *err, const struct request *w, const struct request *requests,
		       size_t n)
{
	char label[LINE_LABEL];

	if (!err->line || err->line == w->line || err->line > n)
		return;
	request_label(&requests[err->line - 1], label);
	fail(err, err->code, "not done, as %s of the same transaction was refused: %s", label,
	     err->text);
}

/* Of a device that was made: as its line would make it again. */
static struct written value_of(const struct request *asked, const struct request *w,
			       char made[static WRITTEN_MADE])
{
	if (!asked->made_by[0] || !w->value[0])
		return written_text(w->value[0] ? w->value : "none");
	snprintf(made, WRITTEN_MADE, "\"%s\" %s", w->value, asked->dev.name);
	return written_text(made);
}

void tree_verdict(void *tree, const struct request *requests, size_t n, const struct actor *who,
		  const struct err *err, uint64_t *place)
{
	uint64_t since = *place;

	if (!since)
		*place = ring_head(((struct tree *)tree)->log) + 1;
	for (size_t i = 0; i < n; i++) {
		char file[REQUEST_FILE + 16], made[WRITTEN_MADE];
		struct err told = *err;
		struct request w;
		struct verdict_of asked = { .dev = &w.dev, .file = file, .since = since };

		tell_other(&told, &requests[i], requests, n);
		record_target(tree, &requests[i], &w, file, sizeof(file));
		asked.value = value_of(&requests[i], &w, made);
		asked.forced = w.force;
		if (!w.restores)
			tree_wrote(tree, &w.dev);
		record_verdict(tree, &asked, who, &told);
	}
	record_pace(tree, who);
}
