// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts devices into the directories of the views, and takes them out. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/log/audit.h"
#include "internal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/util.h"

static uint64_t set_ino(struct tree *t, uint64_t set)
{
	return objects_ino(t->objects, set_slot(set), (uint16_t)set);
}

static const struct entries *set_entries(struct tree *t, uint64_t set)
{
	const struct object *obj = objects_at(t->objects, set_slot(set));
	uint16_t row = (uint16_t)set;

	return row == ROW_SELF ? obj_type(obj->kind)->entries : attr_by_id(obj->kind, row)->entries;
}

static int add(struct tree *t, uint64_t set, struct elem elem)
{
	int r = set_add(t->sets, set, elem);

	if (r > 0)
		forget_list(t, set_ino(t, set));
	return r;
}

static void take_out(struct tree *t, uint64_t set, struct elem was, struct forgets *notes)
{
	const struct entries *entries = set_entries(t, set);
	const struct elem *elem;
	char name[OBJECT_NAME];
	size_t n;

	elem = set_from(t->sets, set, was.key, &n);
	if (!elem || elem->key != was.key || elem->slot != was.slot)
		return; /* another device has its number by now */
	entry_name(t, entries, elem, name);
	set_remove(t->sets, set, was.key);
	if (!entries->brief)
		forget_note(notes, set_ino(t, set), FORGET_ENTRY, name);
	forget_list(t, set_ino(t, set));
}

/* An object that exists only for its members ends with the last one, and so may its parents. */
static void bury_empty(struct tree *t, uint64_t set, struct forgets *notes)
{
	for (;;) {
		uint32_t slot = set_slot(set);
		const struct object *obj = objects_at(t->objects, slot);
		const struct obj_type *kind = obj_type(obj->kind);

		if (!kind->derived || set_count(t->sets, set))
			return;
		set = set_id(obj->parent, kind->home);
		take_out(t, set, (struct elem){ slot, slot }, notes);
		objects_kill(t->objects, slot);
	}
}

/* Finds or makes the objects on the view's path. Returns the last slot; NO_SLOT: no memory. */
static uint32_t leaf_of(struct tree *t, const struct view *v, char name[VIEW_DEPTH][OBJECT_NAME])
{
	uint32_t at = 0;

	for (size_t i = 0; i < VIEW_DEPTH && v->path[i] != OBJ_ROOT; i++) {
		const struct obj_type *kind = obj_type(v->path[i]);
		uint32_t child =
			objects_slot(t->objects, v->path[i], kind->derived ? at : 0, name[i]);

		if (child == NO_SLOT)
			return child;
		if (kind->derived) {
			objects_live(t->objects, child, 0);
			if (add(t, set_id(at, kind->home), (struct elem){ child, child }) < 0)
				return NO_SLOT;
		}
		at = child;
	}
	return at;
}

/* The set of the view's links in that object's directory. */
static uint64_t links_of(const struct view *v, const struct place *p)
{
	uint16_t row = v->leaf ? v->leaf : ROW_SELF;

	return set_id(p->in - 1, v->path[0] == OBJ_ROOT ? v->dir.id : row);
}

static struct place wanted_place(struct tree *t, const struct view *v, uint32_t slot,
				 const struct device *dev)
{
	char name[VIEW_DEPTH][OBJECT_NAME] = { { 0 } };
	struct place p = { 0 };

	if (!dev || (dev->caps & (v->caps | v->lacks)) != v->caps ||
	    (v->member && !v->member(dev, name)))
		return p;
	p.in = leaf_of(t, v, name) + 1;
	p.key = v->numbered ? (uint32_t)dev->facts.index : slot;
	if (p.in && add(t, links_of(v, &p), (struct elem){ p.key, slot }) < 0)
		p.in = 0;
	return p;
}

