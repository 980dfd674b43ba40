// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of what is written to ctl. Each open file has a queue of writes; the first is carried
 * out, line by line. What a kill interrupts goes on behind its last command that has ended, when
 * its write is sent again.
 */
#define FUSE_USE_VERSION 312
#include "ctl.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_job.h"
#include "fs/fault.h"
#include "fs/journal.h"
#include "pcidevfs/pool.h"
#include "fs/log/record.h"
#include "fs/request.h"
#include "fs/writers.h"

/* The first refusal is the cause of those that follow. */
static void ctl_break(struct ctl *ctl, const struct err *err)
{
	const char *text = err->text;

	if (ctl->broken)
		return;
	ctl->broken = err->code;
	str_copy(ctl->why, sizeof(ctl->why), text + (strncmp(text, "ctl: ", 5) ? 0 : 5));
}

/* With the lock held. Goes on with the write that a former process began, or begins another one. A
 * kill may come between any two stores. */
static void begin(struct ctl_job *job)
{
	struct ctl *ctl = job->ctl;
	struct ctl_kept *k = ctl->kept;

	if (k->writer == job->unique && k->done <= job->size) {
		ctl->broken = k->gathered && !k->done ? ECONNRESET : 0;
		ctl->torn &= !k->done;
		return;
	}
	k->gathered |= ctl->broken != 0;
	k->writer = k->done = k->begun = 0;
	k->verdict = 0;
	k->told = ring_head(job->tree->log) + 1;
	atomic_signal_fence(memory_order_seq_cst);
	k->writer = job->unique;
}

/* With the lock held. Takes its text, but for what a former process has carried out of it. */
static void take(struct ctl_job *job)
{
	struct ctl *ctl = job->ctl;
	struct ctl_files *c = job->tree->ctl;
	struct ctl_kept *k = ctl->kept;

	begin(job);
	job->taken = true;
	job->base = (long)k->done - (long)ctl->text.len;
	ctl->who = job->who;
	if (quota_check(&c->held, &ctl->opener, job->size, NULL))
		fail(&job->err, ENOBUFS,
		     "ctl: the transactions of all users use all the memory they may; write abort, "
		     "and begin again later or with fewer lines");
	else if (job->size > CTL_WRITE || ctl->text.len + job->size > CTL_TEXT)
		fail(&job->err, E2BIG,
		     "ctl: at most %zu bytes in one write, %zu in a transaction; "
		     "write abort and begin again",
		     CTL_WRITE, CTL_TEXT);
	else
		out_put(&ctl->text, job->buf + k->done, job->size - k->done);
	if (ctl->text.failed)
		fail(&job->err, ENOMEM, "ctl: out of memory; write abort and begin again");
	ctl->text.failed = false;
	ctl_count(c, ctl);
	if (!job->err.code)
		return;
	ctl->scanned = ctl->text.len; /* makes room for abort */
	ctl_cut(ctl, false);
	ctl_break(ctl, &job->err);
	k->verdict = -job->err.code;
}

/* With the lock held. The first verdict that is unread is nobody's share. */
static bool may_say(const struct ctl_job *job, size_t len)
{
	const struct ctl *ctl = job->ctl;
	size_t all = ctl->said.len - ctl->read + len;

	return ctl->kept->deaf ||
	       (all <= CTL_SAID && ctl->kept->verdict != -ENOBUFS &&
		(all <= CTL_VERDICT ||
		 !quota_check(&job->tree->ctl->held, &ctl->opener, len, NULL)));
}

/* Goes past the command that has ended, which nobody knows yet: if the process dies, the next one
 * does so as well. A transaction that has ended is dropped, and so is a command before the first
 * line of one. What is partly lost ends with any of its commands. */
static void leave(struct ctl_job *job, bool answers)
{
	const struct ctl_command *c = job->command;
	struct ctl *ctl = job->ctl;
	struct ctl_kept *k = ctl->kept;
	bool ends = c->flags & (ctl->broken == ECONNRESET ? CMD_ALONE : CMD_ENDS);
	bool first = !ctl->scanned && !(c->flags & CMD_LINE);

	pthread_mutex_lock(&job->tree->ctl->lock);
	ctl->scanned = (size_t)(job->at - job->base);
	if (job->err.code && c->flags & CMD_LINE)
		ctl_break(ctl, &job->err);
	k->verdict = k->verdict ?: -job->err.code;
	k->unread |= answers && !k->deaf;
	atomic_signal_fence(memory_order_seq_cst);
	if (ends)
		k->done = (uint32_t)job->at;
	if (ends || first) {
		job->base = job->at;
		ctl_cut(ctl, ends);
		ctl_count(job->tree->ctl, ctl);
	}
	pthread_mutex_unlock(&job->tree->ctl->lock);
}

