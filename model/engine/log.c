// SPDX-License-Identifier: GPL-2.0-or-later
/* Transactions in memory that outlives the process. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "operation.h"
#include "pcidevfs/util.h"

const struct region_head engine_layout = { "engine", LOGS_ABI, sizeof(struct op_log) };

int logs_reserve(const struct logs *l, const void *at, size_t size, struct err *err)
{
	const char *p = at, *begin = (const char *)l->head;

	if (!l->fd || !size || p < begin || p >= (const char *)(l->slots + l->n) ||
	    !fallocate(l->fd, 0, p - begin, (off_t)size))
		return 0;
	return fail(err, errno, "the operation cannot be recorded: %s; make room in /run",
		    strerror(errno));
}

void logs_open(struct logs *l, const struct journal_conf *conf)
{
	struct logs_head *head = conf->at;
	char of[LOGS_OF] = "";
	size_t n = head ? (conf->size - sizeof(*head)) / sizeof(struct op_log) : 0;

	*l = (struct logs){ .lock = PTHREAD_MUTEX_INITIALIZER };
	if (!n)
		return;
	l->head = head;
	l->fd = conf->fd;
	l->slots = (struct op_log *)(head + 1);
	l->n = n < ARRAY_SIZE(l->taken) ? n : ARRAY_SIZE(l->taken);
	STR_COPY(of, conf->of ? conf->of : "");
	if (region_is(&head->region, &engine_layout) && logs_used(l) <= l->n &&
	    !memcmp(head->of, of, sizeof(of))) {
		for (size_t i = 0; i < logs_used(l); i++)
			if (conf->distrust || !log_valid(&l->slots[i]))
				log_spoil(&l->slots[i]);
		return;
	}
	l->anew = true;
	atomic_store(&head->used, 0);
	memcpy(head->of, of, sizeof(of));
	region_begin(&head->region, &engine_layout);
}

static struct op_log *take(struct logs *l, size_t i)
{
	l->taken[i] = true;
	return &l->slots[i];
}

static struct op_log *find_state(struct logs *l, uint32_t wanted)
{
	for (size_t i = 0; i < logs_used(l); i++)
		if (!l->taken[i] && atomic_load(&l->slots[i].state) == wanted)
			return take(l, i);
	return NULL;
}

/* A free log, or else the first that only keeps a verdict, or what could not be undone. Call it
 * with the lock held. */
static struct op_log *find_free(struct logs *l)
{
	struct op_log *log = find_state(l, LOG_FREE);

	if (!log && logs_used(l) < l->n)
		log = take(l, logs_used(l));
	log = log ? log : find_state(l, LOG_ENDED);
	return log ? log : find_state(l, LOG_STUCK);
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
	log->orphan = ORPHAN_NOT;
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

/* Call it with the lock held. */
static struct op_log *find_slot(struct logs *l, size_t n_requests, struct err *err)
{
	struct op_log *slot = find_free(l);

	if (!slot) {
		fail(err, EAGAIN,
		     "too many operations hang in the kernel to begin another one; see the "
		     "devices that read stuck");
	} else if (logs_reserve(l, slot, offsetof(struct op_log, requests[n_requests]), err)) {
		l->taken[slot - l->slots] = false;
		slot = NULL;
	} else {
		atomic_store(&slot->state, LOG_FREE);
		if (slot == &l->slots[logs_used(l)])
			atomic_fetch_add(&l->head->used, 1);
	}
	return slot;
}

struct op_log *logs_keep(struct logs *l, struct op_log *log, struct err *err)
{
	struct op_log *slot;

	pthread_mutex_lock(&l->lock);
	slot = l->n ? find_slot(l, log->n_requests, err) : malloc(sizeof(*slot));
	pthread_mutex_unlock(&l->lock);
	if (!slot && !l->n)
		fail(err, ENOMEM, "no memory for the operation");
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
	if (atomic_load(&log->state) != LOG_STUCK)
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
	return !n || n == log->n_requests;
}

bool logs_verdict(struct logs *l, const struct request *requests, size_t n, const struct actor *who,
		  struct err *ret)
{
	bool found = false;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < logs_used(l) && who->tag && !found; i++) {
		struct op_log *log = &l->slots[i];
		uint32_t state = atomic_load(&log->state);

		found = (state == LOG_ENDED || state == LOG_STUCK) && log->who.tag == who->tag &&
			log_is_for(log, requests, n);
		if (found)
			*ret = log->err;
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

bool log_has(const struct op_log *log, const struct key *dev)
{
	for (uint32_t k = 0; k < atomic_load(&log->n_devices) && k < PLAN_DEVICES; k++)
		if (key_eq(&log->devices[k], dev))
			return true;
	return false;
}

bool log_removes(const struct op_log *log, const struct key *parent)
{
	for (uint32_t i = 0; i < atomic_load(&log->n_steps); i++)
		if (log->steps[i].done && step_remakes(&log->steps[i], parent))
			return true;
	return false;
}

bool log_is_stuck(const struct op_log *log)
{
	bool any = false;

	for (uint32_t i = 0; i < atomic_load(&log->n_steps) && log->err.code && !any; i++)
		any = log->steps[i].done;
	return any;
}

/* Somebody has written this device since: its steps are nobody's to undo any more. */
static void settle(struct op_log *log, const struct key *dev)
{
	for (uint32_t i = 0; i < atomic_load(&log->n_steps); i++)
		if (key_eq(&log->steps[i].dev, dev))
			log->steps[i].done = log->steps[i].begun = false;
	if (!log_is_stuck(log))
		atomic_store(&log->state, LOG_ENDED);
}

void logs_settled(struct logs *l, const struct key *dev)
{
	pthread_mutex_lock(&l->lock);
	for (struct op_log *log = l->slots; log < l->slots + logs_used(l); log++)
		if (log->state == LOG_STUCK && !l->taken[log - l->slots] && log_has(log, dev))
			settle(log, dev);
	pthread_mutex_unlock(&l->lock);
}
