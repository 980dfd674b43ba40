// SPDX-License-Identifier: GPL-2.0-or-later
#include "backend/views.h"

#include <pthread.h>
#include <string.h>

#include "pcidevfs/key.h"
#include "test.h"

static struct views views = { .lock = PTHREAD_MUTEX_INITIALIZER };
static const struct key a = { BUS_PCI, "0000:08:00.0" }, b = { BUS_PCI, "0000:09:00.0" };

static void publish(struct view *view, const struct key *key)
{
	view_end(&views, view);
	view_tell(&views, view, key);
}

DEFINE_TEST(views_the_one_begun_last_counts)
{
	struct view first, second;

	view_begin(&views, &first);
	view_begin(&views, &second);
	publish(&second, &a);
	CHECK(!view_is_old(&second, &a));
	view_end(&views, &first);
	CHECK(view_is_old(&first, &a));
	CHECK(!view_is_old(&first, &b));
	view_free(&first);
	view_free(&second);
}

DEFINE_TEST(views_in_turn_are_all_new)
{
	struct view first, second;

	view_begin(&views, &first);
	view_begin(&views, &second);
	publish(&first, &a);
	publish(&second, &a);
	CHECK(!view_is_old(&first, &a) && !view_is_old(&second, &a));
}

DEFINE_TEST(views_of_all_count_for_each)
{
	struct view first, second;

	view_begin(&views, &first);
	view_begin(&views, &second);
	publish(&second, NULL);
	CHECK(view_is_old(&first, &a) && view_is_old(&first, &b));
	view_end(&views, &first);
	view_free(&first);
}

/* News from before a look began is in it; later news, or unpublished looks, are not. */
DEFINE_TEST(views_who_heard_before_is_served)
{
	uint64_t heard, again;
	struct view since, look;

	view_begin(&views, &since);
	view_begin(&views, &look);
	heard = views_now(&views);
	CHECK(!view_saw_later(&views, &since, &a, heard));
	publish(&look, &a);
	CHECK(!view_saw_later(&views, &since, &a, heard));
	view_begin(&views, &look);
	again = views_now(&views);
	CHECK(!view_saw_later(&views, &since, &a, heard));
	publish(&look, &a);
	CHECK(view_saw_later(&views, &since, &a, heard) && !view_saw_later(&views, &since, &b, heard));
	CHECK(!view_saw_later(&views, &since, &a, again));
	view_begin(&views, &look);
	publish(&look, NULL);
	CHECK(view_saw_later(&views, &since, &a, again) && view_saw_later(&views, &since, &b, again));
	view_end(&views, &since);
	view_free(&since);
}

/* One that hangs for a year does not grow for a year. */
DEFINE_TEST(views_note_a_device_once)
{
	struct view hangs, view;

	view_begin(&views, &hangs);
	for (int i = 0; i < 1000; i++) {
		view_begin(&views, &view);
		publish(&view, i % 2 ? &a : &b);
		view_free(&view);
	}
	CHECK_EQ(hangs.n, 2);
	view_end(&views, &hangs);
	view_free(&hangs);
}
