// SPDX-License-Identifier: GPL-2.0-or-later
/* NVIDIA's labels of the core Node: carried out, and answered by their states. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "client/file.h"
#include "client/mirror.h"
#include "k8s-sync/api/http.h"
#include "node_labels.h"

/* ---- the Node */

void labels_note(struct sync *s, json_object *node)
{
	struct node_labels *l = s->labels;

	if (!l)
		return;
	l->known = node;
	if (node) {
		labels_read(node, l->now);
		beside_read(node, &l->beside);
	}
	source_by(&l->work, 0);
}

static void on_patched(struct sync *s, const struct reply *r)
{
	struct node_labels *l = s->labels;
	struct err err = r->err;
	bool soon = r->away || r->status == 409; /* others write the Node, too */

	if (!err.code && brake_taken(l->sent, now_ms())) {
		fail(&err, EBUSY,
		     "node %s: somebody else undoes what is written to it for NVIDIA's labels; that is written once a minute until it stays",
		     s->o->node);
		sync_say(s, SAY_LABELS, err.text);
		return;
	}
	if (!err.code) {
		if (l->with_beside || !l->beside_at)
			sync_say(s, SAY_LABELS, "");
		return;
	}
	/* An operator's label may be refused, or gone, without the others. */
	if (l->with_beside && !soon)
		l->beside_at = now_ms() + AGAIN_MS;
	else
		l->patch_at = now_ms() + (soon ? SOON_MS : AGAIN_MS);
	source_by(&l->work, l->patch_at);
	if (soon)
		return;
	fail_wrap(&err, "the states of NVIDIA's labels cannot be written to node %s", s->o->node);
	sync_say(s, SAY_LABELS, err.text);
}

/* Sends it, unless one was refused or undone a moment ago. False: another one is under way. */
static bool patch(struct node_labels *l, enum label_id id, json_object *body, bool with_beside)
{
	const char *text = js_line(body);
	uint64_t same = fnv1a(FNV1A, text, strlen(text));
	uint64_t calm = brake_until(&l->brakes[id], same);
	uint64_t at = calm > l->patch_at ? calm : l->patch_at;

	if (now_ms() < at) {
		source_by(&l->work, at);
		return true;
	}
	if (!node_patch(l->s, body, on_patched))
		return false;
	l->sent = &l->brakes[id];
	brake_send(l->sent, same);
	l->with_beside = with_beside;
	return true;
}

/* ---- beside NVIDIA's operator */

static bool has_role(const struct options *o)
{
	return o->vgpu_configs || o->mig_configs || o->default_workload;
}

/* Adds what is to be said to its components. */
static bool beside(struct node_labels *l, json_object **body)
{
	struct sync *s = l->s;
	struct beside_case is = {
		.now = &l->beside,
		.workload = s->o->default_workload,
		.vgpu = s->o->vgpu_configs,
		.mig = s->o->mig_configs,
		.change = l->change,
	};
	const char *why;

	if (l->beside_at > now_ms()) {
		source_by(&l->work, l->beside_at);
		return false;
	}
	l->beside_at = 0;
	if (has_role(s->o) && l->beside.here) {
		const struct inventory *inv = mirror_lock(s->tree);

		if (!mirror_lost(s->tree, &why))
			is.world = beside_world(inv);
		mirror_unlock(s->tree);
	}
	return beside_patch(&is, body);
}

static void say_dra(struct node_labels *l)
{
	char text[ERR_TEXT] = "";

	if (l->beside.dra && has_role(l->s->o))
		snprintf(
			text, sizeof(text),
			"NVIDIA's operator runs its GPUCluster stack on node %s, whose DRA driver no label keeps from GPUs of pcidevfs; leave its feature gate PassthroughSupport off",
			l->s->o->node);
	sync_say(l->s, SAY_OPERATOR, text);
}

/* ---- files with layouts */

#define FILES (IN_CLOSE_WRITE | IN_CREATE | IN_MOVE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF)

/* Once more, too: another directory may be there by now. Returns 0 or -errno. */
static int watch_dirs(struct node_labels *l, int fd)
{
	int rc = 0;

	for (enum label_id id = 0; id < NODE_LABELS; id++) {
		char path[PATH_MAX];

		STR_COPY(path, l->v[id].path ?: "");
		if (*path && inotify_add_watch(fd, dirname(path), FILES | IN_ONLYDIR) < 0)
			rc = -errno;
	}
	l->watch_at = rc ? now_ms() + SOON_MS : 0;
	return rc;
}

/* Which files have changed? Others in the directory, as of an editor, do not count. */
static void look_at_files(struct node_labels *l)
{
	for (enum label_id id = 0; id < NODE_LABELS; id++) {
		struct labelled *v = &l->v[id];
		struct stat now = { 0 };

		if (v->path && stat(v->path, &now))
			now = (struct stat){ 0 };
		v->stale |= !file_is_same(&now, &v->file);
		v->file = now;
	}
}

