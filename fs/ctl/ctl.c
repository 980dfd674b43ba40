// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of what is written to ctl. Each open file has a queue of writes; the first is carried
 * out, line by line. What a kill interrupts goes on where the store says: when its write is sent
 * again, or ahead of the next one.
 */
#define FUSE_USE_VERSION 312
#include "ctl.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_job.h"
#include "fs/journal.h"
#include "lines.h"
#include "pcidevfs/pool.h"
#include "fs/record.h"
#include "fs/request.h"

/* The first refusal is the cause of those that follow. */
static void ctl_break(struct ctl_state *next, const struct err *err)
{
	const char *text = err->text;

	if (next->broken)
		return;
	next->broken = err->code;
	str_copy(next->why, sizeof(next->why), text + (strncmp(text, "ctl: ", 5) ? 0 : 5));
}

/* With the lock held. Its text gets into the store, unless a former process put it there. */
static void take(struct ctl_job *job)
{
	struct ctl_state *next;

	job->taken = true;
	if (ctl_now(job->ctl)->writer == job->unique)
		return;
	next = ctl_next(job->ctl);
	next->writer = job->unique;
	next->who = job->who;
	next->size = (uint32_t)job->size;
	next->verdict = 0;
	next->commands = next->begun = next->started = 0;
	if (!ctl_may_hold(job->tree, &job->who.opener, job->size))
		fail(&job->err, ENOBUFS,
		     "ctl: the transactions of all users use all the memory they may; write abort, "
		     "and begin again later or with fewer lines");
	else if (ctl_append(job->ctl, next, job->buf, job->size))
		fail(&job->err, E2BIG,
		     "ctl: at most %zu bytes in one write, %zu in a transaction; "
		     "write abort and begin again",
		     CTL_WRITE, CTL_TEXT);
	if (job->err.code) {
		next->begin = next->scanned = next->end = 0; /* makes room for abort */
		ctl_break(next, &job->err);
		next->verdict = -job->err.code;
	}
	ctl_swap(job->ctl);
}

/* With the lock held. The first verdict that is unread is nobody's share. */
static bool may_say(const struct ctl_job *job, const struct ctl_state *s, size_t len)
{
	return job->ctl->deaf ||
	       (ctl_has_room(s, len) && (s->said - s->read + len <= CTL_VERDICT ||
					 ctl_may_hold(job->tree, &job->who.opener, len)));
}

static void tell_end(const struct ctl_job *job, struct out *o)
{
	if (job->answer.data)
		out_put(o, job->answer.data, job->answer.len);
	if (job->err.code)
		out_printf(o, "error %s %s\nend\n", err_name(job->err.code), job->err.text);
	else
		out_printf(o, "ok\nend\n");
	o->failed |= job->answer.failed;
}

/* The command has ended: its answer and what it leaves of the transaction become the state at
 * once. */
static void settle(struct ctl_job *job)
{
	uint32_t flags = job->command ? job->command->flags : 0;
	int code = job->err.code;
	struct ctl_state *next;
	struct out o = { 0 };
	size_t len = 0;

	if (code || !(flags & CMD_LINE))
		tell_end(job, &o);
	pthread_mutex_lock(&job->tree->ctl->lock);
	next = ctl_next(job->ctl);
	if (job->command && ctl_line(job->ctl, next, &len))
		next->scanned += (uint32_t)len + 1;
	if (flags & CMD_ENDS) {
		next->begin = next->scanned;
		next->broken = 0;
	}
	if (code && flags & CMD_LINE)
		ctl_break(next, &job->err);
	if (code && !next->verdict)
		next->verdict = -code;
	next->commands++;
	if (o.failed || (o.len && !may_say(job, next, o.len)))
		next->verdict = next->verdict ?: -ENOBUFS;
	else if (o.len)
		ctl_say(job->ctl, next, o.data, o.len);
	ctl_swap(job->ctl);
	pthread_mutex_unlock(&job->tree->ctl->lock);
	out_free(&o);
	files_touch(job->tree->files, job->ino);
	files_tell(job->tree->files);
}

