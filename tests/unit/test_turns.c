// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose job runs next. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "model/engine/operation.h"
#include "pcidevfs/pool.h"
#include "test.h"

#define EXECUTORS 64
#define OF_ALL (EXECUTORS / 4) /* at once, of users without a reserve */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER, deadline = PTHREAD_MUTEX_INITIALIZER;
static atomic_int running, most, done, hung; /* hung: those that did and are back */
static _Atomic intptr_t order[4096];

static void job(void *ctx)
{
	int n = atomic_fetch_add(&running, 1) + 1;

	if (n > atomic_load(&most))
		atomic_store(&most, n);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	atomic_fetch_sub(&running, 1);
	atomic_store(&order[atomic_fetch_add(&done, 1)], (intptr_t)ctx);
}

static void at_once(void *ctx)
{
	atomic_store((atomic_bool *)ctx, true);
}

/* Waits without end from its deadline on, as what hangs in the kernel. */
static void hangs(void *engine)
{
	struct engine *e = engine;

	pthread_mutex_lock(&deadline);
	pthread_mutex_unlock(&deadline);
	pool_blocked(e->others, true);
	job(NULL);
	pool_blocked(e->others, false);
	atomic_fetch_add(&hung, 1);
}

static void wait_for(const atomic_int *what, int value)
{
	for (int i = 0; i < 20000 && atomic_load(what) != value; i++)
		usleep(1000);
	CHECK_EQ(atomic_load(what), value);
}

static struct engine *start(void)
{
	const struct engine_conf conf = { .threads = EXECUTORS };
	struct engine *e;

	CHECK_EQ(engine_new(&conf, &e, NULL), 0);
	return e;
}

static int submit(struct engine *e, uid_t uid, void (*run)(void *ctx), void *ctx)
{
	return engine_defer(e, &(struct actor){ .opener = { .uid = uid, .reserve = !uid } }, run,
			    ctx);
}

static void end(struct engine *e)
{
	CHECK(engine_end(e, NULL));
	CHECK_EQ(e->waiting.used, 0);
	engine_free(e);
}

DEFINE_TEST(turns_of_one_user_keep_no_reserve_waiting)
{
	atomic_bool root = false;
	struct engine *e = start();

	pthread_mutex_lock(&gate);
	for (intptr_t i = 0; i < 400; i++)
		CHECK_EQ(submit(e, 1000, job, (void *)i), 0);
	wait_for(&running, OF_ALL);
	CHECK_EQ(submit(e, 0, at_once, &root), 0);
	for (int i = 0; i < 20000 && !atomic_load(&root); i++)
		usleep(1000);
	CHECK(atomic_load(&root));
	CHECK_EQ(atomic_load(&done), 0);
	pthread_mutex_unlock(&gate);
	wait_for(&done, 400);
	CHECK_EQ(atomic_load(&most), OF_ALL);
	/* In order, but for those that run side by side. */
	for (intptr_t i = 0; i < 400; i++)
		CHECK(atomic_load(&order[i]) < i + 2 * OF_ALL);
	end(e);
}

DEFINE_TEST(turns_of_many_users_leave_room)
{
	atomic_bool root = false;
	struct engine *e = start();

	pthread_mutex_lock(&gate);
	for (uid_t uid = 1; uid <= 40; uid++)
		for (int i = 0; i < 10; i++)
			CHECK_EQ(submit(e, uid, job, (void *)(intptr_t)uid), 0);
	wait_for(&running, OF_ALL);
	CHECK_EQ(submit(e, 0, at_once, &root), 0);
	for (int i = 0; i < 20000 && !atomic_load(&root); i++)
		usleep(1000);
	CHECK(atomic_load(&root));
	pthread_mutex_unlock(&gate);
	wait_for(&done, 400);
	CHECK_EQ(atomic_load(&most), OF_ALL);
	end(e);
}

DEFINE_TEST(turns_that_wait_are_bounded)
{
	struct engine *e = start();
	int n = 0, more = 0;

	pthread_mutex_lock(&gate);
	while (!submit(e, 1000, job, NULL))
		n++;
	wait_for(&running, OF_ALL); /* until they run they wait */
	while (!submit(e, 1000, job, NULL))
		n++;
	CHECK_EQ(n, OF_ALL + WAITING_OF_USER);
	CHECK_EQ(submit(e, 1000, job, NULL), -EDQUOT);
	/* However many come, one is taken of each. */
	for (uid_t uid = 2000; uid < 2030; uid++, n++)
		CHECK_EQ(submit(e, uid, job, NULL), 0);
	for (uid_t uid = 2000; uid < 2030; uid++)
		while (!submit(e, uid, job, NULL))
			more++;
	CHECK_EQ(submit(e, 3000, job, NULL), 0);
	CHECK_EQ(submit(e, 0, job, NULL), 0);
	pthread_mutex_unlock(&gate);
	while (atomic_load(&done) < n + more + 2)
		usleep(1000);
	end(e);
	CHECK_EQ(atomic_load(&done), n + more + 2);
}

DEFINE_TEST(turns_that_hang_count_for_nobody)
{
	struct engine *e = start();

	pthread_mutex_lock(&gate);
	pthread_mutex_lock(&deadline);
	for (int i = 0; i < OF_ALL + 10; i++)
		CHECK_EQ(submit(e, 1000, i < OF_ALL ? hangs : job, e), 0);
	pthread_mutex_unlock(&deadline);
	wait_for(&running, OF_ALL + 10);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(submit(e, 1000, job, NULL), 0);
	wait_for(&running, OF_ALL + 15);
	pthread_mutex_unlock(&gate);
	wait_for(&done, OF_ALL + 15);
	wait_for(&hung, OF_ALL); /* until then the end would leave them behind */
	end(e);
}
