// SPDX-License-Identifier: GPL-2.0-or-later
#include "backend/views.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Of two looks at a device's types the one begun last counts, whichever is published last; a look's
 * own answer may be published again. */
DEFINE_TEST(views_list_types_of_the_latest)
{
	struct view first, second, third;

	view_begin(&views, &first);
	view_begin(&views, &second);
	CHECK(view_lists(&views, &second, &a));
	CHECK(!view_lists(&views, &first, &a));
	CHECK(view_lists(&views, &second, &a));
	CHECK(view_lists(&views, &first, &b)); /* another device */
	view_begin(&views, &third);
	CHECK(view_lists(&views, &third, &a) && view_lists(&views, &third, &b));
	CHECK(!view_lists(&views, &second, &a) && !view_lists(&views, &first, &b));
	view_end(&views, &first);
	view_end(&views, &second);
	view_end(&views, &third);
	free(views.listed);
	views.listed = NULL;
	views.n_listed = views.cap_listed = 0;
}

/* Each of many devices has its own number. */
DEFINE_TEST(views_list_types_of_many)
{
	struct view old, new;
	struct key key;
	char name[KEY_NAME];

	view_begin(&views, &old);
	view_begin(&views, &new);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.%d", i / 100, i / 8 % 32, i % 8);
		CHECK(key_make(BUS_PCI, name, &key));
		CHECK(view_lists(&views, i % 2 ? &old : &new, &key));
		CHECK_EQ(view_lists(&views, &old, &key), i % 2);
	}
	CHECK(view_lists(&views, &new, &a));
	view_end(&views, &old);
	view_end(&views, &new);
	free(views.listed);
	views.listed = NULL;
	views.n_listed = views.cap_listed = 0;
}

DEFINE_TEST(views_go_no_further_than_they_are_waited_for)
{
	struct views own = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct view left, other;

	view_begin(&own, &left);
	view_begin(&own, &other);
	view_at(&own, &left, &a);
	CHECK(!view_skips(&own, &other, &a, 0)); /* it is waited for */
	view_leave(&own, &left);
	CHECK(view_skips(&own, &left, &b, 60000));
	CHECK(view_skips(&own, &other, &a, 0));
	CHECK(!view_skips(&own, &other, &a, 60000));
	CHECK(!view_skips(&own, &other, &b, 0));
	views_stop(&own);
	CHECK(view_skips(&own, &other, &b, 60000));
	view_end(&own, &left);
	view_end(&own, &other);
}
