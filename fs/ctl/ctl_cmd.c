// SPDX-License-Identifier: GPL-2.0-or-later
/* What the lines of ctl mean. A command is a row at the end of this file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_job.h"
#include "lines.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "fs/log/record.h"
#include "fs/rights.h"

#define REQUESTS_MAX 4096

static struct lines_of lines_of(struct ctl_job *job)
{
	return (struct lines_of){
		.tree = job->tree,
		.file = "ctl",
		.home = job->home,
		.who = &job->who.opener,
		.others = job->requests,
		.n_others = job->n_requests,
	};
}

/* Puts the line's name before the sentence, in place of the file's, which says less. */
static void put_label(struct err *err, const char *label)
{
	const char *file = label + line_file(label), *text = err->text;

	if (!strncmp(text, "ctl: ", 5))
		text += 5;
	if (!strncmp(text, file, strlen(file)) && !strncmp(text + strlen(file), ": ", 2))
		text += strlen(file) + 2;
	fail(err, err->code, "%s: %s", label, text);
}

/* The engine says which line it refuses. What is none's, as a journal without room, is the
 * transaction's. */
static void label_verdict(const struct ctl_job *job, struct err *err)
{
	size_t line = job->n_requests == 1 ? 1 : err->line;
	char label[LINE_LABEL] = "ctl";

	if (line && line <= job->n_requests)
		request_label(&job->requests[line - 1], label);
	put_label(err, label);
}

static int add_request(struct ctl_job *job, const struct request *request, struct err *err)
{
	size_t n = job->n_requests;

	for (size_t i = 0; i < n; i++) {
		const struct request *w = &job->requests[i];

		if (key_eq(&w->dev, &request->dev) && w->child == request->child &&
		    !strcmp(w->file, request->file))
			return fail(err, EINVAL, "ctl: the file is written twice in one transaction");
	}
	if (n == REQUESTS_MAX)
		return fail(err, E2BIG, "ctl: a transaction has at most %d lines", REQUESTS_MAX);
	if (!(n & (n - 1))) {
		struct request *v = reallocarray(job->requests, n ? 2 * n : 1, sizeof(*v));

		if (!v)
			return fail(err, ENOMEM, "ctl: out of memory");
		job->requests = v;
	}
	job->requests[job->n_requests++] = *request;
	job->requests[n].line = (uint16_t)job->n_requests;
	return 0;
}

/* A line that is refused is a refused write to the file that it names. */
static int gather_line(struct ctl_job *job, char *line, struct err *err)
{
	const struct lines_of of = lines_of(job);
	char label[LINE_LABEL], *value = line + strcspn(line, " ");
	struct request request;
	int r;

	value += *value != '\0';
	r = line_request(&of, line, &request, label, err);
	tree_wrote(job->tree, request_parent(&request) ?: &request.dev);
	r = r ? r : add_request(job, &request, err);
	if (!r)
		return 0;
	if (request.dev.bus && !request_parent(&request))
		record_verdict(job->tree,
			       &(struct verdict_of){ .dev = &request.dev,
						     .file = label + line_file(label),
						     .value = written_text(value) },
			       &job->who, err);
	put_label(err, label);
	return r;
}

static int check_force(const struct ctl_job *job, struct err *err)
{
	if (job->who.opener.privileged)
		return 0;
	return fail(err, EPERM,
		    "ctl: force needs CAP_SYS_ADMIN on the host itself; it takes from the host "
		    "what the host needs");
}

/* Lifts the guard for the device and, as a claim is its group's, for those that share its group. It
 * asks for the privilege itself: a line too long for a command comes here without run_force(). */
static int lift(struct ctl_job *job, const char *arg, struct err *err)
{
	const struct lines_of of = lines_of(job);
	struct model *m = job->tree->conf.model;
	const struct device *dev;
	struct request at;
	bool named = false;
	int r = check_force(job, err);

	r = r ? r : line_target(&of, arg, &at, err);
	if (r)
		return r;
	model_lock(m);
	dev = model_find(m, &at.dev);
	for (size_t i = 0; i < job->n_requests; i++) {
		struct request *w = &job->requests[i];
		const struct device *d = request_parent(w) ? NULL : model_find(m, &w->dev);

		bool meant = (key_eq(&w->dev, &at.dev) && w->child == at.child) ||
			     (dev && d && !at.child && dev->facts.iommu_group >= 0 &&
			      dev->facts.iommu_group == d->facts.iommu_group);

		w->force |= meant;
		named |= meant;
	}
	model_unlock(m);
	if (!dev)
		return fail(err, ENODEV, "ctl: force: there is no device %s", at.dev.name);
	return named ? 0
		     : fail(err, EINVAL,
			    "ctl: force: no line of this transaction names %s or a member of its "
			    "IOMMU group",
			    at.dev.name);
}

static int take_line(struct ctl_job *job, char *line, bool forces, struct err *err)
{
	char *arg;
	const struct ctl_command *c = command_of(line, &arg);

	if (!c)
		return forces ? 0 : gather_line(job, line, err);
	return forces && c->flags & CMD_LINE ? lift(job, arg, err) : 0;
}

