// SPDX-License-Identifier: GPL-2.0-or-later
/* Logs of a former process, which may have run foreign code, or whose memory may be wrong: nothing
 * of them is used before it is checked. Pure. */
#include <string.h>

#include "model/diff.h"
#include "operation.h"

#define ENDS(text) (memchr((text), '\0', sizeof(text)) != NULL)

static bool actor_valid(const struct actor *who)
{
	return creds_valid(&who->opener) && ENDS(who->comm);
}

static bool none_or_valid(const struct key *key)
{
	return (key->bus == BUS_NONE && ENDS(key->name)) || key_valid(key);
}

static bool request_valid(const struct request *r)
{
	return key_valid(&r->dev) && none_or_valid(&r->parent) && ENDS(r->made_by) && ENDS(r->as) &&
	       ENDS(r->file) && ENDS(r->value) && flag_valid(&r->force) && flag_valid(&r->restores);
}

static bool step_valid(const struct step *s)
{
	return ENDS(s->verb_name) && key_valid(&s->dev) && ENDS(s->value) && ENDS(s->former) &&
	       flag_valid(&s->expected) && flag_valid(&s->force) && flag_valid(&s->begun) &&
	       flag_valid(&s->recorded) && flag_valid(&s->done);
}

static bool snapshot_valid(const struct snapshot *s)
{
	struct device d = { .key = s->dev, .facts = facts_none, .intent = s->intent };
	bool valid;

	d.facts.parent = s->parent;
	valid = device_valid(&d);
	d.intent = s->noted;
	return valid && device_valid(&d);
}

bool log_readable(const struct op_log *log)
{
	return atomic_load(&log->state) <= LOG_STUCK && log->n_requests &&
	       log->n_requests <= LOG_REQUESTS && atomic_load(&log->n_steps) <= PLAN_STEPS &&
	       atomic_load(&log->n_devices) <= PLAN_DEVICES &&
	       atomic_load(&log->n_snapshots) <= PLAN_DEVICES;
}

static bool parts_valid(const struct op_log *log)
{
	for (uint32_t i = 0; i < log->n_requests; i++)
		if (!request_valid(&log->requests[i]))
			return false;
	for (uint32_t i = 0; i < atomic_load(&log->n_steps); i++)
		if (!step_valid(&log->steps[i]))
			return false;
	for (uint32_t i = 0; i < atomic_load(&log->n_devices); i++)
		if (!key_valid(&log->devices[i]))
			return false;
	for (uint32_t i = 0; i < atomic_load(&log->n_snapshots); i++)
		if (!snapshot_valid(&log->snapshots[i]))
			return false;
	return true;
}

bool log_valid(const struct op_log *log)
{
	return atomic_load(&log->state) == LOG_FREE ||
	       (log_readable(log) && actor_valid(&log->who) && ENDS(log->err.text) &&
		flag_valid(&log->err.passing) && flag_valid(&log->err.idle) && parts_valid(log));
}

void log_spoil(struct op_log *log)
{
	uint32_t n = atomic_load(&log->n_devices), kept = 0;

	for (uint32_t i = 0; i < n && i < PLAN_DEVICES; i++)
		if (key_valid(&log->devices[i]))
			log->devices[kept++] = log->devices[i];
	if (!kept)
		log->devices[0] = (struct key){ 0 };
	atomic_store(&log->n_devices, kept);
	atomic_store(&log->n_steps, 0);
	atomic_store(&log->n_snapshots, 0);
	log->n_requests = 0; /* recover.c: it cannot be read */
	log->who = (struct actor){ 0 };
	log->err = (struct err){ 0 };
	log->place = 0;
	if (atomic_load(&log->state) == LOG_ENDED)
		atomic_store(&log->state, LOG_FREE);
}
