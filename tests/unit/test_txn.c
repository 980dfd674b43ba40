// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Transactions over a world of counters: a method "level" brings each device of a wish's group to a
 * number by one step per device. Each step can be told to fail, hang or fail in its undo.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"
#include "pcidevfs/util.h"
#include "test.h"

#define DEVICES 4

static struct shared_world {
	_Atomic int level[DEVICES];
	_Atomic int fail_at; /* device whose step fails; -1 none */
	_Atomic int fail_code;
	_Atomic int undo_fails_at;
	_Atomic bool wrong_result;
	_Atomic int started;
	pthread_mutex_t gate; /* held by a test: steps wait */
} *shared; /* by the processes of a test */
#define kernel (*shared)

static int index_of(const struct key *dev)
{
	return dev->name[11] - '0';
}

static int die_at = -1;
static bool die_after;

static int level_run(void *backend, struct step *s, unsigned int deadline_ms, struct err *err)
{
	int i = index_of(&s->dev);

	if (die_at == i && !die_after)
		kill(getpid(), SIGKILL);

	(void)backend;
	(void)deadline_ms;
	atomic_fetch_add(&kernel.started, 1);
	pthread_mutex_lock(&kernel.gate);
	pthread_mutex_unlock(&kernel.gate);
	snprintf(s->former, sizeof(s->former), "%d", kernel.level[i]);
	s->recorded = true;
	if (kernel.fail_at == i) {
		s->late = kernel.fail_code == ETIMEDOUT ? shared : NULL;
		return fail(err, kernel.fail_code, "level of %s: the kernel says no", s->dev.name);
	}
	kernel.level[i] = atoi(s->value);
	if (die_at == i)
		kill(getpid(), SIGKILL);
	return 0;
}

static int level_undo(void *backend, struct step *s, unsigned int deadline_ms, struct err *err)
{
	(void)backend;
	(void)deadline_ms;
	if (kernel.undo_fails_at == index_of(&s->dev))
		return fail(err, EIO, "the kernel says no again");
	kernel.level[index_of(&s->dev)] = atoi(s->former);
	return 0;
}

static const struct verb level_verb = { .name = "level", .records = true, .deadline_ms = 1000, .run = level_run, .undo = level_undo };
static const struct verb *const verbs[] = { &level_verb, NULL };

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

/* A level of 0 takes something away; whoever depends on the level comes after it. */
static bool level_down(struct model *m, const struct wish *w)
{
	(void)m;
	return !strcmp(w->value, "0");
}

static bool level_brings(const struct wish *w, unsigned int n)
{
	return n < (unsigned int)atoi(w->value);
}

static const struct method level_method = {
	.file = "level", .rank = 1, .barrier = true, .expand = level_expand, .down = level_down,
	.brings = level_brings, .settle = level_settle,
};

/* "top" may be written only when the kernel was seen at level 5: it can be planned only after that. */
static int top_expand(struct model *m, const struct wish *w, struct plan *p, struct err *err)
{
	const struct device *d = model_find(m, &w->dev);
	int r;

	if (d->facts.numa_node != 5 && !p->predict)
		return fail(err, EINVAL, "level 5 was not seen");
	if (!strcmp(d->want.claim, w->value))
		return 0;
	r = plan_touch(p, &w->dev, err);
	return r ? r : plan_step(p, &level_verb, &w->dev, "5", err);
}

static const struct method top_method = { .file = "top", .rank = 2, .expand = top_expand };
static const struct method *const methods[] = { &level_method, &top_method, NULL };

static struct {
	_Atomic int pending, kept, fail_pending, fail_kept;
} disk;

static int disk_keep(void *ctx, const struct wish *wishes, size_t n, bool pending, struct err *err)
{
	(void)ctx;
	(void)wishes;
	(void)n;
	if (pending ? disk.fail_pending : disk.fail_kept)
		return fail(err, ENOSPC, "the disk is full");
	pending ? disk.pending++ : disk.kept++;
	return 0;
}

static struct key dev_key(int i)
{
	char name[KEY_NAME];
	struct key key;

	snprintf(name, sizeof(name), "0000:00:00.%d", i);
	CHECK(key_make(BUS_PCI, name, &key));
	return key;
}

static int world_observe(void *backend, const struct key *devs, size_t n, bool guards, struct err *err)
{
	struct model *m = backend;

	(void)guards;
	if (index_of(&devs[n - 1]) >= DEVICES)
		return fail(err, ENODEV, "%s is gone", devs[n - 1].name);
	model_lock(m);
	for (int i = 0; i < DEVICES; i++) {
		struct key key = dev_key(i);
		struct device *d = model_edit(m, &key, true);

		d->facts.vendor = 1;
		d->facts.class_code = 0x020000;
		d->facts.iommu_group = 1;
		d->facts.numa_node = kernel.wrong_result && kernel.started ? 99 : kernel.level[i];
	}
	model_publish(m);
	model_unlock(m);
	return 0;
}