/* An orphan has but what is in the store. */
static struct written written_by(const struct ctl_job *job)
{
	return (struct written){ job->size ? job->buf : NULL, job->size };
}

static void end_command(struct ctl_job *job)
{
	const struct ctl_state now = job_state(job);
	const struct ctl_command *c = job->command;

	if (c && job->arg > job->line && job->arg[0]) /* the log shows the whole line */
		job->arg[-1] = ' ';
	if (job->err.code || (c && c->flags & CMD_LOGS))
		record_command(job->tree, job->has_home ? &job->home : NULL, 
			       c ? written_text(job->line) : written_by(job),
			       &job->who, &job->err, ctl_told_since(&now));
	settle(job);
	free(job->requests);
	out_free(&job->answer);
	job->requests = NULL;
	job->n_requests = 0;
	job->answer = (struct out){ 0 };
	job->err = (struct err){ 0 };
	job->command = NULL;
}

static void run_waiting(struct engine *e, void *ctx)
{
	struct ctl_job *job = ctx;

	(void)e;
	job->command->run(job);
	job_ended(job);
}

/* False: the command ends later, on another thread, which then goes on. */
static bool start(struct ctl_job *job)
{
	bool room;

	atomic_store(&job->turn, 0);
	/* What may have begun is the engine's to judge. */
	if (job->command->flags & CMD_LOGS && !job->resumed && atomic_load(&job->interrupted)) {
		fail(&job->err, EINTR,
		     "ctl: interrupted before this command; nothing of it was done");
		return true;
	}
	pthread_mutex_lock(&job->tree->ctl->lock);
	room = may_say(job, ctl_now(job->ctl), CTL_VERDICT);
	pthread_mutex_unlock(&job->tree->ctl->lock);
	/* Who is told that the write failed must not find it done. */
	if (job->command->flags & CMD_LOGS && !room) {
		fail(&job->err, ENOBUFS,
		     "ctl: the unread answers of this open file leave no room for another verdict; "
		     "read them, or write fewer commands at once");
		return true;
	}
	if (!(job->command->flags & CMD_WAITS)) {
		if (job->command->run(job))
			return true;
	} else {
		int r = engine_defer(job->tree->conf.engine, &job->who, run_waiting, job);

		if (r) {
			engine_refuse(r, &job->who, &job->err);
			return true;
		}
	}
	return atomic_exchange(&job->turn, 1);
}

/* Goes past the lines of the transaction to the next command; false: there is none. */
static bool find_command(struct ctl_job *job)
{
	struct ctl_state *next;
	const char *line;
	size_t len;

	pthread_mutex_lock(&job->tree->ctl->lock);
	next = ctl_next(job->ctl);
	while ((line = ctl_line(job->ctl, next, &len))) {
		/* What is no text, or longer than any command, will be refused as a line. */
		if (len < sizeof(job->line) && line_text(line, len) == len) {
			memcpy(job->line, line, len);
			job->line[len] = '\0';
			job->command = command_of(job->line, &job->arg);
		}
		if (job->command)
			break;
		next->scanned += (uint32_t)len + 1;
	}
	job->resumed = next->started == next->commands + 1;
	if (job->command && !job->resumed) {
		next->started = next->commands + 1;
		next->log_head = ring_head(job->tree->log);
	}
	ctl_swap(job->ctl);
	pthread_mutex_unlock(&job->tree->ctl->lock);
	return job->command;
}

/* False: it waits, and who ends its command goes on. */
static bool carry_on(struct ctl_job *job)
{
	if (!job->taken) {
		if (!job->who.tag) { /* not an orphan: its writer waits, and can be looked at */
			const struct creds opener = job->who.opener;

			job->who = request_actor(job->req, job->unique, &opener);
		}
		pthread_mutex_lock(&job->tree->ctl->lock);
		take(job);
		pthread_mutex_unlock(&job->tree->ctl->lock);
		if (job->err.code)
			end_command(job);
	}
	while (find_command(job)) {
		if (!start(job))
			return false;
		end_command(job);
	}
	return true;
}

