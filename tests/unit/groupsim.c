// SPDX-License-Identifier: GPL-2.0-or-later
#include "groupsim.h"

#include <stdlib.h>
#include <string.h>

#include "pcidevfs/util.h"
#include "test.h"

const char *const group_ids[] = { "0000:07:00.0", "0000:07:00.1" };
const char *const group_names[] = { "node1-000007000", "node1-000007001" };

unsigned int group_any(struct group_sim *m, unsigned int n)
{
	m->random = m->random * 1664525u + 1013904223u;
	return (m->random >> 8) % n;
}

static unsigned int index_of(const char *name)
{
	return strcmp(name, group_names[0]) != 0;
}

static void set_device(struct group_sim *m, const char *claim)
{
	char pairs[256];

	for (unsigned int i = 0; i < 2; i++) {
		snprintf(pairs, sizeof(pairs),
			 "class=0x030000 kind=pci iommu_group=7 claim=%s state=%s",
			 claim + (*claim == '!'), *claim == '!' ? "busy" : "free");
		syncworld_device(&m->view, group_ids[i], pairs);
	}
}

static void tree_tells(struct group_sim *m, const char *how, const char *claim)
{
	CHECK(m->n_news < EVENTS);
	snprintf(m->news[m->n_news++], sizeof(m->news[0]), "%s%.14s", how, claim);
}

/* It is busy before. */
static void tree_is(struct group_sim *m, const char *claim)
{
	tree_tells(m, "!", m->tree);
	STR_COPY(m->tree, claim);
	tree_tells(m, "", claim);
}

/* ---- the server */

static json_object *copy_of(json_object *o)
{
	json_object *copy = NULL;

	if (o)
		CHECK_EQ(json_object_deep_copy(o, &copy, NULL), 0);
	return copy;
}

static void tell(struct group_sim *m, enum kind_id kind, const char *name)
{
	struct group_told *t = &m->told[kind][m->n_told[kind]++];

	CHECK(m->n_told[kind] <= EVENTS);
	*t = (struct group_told){ kind, "", copy_of(object_find(&m->server.w, kind, name)),
				  m->version };
	STR_COPY(t->name, name);
}

void group_wrote(struct group_sim *m, enum kind_id kind, const char *name, const char *manager)
{
	json_object *o = object_find(&m->server.w, kind, name), *all, *who;
	char version[16], uid[16];

	snprintf(version, sizeof(version), "%u", ++m->version);
	if (o) {
		js_set_text(o, "metadata.resourceVersion", version);
		snprintf(uid, sizeof(uid), "U%u", m->uids);
		if (!*js_text(o, "metadata.uid") || !strcmp(js_text(o, "metadata.uid"), "U"))
			js_set_text(o, "metadata.uid", uid);
		m->uids++;
	}
	if (o && manager) {
		who = json_object_new_object();
		js_set_text(who, "manager", manager);
		js_set(who, "fieldsV1.f:spec.f:userName", json_object_new_object());
		all = json_object_new_array();
		json_object_array_add(all, who);
		js_set(o, "metadata.managedFields", all);
	}
	tell(m, kind, name);
}

static bool is_refused(struct group_sim *m, const struct action *a)
{
	json_object *o = object_find(&m->server.w, a->kind, a->name);
	const char *uid = js_text(a->body, "metadata.uid");
	const char *version = js_text(a->body, "metadata.resourceVersion");

	if (a->act == ACT_CREATE)
		return o;
	if (a->act == ACT_DELETE) {
		uid = js_text(a->body, "preconditions.uid");
		version = js_text(a->body, "preconditions.resourceVersion");
	}
	if (!o)
		return a->act != ACT_APPLY || *uid;
	return (*uid && strcmp(uid, js_text(o, "metadata.uid"))) ||
	       (*version && strcmp(version, js_text(o, "metadata.resourceVersion")));
}

static void serve(struct group_sim *m, struct group_request *r)
{
	bool spec = r->a.act == ACT_CREATE || r->a.act == ACT_PATCH;

	r->done = true;
	if (is_refused(m, &r->a))
		return;
	syncworld_carry_out(&m->server, &r->a);
	group_wrote(m, r->a.kind, r->a.name, spec && r->a.kind == PCI_CLAIM ? SPEC_MANAGER : NULL);
	r->answer = copy_of(object_find(&m->server.w, r->a.kind, r->a.name));
}

/* ---- what sync hears */