/* The device's own directory, in that of its bus. */
static void place_home(struct tree *t, uint32_t slot, bool there, struct forgets *notes)
{
	uint64_t home = set_id(0, obj_type(objects_at(t->objects, slot)->kind)->home);

	if (there)
		add(t, home, (struct elem){ slot, slot });
	else
		take_out(t, home, (struct elem){ slot, slot }, notes);
}

/* Notes rows that the device has lost. */
static void note_rows(struct tree *t, uint32_t slot, uint32_t was, uint32_t is,
		      struct forgets *notes)
{
	enum obj_kind kind = objects_at(t->objects, slot)->kind;
	const struct attr *row, *dir;

	for (size_t i = 0; (row = row_at(kind, i)); i++) {
		if (!row_fits(row, was) || row_fits(row, is))
			continue;
		dir = row_dir(kind, row);
		forget_note(notes, objects_ino(t->objects, slot, dir ? dir->id : ROW_SELF),
			    FORGET_ENTRY, row_leaf(row));
	}
}

void forget_rows_list(struct tree *t, uint32_t slot, uint32_t caps)
{
	enum obj_kind kind = objects_at(t->objects, slot)->kind;
	struct member *m = &t->members[slot];
	const struct attr *row;

	if (m->listed == caps)
		return;
	m->listed = caps;
	for (size_t i = 0; (row = row_at(kind, i)); i++)
		if (S_ISDIR(row->mode))
			forget_list(t, objects_ino(t->objects, slot, row->id));
	forget_list(t, objects_ino(t->objects, slot, ROW_SELF));
}

void views_place(struct tree *t, uint32_t slot, const struct device *dev, struct forgets *notes)
{
	uint32_t caps = dev ? dev->caps : 0;
	struct member *m = rows_upto(t->members, slot, &t->n_members, sizeof(*m));

	if (!m)
		return;
	t->members = m;
	m += slot;
	place_home(t, slot, dev, notes);
	for (size_t i = 0; i < n_views; i++) {
		struct place was = m->at[i], is = wanted_place(t, &views[i], slot, dev);
		uint64_t links = links_of(&views[i], &was);

		m->at[i] = is;
		if (!was.in || (was.in == is.in && was.key == is.key))
			continue;
		take_out(t, links, (struct elem){ was.key, slot }, notes);
		bury_empty(t, links, notes);
	}
	if (m->caps != caps && notes)
		note_rows(t, slot, m->caps, caps, notes);
	forget_rows_list(t, slot, caps);
	m->caps = caps;
}

/* Kills objects that the table has as alive and that no view or device needs. */
static void bury_forgotten(struct tree *t)
{
	for (uint32_t i = 1; i < objects_count(t->objects); i++) {
		const struct object *obj = objects_at(t->objects, i);
		const struct obj_type *kind = obj_type(obj->kind);
		const struct elem *e;
		size_t n;

		if (obj->state != OBJECT_LIVE)
			continue;
		e = set_from(t->sets, set_id(kind->derived ? obj->parent : 0, kind->home), i, &n);
		if (!e || e->key != i)
			objects_kill(t->objects, i);
	}
}

int views_build(struct tree *t, struct err *err)
{
	const struct device *next;
	size_t pos = 0;

	pthread_mutex_lock(&t->lock);
	model_lock(t->conf.model);
	while ((next = model_next(t->conf.model, &pos))) {
		enum obj_kind kind = kind_of_bus(next->key.bus);
		uint32_t slot;

		if (kind == OBJ_ROOT)
			continue;
		slot = objects_slot(t->objects, kind, 0, next->key.name);
		if (slot == NO_SLOT)
			break;
		if (model_is_anew(t->conf.model))
			objects_stay(t->objects, slot, next->birth);
		objects_live(t->objects, slot, next->birth);
		views_place(t, slot, next, NULL);
		if (slot < t->n_members)
			audit_note(&t->members[slot], next);
	}
	bury_forgotten(t);
	atomic_store(&t->heard, model_generation(t->conf.model));
	model_unlock(t->conf.model);
	pthread_mutex_unlock(&t->lock);
	return next ? fail_nomem(err) : 0;
}
