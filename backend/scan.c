// SPDX-License-Identifier: GPL-2.0-or-later
/* From the machine to the model: observe without the model's lock, then publish all at once. */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "bus.h"
#include "claim.h"
#include "internal.h"
#include "look.h"
#include "ops.h"
#include "naming.h"
#include "pcidevfs/device.h"
#include "pcidevfs/model.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"

struct seen {
	struct key key;
	uint64_t removed; /* as in struct touched, and so alone and unbound */
	bool alone, unbound;
	bool looked, again; /* again: observe it once more */
	bool present;
	bool unknown; /* it could not be observed: the old facts stay */
	bool other;   /* it changed its class or its doubt: does the host need it? */
	bool tells;   /* its extra is the newest that is known */
	struct facts facts;
	struct extra extra;
	const struct backend_ops *row; /* of the extra */
};

struct look_batch {
	struct seen *v;
	size_t n, cap;
	uint64_t seqnum; /* of the last uevent before we looked; 0 if the kernel does not tell */
	bool failed;	 /* no memory or descriptor: look again soon */
	bool hung;	 /* a device was left out */
	struct look *look;
};

static struct seen *batch_add(struct look_batch *b, const struct key *key, uint64_t removed,
			      bool again)
{
	struct seen *v = more_rows(b->v, b->n, &b->cap, sizeof(*v));

	if (!v) {
		b->failed = true;
		return NULL;
	}
	b->v = v;
	v += b->n++;
	*v = (struct seen){ .key = *key, .removed = removed, .again = again };
	return v;
}

static int by_key(const void *left, const void *right)
{
	const struct seen *a = left, *b = right;

	return key_cmp(&a->key, &b->key);
}

static struct seen *batch_find(const struct look_batch *b, const struct key *key)
{
	const struct seen wanted = { .key = *key };

	return b->n ? bsearch(&wanted, b->v, b->n, sizeof(*b->v), by_key) : NULL;
}

static void batch_sort(struct look_batch *b)
{
	size_t n = 0;

	if (!b->n)
		return;
	qsort(b->v, b->n, sizeof(*b->v), by_key);
	for (size_t i = 1; i < b->n; i++) {
		struct seen *last = &b->v[n], *next = &b->v[i];
		uint64_t removed = last->removed > next->removed ? last->removed : next->removed;
		bool again = last->again || next->again, alone = last->alone && next->alone;
		bool unbound = last->unbound || next->unbound;

		if (by_key(last, next)) {
			b->v[++n] = *next;
			continue;
		}
		if (next->looked) /* One of the two may have been observed already. */
			*last = *next;
		last->removed = removed;
		last->again = again;
		last->alone = alone;
		last->unbound = unbound;
	}
	b->n = n + 1;
}

/* f NULL: this alone is looked at. False: its facts are others by now. */
static bool read_extra(struct backend *b, struct seen *s, const struct facts *f)
{
	bool same = true;

	for (const struct backend_ops *const *row = backends; *row && same && !s->extra.what;
	     row++) {
		s->row = *row;
		same = !s->row->extra || s->row->extra(b, &s->key, f, &s->extra.what);
	}
	return same;
}

static void look(struct backend *b, struct look_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct seen *s = &batch->v[i];
		int rc;

		if (s->looked && !s->again)
			continue;
		s->looked = true;
		s->again = false;
		/* Operations may name devices of any bus. */
		if (!b->buses[s->key.bus]) {
			s->unknown = true;
			continue;
		}
		if (!look_goes_to(batch->look, &s->key)) {
			s->unknown = batch->hung = true;
			continue;
		}
		free(s->extra.what);
		s->extra.what = NULL;
		s->alone = s->alone && read_extra(b, s, NULL);
		rc = s->alone ? 0 : look_observe(batch->look, &s->key, &s->facts);
		if (!s->alone && !rc)
			read_extra(b, s, &s->facts);
		s->present = !s->alone && !rc;
		s->unknown = s->alone || (rc && rc != -ENODEV);
		batch->failed |= rc && rc != -ENODEV;
	}
}

/* A VF that comes or goes changes its PF; one that is only read again does not. */
static bool is_old_vf(const struct device *known, const struct seen *s)
{
	return known && s->present && !s->removed && known->facts.index >= 0 &&
	       known->key.bus == BUS_PCI && key_eq(&known->facts.parent, &s->facts.parent);
}