static void say(struct ctl_job *job, const struct out *o)
{
	struct ctl *ctl = job->ctl;
	struct ctl_kept *k = ctl->kept;

	pthread_mutex_lock(&job->tree->ctl->lock);
	if (o->failed || (o->len && (!may_say(job, o->len) || !ctl_say(ctl, o->data, o->len))))
		k->verdict = k->verdict ?: -ENOBUFS;
	k->unread = ctl->said.len > ctl->read;
	ctl_count(job->tree->ctl, ctl);
	pthread_mutex_unlock(&job->tree->ctl->lock);
	files_touch(job->tree->files, job->ino);
	files_tell(job->tree->files);
}

static void record_it(struct ctl_job *job, const struct actor *who, const struct err *err)
{
	struct tree *t = job->tree;
	struct verdict_of asked = {
		.dev = job->home,
		.file = "ctl",
		.value = { job->buf, job->size },
		.since = job->resent ? job->ctl->kept->told : 0,
	};

	if (job->command)
		asked.value = written_text(job->line);
	record_verdict(t, &asked, who, err);
	if (t->first && fault_is("told"))
		fault_die();
	if (t->first && fault_is("told-hang"))
		fault_hang();
}

static void end_command(struct ctl_job *job)
{
	const struct ctl_command *c = job->command;
	struct out *o = &job->answer;

	if (c && job->arg > job->line && job->arg[0]) /* the log shows the whole line */
		job->arg[-1] = ' ';
	if (job->err.code)
		out_printf(o, "error %s %s\nend\n", err_name(job->err.code), job->err.text);
	else if (!(c && c->flags & CMD_LINE))
		out_printf(o, "ok\nend\n");
	if (c)
		leave(job, o->len);
	if (job->err.code || (c && c->flags & CMD_LOGS))
		record_it(job, &job->who, &job->err);
	say(job, o);
	out_free(o);
	free(job->requests);
	job->requests = NULL;
	job->n_requests = 0;
	job->err = (struct err){ 0 };
	job->command = NULL;
}

static void run_waiting(void *ctx)
{
	struct ctl_job *job = ctx;

	if (job->command->run(job))
		job->ended(job);
}

/* False: the command ends later, on another thread, which then goes on. */
static bool start(struct ctl_job *job)
{
	bool room;

	atomic_store(&job->turn, 0);
	/* What may have begun is the engine's to judge. */
	if (job->command->flags & CMD_LOGS && !job->resent && atomic_load(&job->interrupted)) {
		fail(&job->err, EINTR,
		     "ctl: interrupted before this command; nothing of it was done");
		return true;
	}
	pthread_mutex_lock(&job->tree->ctl->lock);
	room = may_say(job, CTL_VERDICT);
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

/* Goes past the lines of the transaction to the next command; false: there is none. Without the
 * lock: of an open file nobody but its first write changes the text, and where it was scanned. */
static bool find_command(struct ctl_job *job)
{
	struct ctl *ctl = job->ctl;
	const char *line;
	size_t len;

	while ((line = ctl_line(ctl, &len))) {
		/* What is no text, or longer than any command, will be refused as a line. */
		if (len < sizeof(job->line) && str_clean_len(line, len) == len) {
			memcpy(job->line, line, len);
			job->line[len] = '\0';
			job->command = command_of(job->line, &job->arg);
		}
		if (ctl->torn) {
			job->arg = memset(job->line, 0, 1);
			job->command = &command_torn;
			ctl->torn = false;
		}
		job->at = job->base + (long)(ctl->scanned + len + 1);
		if (job->command)
			break;
		ctl->scanned += len + 1;
	}
	return job->command;
}

/* False: it waits, and who ends its command goes on. */
static bool carry_on(struct ctl_job *job)
{
	struct creds opener;

	if (!job->taken) {
		if (job->home)
			tree_wrote(job->tree, job->home);
		opener = job->who.opener;
		job->who = request_actor(job->req, job->unique, &opener);
		pthread_mutex_lock(&job->tree->ctl->lock);
		take(job);
		pthread_mutex_unlock(&job->tree->ctl->lock);
		if (job->err.code)
			end_command(job);
	}
	while (find_command(job)) {
		pool_goes_on(job->tree->commands); /* a write may bring thousands */
		if (!start(job))
			return false;
		end_command(job);
	}
	return true;
}

/* Nothing of it was begun. */
static void drop(struct ctl_job *job, int result)
{
	request_over(job->tree, job->req, job->journal_slot, result);
	free(job);
}

/* With the lock held. */
static void uncount(struct ctl_job *job)
{
	job->ctl->n_queued--;
	quota_give(&job->tree->ctl->queued, &job->ctl->opener, job->size);
}

/* The verdict is written down before the write is over, and that before it is told. Returns the
 * next write to the same file. */
static struct ctl_job *finish(struct ctl_job *job)
{
	struct ctl_files *c = job->tree->ctl;
	struct ctl_leftover left = { 0 };
	struct ctl *ctl = job->ctl;
	struct ctl_kept *k = ctl->kept;
	struct ctl_job *following;
	int result;

	pthread_mutex_lock(&c->lock);
	result = k->verdict ?: (int)job->size;
	request_ends(job->tree, job->journal_slot, result);
	k->gathered = ctl->broken || ctl->text.len;
	k->torn = k->gathered && job->buf[job->size - 1] != '\n';
	atomic_signal_fence(memory_order_seq_cst);
	k->writer = 0;
	following = ctl->queue = job->next;
	uncount(job);
	if (!following && ctl->closing) {
		ctl->closing = false;
		left = ctl_end(c, ctl);
	}
	pthread_mutex_unlock(&c->lock);
	ctl_tell_leftover(job->tree, job->home, &left);
	request_reply(job->req, result);
	free(job);
	return following;
}

static void drive(void *ctx)
{
	struct ctl_job *job = ctx;
	struct tree *t;

	while (job && carry_on(job)) {
		t = job->tree;
		job = finish(job);
		/* Others first: whoever floods one file has its writes between theirs. */
		if (job && !pool_submit(t->commands, drive, job))
			return;
	}
}

/* The end of a command that ends later; from any thread. */
static void job_ended(struct ctl_job *job)
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
	job->dev = n->dev.key;
	job->home = node_device(n) ? &job->dev : NULL;
	return job;
}

