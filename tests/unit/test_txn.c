// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Transactions over a world of counters: a method "level" brings each device of a wish's group to a
 * number by one step per device. Each step can be told to fail, hang or fail in its undo.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "test.h"

#define DEVICES 4

static struct {
	_Atomic int level[DEVICES];
	_Atomic int fail_at; /* device whose step fails; -1 none */
	_Atomic int fail_code;
	_Atomic int undo_fails_at;
	_Atomic bool wrong_result;
	_Atomic int started;
	pthread_mutex_t gate; /* held by a test: steps wait */
} world;

static int index_of(const struct key *dev)
{
	return dev->name[11] - '0';
}

static int level_run(void *backend, struct step *s, unsigned int deadline_ms, struct err *err)
{
	int i = index_of(&s->dev);

	(void)backend;
	(void)deadline_ms;
	atomic_fetch_add(&world.started, 1);
	pthread_mutex_lock(&world.gate);
	pthread_mutex_unlock(&world.gate);
	snprintf(s->former, sizeof(s->former), "%d", world.level[i]);
	if (world.fail_at == i) {
		s->late = world.fail_code == ETIMEDOUT ? &world : NULL;
		return fail(err, world.fail_code, "level of %s: the kernel says no", s->dev.name);
	}
	world.level[i] = atoi(s->value);
	return 0;
}

static int level_undo(void *backend, struct step *s, unsigned int deadline_ms, struct err *err)
{
	(void)backend;
	(void)deadline_ms;
	if (world.undo_fails_at == index_of(&s->dev))
		return fail(err, EIO, "the kernel says no again");
	world.level[index_of(&s->dev)] = atoi(s->former);
	return 0;
}

static const struct verb level_verb = { .name = "level", .deadline_ms = 1000, .run = level_run, .undo = level_undo };

/* numa_node stands for the level the kernel was last seen to have */
static int level_expand(struct model *m, const struct wish *w, struct plan *p, struct err *err)
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

static int level_settle(struct model *m, const struct wish *w, struct err *err)
{
	struct device *d = model_edit(m, &w->dev, false);

	if (d->facts.numa_node != atoi(w->value))
		return fail(err, EIO, "read back %d", d->facts.numa_node);
	STR_COPY(d->want.claim, w->value);
	return 0;
}

static const struct method level_method = { .file = "level", .expand = level_expand, .settle = level_settle };
static const struct method *const methods[] = { &level_method, NULL };

static struct key dev_key(int i)
{
	char name[KEY_NAME];
	struct key key;

	snprintf(name, sizeof(name), "0000:00:00.%d", i);
	CHECK(key_make(BUS_PCI, name, &key));
	return key;
}

static int world_observe(void *backend, const struct key *dev, struct err *err)
{
	struct model *m = backend;

	if (index_of(dev) >= DEVICES)
		return fail(err, ENODEV, "%s is gone", dev->name);
	model_lock(m);
	for (int i = 0; i < DEVICES; i++) {
		struct key key = dev_key(i);
		struct device *d = model_edit(m, &key, true);

		d->facts.vendor = 1;
		d->facts.class_code = 0x020000;
		d->facts.iommu_group = 1;
		d->facts.numa_node = world.wrong_result && world.started ? 99 : world.level[i];
	}
	model_publish(m);
	model_unlock(m);
	return 0;
}

/* The late step ends at last, with success. */
static int world_late(void *backend, struct step *s)
{
	(void)backend;
	pthread_mutex_lock(&world.gate);
	pthread_mutex_unlock(&world.gate);
	world.level[index_of(&s->dev)] = atoi(s->value);
	return 0;
}

static void *dispatch_all(void *ctx)
{
	while (model_dispatch(ctx))
		;
	return NULL;
}

struct bench {
	struct model *m;
	struct engine *e;
	pthread_t dispatcher;
	void *arena;
};

static void bench_start(struct bench *b)
{
	struct engine_conf conf = { .deadline_factor = 1, .threads = 4 };
	struct key first = dev_key(0);
	bool found;

	if (!b->arena)
		b->arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(b->arena != MAP_FAILED);
	CHECK_EQ(model_new(b->arena, model_arena_size(), &b->m, &found, NULL), 0);
	pthread_create(&b->dispatcher, NULL, dispatch_all, b->m);
	conf.model = b->m;
	conf.world = (struct world){ .backend = b->m, .methods = methods, .observe = world_observe, .late = world_late };
	CHECK_EQ(engine_new(&conf, &b->e, NULL), 0);
	world_observe(b->m, &first, NULL);
}