/* Adds the parent of each, from facts or as the model remembers it. The removal of VFs sends no
 * event for the PF, so its number of VFs is read after they are gone. If a vanished device was
 * never known, its parent is unknown, so all PFs are read again. */
static void add_parents(struct model *m, struct look_batch *b)
{
	size_t n = b->n, pos = 0;
	bool anybodys = false;
	const struct device *dev;

	model_lock(m);
	for (size_t i = 0; i < n; i++) {
		bool present = b->v[i].present, gone = !present && !b->v[i].unknown;
		struct key parent = b->v[i].facts.parent; /* a copy: b->v may move */

		dev = model_find(m, &b->v[i].key);
		anybodys |= gone && !dev && b->v[i].key.bus == BUS_PCI;
		if (b->v[i].alone || is_old_vf(dev, &b->v[i]))
			continue;
		if (present && parent.bus)
			batch_add(b, &parent, 0, false);
		if (dev && dev->facts.parent.bus)
			batch_add(b, &dev->facts.parent, 0, gone);
	}
	while (anybodys && (dev = model_next(m, &pos)))
		if (dev->facts.num_vfs > 0)
			batch_add(b, &dev->key, 0, true);
	model_unlock(m);
	for (size_t i = 0; i < n && anybodys; i++)
		b->v[i].again |= b->v[i].present && b->v[i].facts.num_vfs > 0;
	batch_sort(b);
}

/* f: as it is now, NULL: not looked at. */
static bool is_known(struct model *m, const struct key *key, int group, const struct facts *f)
{
	const struct device *dev;
	bool known;

	model_lock(m);
	dev = model_find(m, key);
	known = dev && dev->facts.iommu_group == group && !(f && facts_of_other(&dev->facts, f));
	model_unlock(m);
	return known;
}

/* A new device comes with its group: an operation takes all of it, and the event of another member
 * may still be under way. */
static void add_peers(const struct backend *b, struct look_batch *batch)
{
	size_t n = batch->n;

	for (size_t i = 0; i < n; i++) {
		struct seen s = batch->v[i]; /* a copy: batch->v may move */
		_closedir_ DIR *dir = NULL;
		const struct dirent *e;
		struct key key;

		if (!s.present || s.key.bus != BUS_PCI || s.facts.iommu_group < 0 ||
		    (!s.removed && is_known(b->model, &s.key, s.facts.iommu_group, &s.facts)))
			continue;
		dir = sysfs_dir(&b->sys, ROOT_SYS, "kernel/iommu_groups/%d/devices",
				s.facts.iommu_group);
		while (dir && (e = readdir(dir)))
			if (key_make(BUS_PCI, e->d_name, &key) &&
			    !is_known(b->model, &key, s.facts.iommu_group, NULL))
				batch_add(batch, &key, 0, false);
	}
	batch_sort(batch);
}

static void note_index(void *ctx, int index, const struct key *vf)
{
	struct seen *s = batch_find(ctx, vf);

	if (s)
		s->facts.index = index;
}

static void observe(struct backend *b, struct look_batch *batch)
{
	int64_t seqnum;

	if (!sysfs_number(&b->sys, ROOT_SYS, 0, INT64_MAX, &seqnum, "kernel/uevent_seqnum"))
		batch->seqnum = (uint64_t)seqnum;
	batch_sort(batch);
	look(b, batch);
	add_parents(b->model, batch);
	if (!batch->look->all)
		add_peers(b, batch);
	look(b, batch);
	for (size_t i = 0; i < batch->n; i++)
		if (batch->v[i].present && batch->v[i].facts.num_vfs)
			pci_vfs(&b->sys, &batch->v[i].key, note_index, batch);
	look_goes_to(batch->look, NULL);
}

/* A VF that is being removed loses its links first; it stays the same VF as long as it is seen. */
static void keep_relation(const struct facts *old, struct facts *f)
{
	if (!old->parent.bus || old->index < 0 || (f->parent.bus && f->index >= 0))
		return;
	f->parent = old->parent;
	STR_COPY(f->path, old->path);
	f->index = old->index;
}