/* The late step ends at last, with success. */
static int world_late(void *backend, struct step *s)
{
	(void)backend;
	pthread_mutex_lock(&kernel.gate);
	pthread_mutex_unlock(&kernel.gate);
	kernel.level[index_of(&s->dev)] = atoi(s->value);
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
	void *journal;
};

#define JOURNAL_SIZE ((size_t)16 << 20)

static void bench_start(struct bench *b)
{
	struct engine_conf conf = { .deadline_factor = 1, .threads = 4 };
	struct key first = dev_key(0);
	bool found;

	if (!b->arena)
		b->arena = mmap(NULL, model_arena_size(), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(b->arena != MAP_FAILED);
	if (!b->journal)
		b->journal = mmap(NULL, JOURNAL_SIZE, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(b->journal != MAP_FAILED);
	CHECK_EQ(model_new(b->arena, model_arena_size(), &b->m, &found, NULL), 0);
	pthread_create(&b->dispatcher, NULL, dispatch_all, b->m);
	conf.model = b->m;
	conf.world = (struct world){ .backend = b->m, .methods = methods, .verbs = verbs,
				     .observe = world_observe, .late = world_late };
	conf.keeper.keep = disk_keep;
	conf.journal = b->journal;
	conf.journal_size = JOURNAL_SIZE;
	CHECK_EQ(engine_new(&conf, &b->e, NULL), 0);
	world_observe(b->m, &first, 1, false, NULL);
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
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	for (int i = 0; i < DEVICES; i++)
		kernel.level[i] = 1;
	kernel.fail_at = kernel.undo_fails_at = -1;
	kernel.fail_code = EIO;
	kernel.wrong_result = false;
	kernel.started = 0;
	disk.pending = disk.kept = disk.fail_pending = disk.fail_kept = 0;
	pthread_mutex_init(&kernel.gate, NULL);
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
	txn_submit(b->e, &w, 1, &(struct actor){ .tag = 7 }, told, v);
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
		CHECK_EQ(kernel.level[i], 5);
	CHECK_STR(look(&b, 2).want.claim, "5");
	CHECK_EQ(look(&b, 2).state, STATE_UNHEALTHY); /* claimed but not on vfio-pci, here */
	CHECK_STR(look(&b, 1).busy, "");
	CHECK_EQ(kernel.started, 4);
	CHECK_EQ(set(&b, 2, "5", &v), 0); /* holds already */
	CHECK_EQ(kernel.started, 4);
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
	CHECK_EQ(kernel.started, 0);
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
		kernel.fail_at = broken;
		CHECK_EQ(set(&b, 1, "5", &v), EIO);
		CHECK_IN(v.err.text, "the kernel says no");
		for (int i = 0; i < DEVICES; i++) {
			CHECK_EQ(kernel.level[i], 1);
			CHECK_STR(look(&b, i).busy, "");
			CHECK_STR(look(&b, i).stuck, "");
		}
		kernel.fail_at = -1;
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
	kernel.wrong_result = true;
	CHECK_EQ(set(&b, 1, "5", &v), EIO);
	CHECK_IN(v.err.text, "read back 99");
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 1);
	bench_stop(&b);
}

DEFINE_TEST(what_cannot_be_undone_is_stuck_with_the_reason)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	kernel.fail_at = 2;
	kernel.undo_fails_at = 1;
	CHECK_EQ(set(&b, 0, "5", &v), EIO);
	CHECK_IN(v.err.text, "could not be taken back");
	CHECK_EQ(kernel.level[0], 1);
	CHECK_EQ(kernel.level[1], 5);
	CHECK_EQ(look(&b, 1).state, STATE_STUCK);
	CHECK_IN(look(&b, 1).reason, "level 0000:00:00.1 could not be taken back: the kernel says no again");
	kernel.fail_at = kernel.undo_fails_at = -1;
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
	kernel.fail_at = 2;
	kernel.fail_code = ETIMEDOUT;
	pthread_mutex_lock(&kernel.gate);
	submit(&b, 0, "5", &v);
	while (kernel.started < 1)
		usleep(100);
	CHECK_EQ(set(&b, 3, "7", &other), EBUSY); /* the group is busy meanwhile */
	CHECK_IN(other.err.text, "level 5 is running");
	pthread_mutex_unlock(&kernel.gate);
	await(&v);
	CHECK_EQ(v.err.code, ETIMEDOUT);
	for (int i = 0; i < 5000 && look(&b, 0).stuck[0]; i++)
		usleep(1000);
	for (int i = 0; i < DEVICES; i++) {
		CHECK_EQ(kernel.level[i], 1);
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
	pthread_mutex_lock(&kernel.gate);
	submit(&b, 0, "5", &v);
	while (kernel.started < 1)
		usleep(100);
	submit(&b, 0, "5", &again);
	pthread_mutex_unlock(&kernel.gate);
	await(&v);
	await(&again);
	CHECK_EQ(v.err.code, 0);
	CHECK_EQ(again.err.code, 0);
	CHECK_EQ(kernel.started, 4);
	bench_stop(&b);
}

/* A process of its own begins the act and is killed at its n-th step, before or after the step was done. */
static void begin_and_die(struct bench *b, int at, bool after)
{
	pid_t pid = fork();
	struct verdict v;

	CHECK(pid >= 0);
	if (!pid) {
		die_at = at;
		die_after = after;
		bench_start(b);
		submit(b, 0, "5", &v);
		await(&v);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* Killed at any step, the next process finishes the act, each device ends where it was asked to be. */
DEFINE_SLOW_TEST(killed_at_any_step_the_next_process_finishes, 60)
{
	for (int at = 0; at < DEVICES; at++)
		for (int after = 0; after < 2; after++) {
			struct bench b = { 0 };
			struct verdict v;

			world_reset();
			bench_start(&b); /* makes arena and journal */
			bench_stop(&b);
			begin_and_die(&b, at, after);
			bench_start(&b);
			engine_recover(b.e);
			submit(&b, 0, "5", &v); /* sent again */
			await(&v);
			CHECK_EQ(v.err.code, 0);
			for (int i = 0; i < DEVICES; i++) {
				CHECK_EQ(kernel.level[i], 5);
				CHECK_STR(look(&b, i).busy, "");
			}
			CHECK_STR(look(&b, 0).want.claim, "5");
			bench_stop(&b);
		}
}

/* ... and when it cannot be finished, also the steps of the dead process are taken back, and the
 * request that is sent again gets that verdict and no second try. */
DEFINE_SLOW_TEST(killed_at_any_step_the_next_process_undoes, 60)
{
	for (int at = 1; at < DEVICES; at++) {
		struct bench b = { 0 };
		struct verdict v;
		int started;

		world_reset();
		bench_start(&b);
		bench_stop(&b);
		begin_and_die(&b, at, false);
		CHECK_EQ(kernel.level[0], 5);
		kernel.fail_at = at;
		bench_start(&b);
		engine_recover(b.e);
		for (int i = 0; i < 5000 && (kernel.level[0] != 1 || look(&b, 0).busy[0]); i++)
			usleep(1000);
		usleep(20000);
		started = kernel.started;
		submit(&b, 0, "5", &v);
		await(&v);
		CHECK_EQ(v.err.code, EIO);
		CHECK_EQ(kernel.started, started);
		for (int i = 0; i < DEVICES; i++)
			CHECK_EQ(kernel.level[i], 1);
		bench_stop(&b);
	}
}

DEFINE_TEST(what_the_disk_refuses_is_not_done)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	disk.fail_pending = 1;
	CHECK_EQ(set(&b, 0, "5", &v), ENOSPC);
	CHECK_EQ(kernel.started, 0);
	disk.fail_pending = 0;
	disk.fail_kept = 1;
	CHECK_EQ(set(&b, 0, "5", &v), ENOSPC);
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 1);
	CHECK_STR(look(&b, 0).want.claim, "");
	disk.fail_kept = 0;
	CHECK_EQ(set(&b, 0, "5", &v), 0);
	CHECK_EQ(disk.kept, 1);
	bench_stop(&b);
}

static int set_both(struct bench *b, const char *level, const char *top, struct verdict *v)
{
	struct wish w[2] = { { .dev = dev_key(1), .file = "top" }, { .dev = dev_key(0), .file = "level" } };

	STR_COPY(w[0].value, top);
	STR_COPY(w[1].value, level);
	*v = (struct verdict){ 0 };
	txn_submit(b->e, w, 2, &(struct actor){ 0 }, told, v);
	await(v);
	return v->err.code;
}

/* What depends on an earlier wish is planned once that was seen to hold. */
DEFINE_TEST(wishes_are_planned_in_stages)
{
	struct bench b = { 0 };
	struct verdict v;

	world_reset();
	bench_start(&b);
	CHECK_EQ(set_both(&b, "4", "x", &v), EINVAL);
	CHECK_IN(v.err.text, "level 5 was not seen");
	for (int i = 0; i < DEVICES; i++)
		CHECK_EQ(kernel.level[i], 1); /* the first stage was taken back */
	kernel.started = 0;
	CHECK_EQ(set_both(&b, "5", "x", &v), 0);
	CHECK_EQ(kernel.started, DEVICES + 1);
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
	CHECK_EQ(kernel.started, 0);
	bench_stop(&b);
}
