// SPDX-License-Identifier: GPL-2.0-or-later
#include "objects.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pcidevfs/err.h"
#include "pcidevfs/region.h"
#include "pcidevfs/util.h"

/* A node id: epoch << 40 | slot << 16 | twin << 8 | row. The root (slot 0, epoch 0, ROW_SELF) is
 * 1. */
enum {
	ROW_BITS = 8,
	TWIN_BITS = 8,
	SLOT_AT = ROW_BITS + TWIN_BITS,
	SLOT_BITS = 24,
	EPOCH_BITS = 24
};
static_assert(ROW_MAX <= 1 << ROW_BITS && TWINS_MAX == 1 << TWIN_BITS,
	      "a node id has room for both");

#define OBJECTS_ABI 6
#define OWNERS 65536
#define OWNER_PROBES 64
#define NO_NODE UINT64_MAX /* of a dropped owner: the search must go on behind it */

struct owner_slot {
	uint64_t ino; /* 0: free; written last */
	struct owner owner;
};

struct header {
	struct region_head region;
	uint32_t count; /* slots in use or dead; never shrinks */
	uint64_t deaths;
	uint64_t starts;
	struct timespec since;
	_Atomic uint32_t owned; /* number of owners ever set: while 0 the table is not touched */
};

struct objects_region {
	union {
		struct header head;
		char page[4096];
	};
	struct owner_slot owners[OWNERS];
	struct object table[];
};

struct objects {
	object_type *type;
	struct objects_region *r;
	uint32_t max;
	uint32_t *heads, *next; /* chains by name; n_heads is a power of two, next has cap places */
	uint32_t n_heads, cap;
	/* Dead slots of derived objects, whose names users choose. They are in a chain of their own
	 * instead of one by name, and are reused at once in order of death. */
	uint32_t free_first, free_last;
	pthread_mutex_t owners; /* guards only the table of owners */
};

const struct region_head objects_layout = { "objects", OBJECTS_ABI,
					    sizeof(struct objects_region) + sizeof(struct object) };

static uint32_t hash(enum obj_kind kind, uint32_t parent, const char *name)
{
	uint32_t h = 2166136261u ^ (uint32_t)kind ^ parent << 4;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619u;
	return h ^ h >> 15;
}

static uint32_t *chain(const struct objects *o, uint32_t slot)
{
	const struct object *obj = &o->r->table[slot];

	return &o->heads[hash(obj->kind, obj->parent, obj->name) & (o->n_heads - 1)];
}

static void link_slot(struct objects *o, uint32_t slot)
{
	uint32_t *head = chain(o, slot);

	o->next[slot] = *head;
	*head = slot;
}

static void unlink_slot(struct objects *o, uint32_t slot)
{
	uint32_t *at = chain(o, slot);

	while (*at != slot && *at != NO_SLOT)
		at = &o->next[*at];
	if (*at == slot)
		*at = o->next[slot];
}

static bool is_free(const struct objects *o, const struct object *obj)
{
	return obj->state == OBJECT_DEAD && o->type(obj->kind)->derived;
}

static void add_free(struct objects *o, uint32_t slot)
{
	o->next[slot] = NO_SLOT;
	if (o->free_first == NO_SLOT)
		o->free_first = slot;
	else
		o->next[o->free_last] = slot;
	o->free_last = slot;
}

static uint32_t take_free(struct objects *o)
{
	uint32_t slot = o->free_first;

	o->free_first = o->next[slot];
	return slot;
}

/* Grows the index to at least count slots. */
static int grow(struct objects *o, uint32_t count)
{
	uint32_t cap = o->cap ? o->cap : 512;
	uint32_t *heads, *next;

	if (count <= o->cap)
		return 0;
	while (cap < count)
		cap *= 2;
	heads = malloc(cap * sizeof(*heads));
	next = realloc(o->next, cap * sizeof(*next));
	if (next)
		o->next = next;
	if (!heads || !next) {
		free(heads);
		return -ENOMEM;
	}
	free(o->heads);
	o->heads = heads;
	o->n_heads = o->cap = cap;
	memset(heads, 0xff, cap * sizeof(*heads));
	for (uint32_t i = 0; i < o->r->head.count; i++)
		if (o->r->table[i].state != OBJECT_NONE && !is_free(o, &o->r->table[i]))
			link_slot(o, i);
	return 0;
}