static void reply(struct fuse_req *req, int result)
{
	if (req && result < 0)
		fuse_reply_err(req, -result);
	else if (req)
		fuse_reply_write(req, (size_t)result);
}

/* Nothing of it was begun. */
static void drop(struct ctl_job *job, int result)
{
	request_ends(job->tree, job->journal_slot, result);
	reply(job->req, result);
	free(job);
}

/* With the lock held: it is in its queue, or no more. */
static void count(struct ctl_job *job)
{
	job->side->n_queued++;
	job->tree->ctl->queued += job->who.opener.reserve ? 0 : job->size;
}

static void uncount(struct ctl_job *job)
{
	job->side->n_queued--;
	job->tree->ctl->queued -= job->who.opener.reserve ? 0 : job->size;
}

/* With the lock held. Where others wait as well, one open file has less. */
static bool may_queue(const struct ctl_job *job)
{
	size_t queued = job->tree->ctl->queued;

	if (job->side->n_queued >= CTL_QUEUE)
		return false;
	return job->who.opener.reserve || !job->side->n_queued ||
	       (queued < CTL_QUEUED_OF_ALL &&
		job->side->n_queued * CTL_WRITE <= CTL_QUEUED_OF_ALL - queued);
}

/* The verdict is written down before the write leaves the store, and that before it is told.
 * Returns the next write to the same file. */
static struct ctl_job *finish(struct ctl_job *job)
{
	struct ctl_files *c = job->tree->ctl;
	struct ctl_leftover left = { 0 };
	struct ctl_job *following;
	struct ctl_state *next;
	struct fuse_req *req;
	int result;

	pthread_mutex_lock(&c->lock);
	next = ctl_next(job->ctl);
	result = next->verdict ?: (int)next->size;
	request_ends(job->tree, job->journal_slot, result);
	next->writer = 0;
	ctl_relax(job->ctl, next);
	req = job->req;
	following = job->side->queue = job->next;
	uncount(job);
	if (!following && job->side->closing) {
		job->side->closing = false;
		ctl_leftover(job->ctl, &left);
		ctls_close(c->store, job->ctl);
	}
	pthread_mutex_unlock(&c->lock);
	ctl_tell_leftover(job->tree, job->has_home ? &job->home : NULL, &left);
	reply(req, result);
	free(job);
	return following;
}

static void drive(void *ctx)
{
	struct ctl_job *job = ctx;

	while (job && carry_on(job))
		job = finish(job);
}

void job_ended(struct ctl_job *job)
{
	if (!atomic_exchange(&job->turn, 1))
		return; /* who started it has not returned yet, and will go on */
	end_command(job);
	drive(job);
}

static struct ctl_job *job_new(struct tree *t, const struct node *n, uint64_t fh, const char *buf,
			       size_t size)
{
	const struct open_file *file = files_get(t->files, fh);
	struct ctl_job *job = file ? calloc(1, sizeof(*job) + size) : NULL;

	if (!job)
		return NULL;
	job->who.opener = file->creds;
	job->tree = t;
	job->ended = job_ended;
	job->ino = n->ino;
	job->size = size;
	memcpy(job->buf, buf, size);
	job->has_home = n->subject.dev != NULL;
	job->home = n->dev.key;
	return job;
}

/* With the lock held. A write that a former process began is finished first, whether or not the
 * kernel sends it again. NULL: there is none. */
static struct ctl_job *orphan(struct tree *t, const struct node *n, const struct ctl *ctl)
{
	const struct ctl_state *s = ctl_now(ctl);
	struct ctl_job *job = s->writer ? job_new(t, n, ctl->fh, "", 0) : NULL;
	int verdict;

	if (!job)
		return NULL;
	job->unique = s->writer;
	job->who = s->who;
	if (!journal_begin(t->journal, s->writer | UNIQUE_RESENT, &job->journal_slot, &verdict))
		return job;
	free(job); /* it had been finished, all but the last store */
	return NULL;
}

