// SPDX-License-Identifier: GPL-2.0-or-later
/* Transactions in memory that outlives the process. */
#include <stdlib.h>
#include <string.h>

#include "operation.h"
#include "pcidevfs/util.h"

const struct region_head engine_layout = { "engine", LOGS_ABI, sizeof(struct op_log) };

void logs_open(struct logs *l, void *region, size_t size)
{
	struct logs_head *head = region;
	bool ours = head && region_is(&head->region, &engine_layout);

	pthread_mutex_init(&l->lock, NULL);
	if (!head || size < sizeof(*head))
		return;
	l->slots = (struct op_log *)(head + 1);
	l->n = (size - sizeof(*head)) / sizeof(struct op_log);
	if (l->n > ARRAY_SIZE(l->taken))
		l->n = ARRAY_SIZE(l->taken);
	l->used = &head->used;
	if (ours && atomic_load(l->used) <= l->n)
		return;
	atomic_store(l->used, 0);
	region_begin(&head->region, &engine_layout);
}

bool engine_was_interrupted(const void *journal, size_t size)
{
	const struct logs_head *head = journal;
	const struct op_log *log = (const struct op_log *)(head + 1);
	size_t n = (size - sizeof(*head)) / sizeof(*log);
	uint32_t state;

	if (!region_is(&head->region, &engine_layout))
		return false;
	n = atomic_load(&head->used) < n ? atomic_load(&head->used) : n;
	for (; n--; log++) {
		state = atomic_load(&log->state);
		if ((state == LOG_RUNS || state == LOG_UNDOES) && atomic_load(&log->n_steps) &&
		    log->steps[0].begun)
			return true;
	}
	return false;
}

void engine_forget_requests(void *journal, size_t size)
{
	struct logs_head *head = journal;
	struct op_log *log = (struct op_log *)(head + 1);
	size_t n = (size - sizeof(*head)) / sizeof(*log);

	if (!region_is(&head->region, &engine_layout))
		return;
	n = atomic_load(&head->used) < n ? atomic_load(&head->used) : n;
	for (; n--; log++)
		log->who.tag = 0;
}

static struct op_log *take(struct logs *l, size_t i)
{
	l->taken[i] = true;
	atomic_store(&l->slots[i].state, LOG_FREE);
	return &l->slots[i];
}

static struct op_log *find_state(struct logs *l, uint32_t wanted)
{
	for (size_t i = 0; i < logs_used(l); i++)
		if (!l->taken[i] && atomic_load(&l->slots[i].state) == wanted)
			return take(l, i);
	return NULL;
}

/* A free log, or else the first that only keeps a verdict. Call it with the lock held. */
static struct op_log *find_free(struct logs *l)
{
	struct op_log *log = find_state(l, LOG_FREE);

	if (!log && logs_used(l) < l->n) {
		log = take(l, logs_used(l));
		atomic_fetch_add(l->used, 1);
	}
	return log ? log : find_state(l, LOG_ENDED);
}

static void fill(struct op_log *log, const struct request *requests, size_t n,
		 const struct actor *who)
{
	log->n_requests = (uint32_t)n;
	atomic_store(&log->n_steps, 0);
	atomic_store(&log->n_devices, 0);
	atomic_store(&log->n_snapshots, 0);
	log->who = *who;
	log->err = (struct err){ 0 };
	log->place = 0;
	log->was_late = false;
	memcpy(log->requests, requests, n * sizeof(*requests));
	atomic_store(&log->state, LOG_RUNS);
}

struct op_log *logs_new(const struct request *requests, size_t n, const struct actor *who)
{
	const size_t size = offsetof(struct op_log, requests) + n * sizeof(*requests);
	struct op_log *log = n <= LOG_REQUESTS ? malloc(size) : NULL;

	if (log)
		fill(log, requests, n, who);
	return log;
}

struct op_log *logs_keep(struct logs *l, struct op_log *log)
{
	struct op_log *slot;

	pthread_mutex_lock(&l->lock);
	slot = l->n ? find_free(l) : malloc(sizeof(*slot));
	pthread_mutex_unlock(&l->lock);
	if (slot) {
		fill(slot, log->requests, log->n_requests, &log->who);
		free(log);
	}
	return slot;
}

void logs_give(struct logs *l, struct op_log *log, bool keep)
{
	if (log < l->slots || log >= l->slots + l->n) {
		free(log);
		return;
	}
	atomic_store(&log->state, keep ? LOG_ENDED : LOG_FREE);
	pthread_mutex_lock(&l->lock);
	l->taken[log - l->slots] = false;
	pthread_mutex_unlock(&l->lock);
}

static bool same_request(const struct request *a, const struct request *b)
{
	return key_eq(&a->dev, &b->dev) && a->child == b->child && a->force == b->force &&
	       !strcmp(a->file, b->file) && !strcmp(a->value, b->value);
}

bool log_is_for(const struct op_log *log, const struct request *requests, size_t n)
{
	for (size_t i = 0; i < n && n == log->n_requests; i++)
		if (!same_request(&log->requests[i], &requests[i]))
			return false;
	return n == log->n_requests;
}

bool logs_verdict(struct logs *l, const struct request *requests, size_t n, const struct actor *who,
		  struct err *ret)
{
	bool found = false;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < logs_used(l) && who->tag && !found; i++) {
		struct op_log *log = &l->slots[i];

		found = atomic_load(&log->state) == LOG_ENDED && log->who.tag == who->tag &&
			log_is_for(log, requests, n);
		if (found)
			*ret = log->err;
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

bool log_removes(const struct op_log *log, const struct key *parent)
{
	for (uint32_t i = 0; i < atomic_load(&log->n_steps); i++)
		if (log->steps[i].done && step_remakes(&log->steps[i], parent))
			return true;
	return false;
}
