// SPDX-License-Identifier: GPL-2.0-or-later
/* A tree of plain files is followed: the test answers each step when the follower reports it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/watch.h"
#include "pcidevfs/util.h"
#include "test.h"

#define HEAD "pcidevfs-inventory 1 generation=7 boot=b devices="

struct script {
	size_t step;
	unsigned int begun, told; /* inventories, devices */
	int events, stop;
	bool whole;
};

static void on_begin(void *ctx)
{
	struct script *s = ctx;

	s->begun++;
}

static void on_device(void *ctx, const char *id, char *pairs)
{
	struct script *s = ctx;

	s->told++;
}

static void on_removed(void *ctx, const char *id)
{
}

/* ---- inventories */

static const struct {
	const char *text, *why;
} inventories[] = {
	{ "", "is incomplete" },
	{ "pcidevfs-inventory 2\n", "does not begin like one of version 1" },
	{ "pcidevfs-inventory 1 generation=7 boot=b\n",
	  "does not give its generation and number of devices" },
	{ HEAD "2\na x=1\n", "is incomplete: it has 2 lines for 2 devices" },
	{ HEAD "2\na x=1\nb x=1", "is incomplete" },
	{ HEAD "1\na x=1\nb", "is incomplete" },
	{ HEAD "1\na x=1\nb\n", "is incomplete" },
	{ HEAD "2\na x=1\nb\n", NULL },
};

static void next_inventory(void *ctx, const char *why)
{
	struct script *s = ctx;

	CHECK(inventories[s->step].why);
	CHECK_IN(why, inventories[s->step].why);
	test_file("inventory", inventories[++s->step].text);
	s->told = 0;
}

static void inventory_settled(void *ctx)
{
	struct script *s = ctx;

	CHECK(!inventories[s->step].why);
	s->whole = true;
	event_ring(s->stop);
}

static void run_script(struct script *s, const struct watcher *w)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/events_pipe", test_dir());
	CHECK_EQ(mkfifo(path, 0600), 0);
	s->events = open(path, O_RDWR | O_CLOEXEC);
	s->stop = eventfd(0, EFD_CLOEXEC);
	CHECK(s->events >= 0 && s->stop >= 0);
	watch_run(test_dir(), w, s->stop);
	close(s->events);
	close(s->stop);
}

DEFINE_TEST(an_inventory_that_is_not_whole_is_read_again)
{
	struct script s = { 0 };
	const struct watcher w = { "test",     on_begin,	  on_device,
				   on_removed, inventory_settled, next_inventory,
				   &s };

	test_file("inventory", inventories[0].text);
	run_script(&s, &w);
	CHECK(s.whole);
	CHECK_EQ(s.begun, ARRAY_SIZE(inventories));
	CHECK_EQ(s.told, 2);
}

/* ---- events */

static const struct {
	const char *line;
	unsigned int begun, told; /* once it has been taken */
} events[] = {
	{ "seq=4 generation=7 action=hello\n", 1, 1 },
	{ "seq=5 generation=8 action=change changed=x a x=2\n", 1, 2 },
	{ "seq=6 generation=7 action=change changed=x a x=2\n", 1, 2 }, /* not newer */
	{ "seq=8 generation=9 action=change changed=x a x=3\n", 2, 4 }, /* one is missing */
	{ "seq=9 generation=10 action=change changed=x a x=4\n", 2, 5 },
	{ "seq=10 generation=11 \"action=change a\n", 3, 6 },
	{ "seq=11 generation=12 action=change\n", 4, 7 },
	{ "seq=40 generation=13 action=lost\n", 5, 8 },
	{ "seq=41 generation=14 action=change a\n", 5, 9 },
	{ "rubbish\n", 6, 10 },
};

/* After lost events an inventory must follow; a follower that does not read it waits for ever. */
static void event_settled(void *ctx)
{
	struct script *s = ctx;

	if (s->step && s->begun < events[s->step - 1].begun)
		return;
	if (s->step) {
		CHECK_EQ(s->begun, events[s->step - 1].begun);
		CHECK_EQ(s->told, events[s->step - 1].told);
	}
	if (s->step == ARRAY_SIZE(events)) {
		event_ring(s->stop);
		return;
	}
	CHECK(write(s->events, events[s->step].line, strlen(events[s->step].line)) > 0);
	s->step++;
}

static void never_lost(void *ctx, const char *why)
{
	CHECK_STR(why, "");
}

DEFINE_TEST(a_gap_in_the_events_is_filled_from_the_inventory)
{
	struct script s = { 0 };
	const struct watcher w = { "test",	  on_begin,   on_device, on_removed,
				   event_settled, never_lost, &s };

	test_file("inventory", HEAD "1\na x=1\n");
	run_script(&s, &w);
	CHECK_EQ(s.step, ARRAY_SIZE(events));
}