/* A later look has published already. It cannot have known of a removal between the two. */
static bool is_overtaken(struct model *m, const struct look_batch *batch, struct seen *s)
{
	const struct device *known;

	if (!look_is_old(batch->look, &s->key))
		return false;
	known = model_find(m, &s->key);
	if (!known || s->removed <= known->facts.seen)
		return true;
	s->facts = known->facts;
	s->present = true;
	return false;
}

/* Without memory it may be an older one. */
static bool is_newest_extra(const struct look_batch *batch, const struct seen *s)
{
	return newest_take(&batch->look->b->looks.extra, &s->key, batch->look->number);
}

/* What is made of a sick card is sick as well, from its first moment on. */
static void inherit(struct model *m, struct facts *f)
{
	const struct device *card = f->parent.bus ? model_find(m, &f->parent) : NULL;

	if (card)
		STR_COPY(f->card_health, card->facts.card_health);
}

/* NULL: it was not there, or is gone. */
static void tell_card(struct model *m, const struct facts *was, const struct facts *is)
{
	const struct facts none = { .gpu_instance_id = -1 };
	const struct key card = is ? is->parent : was->parent;
	const struct device *dev = card.bus ? model_find(m, &card) : NULL;

	was = was ?: &none;
	is = is ?: &none;
	if (dev && dev->caps & CAP_MIG &&
	    (strcmp(was->profile_id, is->profile_id) ||
	     was->gpu_instance_id != is->gpu_instance_id))
		model_edit(m, &card, false)->facts.mig_vgpus++;
}

static bool commit_one(struct backend *b, struct look_batch *batch, struct seen *s,
		       const struct naming *nm, bool *ret_new)
{
	struct model *m = b->model;
	const struct bus_ops *bus = b->buses[s->key.bus];
	const struct names *names = naming_find(nm, &s->key, &s->facts);
	const struct device *known = model_find(m, &s->key);
	struct device *dev;
	struct facts facts;

	s->tells = s->alone && known && s->extra.what && is_newest_extra(batch, s);
	if (known && s->unbound && !s->unknown) /* else it is looked at again */
		model_edit(m, &s->key, false)->unbinds++;
	if (s->unknown || is_overtaken(m, batch, s))
		return true;
	if (newest_take(&b->looks.seen, &s->key, batch->look->number) < 0) {
		batch->failed = true;
		return true;
	}
	if (known && (!s->present || s->removed > known->facts.seen ||
		      facts_of_other(&known->facts, &s->facts))) {
		tell_card(m, &known->facts, NULL);
		model_remove(m, &s->key);
		known = NULL;
	}
	if (!s->present)
		return true;
	dev = model_edit(m, &s->key, true);
	if (!dev)
		return false;
	tell_card(m, known ? &known->facts : NULL, &s->facts);
	facts = s->facts;
	facts_keep(&dev->facts, &facts);
	if (bus->tells_serial) {
		facts.serial = s->facts.serial;
		facts.serial_known = s->facts.serial_known;
	}
	facts.seen = known ? known->facts.seen : batch->seqnum;
	if (known)
		keep_relation(&known->facts, &facts);
	inherit(m, &facts);
	*ret_new |= !facts.serial_known || (facts.iommu_group >= 0 && facts.reserved <= RESERVED_ODD);
	s->other = strcmp(dev->facts.garbled, facts.garbled) || (!known && bus->plugged) ||
		   (known && known->facts.class_code != facts.class_code);
	dev->facts = facts;
	dev->facts.has_way = claim_way(b->ways, dev);
	if (names)
		dev->names = *names;
	/* A later look at it alone has told it; what others can have goes by this device too. */
	if (s->extra.what && !is_newest_extra(batch, s)) {
		free(s->extra.what);
		s->extra.what = s->row->noted(m, dev);
	}
	s->tells = s->extra.what;
	return true;
}

/* Nobody sees a device published without what others tell of it. */
static void publish(struct model *m, struct look_batch *batch)
{
	for (const struct backend_ops *const *ops = backends; *ops; ops++) {
		struct extra *first = NULL;

		for (size_t i = batch->n; i-- > 0;) {
			struct seen *s = &batch->v[i];

			if (!s->tells || s->row != *ops)
				continue;
			s->extra = (struct extra){ s->key, s->extra.what, first };
			first = &s->extra;
		}
		if (first)
			(*ops)->after_scan(m, first);
	}
	model_publish(m);
}

