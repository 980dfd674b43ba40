// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Passes changes of the model on: to events, then to the kernel's caches, then to pollers.
 *
 * All of this but tree_touch() runs on one thread, the notifier, which answers no request: the
 * kernel may hold a page lock until a read of that page is answered, and dropping the page waits
 * for it.
 */
#include <string.h>
#include <sys/stat.h>

#include "fs/fault.h"
#include "fs/internal.h"
#include "fs/inventory.h"
#include "fs/log/audit.h"
#include "pcidevfs/err.h"
#include "pcidevfs/model.h"
#include "pcidevfs/thread.h"
#include "pcidevfs/util.h"
#include "fs/log/stream.h"

enum { TAKE_AT_ONCE = 64 }; /* objects; takes some 20 us */

/* Marks the rows that bits change, and notes what the kernel may have cached of their sizes. Call
 * it with the tree's lock held. */
static void touch_rows(struct tree *t, uint32_t slot, change_bits bits, struct forgets *notes)
{
	enum obj_kind kind = objects_at(t->objects, slot)->kind;
	const struct attr *row;

	for (size_t i = 0; (row = row_at(kind, i)); i++) {
		uint64_t ino = objects_ino(t->objects, slot, row->id);

		if (!(row->bits & bits))
			continue;
		files_touch(t->files, ino);
		if (row_is_sized(row))
			forget_note(notes, ino, FORGET_ATTR, "");
	}
}

void tree_touch(struct tree *t, uint32_t slot, change_bits bits)
{
	struct forgets notes = { 0 };

	pthread_mutex_lock(&t->lock);
	touch_rows(t, slot, bits, &notes);
	pthread_mutex_unlock(&t->lock);
	forget_all(t, &notes);
}

/* An owner of a file's own comes once its card is identified, and somebody may have looked before. */
void forget_rows(struct tree *t, uint32_t slot, change_bits bits, struct forgets *notes)
{
	enum obj_kind kind = objects_at(t->objects, slot)->kind;
	bool owned = slot < t->n_members && t->members[slot].owned;
	const struct attr *row;

	if (bits & CH_RIGHTS)
		forget_note(notes, objects_ino(t->objects, slot, ROW_SELF), FORGET_ATTR, "");
	for (size_t i = 0; (row = row_at(kind, i)); i++) {
		uint64_t ino = objects_ino(t->objects, slot, row->id);

		if (bits & CH_RIGHTS && (owned || row_is_groups(row)))
			forget_note(notes, ino, FORGET_ATTR, "");
		if (row->bits & bits && row->flags & ATTR_CONST)
			forget_note(notes, ino, FORGET_PAGES, "");
	}
}

/* The group may come, or get another number, while the tree is mounted. */
void tree_set_group(void *tree, gid_t gid)
{
	struct tree *t = tree;
	uint32_t n = 1;

	if (atomic_exchange(&t->group, gid) == gid)
		return;
	/* One object at a time: requests need the lock. */
	for (uint32_t i = 0; i < n; i++) {
		struct forgets notes = { 0 };

		pthread_mutex_lock(&t->lock);
		n = objects_count(t->objects);
		if (i < n)
			forget_rows(t, i, CH_RIGHTS, &notes);
		pthread_mutex_unlock(&t->lock);
		forget_all(t, &notes);
	}
}

/* Cached texts of a device must not outlive it. */
static void bury_device(struct tree *t, uint32_t slot, struct forgets *notes)
{
	forget_rows(t, slot, CH_ALL, notes);
	touch_rows(t, slot, CH_ALL, notes);
	views_place(t, slot, NULL, notes);
	objects_kill(t->objects, slot);
}

/* dev NULL: the model has lost it. Returns its slot. Call it with the tree's lock held. */
static uint32_t place_change(struct tree *t, const struct change *c, const struct device *dev,
			     struct forgets *notes)
{
	enum obj_kind kind = kind_of_bus(c->key.bus);
	const struct object *obj;
	uint32_t slot;

	if (kind == OBJ_ROOT)
		return NO_SLOT; /* a bus without a directory */
	slot = objects_slot(t->objects, kind, 0, c->key.name);
	if (slot == NO_SLOT)
		return slot;
	obj = objects_at(t->objects, slot);
	if (c->action == ACTION_REMOVE) {
		/* Its successor may have been seen first. */
		if (obj->birth == c->birth)
			bury_device(t, slot, notes);
		return slot;
	}
	if (!dev)
		return slot; /* gone again; its removal follows */
	if (obj->state == OBJECT_LIVE && obj->birth != dev->birth)
		bury_device(t, slot, notes);
	objects_live(t->objects, slot, dev->birth);
	views_place(t, slot, dev, notes);
	return slot;
}

static void put_event(struct tree *t, const struct change *c, const struct device *dev)
{
	static const char *const actions[] = {
		[ACTION_ADD] = "add", [ACTION_CHANGE] = "change", [ACTION_REMOVE] = "remove"
	};
	struct out o = { 0 }, changed = { 0 };
	char id[KEY_NAME + 8];

	if (c->action == ACTION_CHANGE)
		changed_names(c->key.bus, dev ? dev->caps : ~0u, c->bits, &changed);
	if (c->action != ACTION_CHANGE || changed.len) {
		out_printf(&o, "generation=%llu action=%s", (unsigned long long)c->generation,
			   actions[c->action]);
		if (changed.len)
			out_printf(&o, " changed=%s", out_text(&changed));
		out_put(&o, " ", 1);
		if (dev && c->action != ACTION_REMOVE)
			inventory_line(t, dev, &o);
		else
			out_printf(&o, "%s", key_id(&c->key, id));
		if (!o.failed)
			ring_put(t->events, o.data, o.len);
	}
	out_free(&changed);
	out_free(&o);
}