/* The directory is watched: a mounted ConfigMap changes by a link beside its files. */
static void on_files(struct source *source)
{
	struct node_labels *l = container_of(source, struct node_labels, files);
	char buf[4096];

	while (read(source->fd, buf, sizeof(buf)) > 0)
		;
	watch_dirs(l, source->fd);
	look_at_files(l);
	source_by(&l->work, 0);
}

/* ---- turns */

/* It is as the value says. */
static void finish(struct node_labels *l, enum label_id id)
{
	struct labelled *v = &l->v[id];
	const struct out *told = &v->plan.told;

	if (v->finished)
		return;
	v->finished = true;
	v->repeated = false;
	if (!v->again) /* no GPU was refused */
		v->pause = v->pace = 0;
	if (told->len || v->plan.n > v->refused)
		label_event(l, id, v->plan.value, true, "Applied",
			    told->len	 ? out_text(told)
			    : v->refused ? "done, but for what was refused"
					 : "done");
}

static bool has_failed(const struct node_labels *l, enum label_id id)
{
	return l->v[id].refused && label_rows[id].state;
}

/* It does not count any more. */
static void abandon(struct node_labels *l, enum label_id id)
{
	struct labelled *v = &l->v[id];

	if (!v->finished && !has_failed(l, id) && !v->plan.err.code) /* those have been told */
		label_event(
			l, id, v->plan.value, false, "Abandoned",
			"it does not count any more, and was carried out in part or not at all");
	v->finished = true;
}

/* Says once that another label keeps this one from counting. */
static void wait_told(struct node_labels *l, enum label_id id)
{
	struct labelled *v = &l->v[id];
	bool waits = *l->now[id].value && !label_value(id, l->now, l->fallback);

	if (waits && !v->waits)
		label_event(
			l, id, l->now[id].value, true, "Waits",
			"it waits until nvidia.com/gpu.workload.config is the workload that it is for");
	v->waits = waits;
}

/* Which value counts: what has begun is told its end before another one does, or none. */
static const char *value_of(const struct node_labels *l, enum label_id id,
			    char begun[static LABEL_VALUE + 1], bool *ret_settles)
{
	const char *value = label_value(id, l->now, l->fallback);

	*ret_settles = label_begun(&l->now[id], begun) && (!value || strcmp(value, begun));
	return *ret_settles ? begun : value;
}

static struct label_step step_of(struct node_labels *l, enum label_id id, bool settles)
{
	struct labelled *v = &l->v[id];
	bool has_before = *v->begun && !strcmp(l->now[id].note, v->begun) && !v->done;
	struct label_step step = label_decide(&(struct label_case){
		.now = &l->now[id],
		.plan = v->planned ? &v->plan : NULL,
		.before = has_before ? v->before : NULL,
		.ran = v->next && v->next >= v->plan.n,
		.failed = has_failed(l, id),
		.repeated = v->repeated,
		.settles = settles,
	});

	if (step.act == LABEL_RUN && step.note && strcmp(step.note, l->now[id].note)) {
		STR_COPY(v->before, l->now[id].note);
		STR_COPY(v->begun, step.note);
		v->done = false;
	}
	if (step.note == v->plan.note)
		finish(l, id);
	else if (settles && step.act == LABEL_REST && !strcmp(step.state, "failed"))
		abandon(l, id);
	return step;
}

static void end_others(struct node_labels *l, const char *workload, json_object **body)
{
	for (enum label_id id = 0; id < NODE_LABELS; id++) {
		if (!label_ends(workload, id))
			continue;
		label_end(id, &l->now[id], body);
		l->v[id].stale = true;
	}
}

/* Returns true if the next label's turn has come. */
static bool turn(struct node_labels *l, enum label_id id)
{
	struct labelled *v = &l->v[id];
	char begun[LABEL_VALUE + 1];
	bool settles;
	const char *value = value_of(l, id, begun, &settles);
	struct label_step step;
	_json_ json_object *body = NULL;
	bool with_beside = false;

	if (!v->heeded)
		return true;
	if (v->running)
		return false;
	wait_told(l, id);
	label_review(l, id, value);
	if (v->again)
		source_by(&l->work, v->again);
	if (id == VGPU_LABEL)
		l->change = CHANGE_NONE;
	if (!value)
		return true;
	step = step_of(l, id, settles);
	body = label_patch(id, &l->now[id], &step);
	/* Also where it may be carried out in part. */
	if (id == WORKLOAD_LABEL && (step.note == v->plan.note || step.note == v->plan.ended))
		end_others(l, value, &body);
	if (id == VGPU_LABEL) {
		l->change = step.act == LABEL_REST ? CHANGE_NONE :
			    step.act == LABEL_RUN  ? CHANGE_RUNS :
						     CHANGE_UNKNOWN;
		/* Alone it is said below, and braked as such. */
		with_beside = (body || step.act != LABEL_REST) && beside(l, &body);
	}
	/* Nothing is changed before the Node says so. */
	if (body && (!patch(l, id, body, with_beside) || step.act == LABEL_RUN || settles))
		return false;
	if (step.act == LABEL_READ)
		label_make(l, id, value);
	else if (step.act == LABEL_RUN)
		label_run(l, id);
	return step.act == LABEL_REST;
}

