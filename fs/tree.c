// SPDX-License-Identifier: GPL-2.0-or-later
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "fs/ctl/ctl.h"
#include "internal.h"
#include "journal.h"
#include "pcidevfs/err.h"
#include "pcidevfs/group.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/region.h"
#include "pcidevfs/util.h"
#include "fs/log/record.h"
#include "rights.h"
#include "stash.h"
#include "fs/log/stream.h"
#include "fs/cache/texts.h"
#include "writers.h"

enum { READERS = 16, OPENERS = 32 };

const struct region_head events_layout = { "events", RING_ABI, 512 << 10 };

/* Opens all data in the stash, each in its region. */
static int open_regions(struct tree *t, struct err *err)
{
	struct stash *st = t->conf.stash;
	size_t size;
	void *at = stash_region(st, STASH_OBJECTS, &size);
	int r = objects_open(at, size, obj_type, &t->objects, err);

	at = stash_region(st, STASH_FILES, &size);
	r = r ? r : files_new(at, size, objects_starts(t->objects) == 1, &t->files, err);
	at = stash_region(st, STASH_CTL, &size);
	r = r ? r : ctl_new(at, size, t->files, &t->ctl, err);
	at = stash_region(st, STASH_EVENTS, &size);
	r = r ? r : ring_open(at, size, &events_layout, &t->events, err);
	at = stash_region(st, STASH_LOG, &size);
	r = r ? r : record_open(t, at, size, err);
	at = stash_region(st, STASH_JOURNAL, &size);
	r = r ? r : journal_open(at, size, &t->journal, err);
	return r ? r : stream_new(t->events, &t->stream, err);
}

int tree_new(const struct tree_conf *conf, struct tree **ret, struct err *err)
{
	struct tree *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return fail_nomem(err);
	t->conf = *conf;
	atomic_init(&t->no_epochs, fault_is("no-epochs"));
	t->fuse_fd = -1;
	atomic_init(&t->group, group_find());
	rights_start(t);
	atomic_store(&t->listed_at, now_real_ns());
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->texts.lock, NULL);
	t->sets = sets_new();
	r = t->sets ? open_regions(t, err) : fail_nomem(err);
	r = r ? r : writers_new(t, ctl_withdraw, &t->writers, err);
	r = r ? r : views_build(t, err);
	if (r)
		tree_free(t);
	else
		*ret = t;
	return r;
}

int tree_start(struct tree *t, struct fuse_session *se, int fuse_fd, int first, struct err *err)
{
	int r;

	t->se = se;
	t->fuse_fd = fuse_fd;
	t->first = first;
	files_use(t->files, fuse_fd);
	r = pool_new(1, &t->worker, err);
	r = r ? r : pool_new(1, &t->commands, err);
	r = r ? r : pool_new(READERS, &t->readers, err);
	r = r ? r : pool_new(OPENERS, &t->openers, err);
	return r ? r : changes_start(t, err);
}

void tree_watch(struct tree *t, _Atomic uint64_t *worker, _Atomic uint64_t *commands)
{
	pool_watch(t->worker, worker);
	pool_watch(t->commands, commands);
}

const _Atomic gid_t *tree_group(const struct tree *t)
{
	return &t->group;
}

bool tree_idle(struct tree *t)
{
	return ctl_idle(t->ctl);
}

/* No job in it waits without end. */
static void end_pool(struct pool **p)
{
	if (!*p)
		return;
	pool_end(*p);
	pool_free(*p);
	*p = NULL;
}

void tree_stop(struct tree *t)
{
	if (!t)
		return;
	changes_stop(t);
	writers_stop(t->writers);
	end_pool(&t->commands);
	end_pool(&t->worker);
	end_pool(&t->readers);
	end_pool(&t->openers);
	t->se = NULL;
	files_use(t->files, -1);
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	stream_free(t->stream);
	journal_close(t->journal);
	ring_close(t->log);
	log_shares_free(&t->log_shares);
	ring_close(t->events);
	ctl_free(t->ctl);
	files_free(t->files);
	texts_free(&t->texts);
	writers_free(t->writers);
	sets_free(t->sets);
	objects_close(t->objects);
	free(t->members);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
