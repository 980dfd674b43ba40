// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "levels.h"
#include "test.h"

struct shared_world *shared;
int die_at = -1;
bool die_after;
bool die_told;
struct disk disk;
void (*before_look)(struct model *m);
void (*_Atomic in_keep)(struct model *m);

static int index_of(const struct key *dev)
{
	return dev->name[11] - '0';
}

static int level_run(struct backend *backend, struct step *s, unsigned int deadline_ms,
		     struct err *err)
{
	int i = index_of(&s->dev);

	if (die_at == i && !die_after)
		kill(getpid(), SIGKILL);

	atomic_fetch_add(&kernel.started, 1);
	pthread_mutex_lock(&kernel.gate);
	pthread_mutex_unlock(&kernel.gate);
	snprintf(s->former, sizeof(s->former), "%d", kernel.level[i]);
	s->recorded = true;
	for (int ms = 0; kernel.last_first && kernel.ended < DEVICES - 1 - i && ms < 5000; ms++)
		usleep(1000);
	if (kernel.fail_at == i || kernel.fail_at == EVERYWHERE) {
		usleep(kernel.last_first ? 20000 : 0); /* until it was noted */
		kernel.ended++;
		s->late = kernel.fail_code == ETIMEDOUT ? shared : NULL;
		return fail(err, kernel.fail_code, "level of %s: the kernel says no", s->dev.name);
	}
	kernel.level[i] = atoi(s->value);
	if (die_at == i)
		kill(getpid(), SIGKILL);
	return 0;
}

static int level_undo(struct backend *backend, struct step *s, unsigned int deadline_ms,
		      struct err *err)
{
	if (kernel.undo_late_at == index_of(&s->dev)) {
		kernel.undo_late_at = -1;
		s->late = shared;
		return fail(err, ETIMEDOUT, "the undo of %s did not end", s->dev.name);
	}
	if (kernel.undo_fails_at == index_of(&s->dev))
		return fail(err, EIO, "the kernel says no again");
	kernel.level[index_of(&s->dev)] = atoi(s->former);
	return 0;
}

static int refuse_nothing(struct model *m, const struct step *s, struct err *err)
{
	return 0;
}

static const struct verb level_verb = { .name = "level",
					.records = true,
					.stirs = true,
					.deadline_ms = 1000,
					.refuse = refuse_nothing,
					.run = level_run,
					.undo = level_undo };
/* "lane" is a level of one device, whatever the others do. */
static const struct verb lane_verb = { .name = "lane",
				       .records = true,
				       .lanes = true,
				       .deadline_ms = 1000,
				       .run = level_run,
				       .undo = level_undo };
static const struct verb pulse_verb;
static const struct verb *const verbs[] = { &level_verb, &lane_verb, &pulse_verb, NULL };

/* numa_node stands for the level the kernel was last seen to have */
static int level_expand(struct model *m, const struct device *dev, const struct request *w,
			struct plan *p, struct err *err)
{
	const struct device *members[DEVICES];
	size_t n = model_group(m, 1, members, DEVICES);
	int r = 0;

	if (!strcmp(w->value, "13"))
		return fail(err, EINVAL, "13 is not a level");
	for (size_t i = 0; i < n && !r; i++) {
		if (members[i]->facts.numa_node == atoi(w->value))
			continue;
		r = plan_touch(p, &members[i]->key, err);
		if (!r)
			r = plan_step(p, &level_verb, &members[i]->key, w->value, err);
	}
	return r;
}

static int level_settle(struct model *m, struct device *d, const struct request *w, struct err *err)
{
	if (d->facts.numa_node != atoi(w->value))
		return fail(err, EIO, "read back %d", d->facts.numa_node);
	STR_COPY(d->intent.claim, w->value);
	return 0;
}

/* A level of 0 takes something away; whoever depends on the level comes after it. */
static bool level_down(struct model *m, const struct request *w)
{
	return !strcmp(w->value, "0");
}

static bool level_brings(const struct request *w, unsigned int n)
{
	return n < (unsigned int)atoi(w->value);
}

static const struct method level_method = {
	.file = "level",
	.rank = 1,
	.barrier = true,
	.expand = level_expand,
	.down = level_down,
	.brings = level_brings,
	.settle = level_settle,
};

