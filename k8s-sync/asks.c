// SPDX-License-Identifier: GPL-2.0-or-later
/* What the tree is asked, and what is known of values that do not agree. */
#include <errno.h>
#include <string.h>

#include "client/mirror.h"
#include "k8s-sync/agree/agree.h"
#include "k8s-sync/agree/inventory.h"
#include "k8s-sync/events.h"
#include "pcidevfs/util.h"
#include "sync.h"

enum {
	LANDS_MS = 1000, /* the tree's news come behind its answer */
	SOON_MS = 1000,
	PASSING_MS = 5000,
	AGAIN_MS = 60000,
	AGAIN_MAX_MS = 600000,
};

struct line_job {
	struct job job;
	struct sync *s;
	struct verdict *verdict;
	enum kind_id kind;
	json_object *about;
};

/* A claim whose user gave it a name of another form is not known as one of this node, and an Event
 * about it would be refused: it is about the device's object, or the node's. */
void sync_event(struct sync *s, enum kind_id kind, json_object *about, const char *reason,
		const char *sentence)
{
	const struct world *w = &s->world;
	const struct inv_dev meant = { .id = (char *)js_text(about, "spec.address") };
	char name[OBJECT_NAME];
	json_object *o;

	if (kind == PCI_CLAIM && !object_is_named(w, js_text(about, "metadata.name"))) {
		object_name(w, PCI_DEVICE, &meant, name);
		o = object_find(w, PCI_DEVICE, name);
		kind = o ? PCI_DEVICE : NODE;
		about = o ?: object_find(w, NODE, w->node);
	}
	events_add(s->events,
		   &(struct involved){ .api = GROUP_VERSION,
				       .kind = kinds[kind].kind,
				       .name = js_text(about, "metadata.name"),
				       .uid = js_text(about, "metadata.uid"),
				       .space = "" },
		   reason, sentence);
}

static struct verdict *verdict_of(struct sync *s, const char *about)
{
	struct verdict *v = verdict_about(&s->world, about);

	if (v || !(v = calloc(1, sizeof(*v))))
		return v;
	STR_COPY(v->about, about);
	v->next = s->world.verdicts;
	s->world.verdicts = v;
	return v;
}

/* The tree went away before it answered: it is asked again when it is back. */
static bool is_unanswered(const struct err *err)
{
	return err && (err->code == ENOTCONN || err->code == ECANCELED);
}

/* What may change although no line of the tree does: who holds the device open, what is short, what
 * the tree says is passing. Returns the first pause in ms; 0: it will be as it is. */
static unsigned int may_pass(const struct err *err)
{
	static const struct {
		int code;
		unsigned int pause;
	} rows[] = {
		{ EBUSY, AGAIN_MS },	{ EIO, AGAIN_MS },	{ ENOSPC, AGAIN_MS },
		{ EAGAIN, PASSING_MS }, { ENOMEM, PASSING_MS }, { EMFILE, PASSING_MS },
		{ ENFILE, PASSING_MS },
	};

	for (size_t i = 0; err && i < ARRAY_SIZE(rows); i++)
		if (rows[i].code == err->code)
			return rows[i].pause;
	return 0;
}

static void on_verdict(struct job *job, const struct err *err)
{
	struct line_job *a = container_of(job, struct line_job, job);
	struct sync *s = a->s;
	struct verdict *v = a->verdict;
	unsigned int pause = may_pass(err);

	v->running = false;
	v->err = err && !is_unanswered(err) ? *err : (struct err){ 0 };
	adopt_heed(v);
	v->lands = v->err.code ? 0 : now_ms() + LANDS_MS;
	if (v->err.code == EINVAL && v->seen == SEEN_AWAY)
		pause = 0; /* it was forgotten before: sync was killed before it heard that */
	else if (v->err.code)
		sync_event(s, a->kind, a->about, "Refused", err->text);
	else /* what was done is asked for again only if somebody has taken it back */
		pause = PASSING_MS;
	if (is_unanswered(err))
		v->again = now_ms() + SOON_MS;
	else if (pause)
		v->again = now_ms() + back_off(&v->pause, pause, AGAIN_MAX_MS);
	else
		v->pause = 0;
	json_object_put(a->about);
	free(job->lines);
	free(a);
	sync_touch(s);
}

static void ask(struct sync *s, const struct action *act)
{
	struct verdict *v = verdict_of(s, act->about);
	struct line_job *a = calloc(1, sizeof(*a));
	char *lines = act->lines ? strdup(act->lines) : NULL;

	if (!v || !a || !lines) {
		free(a);
		free(lines);
		return;
	}
	v->running = true;
	v->turn = ++s->turns;
	v->seen = act->seen;
	v->was = act->was;
	v->again = v->lands = 0;
	v->err = (struct err){ 0 };
	*a = (struct line_job){
		{ .lines = lines, .done = on_verdict }, s, v, act->kind, json_object_get(act->body)
	};
	mirror_commit(s->tree, &a->job);
}

/* The times at which a value that is still open leads to something else. */
static void open_remind(struct sync *s, const struct verdict *v)
{
	static const unsigned int times[] = { SIBLING_MS, LATE_MS };

	for (size_t i = 0; i < ARRAY_SIZE(times) && v->open; i++)
		if (v->since + times[i] > now_ms())
			source_by(&s->work, v->since + times[i]);
}

static void open_since(struct sync *s, const struct action *a)
{
	struct verdict *v = verdict_of(s, a->about);

	if (!v)
		return;
	v->open = a->seen;
	v->since = s->world.now_ms;
	open_remind(s, v);
}

static void forget(struct sync *s, const char *about)
{
	for (struct verdict **at = &s->world.verdicts, *v; (v = *at); at = &v->next) {
		if (strcmp(v->about, about))
			continue;
		*at = v->next;
		free(v);
		break;
	}
}

void asks_remind(struct sync *s)
{
	for (struct verdict *v = s->world.verdicts; v; v = v->next) {
		if (v->lands > now_ms())
			source_by(&s->work, v->lands);
		else
			v->lands = 0;
		if (v->again > now_ms())
			source_by(&s->work, v->again);
		else if (v->again)
			v->seen = v->again = 0;
		open_remind(s, v);
	}
}

void asks_do(struct sync *s, const struct action *a)
{
	if (a->act == ACT_CTL)
		ask(s, a);
	else if (a->act == ACT_FORGET)
		forget(s, a->about);
	else
		open_since(s, a);
}
