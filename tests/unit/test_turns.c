// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose job runs next. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "model/engine/turns.h"
#include "pcidevfs/pool.h"
#include "pcidevfs/txn.h"
#include "test.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static atomic_int running, most, done;
static _Atomic intptr_t order[4096];

static void job(void *ctx, struct turn *turn)
{
	int n = atomic_fetch_add(&running, 1) + 1;

	(void)turn;
	if (n > atomic_load(&most))
		atomic_store(&most, n);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	atomic_fetch_sub(&running, 1);
	atomic_store(&order[atomic_fetch_add(&done, 1)], (intptr_t)ctx);
}

static void at_once(void *ctx, struct turn *turn)
{
	(void)turn;
	atomic_store((atomic_bool *)ctx, true);
}

/* Waits without end, as what hangs in the kernel. */
static void yields(void *ctx, struct turn *turn)
{
	turn_yield(turn);
	job(ctx, turn);
}

static void wait_for(const atomic_int *what, int value)
{
	for (int i = 0; i < 20000 && atomic_load(what) != value; i++)
		usleep(1000);
	CHECK_EQ(atomic_load(what), value);
}

static void start(struct turns *s)
{
	struct pool *pool;

	CHECK_EQ(pool_new(64, &pool, NULL), 0);
	turns_init(s, pool);
}

static int submit(struct turns *s, uid_t uid, turn_job *run, void *ctx)
{
	return turns_submit(s, &(struct actor){ .opener = { .uid = uid, .reserve = !uid } }, run,
			    ctx);
}

static void end(struct turns *s)
{
	CHECK(pool_end(s->pool));
	CHECK(!s->first && !s->running && !s->waiting.used);
	pool_free(s->pool);
	turns_destroy(s);
}

DEFINE_TEST(turns_of_one_user_keep_no_reserve_waiting)
{
	atomic_bool root = false;
	struct turns s;

	start(&s);
	pthread_mutex_lock(&gate);
	for (intptr_t i = 0; i < 400; i++)
		CHECK_EQ(submit(&s, 1000, job, (void *)i), 0);
	wait_for(&running, TURNS_OF_ALL);
	CHECK_EQ(submit(&s, 0, at_once, &root), 0);
	for (int i = 0; i < 20000 && !atomic_load(&root); i++)
		usleep(1000);
	CHECK(atomic_load(&root));
	CHECK_EQ(atomic_load(&done), 0);
	pthread_mutex_unlock(&gate);
	wait_for(&done, 400);
	CHECK_EQ(atomic_load(&most), TURNS_OF_ALL);
	/* In order, but for those that run side by side. */
	for (intptr_t i = 0; i < 400; i++)
		CHECK(atomic_load(&order[i]) < i + 2 * TURNS_OF_ALL);
	end(&s);
}

DEFINE_TEST(turns_of_many_users_leave_room)
{
	atomic_bool root = false;
	struct turns s;

	start(&s);
	pthread_mutex_lock(&gate);
	for (uid_t uid = 1; uid <= 40; uid++)
		for (int i = 0; i < 10; i++)
			CHECK_EQ(submit(&s, uid, job, (void *)(intptr_t)uid), 0);
	wait_for(&running, TURNS_OF_ALL);
	CHECK_EQ(submit(&s, 0, at_once, &root), 0);
	for (int i = 0; i < 20000 && !atomic_load(&root); i++)
		usleep(1000);
	CHECK(atomic_load(&root));
	pthread_mutex_unlock(&gate);
	wait_for(&done, 400);
	CHECK_EQ(atomic_load(&most), TURNS_OF_ALL);
	end(&s);
}

DEFINE_TEST(turns_that_wait_are_bounded)
{
	struct turns s;
	int n = 0, more = 0;

	start(&s);
	pthread_mutex_lock(&gate);
	while (!submit(&s, 1000, job, NULL))
		n++;
	CHECK_EQ(n, TURNS_OF_ALL + WAITING_OF_USER);
	CHECK_EQ(submit(&s, 1000, job, NULL), -EDQUOT);
	/* However many come, one is taken of each. */
	for (uid_t uid = 2000; uid < 2030; uid++, n++)
		CHECK_EQ(submit(&s, uid, job, NULL), 0);
	for (uid_t uid = 2000; uid < 2030; uid++)
		while (!submit(&s, uid, job, NULL))
			more++;
	CHECK_EQ(submit(&s, 3000, job, NULL), 0);
	CHECK_EQ(submit(&s, 0, job, NULL), 0);
	pthread_mutex_unlock(&gate);
	while (atomic_load(&done) < n + more + 2)
		usleep(1000);
	end(&s);
	CHECK_EQ(atomic_load(&done), n + more + 2);
}

DEFINE_TEST(turns_that_hang_count_for_nobody)
{
	struct turns s;

	start(&s);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < TURNS_OF_ALL; i++)
		CHECK_EQ(submit(&s, 1000, yields, NULL), 0);
	wait_for(&running, TURNS_OF_ALL);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(submit(&s, 1000, job, NULL), 0);
	wait_for(&running, TURNS_OF_ALL + 10);
	pthread_mutex_unlock(&gate);
	wait_for(&done, TURNS_OF_ALL + 10);
	end(&s);
}