/* Drops records that a kill tore or that are invalid. The kernel knows slot 0 as the root. */
static void check_table(struct objects *o)
{
	if (o->r->head.count > o->max)
		o->r->head.count = o->max;
	for (uint32_t i = 0; i < o->r->head.count; i++) {
		struct object *obj = &o->r->table[i];
		bool root = obj->kind == OBJ_ROOT && obj->state &&
			    (i || (obj->state != OBJECT_DEAD && !obj->birth));

		if (obj->state > OBJECT_DEAD || !o->type(obj->kind) || root != !i ||
		    obj->parent >= (i ? o->r->head.count : 1) || obj->epoch >> (i ? EPOCH_BITS : 0))
			*obj = (struct object){ .state = i ? OBJECT_NONE : OBJECT_LIVE };
		obj->name[i ? OBJECT_NAME - 1 : 0] = '\0';
	}
}

static int open_root(struct objects *o, struct err *err)
{
	uint32_t root;

	if (grow(o, o->r->head.count + 1))
		return fail_nomem(err);
	for (uint32_t i = 0; i < o->r->head.count; i++)
		if (is_free(o, &o->r->table[i]))
			add_free(o, i);
	root = objects_slot(o, OBJ_ROOT, 0, "");
	if (root != 0)
		return fail(err, EPROTO, "the table of node ids is damaged");
	objects_live(o, root, 0);
	objects_note_known(o, objects_ino(o, root, ROW_SELF)); /* by the mount */
	return 0;
}

int objects_open(void *region, size_t size, object_type *type, struct objects **ret,
		 struct err *err)
{
	struct objects *o = calloc(1, sizeof(*o));
	struct header *head = region;
	int r;

	if (!o || size < sizeof(struct objects_region) + 16 * sizeof(struct object)) {
		free(o);
		return fail_nomem(err);
	}
	pthread_mutex_init(&o->owners, NULL);
	o->type = type;
	o->r = region;
	o->free_first = NO_SLOT;
	o->max = (size - sizeof(struct objects_region)) / sizeof(struct object);
	if (o->max > 1u << SLOT_BITS)
		o->max = 1u << SLOT_BITS;
	if (!region_is(&head->region, &objects_layout)) {
		*head = (struct header){ 0 };
		clock_gettime(CLOCK_REALTIME, &head->since);
		region_begin(&head->region, &objects_layout);
	}
	check_table(o);
	head->starts++;
	r = open_root(o, err);
	if (r)
		objects_close(o);
	else
		*ret = o;
	return r;
}

void objects_close(struct objects *o)
{
	if (!o)
		return;
	free(o->heads);
	free(o->next);
	pthread_mutex_destroy(&o->owners);
	free(o);
}

uint32_t objects_find(const struct objects *o, enum obj_kind kind, uint32_t parent,
		      const char *name)
{
	uint32_t i = o->heads[hash(kind, parent, name) & (o->n_heads - 1)];

	for (; i != NO_SLOT; i = o->next[i]) {
		const struct object *obj = &o->r->table[i];

		if (obj->kind == kind && obj->parent == parent && !strcmp(obj->name, name))
			return i;
	}
	return NO_SLOT;
}

/* The slot that died first; only needed if the table is full. */
static uint32_t oldest_dead(struct objects *o)
{
	uint32_t best = NO_SLOT;

	for (uint32_t i = 1; i < o->r->head.count; i++) {
		const struct object *obj = &o->r->table[i];

		if (obj->state != OBJECT_DEAD && obj->state != OBJECT_NONE)
			continue;
		if (best == NO_SLOT || obj->died < o->r->table[best].died)
			best = i;
	}
	if (best != NO_SLOT && o->r->table[best].state != OBJECT_NONE)
		unlink_slot(o, best);
	return best;
}