/* What has begun and does not count any more comes first: a workload ends what it made. */
static bool all_settle(struct node_labels *l)
{
	char begun[LABEL_VALUE + 1];
	bool settles;

	for (enum label_id id = 0; id < NODE_LABELS; id++) {
		value_of(l, id, begun, &settles);
		if (settles && !turn(l, id))
			return false;
	}
	return true;
}

static void turns(struct node_labels *l)
{
	struct mirror *tree = l->s->tree;
	const char *why;
	bool lost = !mirror_known(tree);

	mirror_lock(tree);
	lost = lost || mirror_lost(tree, &why);
	mirror_unlock(tree);
	l->lost = lost ? (l->lost ?: now_ms()) : 0;
	if (lost && now_ms() < l->lost + LOST_MS)
		source_by(&l->work, l->lost + LOST_MS);
	else if (lost) /* nobody is paused for a change that waits for the daemon */
		l->change = CHANGE_NONE;
	if (lost || !all_settle(l))
		return;
	for (enum label_id id = 0; id < NODE_LABELS; id++)
		if (!turn(l, id))
			break;
}

static void on_turn(struct source *source)
{
	struct node_labels *l = container_of(source, struct node_labels, work);
	struct sync *s = l->s;
	_json_ json_object *body = NULL;

	if (!l->known || !s->node_known || s->node_missing || !s->world.listed[FORMER_POD] ||
	    former_waits(s))
		return;
	if (l->watch_at && l->watch_at <= now_ms() && !watch_dirs(l, l->files.fd))
		look_at_files(l);
	if (l->watch_at)
		source_by(&l->work, l->watch_at);
	turns(l);
	say_dra(l);
	if (beside(l, &body))
		patch(l, NODE_LABELS, body, true);
	for (size_t i = 0; i < ARRAY_SIZE(l->brakes) && !s->patching; i++) {
		if (brake_over(&l->brakes[i], now_ms()))
			sync_say(s, SAY_LABELS, "");
		else if (l->brakes[i].calm)
			source_by(&l->work, l->brakes[i].calm);
	}
}

/* ---- start and end */

static int watch_files(struct node_labels *l, struct err *err)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	int rc = fd < 0 ? -errno : watch_dirs(l, fd);

	look_at_files(l);

	if (rc) {
		closep(&fd);
		return fail(err, -rc, "the files with layouts cannot be watched: %s",
			    strerror(-rc));
	}
	return loop_watch(&l->s->loop, &l->files, fd, on_files, err);
}

int labels_open(struct sync *s, struct err *err)
{
	const struct options *o = s->o;
	struct node_labels *l;

	if (!(l = s->labels = calloc(1, sizeof(*l))))
		return fail_nomem(err);
	l->s = s;
	l->files.fd = -1;
	l->v[VGPU_LABEL].path = o->vgpu_configs;
	l->v[MIG_LABEL].path = o->mig_configs;
	l->fallback[VGPU_LABEL] = o->default_vgpu_config;
	if (o->default_workload && strcmp(o->default_workload, "keep"))
		l->fallback[WORKLOAD_LABEL] = o->default_workload;
	for (enum label_id id = 0; id < NODE_LABELS; id++)
		l->v[id].heeded = id == WORKLOAD_LABEL ? o->default_workload : l->v[id].path;
	l->change = l->v[VGPU_LABEL].heeded ? CHANGE_UNKNOWN : CHANGE_NONE;
	loop_timer(&s->loop, &l->work, on_turn, UINT64_MAX);
	if (has_role(o) && node_watch(s, err))
		return -ENOMEM;
	return o->vgpu_configs || o->mig_configs ? watch_files(l, err) : 0;
}

void labels_touch(struct sync *s)
{
	if (s->labels)
		source_by(&s->labels->work, 0);
}

void labels_close(struct sync *s)
{
	struct node_labels *l = s->labels;

	if (!l)
		return;
	loop_remove(&s->loop, &l->work);
	if (l->files.fd >= 0)
		loop_remove(&s->loop, &l->files);
	closep(&l->files.fd);
	for (enum label_id id = 0; id < NODE_LABELS; id++)
		label_forget(&l->v[id]);
	free(l);
	s->labels = NULL;
}