/* "top" may be written only after the kernel was seen at level 5. */
static int top_expand(struct model *m, const struct device *d, const struct request *w,
		      struct plan *p, struct err *err)
{
	int r;

	if (!strcmp(w->value, "13"))
		return fail(err, EINVAL, "13 is no top");
	if (d->facts.numa_node != 5 && !p->predict)
		return fail(err, EINVAL, "level 5 was not seen");
	if (!strcmp(d->intent.claim, w->value))
		return 0;
	r = plan_touch(p, &w->dev, err);
	return r ? r : plan_step(p, &level_verb, &w->dev, "5", err);
}

static int lane_expand(struct model *m, const struct device *d, const struct request *w,
		       struct plan *p, struct err *err)
{
	int r = plan_touch(p, &w->dev, err);

	if (r || d->facts.numa_node == atoi(w->value))
		return r;
	return plan_step(p, &lane_verb, &w->dev, w->value, err);
}

static const struct method lane_method = {
	.file = "lane", .rank = 3, .expand = lane_expand, .settle = level_settle
};
static const struct method top_method = { .file = "top", .rank = 2, .expand = top_expand };
/* "pulse" is an operation and no state. */
static int pulse_run(struct backend *backend, struct step *s, unsigned int deadline_ms,
		     struct err *err)
{
	kernel.pulses++;
	if (die_at == index_of(&s->dev)) {
		s->done = die_after; /* as if the engine had noted it */
		kill(getpid(), SIGKILL);
	}
	return 0;
}

static const struct verb pulse_verb = { .name = "pulse", .deadline_ms = 1000, .run = pulse_run };

static int pulse_expand(struct model *m, const struct device *d, const struct request *w,
			struct plan *p, struct err *err)
{
	int r = plan_touch(p, &w->dev, err);

	return r ? r : plan_step(p, &pulse_verb, &w->dev, "1", err);
}

static const struct method pulse_method = {
	.file = "pulse", .rank = 1, .once = &pulse_verb, .expand = pulse_expand
};

static int note_expand(struct model *m, const struct device *d, const struct request *w,
		       struct plan *p, struct err *err)
{
	return plan_touch(p, &w->dev, err);
}

/* "note" is the model's alone. */
static const struct method note_method = {
	.file = "note", .rank = 1, .noted = true, .expand = note_expand
};
static const struct method *const methods[] = { &level_method, &top_method,  &lane_method,
						&pulse_method, &note_method, NULL };

static int disk_keep(void *ctx, const struct request *requests, size_t n, bool begins,
		     struct err *err)
{
	void (*hook)(struct model * m) = begins ? NULL : atomic_exchange(&in_keep, NULL);
	bool fails = begins ? disk.fail_begun : disk.fail_kept;

	if (hook)
		hook(ctx);
	if (fails)
		return fail(err, ENOSPC, "the disk is full");
	begins ? disk.begun++ : disk.kept++;
	return 0;
}

struct key dev_key(int i)
{
	char name[KEY_NAME];
	struct key key;

	snprintf(name, sizeof(name), "0000:00:00.%d", i);
	CHECK(key_make(BUS_PCI, name, &key));
	return key;
}

static bool finds_group(const struct key *devs, size_t n)
{
	while (n && index_of(&devs[n - 1]) == kernel.gone)
		n--;
	return n;
}

static int world_observe(void *backend, const struct key *devs, size_t n, bool guards,
			 struct err *err)
{
	struct model *m = backend;

	if (before_look)
		before_look(m);
	if (index_of(&devs[n - 1]) >= DEVICES)
		return fail(err, ENODEV, "%s is gone", devs[n - 1].name);
	if (!finds_group(devs, n))
		return 0;
	model_lock(m);
	for (int i = 0; i < DEVICES; i++) {
		struct key key = dev_key(i);
		struct device *d = model_edit(m, &key, i != kernel.gone);

		if (!d)
			continue;
		d->facts.vendor = 1;
		d->facts.class_code = 0x020000;
		d->facts.iommu_group = 1;
		d->facts.numa_node = kernel.wrong_result && kernel.started ? 99 : kernel.level[i];
	}
	model_publish(m);
	model_unlock(m);
	return 0;
}

static int world_guard(void *backend, const struct key *devs, size_t n, struct err *err)
{
	kernel.guarded++;
	return 0;
}