static uint32_t next_free(struct objects *o)
{
	if (o->free_first != NO_SLOT)
		return take_free(o);
	if (o->r->head.count >= o->max)
		return oldest_dead(o);
	if (grow(o, o->r->head.count + 1))
		return NO_SLOT;
	o->r->table[o->r->head.count].epoch = 0;
	o->r->table[o->r->head.count].state = OBJECT_NONE;
	return __atomic_fetch_add(&o->r->head.count, 1, __ATOMIC_RELEASE);
}

uint32_t objects_slot(struct objects *o, enum obj_kind kind, uint32_t parent, const char *name)
{
	uint32_t i = objects_find(o, kind, parent, name);
	struct object *obj;
	uint32_t epoch;

	if (i != NO_SLOT || strlen(name) >= OBJECT_NAME)
		return i;
	i = next_free(o);
	if (i == NO_SLOT)
		return i;
	obj = &o->r->table[i];
	epoch = obj->state == OBJECT_DEAD ? (obj->epoch + 1) & ((1u << EPOCH_BITS) - 1)
					  : obj->epoch;
	obj->state = OBJECT_NONE;
	atomic_signal_fence(memory_order_seq_cst);
	*obj = (struct object){ .kind = kind, .parent = parent, .epoch = epoch };
	STR_COPY(obj->name, name);
	/* A killed process must not leave a state without its name. */
	atomic_signal_fence(memory_order_seq_cst);
	obj->state = OBJECT_RESERVED;
	link_slot(o, i);
	return i;
}

const struct object *objects_at(const struct objects *o, uint32_t slot)
{
	/* objects_known() calls this without the tree's lock. */
	uint32_t count = __atomic_load_n(&o->r->head.count, __ATOMIC_ACQUIRE);

	return slot < count ? &o->r->table[slot] : NULL;
}

uint32_t objects_count(const struct objects *o)
{
	return o->r->head.count;
}

void objects_live(struct objects *o, uint32_t slot, uint64_t birth)
{
	struct object *obj = &o->r->table[slot];

	if (obj->state == OBJECT_LIVE && obj->birth == birth)
		return;
	if (obj->state == OBJECT_DEAD || obj->state == OBJECT_LIVE)
		obj->epoch = (obj->epoch + 1) & ((1u << EPOCH_BITS) - 1);
	obj->birth = birth;
	atomic_signal_fence(memory_order_seq_cst);
	obj->state = OBJECT_LIVE;
}

void objects_stay(struct objects *o, uint32_t slot, uint64_t birth)
{
	if (o->r->table[slot].state == OBJECT_LIVE)
		o->r->table[slot].birth = birth;
}

void objects_kill(struct objects *o, uint32_t slot)
{
	struct object *obj = &o->r->table[slot];

	if (is_free(o, obj))
		return;
	obj->died = ++o->r->head.deaths;
	obj->state = OBJECT_DEAD;
	if (!is_free(o, obj))
		return;
	unlink_slot(o, slot);
	add_free(o, slot);
}

uint64_t objects_ino(const struct objects *o, uint32_t slot, uint16_t row)
{
	return (uint64_t)o->r->table[slot].epoch << (SLOT_BITS + SLOT_AT) |
	       (uint64_t)slot << SLOT_AT | row;
}

uint64_t objects_sibling(uint64_t ino, uint16_t row)
{
	return (ino & ~(uint64_t)((1u << SLOT_AT) - 1)) | row;
}

uint64_t objects_twin(uint64_t ino, unsigned int number)
{
	return ino | (uint64_t)number << ROW_BITS;
}

uint64_t objects_untwinned(uint64_t node)
{
	return node & ~((uint64_t)(TWINS_MAX - 1) << ROW_BITS);
}

unsigned int objects_twin_number(uint64_t node)
{
	return node >> ROW_BITS & (TWINS_MAX - 1);
}