static void bench_stop(struct bench *b)
{
	engine_free(b->e);
	model_stop(b->m);
	pthread_join(b->dispatcher, NULL);
	model_free(b->m);
}

static void world_reset(void)
{
	for (int i = 0; i < DEVICES; i++)
		world.level[i] = 1;
	world.fail_at = world.undo_fails_at = -1;
	world.fail_code = EIO;
	world.wrong_result = false;
	world.started = 0;
	pthread_mutex_init(&world.gate, NULL);
}

struct verdict {
	struct err err;
	_Atomic bool told;
};

static void told(void *ctx, const struct err *err)
{
	struct verdict *v = ctx;

	v->err = *err;
	v->told = true;
}

static void submit(struct bench *b, int dev, const char *value, struct verdict *v)
{
	struct wish w = { .dev = dev_key(dev), .file = "level" };

	STR_COPY(w.value, value);
	*v = (struct verdict){ 0 };
	txn_submit(b->e, &w, 1, &(struct actor){ 0 }, told, v);
}

static void await(struct verdict *v)
{
	for (int i = 0; i < 5000 && !v->told; i++)
		usleep(1000);
	CHECK(v->told);
}

static int set(struct bench *b, int dev, const char *value, struct verdict *v)
{
	submit(b, dev, value, v);
	await(v);
	return v->err.code;
}

static struct device look(struct bench *b, int dev)
{
	struct key key = dev_key(dev);
	struct device d;

	model_lock(b->m);
	d = *model_find(b->m, &key);
	model_unlock(b->m);
	return d;
}

DEFINE_TEST(a_wish_is_carried_out_read_back_and_noted)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	CHECK_EQ(set(&b, 2, "5", &v), 0);
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(world.level[i], 5);
	CHECK_STR(look(&b, 2).want.claim, "5");
	CHECK_EQ(look(&b, 2).state, STATE_UNHEALTHY); /* claimed but not on vfio-pci, here */
	CHECK_STR(look(&b, 1).busy, "");
	CHECK_EQ(world.started, 4);
	CHECK_EQ(set(&b, 2, "5", &v), 0); /* holds already */
	CHECK_EQ(world.started, 4);
	bench_stop(&b);
}

DEFINE_TEST(refusals_touch_nothing)
{
	struct bench b = { 0 };
	struct wish w = { .dev = dev_key(0), .file = "nosuch" };
	struct verdict v, unknown = { 0 };

	world_reset();
	bench_start(&b);
	CHECK_EQ(set(&b, 0, "13", &v), EINVAL);
	CHECK_EQ(set(&b, 7, "2", &v), ENODEV);
	txn_submit(b.e, &w, 1, &(struct actor){ 0 }, told, &unknown);
	await(&unknown);
	CHECK_EQ(unknown.err.code, EOPNOTSUPP);
	CHECK_EQ(world.started, 0);
	CHECK_STR(look(&b, 0).busy, "");
	bench_stop(&b);
}

/* Break each step in turn: the others are taken back, and the next try works. */
DEFINE_TEST(each_step_broken_in_turn_is_undone)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	for (int broken = 0; broken < DEVICES; broken++) {
		world.fail_at = broken;
		CHECK_EQ(set(&b, 1, "5", &v), EIO);
		CHECK_IN(v.err.text, "the kernel says no");
		for (int i = 0; i < DEVICES; i++) {
			CHECK_EQ(world.level[i], 1);
			CHECK_STR(look(&b, i).busy, "");
			CHECK_STR(look(&b, i).stuck, "");
		}
		world.fail_at = -1;
		CHECK_EQ(set(&b, 1, "5", &v), 0);
		CHECK_EQ(set(&b, 1, "1", &v), 0);
	}
	bench_stop(&b);
}

DEFINE_TEST(a_result_that_is_not_what_was_asked_is_undone)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	world.wrong_result = true;
	CHECK_EQ(set(&b, 1, "5", &v), EIO);
	CHECK_IN(v.err.text, "read back 99");
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(world.level[i], 1);
	bench_stop(&b);
}