/* With the lock held. Returns what is to be driven now; NULL: those before it are. */
static struct ctl_job *enqueue(struct ctl_job *job, const struct node *n)
{
	struct ctl_job **at = &job->side->queue, *former = NULL;

	if (!*at && ctl_now(job->ctl)->writer != job->unique)
		former = orphan(job->tree, n, job->ctl);
	if (former) {
		former->ctl = job->ctl;
		former->side = job->side;
		former->next = job;
		*at = former;
		count(former);
		count(job);
		return former;
	}
	while (*at)
		at = &(*at)->next;
	*at = job;
	count(job);
	return job == job->side->queue ? job : NULL;
}

/* With the lock held. Takes it out of its queue; NULL: it is not in this one, or is being carried
 * out. */
static struct ctl_job *withdraw(struct ctl_side *side, uint64_t unique)
{
	struct ctl_job *job;

	for (struct ctl_job **at = &side->queue; (job = *at); at = &job->next) {
		if (job->unique != unique)
			continue;
		atomic_store(&job->interrupted, true);
		if (job == side->queue)
			continue;
		*at = job->next;
		uncount(job);
		return job;
	}
	return NULL;
}

static void interrupt_writes(struct tree *t, uint64_t tag)
{
	struct ctl_files *c = t->ctl;
	struct ctl_job *job = NULL;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < CTL_FILES && !job; i++)
		job = withdraw(&c->side[i], tag);
	pthread_mutex_unlock(&c->lock);
	if (job)
		drop(job, -EINTR);
}

/* Called by the FUSE thread. What tag belongs to may have its answer by now. */
void ctl_interrupted(fuse_req_t req, void *tag)
{
	struct tree *t = fuse_req_userdata(req);

	/* In this order: see run_commit(). */
	interrupt_writes(t, (uintptr_t)tag);
	txn_interrupt(t->conf.engine, (uintptr_t)tag);
}

/* With the lock held. Its write is being finished already, from what the former process left. */
static bool joins(struct ctl_side *side, struct ctl_job *job)
{
	struct ctl_job *first = side->queue;

	if (!first || first->req || first->unique != job->unique)
		return false;
	first->req = job->req;
	return true;
}

/* Told without a look at its process: there may be many such. */
static void refuse_full(struct ctl_job *job, const struct node *n)
{
	const struct actor who = { .uid = fuse_req_ctx(job->req)->uid,
				   .opener = job->who.opener,
				   .pid = fuse_req_ctx(job->req)->pid };
	struct err err = { 0 };

	fail(&err, EAGAIN,
	     "ctl: too many writes wait on this open file; write again when they have their answers");
	record_command(job->tree, n->subject.dev ? &job->home : NULL, written_by(job), &who, &err,
		       0);
	drop(job, -EAGAIN);
}

void ctl_write(struct tree *t, struct fuse_req *req, const struct node *n, uint64_t fh,
	       const char *buf, size_t size, uint32_t journal_slot)
{
	struct ctl_job *job = job_new(t, n, fh, buf, size), *first = NULL;
	struct ctl_files *c = t->ctl;
	bool joined = false, full = false;

	if (!job) {
		request_ends(t, journal_slot, -ENOMEM);
		reply(req, -ENOMEM);
		return;
	}
	job->req = req;
	job->unique = t->conf.unique() & ~UNIQUE_RESENT;
	job->journal_slot = journal_slot;
	fuse_req_interrupt_func(req, ctl_interrupted, (void *)(uintptr_t)job->unique);
	request_leaves(t, n, journal_slot);
	pthread_mutex_lock(&c->lock);
	job->ctl = ctls_find(c->store, fh);
	if (job->ctl) {
		job->side = ctl_side_of(c, job->ctl);
		joined = joins(job->side, job);
		full = !joined && !may_queue(job);
		first = joined || full ? NULL : enqueue(job, n);
	}
	pthread_mutex_unlock(&c->lock);
	if (joined)
		free(job);
	else if (full)
		refuse_full(job, n);
	else if (!job->ctl)
		drop(job, -ESTALE);
	else if (first && pool_submit(t->worker, drive, first))
		drive(first);
}