static uint32_t slot_of(uint64_t ino)
{
	return ino >> SLOT_AT & ((1u << SLOT_BITS) - 1);
}

static unsigned int row_of(uint64_t ino)
{
	return ino & (ROW_MAX - 1);
}

void objects_note_known(struct objects *o, uint64_t node)
{
	struct object *obj = &o->r->table[slot_of(node)];
	uint32_t number = objects_twin_number(node), was = atomic_load(&obj->twins);
	unsigned int row = row_of(node);

	while (was < number && !atomic_compare_exchange_weak(&obj->twins, &was, number))
		;
	atomic_fetch_or(&obj->known[row / 64], 1ull << row % 64);
}

unsigned int objects_known(const struct objects *o, uint64_t ino)
{
	const struct object *obj = objects_at(o, slot_of(ino));
	unsigned int row = row_of(ino);
	uint32_t twins;

	if (!obj || !(atomic_load(&obj->known[row / 64]) >> row % 64 & 1))
		return 0;
	twins = atomic_load(&obj->twins);
	return twins < TWINS_MAX ? twins + 1 : TWINS_MAX;
}

bool objects_node(const struct objects *o, uint64_t ino, uint32_t *ret_slot, uint16_t *ret_row)
{
	uint32_t slot = slot_of(ino);
	const struct object *obj = objects_at(o, slot);

	if (!obj || obj->state != OBJECT_LIVE || obj->epoch != ino >> (SLOT_BITS + SLOT_AT))
		return false;
	*ret_slot = slot;
	*ret_row = ino & ((1u << ROW_BITS) - 1);
	return true;
}

uint64_t objects_starts(const struct objects *o)
{
	return o->r->head.starts;
}

struct timespec objects_since(const struct objects *o)
{
	return o->r->head.since;
}

static struct owner_slot *probe(const struct objects *o, uint64_t ino, unsigned int i)
{
	return &o->r->owners[((ino * 0x9e3779b97f4a7c15ull >> 48) + i) % OWNERS];
}

/* NULL: it has none. */
static struct owner_slot *find_owner(const struct objects *o, uint64_t ino)
{
	bool any = atomic_load(&o->r->head.owned);

	for (unsigned int i = 0; any && i < OWNER_PROBES && probe(o, ino, i)->ino; i++)
		if (probe(o, ino, i)->ino == ino)
			return probe(o, ino, i);
	return NULL;
}

bool objects_owner(struct objects *o, uint64_t ino, struct owner *ret)
{
	const struct owner_slot *s;

	pthread_mutex_lock(&o->owners);
	s = find_owner(o, ino);
	if (s)
		*ret = s->owner;
	pthread_mutex_unlock(&o->owners);
	return s;
}

/* The first place for it that is free, or whose node is gone. */
static struct owner_slot *new_owner(const struct objects *o, uint64_t ino)
{
	uint32_t slot;
	uint16_t row;

	for (unsigned int i = 0; i < OWNER_PROBES; i++) {
		struct owner_slot *s = probe(o, ino, i);

		if (!s->ino || !objects_node(o, s->ino, &slot, &row))
			return s;
	}
	return NULL;
}

int objects_set_owner(struct objects *o, uint64_t ino, const struct owner *owner)
{
	struct owner_slot *s;

	pthread_mutex_lock(&o->owners);
	s = find_owner(o, ino) ?: new_owner(o, ino);
	if (s && s->ino != ino)
		atomic_fetch_add(&o->r->head.owned, 1);
	if (s) {
		s->owner = *owner;
		atomic_signal_fence(memory_order_seq_cst);
		s->ino = ino;
	}
	pthread_mutex_unlock(&o->owners);
	return s ? 0 : -ENOSPC;
}

void objects_drop_owner(struct objects *o, uint64_t ino)
{
	struct owner_slot *s;

	pthread_mutex_lock(&o->owners);
	s = find_owner(o, ino);
	if (s)
		s->ino = NO_NODE;
	pthread_mutex_unlock(&o->owners);
}