/* Takes the lines that name files, or (forces) those that lift a guard. */
static int each_line(struct ctl_job *job, bool forces, struct err *err)
{
	const char *at = job->ctl->text.data, *end = at + job->ctl->scanned;
	int r = 0;

	while (at < end && !r) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)(nl - at), text = str_clean_len(at, len);
		_free_ char *line = strndup(at, len);

		if (line && strlen(line) == len && line_is_idle(line))
			r = 0;
		else if (text < len)
			r = fail(err, EINVAL,
				 "ctl: a line holds a control character, an invisible one or a "
				 "byte that is not UTF-8 after \"%.*s\"",
				 (int)(text < 64 ? text : 64), at);
		else
			r = line ? take_line(job, line, forces, err)
				 : fail(err, ENOMEM, "ctl: out of memory");
		at = nl + 1;
	}
	return r;
}

/* All lines of the transaction as requests. */
static int gather(struct ctl_job *job, struct err *err)
{
	const struct ctl *ctl = job->ctl;
	int r;

	if (ctl->broken == ECONNRESET)
		return fail(err, ECONNRESET, CTL_RESTARTED);
	if (ctl->broken)
		return fail(err, ctl->broken, "ctl: a part of this transaction was refused: %s%s",
			    ctl->why,
			    strstr(ctl->why, "begin again")   ? ""
			    : job->command->flags & CMD_ENDS ? "; begin again"
							     : "; write abort and begin again");
	r = each_line(job, false, err);
	return r ? r : each_line(job, true, err);
}

static void commit_done(void *ctx, const struct err *err)
{
	struct ctl_job *job = ctx;

	job->err = *err;
	if (err->code)
		label_verdict(job, &job->err);
	job->ended(job);
}

/* Sent again after a crash, each commit of a write gets the verdict that it had: its place makes it
 * known, in units of its own length. If its lines are lost, the engine knows them, or nothing has
 * begun. */
static bool run_commit(struct ctl_job *job)
{
	struct engine *e = job->tree->conf.engine;
	struct actor who = job->who;
	bool lost = job->ctl->broken == ECONNRESET;

	if (!lost && gather(job, &job->err))
		return true;
	job->err.idle = !lost && !job->n_requests;
	if (job->err.idle)
		return true;
	who.tag = job->unique | (uint64_t)job->at / sizeof("commit") << ACTOR_ACT_SHIFT;
	txn_submit(e, job->requests, job->n_requests, &who, commit_done, job);
	/* since it was started, as the engine may not have heard */
	if (atomic_load(&job->interrupted))
		txn_interrupt(e, who.tag);
	return false;
}

static bool run_check(struct ctl_job *job)
{
	struct out steps = { 0 };
	const char *line, *nl;

	/* A person who corrects a wrong line writes it once more; the former one would still be
	 * refused. */
	if (gather(job, &job->err) && !job->ctl->broken)
		fail(&job->err, job->err.code, "%s (all lines stay until abort)", job->err.text);
	if (!job->err.code && job->n_requests &&
	    txn_check(job->tree->conf.engine, job->requests, job->n_requests, &steps, &job->err))
		label_verdict(job, &job->err);
	for (line = out_text(&steps); (nl = strchr(line, '\n')); line = nl + 1)
		if (line[0] >= '0' && line[0] <= '9') /* not "nothing to do" */
			out_printf(&job->answer, "step %.*s\n", (int)(nl - line), line);
	job->answer.failed |= steps.failed;
	out_free(&steps);
	return true;
}

static bool run_abort(struct ctl_job *job)
{
	if (job->ctl->broken == ECONNRESET)
		fail(&job->err, ECONNRESET, CTL_RESTARTED);
	return true;
}

/* Only asks: it counts as a line, once the commit comes. */
static bool run_force(struct ctl_job *job)
{
	const struct lines_of of = lines_of(job);
	struct request at;

	if (check_force(job, &job->err))
		return true;
	if (!job->arg[0] && !job->home)
		fail(&job->err, EINVAL,
		     "ctl: force: name the device, for example force 0000:00:1f.2");
	else if (!line_target(&of, job->arg, &at, &job->err))
		tree_wrote(job->tree, &at.dev);
	return true;
}

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* NAME [SENTENCE], where a longer sentence is cut. `health` believes it, so not from the owner of a
 * device. */