/* As left_keep() does. */
static void miss(struct group_sim *m, enum kind_id kind, json_object *o)
{
	struct world *w = &m->view.w;

	if (!o || kind != PCI_CLAIM || !claim_is_missed(w, kind, o))
		return;
	w->left[kind] = w->left[kind] ?: json_object_new_object();
	json_object_object_add(w->left[kind], js_text(o, "metadata.name"), json_object_get(o));
}

static void miss_no_more(struct group_sim *m)
{
	json_object *were = m->view.w.left[PCI_CLAIM];

	m->view.w.left[PCI_CLAIM] = NULL;
	for (unsigned int i = 0; i < 2; i++)
		miss(m, PCI_CLAIM, json_object_object_get(were, group_names[i]));
	json_object_put(were);
}

static void hear(struct group_sim *m, enum kind_id kind, const char *name, json_object *o,
		 unsigned int version)
{
	unsigned int *seen = &m->seen[kind][index_of(name)];

	if (version <= *seen) {
		if (!object_find(&m->view.w, kind, name))
			miss(m, kind, o);
		json_object_put(o);
		return;
	}
	*seen = version;
	if (!o)
		miss(m, kind, object_find(&m->view.w, kind, name));
	json_object_object_del(m->view.w.objects[kind], name);
	if (!o)
		return;
	if (m->view.w.left[kind])
		json_object_object_del(m->view.w.left[kind], name);
	if (kind == PCI_CLAIM)
		writers_note(o);
	json_object_object_add(m->view.w.objects[kind], name, o);
}

static void hear_answer(struct group_sim *m, size_t i)
{
	struct group_request r = m->requests[i];

	m->requests[i] = m->requests[--m->n_requests];
	if (r.answer)
		hear(m, r.a.kind, r.a.name, r.answer,
		     (unsigned int)strtoul(js_text(r.answer, "metadata.resourceVersion"), NULL,
					   10));
	json_object_put(r.a.body);
}

static void hear_watch(struct group_sim *m, enum kind_id kind)
{
	struct group_told t = m->told[kind][0];

	memmove(&m->told[kind][0], &m->told[kind][1], --m->n_told[kind] * sizeof(t));
	hear(m, t.kind, t.name, t.o, t.version);
}

static void hear_tree(struct group_sim *m)
{
	set_device(m, m->news[0]);
	memmove(m->news[0], m->news[1], --m->n_news * sizeof(m->news[0]));
}

/* The tree refuses a user while another one has the group. */
static void run_line(struct group_sim *m)
{
	struct verdict *v = &m->verdicts[m->of];
	bool taken = strcmp(m->line, "none") && strcmp(m->tree, "none") && strcmp(m->line, m->tree);

	m->line_done = true;
	if (taken)
		fail(&v->err, 16, "it is claimed by %s", m->tree);
	else if (strcmp(m->line, m->tree))
		tree_is(m, m->line);
}

static void hear_verdict(struct group_sim *m)
{
	struct verdict *v = &m->verdicts[m->of];

	v->running = false;
	v->lands = v->err.code ? 0 : m->view.w.now_ms + 1000;
	m->line[0] = '\0';
}

/* ---- sync */

static bool is_busy(struct group_sim *m, const struct action *a)
{
	for (size_t i = 0; i < m->n_requests; i++)
		if (m->requests[i].a.kind == a->kind && !strcmp(m->requests[i].a.name, a->name))
			return true;
	return false;
}

static void send(struct group_sim *m, const struct action *a)
{
	struct group_request *r = &m->requests[m->n_requests];

	if (a->act == ACT_STATUS || a->kind == NODE || is_busy(m, a))
		return;
	m->n_requests++;
	CHECK(m->n_requests <= REQUESTS);
	*r = (struct group_request){ .a = *a };
	r->a.body = copy_of(a->body);
	if (a->kind == PCI_CLAIM && a->act == ACT_APPLY)
		return;
	if (!m->view.w.writing[a->kind])
		m->view.w.writing[a->kind] = json_object_new_object();
}

static void ask(struct group_sim *m, const struct action *a)
{
	struct verdict *v =
		&m->verdicts[strncmp(a->about, group_ids[0], strlen(group_ids[0])) != 0];

	CHECK(!m->line[0]);
	m->of = (unsigned int)(v - m->verdicts);
	CHECK_EQ(sscanf(a->lines, "%*s %15s", m->line), 1);
	m->line_done = false;
	v->running = true;
	v->err.code = 0;
	v->seen = a->seen;
	v->was = a->was;
	v->turn = ++m->uids;
}