/* Removes all devices that a complete batch does not have. */
static void remove_others(struct backend *b, const struct look_batch *batch)
{
	const struct device *dev;
	size_t pos = 0;

	while ((dev = model_next(b->model, &pos)))
		if (b->buses[dev->key.bus] && !batch_find(batch, &dev->key) &&
		    !look_is_old(batch->look, &dev->key)) {
			struct key key = dev->key;

			model_remove(b->model, &key);
		}
}

/* A device that has a group tells as much as the list of groups. */
static bool has_iommu(const struct sysfs *sys, const struct look_batch *batch)
{
	_closedir_ DIR *dir = NULL;
	const struct dirent *e;

	for (size_t i = 0; i < batch->n; i++)
		if (batch->v[i].present && batch->v[i].facts.iommu_group >= 0)
			return true;
	dir = sysfs_dir(sys, ROOT_SYS, "kernel/iommu_groups");
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			return true;
	return false;
}

/* An incomplete batch taken for complete would remove existing devices. */
static int commit(struct backend *b, struct look_batch *batch)
{
	bool all = batch->look->all && !batch->failed;
	bool iommu = has_iommu(&b->sys, batch), fits = true, new = false;
	struct naming nm = { 0 };

	for (size_t i = 0; i < batch->n; i++)
		if (batch->v[i].present)
			naming_add(&nm, &batch->v[i].key, &batch->v[i].facts);
	naming_look(b, &nm);
	model_lock(b->model);
	model_set_iommu(b->model, iommu);
	if (all)
		remove_others(b, batch);
	for (size_t i = 0; i < batch->n; i++)
		fits &= commit_one(b, batch, &batch->v[i], &nm, &new);
	if (all && b->looks.all < batch->look->number)
		b->looks.all = batch->look->number;
	publish(b->model, batch);
	model_unlock(b->model);
	naming_end(&nm);
	if (new) {
		ask_soon(b, &ask_serial, NULL, 0);
		ask_soon(b, &ask_reserved, NULL, 0);
	}
	for (size_t i = 0; i < batch->n; i++)
		if (batch->v[i].other)
			ask_soon(b, &ask_critical, &batch->v[i].key, 0);
	return fits ? 0 : -ENOSPC;
}

/* A machine without PCI cannot be served; another bus may appear with its module. */
static int list_bus(const struct backend *b, enum bus bus, struct look_batch *batch)
{
	_closedir_ DIR *dir = sysfs_dir(&b->sys, ROOT_SYS, "%s", b->buses[bus]->devices);
	const struct dirent *e;
	struct key key;

	if (!dir)
		return errno == ENOENT && bus != BUS_PCI ? 0 : -errno;
	for (errno = 0; (e = readdir(dir)); errno = 0)
		if (key_make(bus, e->d_name, &key))
			batch_add(batch, &key, 0, false);
	return -errno;
}

static int add_all(struct backend *b, struct look_batch *batch)
{
	int rc = 0;

	for (enum bus bus = 0; bus < BUS_COUNT && !rc; bus++)
		if (b->buses[bus])
			rc = list_bus(b, bus, batch);
	return rc;
}

static void add_touched(struct look_batch *batch, const struct touched *v)
{
	struct seen *s = batch_add(batch, &v->key, v->removed, false);

	if (s) {
		s->alone = v->alone;
		s->unbound = v->unbound;
	}
}

int look_scan(struct look *l)
{
	struct look_batch batch = { .look = l };
	struct backend *b = l->b;
	int rc = 0;

	l->number = atomic_fetch_add(&b->looks.last, 1) + 1;
	if (!l->all) /* they and a parent, or a peer */
		batch.v = calloc(l->n + 2, sizeof(*batch.v));
	batch.cap = batch.v ? l->n + 2 : 0;
	if (l->all)
		rc = add_all(b, &batch);
	for (size_t i = 0; i < l->n; i++)
		add_touched(&batch, &l->v[i]);
	if (!rc) {
		observe(b, &batch);
		rc = commit(b, &batch);
		rc = batch.failed ? -ENOMEM : rc || !batch.hung ? rc : -ETIMEDOUT;
	}
	for (size_t i = 0; i < batch.n; i++)
		free(batch.v[i].extra.what);
	free(batch.v);
	return rc;
}