DEFINE_TEST(what_cannot_be_undone_is_stuck_with_the_reason)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	world.fail_at = 2;
	world.undo_fails_at = 1;
	CHECK_EQ(set(&b, 0, "5", &v), EIO);
	CHECK_IN(v.err.text, "could not be taken back");
	CHECK_EQ(world.level[0], 1);
	CHECK_EQ(world.level[1], 5);
	CHECK_EQ(look(&b, 1).state, STATE_STUCK);
	CHECK_IN(look(&b, 1).reason, "level 0000:00:00.1 could not be taken back: the kernel says no again");
	world.fail_at = world.undo_fails_at = -1;
	CHECK_EQ(set(&b, 0, "6", &v), 0); /* a write on a stuck device tries again */
	CHECK_STR(look(&b, 1).stuck, "");
	bench_stop(&b);
}

DEFINE_TEST(a_late_step_is_stuck_until_it_ends_and_then_undone)
{
	struct bench b = { 0 };
	struct verdict v, other;

	world_reset();
	bench_start(&b);
	world.fail_at = 2;
	world.fail_code = ETIMEDOUT;
	pthread_mutex_lock(&world.gate);
	submit(&b, 0, "5", &v);
	while (world.started < 1)
		usleep(100);
	CHECK_EQ(set(&b, 3, "7", &other), EBUSY); /* the group is busy meanwhile */
	CHECK_IN(other.err.text, "level 5 is running");
	pthread_mutex_unlock(&world.gate);
	await(&v);
	CHECK_EQ(v.err.code, ETIMEDOUT);
	for (int i = 0; i < 5000 && look(&b, 0).stuck[0]; i++)
		usleep(1000);
	for (int i = 0; i < DEVICES; i++) {
		CHECK_EQ(world.level[i], 1);
		CHECK_STR(look(&b, i).stuck, "");
		CHECK_STR(look(&b, i).busy, "");
	}
	bench_stop(&b);
}

DEFINE_TEST(the_same_wish_twice_is_one_act)
{
	struct bench b = { 0 };
	struct verdict v, again;

	world_reset();
	bench_start(&b);
	pthread_mutex_lock(&world.gate);
	submit(&b, 0, "5", &v);
	while (world.started < 1)
		usleep(100);
	submit(&b, 0, "5", &again);
	pthread_mutex_unlock(&world.gate);
	await(&v);
	await(&again);
	CHECK_EQ(v.err.code, 0);
	CHECK_EQ(again.err.code, 0);
	CHECK_EQ(world.started, 4);
	bench_stop(&b);
}

/* The process dies between two steps: its successor, on the same memory, carries the act on. */
DEFINE_TEST(an_unfinished_act_is_carried_on)
{
	struct bench b = { 0 };
	struct key key;

	world_reset();
	bench_start(&b);
	model_lock(b.m);
	for (int i = 0; i < DEVICES; i++) {
		struct device *d;

		key = dev_key(i);
		d = model_edit(b.m, &key, false);
		STR_COPY(d->busy, "level 5");
		d->busy_wish = i == 0;
	}
	model_publish(b.m);
	model_unlock(b.m);
	world.level[0] = 5; /* the first step was done */
	bench_stop(&b);

	bench_start(&b);
	engine_recover(b.e);
	for (int i = 0; i < 5000 && (look(&b, 0).busy[0] || world.level[3] != 5 || !look(&b, 0).want.claim[0]); i++)
		usleep(1000);
	CHECK_EQ(world.started, 3);
	CHECK_STR(look(&b, 0).want.claim, "5");
	CHECK_STR(look(&b, 3).busy, "");
	bench_stop(&b);
}

DEFINE_TEST(check_prints_and_does_nothing)
{
	struct bench b = { 0 };
	struct wish w = { .dev = dev_key(0), .file = "level", .value = "5" };
	struct out o = { 0 };
	struct err err = { 0 };

	world_reset();
	bench_start(&b);
	CHECK_EQ(txn_check(b.e, &w, 1, &o, &err), 0);
	CHECK_STR(out_text(&o), "1 0000:00:00.0 level 5\n2 0000:00:00.1 level 5\n"
				"3 0000:00:00.2 level 5\n4 0000:00:00.3 level 5\n");
	out_free(&o);
	STR_COPY(w.value, "1");
	CHECK_EQ(txn_check(b.e, &w, 1, &o, &err), 0);
	CHECK_STR(out_text(&o), "nothing to do\n");
	out_free(&o);
	STR_COPY(w.value, "13");
	CHECK_EQ(txn_check(b.e, &w, 1, &o, &err), -EINVAL);
	CHECK_STR(err.text, "13 is not a level");
	CHECK_EQ(world.started, 0);
	bench_stop(&b);
}