/* The late step, or its undo, ends at last, with success. */
static int world_late(void *backend, struct step *s)
{
	pthread_mutex_lock(&kernel.gate);
	pthread_mutex_unlock(&kernel.gate);
	while (kernel.late_waits)
		usleep(100);
	kernel.level[index_of(&s->dev)] = atoi(s->done ? s->former : s->value);
	return 0;
}

static void tell(void *ctx, const struct request *requests, size_t n, const struct actor *who,
		 const struct err *err, uint64_t *place)
{
	kernel.told_again = *place;
	*place = 1;
	kernel.told++;
	if (die_told)
		kill(getpid(), SIGKILL);
}

static void *dispatch_all(void *ctx)
{
	while (model_dispatch(ctx))
		;
	return NULL;
}

#define JOURNAL_SIZE ((size_t)64 << 20)

void bench_start(struct bench *b)
{
	struct engine_conf conf = { .deadline_factor = 1, .threads = 8 };
	struct key first = dev_key(0);

	if (!b->arena)
		b->arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(b->arena != MAP_FAILED);
	if (!b->journal)
		b->journal = mmap(NULL, JOURNAL_SIZE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(b->journal != MAP_FAILED);
	CHECK_EQ(model_new(b->arena, model_arena_size(), &b->m, &b->found, NULL), 0);
	model_complete(b->m);
	pthread_create(&b->dispatcher, NULL, dispatch_all, b->m);
	conf.model = b->m;
	conf.world = (struct engine_world){ .backend = b->m,
					    .methods = methods,
					    .verbs = verbs,
					    .observe = world_observe,
					    .guard = world_guard,
					    .late = world_late };
	conf.keeper = (struct keeper){ b->m, disk_keep };
	conf.verdict = tell;
	conf.journal = (struct journal_conf){ .at = b->journal, .size = JOURNAL_SIZE };
	CHECK_EQ(engine_new(&conf, &b->e, NULL), 0);
	world_observe(b->m, &first, 1, false, NULL);
}

void bench_recover(struct bench *b, bool asked_again)
{
	engine_recover(b->e, &(struct former){ .asked_again = asked_again,
					       .model_found = b->found,
					       .connection = b->connection });
}

void bench_stop(struct bench *b)
{
	bool all = false;

	/* A late operation tells the model that it has ended, and a moment later the engine. */
	for (int i = 0; i < 1000 && !(all = engine_end(b->e, NULL)); i++)
		usleep(1000);
	if (all)
		engine_free(b->e);
	model_stop(b->m);
	pthread_join(b->dispatcher, NULL);
	model_free(b->m);
}

void world_reset(void)
{
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	for (int i = 0; i < DEVICES; i++)
		kernel.level[i] = 1;
	kernel.fail_at = kernel.undo_fails_at = kernel.undo_late_at = kernel.gone = -1;
	kernel.late_waits = false;
	kernel.fail_code = EIO;
	kernel.wrong_result = false;
	kernel.last_first = false;
	kernel.ended = kernel.started = kernel.pulses = kernel.told = kernel.guarded = 0;
	disk.begun = disk.kept = disk.fail_begun = disk.fail_kept = 0;
	pthread_mutex_init(&kernel.gate, NULL);
}

void told(void *ctx, const struct err *err)
{
	struct verdict *v = ctx;

	v->err = *err;
	v->told = true;
}

void submit(struct bench *b, int dev, const char *value, struct verdict *v)
{
	struct request w = { .dev = dev_key(dev), .file = "level" };

	STR_COPY(w.value, value);
	*v = (struct verdict){ 0 };
	txn_submit(b->e, &w, 1, &(struct actor){ .tag = 7 }, told, v);
}

void await(struct verdict *v)
{
	for (int i = 0; i < 5000 && !v->told; i++)
		usleep(1000);
	CHECK(v->told);
}

int set(struct bench *b, int dev, const char *value, struct verdict *v)
{
	submit(b, dev, value, v);
	await(v);
	return v->err.code;
}

struct device look(struct bench *b, int dev)
{
	struct key key = dev_key(dev);
	struct device d;

	model_lock(b->m);
	d = *model_find(b->m, &key);
	model_unlock(b->m);
	return d;
}