static void mark_writing(struct group_sim *m)
{
	struct world *w = &m->view.w;

	for (enum kind_id k = 0; k < KINDS; k++) {
		json_object_put(w->writing[k]);
		w->writing[k] = json_object_new_object();
	}
	for (size_t i = 0; i < m->n_requests; i++)
		if (!(m->requests[i].a.kind == PCI_CLAIM && m->requests[i].a.act == ACT_APPLY))
			json_object_object_add(w->writing[m->requests[i].a.kind],
					       m->requests[i].a.name, NULL);
}

const char *group_claim(const struct syncworld *s, unsigned int i)
{
	json_object *o = object_find(&s->w, PCI_CLAIM, group_names[i]);

	return o ? js_text(o, "spec.userName") : "none";
}

static const char *noted(const struct syncworld *s, unsigned int i, const char *key)
{
	return js_meta(object_find(&s->w, PCI_DEVICE, group_names[i]), "annotations", key)
		       ?: "none";
}

const char *group_note(const struct syncworld *s, unsigned int i)
{
	return noted(s, i, "pcidevfs/claim");
}

const char *group_noted(const struct syncworld *s, unsigned int i)
{
	return noted(s, i, "pcidevfs/claim-uid");
}

void group_turn(struct group_sim *m)
{
	struct action *list;

	for (unsigned int i = 0; i < 2; i++)
		if (m->verdicts[i].lands && m->verdicts[i].lands <= m->view.w.now_ms)
			m->verdicts[i].lands = 0;
	mark_writing(m);
	miss_no_more(m);
	list = decide(&m->view.w);
	for (const struct action *a = list; a; a = a->next) {
		struct verdict *v =
			&m->verdicts[strncmp(a->about, group_ids[0], strlen(group_ids[0])) != 0];

		CHECK(a->act != ACT_LATE);
		if (a->act < ACT_EVENT) {
			send(m, a);
		} else if (a->act == ACT_CTL) {
			ask(m, a);
		} else if (a->act == ACT_OPEN) {
			v->open = a->seen;
			v->since = m->view.w.now_ms;
		} else if (a->act == ACT_FORGET) {
			v->seen = v->open = v->err.code = 0;
		}
	}
	actions_free(list);
}

static void init_verdicts(struct group_sim *m)
{
	for (unsigned int i = 0; i < 2; i++) {
		m->verdicts[i] = (struct verdict){ .next = i ? NULL : &m->verdicts[1] };
		snprintf(m->verdicts[i].about, sizeof(m->verdicts[i].about), "%s/claim",
			 group_ids[i]);
	}
	m->view.w.verdicts = m->verdicts;
}

/* What was sent may still be carried out. */
void group_kill_sync(struct group_sim *m)
{
	while (m->n_requests) {
		struct group_request *r = &m->requests[m->n_requests - 1];

		if (!r->done && group_any(m, 2))
			serve(m, r);
		json_object_put(r->answer);
		json_object_put(r->a.body);
		m->n_requests--;
	}
	if (m->line[0] && !m->line_done && group_any(m, 2))
		run_line(m);
	m->line[0] = '\0';
	for (enum kind_id k = 0; k <= PCI_CLAIM; k++)
		while (m->n_told[k])
			hear_watch(m, k);
	while (m->n_news)
		hear_tree(m);
	init_verdicts(m);
}

/* One of the things that can happen now. False: nothing can, but that time passes. */
bool group_happen(struct group_sim *m)
{
	unsigned int what = group_any(m, 6);

	for (unsigned int i = 0; i < 6; i++, what = (what + 1) % 6) {
		if (what < 2 && m->n_told[what]) {
			hear_watch(m, what);
			return true;
		}
		if (what == 2 && m->n_news) {
			hear_tree(m);
			return true;
		}
		if (what > 2 && what < 5 && m->n_requests) {
			size_t r = group_any(m, (unsigned int)m->n_requests);

			if (m->requests[r].done)
				hear_answer(m, r);
			else
				serve(m, &m->requests[r]);
			return true;
		}
		if (what == 5 && m->line[0]) {
			if (m->line_done)
				hear_verdict(m);
			else
				run_line(m);
			return true;
		}
	}
	return false;
}

void group_begin(struct group_sim *m, uint32_t seed)
{
	*m = (struct group_sim){ .random = seed };
	syncworld_init(&m->view);
	syncworld_init(&m->server);
	init_verdicts(m);
	STR_COPY(m->tree, "none");
	set_device(m, "none");
}

void group_end(struct group_sim *m)
{
	syncworld_free(&m->view);
	syncworld_free(&m->server);
	for (enum kind_id k = 0; k < KINDS; k++) {
		json_object_put(m->view.w.writing[k]);
		json_object_put(m->view.w.left[k]);
	}
}