/* With the lock held. Where others wait as well, one open file has less. */
static bool enqueue(struct ctl_job *job)
{
	struct quota *queued = &job->tree->ctl->queued;
	struct ctl *ctl = job->ctl;
	struct ctl_job **at = &ctl->queue;

	if (ctl->queue && (ctl->n_queued >= CTL_QUEUE ||
			   quota_check(queued, &ctl->opener, job->size, NULL)))
		return false;
	if (quota_count(queued, &ctl->opener, job->size))
		return false;
	while (*at)
		at = &(*at)->next;
	*at = job;
	ctl->n_queued++;
	return true;
}

/* Takes a write that waits out of its queue. */
static void interrupt_write(struct tree *t, uint64_t unique)
{
	struct ctl_files *c = t->ctl;
	struct ctl_job *job = NULL, **at = NULL;
	struct ctl *ctl;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; !job && (ctl = ctl_at(c, i)); i++)
		for (at = &ctl->queue; (job = *at) && job->unique != unique; at = &job->next)
			;
	if (job)
		atomic_store(&job->interrupted, true);
	if (job && job != job->ctl->queue) {
		*at = job->next;
		uncount(job);
	} else {
		job = NULL; /* there is none, or it is being carried out */
	}
	pthread_mutex_unlock(&c->lock);
	if (job)
		drop(job, -EINTR);
}

void ctl_withdraw(struct tree *t, uint64_t tag)
{
	/* In this order: see run_commit(). */
	interrupt_write(t, tag);
	txn_interrupt(t->conf.engine, tag);
}

/* Told without a look at its process: there may be many such. */
static void refuse_full(struct ctl_job *job)
{
	const struct actor who = { .uid = fuse_req_ctx(job->req)->uid,
				   .opener = job->who.opener,
				   .pid = fuse_req_ctx(job->req)->pid };
	struct err err = { 0 };

	fail(&err, EAGAIN,
	     "ctl: too many writes wait on this open file; write again when they have their answers");
	record_it(job, &who, &err);
	drop(job, -EAGAIN);
}

void ctl_write(struct tree *t, struct fuse_req *req, const struct node *n, uint64_t fh,
	       const char *buf, size_t size, uint32_t journal_slot)
{
	struct ctl_job *job = job_new(t, n, fh, buf, size);
	struct ctl_files *c = t->ctl;
	bool first = false;
	int r = 0;

	if (!job) {
		request_over(t, req, journal_slot, -ENOMEM);
		return;
	}
	job->req = req;
	job->unique = t->conf.unique() & ~UNIQUE_RESENT;
	job->resent = t->conf.unique() & UNIQUE_RESENT;
	job->journal_slot = journal_slot;
	writers_begin(t->writers, req, journal_slot, job->unique);
	request_leaves(t, n, journal_slot);
	pthread_mutex_lock(&c->lock);
	job->ctl = ctl_find(c, fh);
	if (!job->ctl)
		r = -ESTALE;
	/* Sent again before the one that ran: it had not begun, and would hide what
	 * that one did. */
	else if (job->resent && !job->ctl->queue && job->ctl->kept->writer &&
		 job->ctl->kept->writer != job->unique)
		r = -ECONNRESET;
	else if (!enqueue(job))
		r = -EAGAIN;
	else
		first = job->ctl->queue == job;
	pthread_mutex_unlock(&c->lock);
	if (r == -EAGAIN)
		refuse_full(job);
	else if (r)
		drop(job, r);
	else if (first && pool_submit(t->commands, drive, job))
		drive(job);
}
