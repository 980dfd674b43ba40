// SPDX-License-Identifier: GPL-2.0-or-later
#include "journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/err.h"
#include "pcidevfs/region.h"

#define JOURNAL_ABI 2

enum entry_state { ENTRY_FREE, ENTRY_RUNNING, ENTRY_DONE };

struct entry {
	uint64_t unique; /* without UNIQUE_RESENT */
	int32_t result;
	_Atomic uint32_t state;
};

/* In the stash. So is the cursor: a new process that began at 0 would overwrite verdicts of
 * requests that may still be sent again. */
struct journal_region {
	struct region_head head;
	uint32_t cursor;
	struct entry entries[JOURNAL_SLOTS];
};

struct journal {
	pthread_mutex_t lock;
	struct journal_region *r;
};

const struct region_head journal_layout = { "journal", JOURNAL_ABI, sizeof(struct journal_region) };

/* Entries of a dead process are freed: a request that comes again runs anew. Otherwise requests
 * that never come again would fill the table. */
static void take_over(struct journal_region *r)
{
	r->cursor %= JOURNAL_SLOTS;
	for (size_t i = 0; i < JOURNAL_SLOTS; i++)
		if (r->entries[i].state == ENTRY_RUNNING)
			r->entries[i].state = ENTRY_FREE;
}

int journal_open(void *region, size_t size, struct journal **ret, struct err *err)
{
	struct journal *j = calloc(1, sizeof(*j));
	struct journal_region *r = region;

	if (!j || size < sizeof(*r)) {
		free(j);
		return fail_nomem(err);
	}
	if (!region_is(&r->head, &journal_layout)) {
		memset(r, 0, sizeof(*r));
		region_begin(&r->head, &journal_layout);
	}
	take_over(r);
	j->r = r;
	pthread_mutex_init(&j->lock, NULL);
	*ret = j;
	return 0;
}

void journal_close(struct journal *j)
{
	if (!j)
		return;
	pthread_mutex_destroy(&j->lock);
	free(j);
}

static struct entry *find(struct journal_region *r, uint64_t unique)
{
	for (size_t i = 0; i < JOURNAL_SLOTS; i++)
		if (r->entries[i].state != ENTRY_FREE && r->entries[i].unique == unique)
			return &r->entries[i];
	return NULL;
}

/* The next entry that does not wait for its verdict; NULL if all do. */
static struct entry *take(struct journal_region *r)
{
	for (size_t i = 0; i < JOURNAL_SLOTS; i++) {
		struct entry *e = &r->entries[r->cursor];

		r->cursor = (r->cursor + 1) % JOURNAL_SLOTS;
		if (e->state != ENTRY_RUNNING)
			return e;
	}
	return NULL;
}

static struct entry *begin(struct journal_region *r, uint64_t unique)
{
	struct entry *e = take(r);

	if (!e)
		return NULL;
	e->state = ENTRY_FREE;
	e->unique = unique;
	e->state = ENTRY_RUNNING;
	return e;
}

bool journal_begin(struct journal *j, uint64_t unique, uint32_t *ret_slot, int *ret_result)
{
	bool resent = unique & UNIQUE_RESENT, done;
	struct entry *e = NULL;

	unique &= ~UNIQUE_RESENT;
	pthread_mutex_lock(&j->lock);
	if (resent)
		e = find(j->r, unique);
	done = e && e->state == ENTRY_DONE;
	if (!e)
		e = begin(j->r, unique);
	*ret_result = done ? e->result : -EBUSY;
	*ret_slot = e ? (uint32_t)(e - j->r->entries) : 0;
	pthread_mutex_unlock(&j->lock);
	return done || !e;
}

void journal_end(struct journal *j, uint32_t slot, int result)
{
	j->r->entries[slot].result = result;
	j->r->entries[slot].state = ENTRY_DONE;
}
