// SPDX-License-Identifier: GPL-2.0-or-later
/* What becomes of one label's value: it is planned, run, and tried again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/mirror.h"
#include "events.h"
#include "node_labels.h"

void label_event(struct node_labels *l, enum label_id id, const char *value, bool normal,
		 const char *reason, const char *sentence)
{
	char text[ERR_TEXT];
	struct out whole = { 0 };

	out_printf(&whole, "%s=%s: %s", label_rows[id].label, value, sentence);
	str_copy(text, sizeof(text), out_text(&whole));
	out_free(&whole);
	events_add(l->s->events,
		   &(struct involved){ .api = "v1",
				       .kind = "Node",
				       .name = l->s->o->node,
				       .uid = l->s->node_uid,
				       .space = "",
				       .normal = normal },
		   reason, text);
}

/* ---- the tree, in a thread of the mirror's */

struct label_job {
	struct job job;
	struct node_labels *l;
	enum label_id id;
	const char *path; /* of the layouts */
	char note[LABEL_NOTE];
	struct label_plan plan;
};

static int read_tree(struct job *job, const char *tree, struct err *err)
{
	struct label_job *j = container_of(job, struct label_job, job);
	char value[LABEL_VALUE + 1];

	STR_COPY(value, j->plan.value);
	return label_plan_from(
		tree, j->id, value,
		&(struct label_asked){ j->path, j->note, j->l->s->o->with_nvswitches }, &j->plan,
		err);
}

/* The tree may be another one than when the plan was made: the server may have taken long. */
static int read_again(struct job *job, const char *tree, struct err *err)
{
	struct label_job *j = container_of(job, struct label_job, job);
	int r = read_tree(job, tree, err);

	if (!r && j->plan.err.code) {
		*err = j->plan.err;
		r = -err->code;
	}
	if (r || !j->plan.n)
		return r;
	job->lines = j->plan.lines[0];
	j->plan.lines[0] = NULL;
	return 0;
}

/* Its user may have given it to somebody else since the plan was made. */
static int still_ours(struct job *job, const char *tree, struct err *err)
{
	return label_check(tree, job->lines, err);
}

/* ---- a value */

void label_forget(struct labelled *v)
{
	label_plan_free(&v->plan);
	v->planned = v->finished = v->stale = false;
	v->next = v->refused = 0;
	v->again = 0;
}

/* When the tree changes, or when a pause is over, as nothing need tell that it can be done. */
static void try_again(struct node_labels *l, struct labelled *v)
{
	v->again = now_ms() + back_off(&v->pause, AGAIN_MS, AGAIN_MAX_MS);
	v->look = now_ms() + back_off(&v->pace, SOON_MS, AGAIN_MS);
	source_by(&l->work, v->look);
}

/* A workload's GPU that the tree refuses is left. An unknown workload is not tried again. */
static void fails(struct node_labels *l, enum label_id id, const struct err *err)
{
	struct labelled *v = &l->v[id];

	label_event(l, id, v->plan.value, false, "Refused", err->text);
	v->refused++;
	if (!label_rows[id].state && v->plan.err.code)
		return;
	if (!label_rows[id].state)
		label_plan_left(&v->plan, v->next);
	if (!v->again) /* once for all GPUs of an attempt */
		try_again(l, v);
}

static bool is_unanswered(const struct err *err)
{
	return err && (err->code == ENOTCONN || err->code == ECANCELED);
}

static uint64_t world(struct node_labels *l)
{
	uint64_t sum = label_world(mirror_lock(l->s->tree));

	mirror_unlock(l->s->tree);
	return sum;
}

static void on_read(struct job *job, const struct err *err)
{
	struct label_job *j = container_of(job, struct label_job, job);
	struct node_labels *l = j->l;
	struct labelled *v = &l->v[j->id];

	v->running = false;
	if (err) {
		label_plan_free(&j->plan);
		source_by(&l->work, now_ms() + SOON_MS);
	} else {
		v->plan = j->plan;
		v->planned = true;
		v->world = v->plan.world;
		if (v->plan.err.code)
			fails(l, j->id, &v->plan.err);
		source_by(&l->work, 0);
	}
	free(j);
}

static void on_ran(struct job *job, const struct err *err)
{
	struct label_job *j = container_of(job, struct label_job, job);
	struct node_labels *l = j->l;
	struct labelled *v = &l->v[j->id];

	v->running = false;
	source_by(&l->work, is_unanswered(err) ? now_ms() + SOON_MS : 0);
	if (*j->plan.note) { /* it was read again */
		label_plan_free(&v->plan);
		v->plan = j->plan;
	}
	v->done |= !err || (job->lines && is_unanswered(err));
	if (is_unanswered(err)) /* it may be done: that is to be seen */
		v->stale = true;
	else if (err) {
		struct err said = *err;

		if (job->lines)
			layout_blame(&v->plan.layout, &said);
		fails(l, j->id, &said);
	}
	v->next++;
	free(job->lines);
	free(j);
}

static void start(struct node_labels *l, enum label_id id, struct label_job *j, const char *value)
{
	j->l = l;
	j->id = id;
	j->path = l->v[id].path;
	j->job.urgent = true;
	STR_COPY(j->note, l->now[id].note);
	STR_COPY(j->plan.value, value);
	l->v[id].running = true;
	mirror_commit(l->s->tree, &j->job);
}

void label_make(struct node_labels *l, enum label_id id, const char *value)
{
	struct label_job *j = calloc(1, sizeof(*j));

	if (!j) {
		source_by(&l->work, now_ms() + SOON_MS);
		return;
	}
	j->job.prepare = read_tree;
	j->job.done = on_read;
	start(l, id, j, value);
}

void label_run(struct node_labels *l, enum label_id id)
{
	struct labelled *v = &l->v[id];
	struct label_job *j = calloc(1, sizeof(*j));
	bool many = id == WORKLOAD_LABEL;

	if (!j || (many && !(j->job.lines = strdup(v->plan.lines[v->next])))) {
		free(j);
		source_by(&l->work, now_ms() + SOON_MS);
		return;
	}
	j->job.prepare = many ? still_ours : read_again;
	j->job.done = on_ran;
	v->world = world(l);
	start(l, id, j, v->plan.value);
}

/* May what was refused, or left, be possible by now? */
static bool may_go(struct node_labels *l, enum label_id id)
{
	struct labelled *v = &l->v[id];
	uint64_t now;

	if ((v->plan.err.code && !label_rows[id].state) ||
	    (!v->again && !label_goes_on(&l->now[id])))
		return false;
	if (v->look > now_ms()) {
		source_by(&l->work, v->look);
		return false;
	}
	v->look = now_ms() + SOON_MS;
	now = world(l);
	return now && now != v->world;
}

void label_review(struct node_labels *l, enum label_id id, const char *value)
{
	struct labelled *v = &l->v[id];
	bool due = v->again && v->again <= now_ms();
	bool midst = v->next && v->next < v->plan.n; /* of its transactions */

	if (!value || strcmp(v->plan.value, value) || v->stale) {
		v->repeated = false;
		v->pause = v->pace = 0;
		v->look = 0;
	} else if (!midst && (due || may_go(l, id))) {
		v->repeated = v->again;
	} else {
		return;
	}
	label_forget(v);
}