static void touch_place(struct tree *t, size_t view, uint32_t in, change_bits bits)
{
	/* The root's slot is touched once for all changes. A PF shows only its own facts. */
	if (in > 1 && !obj_type(views[view].path[0])->bus)
		tree_touch(t, in - 1, bits);
}

/* The directories that the device is, or was, in show numbers about it. */
static void touch_places(struct tree *t, const struct member *was, const struct member *is,
			 change_bits bits)
{
	for (size_t i = 0; i < n_views; i++) {
		touch_place(t, i, was->at[i].in, bits);
		if (is->at[i].in != was->at[i].in)
			touch_place(t, i, is->at[i].in, bits);
	}
}

static void one_change(struct tree *t, const struct change *c)
{
	struct member was = { 0 }, is = { 0 };
	struct forgets notes = { 0 };
	struct device copy;
	const struct device *dev = model_copy(t->conf.model, &c->key, &copy) ? &copy : NULL;
	uint32_t slot;

	pthread_mutex_lock(&t->lock);
	slot = device_slot(t, &c->key);
	if (slot < t->n_members)
		was = t->members[slot];
	slot = place_change(t, c, dev, &notes);
	if (slot < t->n_members) {
		audit_change(&t->members[slot], c, dev);
		t->members[slot].owned = dev && (was.owned || dev->intent.n_owners);
		is = t->members[slot];
	}
	if (slot != NO_SLOT)
		forget_rows(t, slot, c->bits, &notes);
	pthread_mutex_unlock(&t->lock);
	if (c->generation > t->quiet_until)
		put_event(t, c, dev);
	forget_all(t, &notes);
	if (slot == NO_SLOT)
		return;
	tree_touch(t, slot, c->bits & ~CH_LOG);
	touch_places(t, &was, &is, c->bits & ~CH_LOG & ~CH_RIGHTS);
}

static void changed(void *ctx, const struct change *changes, size_t n)
{
	struct tree *t = ctx;
	change_bits bits = 0;

	if (t->first && fault_is("notify-hang"))
		fault_hang();
	for (size_t i = 0; i < n; i++) {
		one_change(t, &changes[i]);
		bits |= changes[i].bits;
		atomic_store(&t->heard, changes[i].generation);
	}
	tree_touch(t, 0, bits & CH_ANY);
}

/* Pollers are woken after the writer got its answer: they use the CPU for long. */
static void told(void *ctx)
{
	struct tree *t = ctx;

	files_tell(t->files);
	stream_wake(t->stream, atomic_load(&t->heard));
}

/* Notes all that the kernel may know of an object. Call it with the tree's lock held. */
static void note_object(struct tree *t, uint32_t slot, bool entries, struct forgets *notes)
{
	const struct object *obj = objects_at(t->objects, slot);
	const struct obj_type *type = obj_type(obj->kind);
	const struct attr *row;

	for (size_t i = 0; (row = row_at(obj->kind, i)); i++)
		if (S_ISDIR(row->mode))
			forget_note(notes, objects_ino(t->objects, slot, row->id), FORGET_ATTR, "");
		else if (!slot && row->flags & ATTR_CONST) /* after an upgrade it reads otherwise */
			forget_note(notes, objects_ino(t->objects, slot, row->id), FORGET_PAGES,
				    "");
	forget_note(notes, objects_ino(t->objects, slot, ROW_SELF), FORGET_ATTR, "");
	if (!entries || !slot)
		return;
	forget_note(notes, objects_ino(t->objects, type->derived ? obj->parent : 0, type->home),
		    FORGET_ENTRY, obj->name);
	for (size_t i = 0; i < n_views && type->bus; i++)
		if (views[i].path[0] == OBJ_ROOT)
			forget_note(notes, objects_ino(t->objects, 0, views[i].dir.id),
				    FORGET_ENTRY, obj->name);
}

/* The former process may have died between a change and the notification of the kernel. */
static void take_over(struct tree *t)
{
	bool entries = !forget_entries(t);
	struct forgets notes = { 0 };
	uint32_t i = 0, n = TAKE_AT_ONCE;

	/* In parts, because requests that waited for a server come now and need the lock. */
	while (n == TAKE_AT_ONCE) {
		pthread_mutex_lock(&t->lock);
		for (n = 0; n < TAKE_AT_ONCE && i < objects_count(t->objects); n++, i++)
			if (entries || !obj_type(objects_at(t->objects, i)->kind)->bus ||
			    (i < t->n_members && t->members[i].caps & CAP_SRIOV))
				note_object(t, i, entries, &notes);
		pthread_mutex_unlock(&t->lock);
	}
	forget_all(t, &notes);
	files_wake_all(t->files);
}

static void *notifier(void *ctx)
{
	struct tree *t = ctx;

	if (!t->first)
		take_over(t);
	while (model_dispatch(t->conf.model))
		;
	return NULL;
}

int changes_start(struct tree *t, struct err *err)
{
	const struct observer observer = { .changed = changed, .ctx = t, .told = told };
	int r;

	/* Devices from before the tree are not news. */
	t->quiet_until = t->first ? atomic_load(&t->heard) : 0;
	r = forget_start(t, err);
	if (r)
		return r;
	model_observe(t->conf.model, &observer);
	r = thread_start(&t->notifier, notifier, t);
	if (r)
		return fail(err, -r, "no thread is available to report changes: %s", strerror(-r));
	t->notifying = true;
	return 0;
}

void changes_stop(struct tree *t)
{
	if (t->notifying) {
		model_stop(t->conf.model);
		pthread_join(t->notifier, NULL);
	}
	t->notifying = false;
	forget_stop(t);
}