static bool run_hello(struct ctl_job *job)
{
	size_t n = strspn(job->arg, NAME_CHARS);
	const char *says = job->arg + n + (job->arg[n] == ' ');
	struct ctl_kept *k = job->ctl->kept;

	if (!job->who.opener.reserve) {
		fail(&job->err, EACCES,
		     "ctl: hello needs the group pcidevfs, CAP_DAC_OVERRIDE or CAP_SYS_ADMIN");
		return true;
	}
	if (!n || n >= sizeof(k->hello) || (job->arg[n] && job->arg[n] != ' ')) {
		fail(&job->err, EINVAL,
		     "ctl: hello takes a name of letters, digits and . _ -, at most %zu, and perhaps a sentence",
		     sizeof(k->hello) - 1);
		return true;
	}
	pthread_mutex_lock(&job->tree->ctl->lock);
	snprintf(k->hello, sizeof(k->hello), "%.*s", (int)n, job->arg);
	STR_COPY(k->says, says);
	k->hello_pid = (uint32_t)job->who.pid;
	pthread_mutex_unlock(&job->tree->ctl->lock);
	tree_touch(job->tree, 0, CH_LOG); /* metrics.prom has it */
	return true;
}

static struct intents *intents_of(struct ctl_job *job)
{
	if (!job->tree->conf.intents)
		fail(&job->err, EOPNOTSUPP, "ctl: nothing is kept over reboots here");
	return job->tree->conf.intents;
}

/* What settles a claim needs the right to claim, over the whole IOMMU group; who was given a device
 * by chown is root's to say. */
static int check_settle(struct ctl_job *job, const struct key *key, bool owned, struct err *err)
{
	struct request claim = { .file = "claim" };

	if (job->who.opener.privileged)
		return 0;
	if (owned)
		return fail(
			err, EACCES,
			"user %u may not do this: ownership was changed with chown or chmod, only "
			"root can drop it",
			(unsigned int)job->who.opener.uid);
	if (!key)
		return rights_check_unborn(job->tree, &job->who.opener, NULL,
					   attr_by_name(kind_of_bus(BUS_PCI), claim.file), err);
	claim.dev = *key;
	return rights_may(job->tree, &claim, &job->who.opener, err);
}

/* From here on the disk may have it. A process that goes on after a kill must not take what it
 * finds done for an error. */
static int may_settle(void *ctx, const struct key *key, bool owned, struct err *err)
{
	struct ctl_job *job = ctx;
	struct ctl_kept *k = job->ctl->kept;
	int r = check_settle(job, key, owned, err);

	k->begun = r ? k->begun : (uint32_t)job->at;
	return r;
}

static struct settler settler_of(struct ctl_job *job)
{
	return (struct settler){
		.may = may_settle, .ctx = job, .again = (long)job->ctl->kept->begun >= job->at
	};
}

static bool run_forget(struct ctl_job *job)
{
	struct settler settler = settler_of(job);
	struct intents *in = intents_of(job);

	if (in && job->home)
		fail(&job->err, EINVAL, "ctl: forget works only in the ctl of the root");
	else if (in && intents_forget(in, job->arg, &settler, &job->err))
		fail_wrap(&job->err, "ctl: forget");
	else if (in && (settler.dev.bus || settler.root))
		owners_forget(job->tree, settler.root ? NULL : &settler.dev);
	return true;
}

static void accept_done(void *ctx, const struct err *err)
{
	struct ctl_job *job = ctx;

	job->err = *err;
	if (err->code)
		fail_wrap(&job->err, "ctl: accept");
	job->ended(job);
}

static bool run_accept(struct ctl_job *job)
{
	struct settler settler = settler_of(job);
	const struct lines_of of = lines_of(job);
	struct intents *in = intents_of(job);
	struct request at;

	if (!in || line_target(&of, job->arg, &at, &job->err))
		return true;
	settler.done = accept_done;
	if (at.child)
		fail(&job->err, EINVAL, "ctl: accept takes the address of a device that is there");
	else if (intents_accept(in, &at.dev, &settler, &job->err))
		fail_wrap(&job->err, "ctl: accept");
	return !settler.waits; /* if it does, the job may be over by now */
}

static bool run_unclear(struct ctl_job *job)
{
	fail(&job->err, EINVAL,
	     "ctl: %s takes no argument, but \"%.64s\" follows it; write abort and begin again",
	     job->line, job->arg);
	return true;
}

/* Nobody knows what is meant: neither ended nor carried out, the transaction waits for a plain
 * abort. */
static const struct ctl_command unclear = { "", CMD_LINE, run_unclear };

const struct ctl_command command_torn = { "", CMD_LOGS, run_commit };

static const struct ctl_command commands[] = {
	{ "commit", CMD_ENDS | CMD_LOGS | CMD_ALONE, run_commit },
	{ "check", CMD_ALONE | CMD_WAITS, run_check },
	{ "abort", CMD_ENDS | CMD_ALONE, run_abort },
	{ "force", CMD_LINE, run_force },
	{ "hello", 0, run_hello },
	{ "forget", CMD_LOGS | CMD_WAITS, run_forget },
	{ "accept", CMD_LOGS | CMD_WAITS, run_accept },
};

const struct ctl_command *command_of(char *line, char **ret_arg)
{
	size_t n = strcspn(line, " ");

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strlen(commands[i].name) != n || strncmp(commands[i].name, line, n))
			continue;
		*ret_arg = line + n + (line[n] != '\0');
		line[n] = '\0';
		return commands[i].flags & CMD_ALONE && **ret_arg ? &unclear : &commands[i];
	}
	return NULL;
}
