// SPDX-License-Identifier: GPL-2.0-or-later
/* Thousands of records and devices: found without looking at each for each, and found right. */
#include <stdlib.h>
#include <time.h>

#include "match.h"
#include "model/intents/intents.h"
#include "facts.h"
#include "fakerequest.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

enum { MANY = 4096, CARDS = 200, FIRST = 1000 };

static void store_many(void)
{
	struct record *v[MANY];
	struct records rs = { .v = v, .n = MANY };
	struct out o = { 0 };

	for (int i = 0; i < MANY; i++) {
		v[i] = record_new();
		v[i]->id.ids = 0x8086152100000000;
		v[i]->id.serial = 1000 + (uint64_t)i;
		v[i]->intent.single = true;
		snprintf(v[i]->id.path, sizeof(v[i]->id.path), "0000:%02x/%02x.0/00.0", i >> 5,
			 i & 31);
		snprintf(v[i]->at, sizeof(v[i]->at), "0000:%02x:%02x.0", i >> 5, i & 31);
	}
	intent_format(&rs, &o);
	test_file("state/" INTENT_FILE, o.data);
	out_free(&o);
	for (int i = 0; i < MANY; i++)
		record_free(v[i]);
}

static void plug_at(const char *name, int slot, uint64_t serial)
{
	struct plug p = request_nic;
	char path[32];

	snprintf(path, sizeof(path), "0000:%02x/%02x.0/00.0", slot >> 5, slot & 31);
	p.name = name;
	p.path = path;
	p.serial = serial;
	request_plug(&p);
}

static void change_driver(struct device *dev)
{
	set_driver(&dev->facts, "igbx");
}

/* A third is where it was, a third has moved, a third is away. */
DEFINE_SLOW_TEST(restore_finds_thousands, 300)
{
	uint64_t start;
	char name[16];
	int found = 0;

	store_many();
	request_begin(false);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.0", i >> 5, i & 31);
		plug_at(name, i % 3 == 1 ? i + 1 : i, 1000 + (uint64_t)i + (i % 3 == 2 ? MANY : 0));
	}
	request_restore();
	start = now_us();
	request_edit("0000:00:00.0", change_driver);
	printf("# %d records, a pass in %llu us\n", MANY, (unsigned long long)(now_us() - start));
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.0", i >> 5, i & 31);
		CHECK_EQ(request_state_of(name).intent.single, i % 3 != 2);
		found += request_state_of(name).intent.single;
	}
	printf("# %d found\n", found);
	request_end();
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)rand() % n;
}

static void expect_same(const struct pass *p, const struct identity *wanted)
{
	const struct candidate *s = NULL;
	size_t a = p->n;
	enum match all = identity_match(wanted, p->candidates, p->n, &a),
		   few = pass_lookup(p, wanted, &s);

	if (all != few || (all == MATCH_NONE ? s != NULL : s != &p->candidates[a]))
		FAIL("%s serial %llu: %d at %zu, %d at %td", wanted->path,
		     (unsigned long long)wanted->serial, all, a, few, s - p->candidates);
}

/* Few slots and fewer serials: cards share both, and more have one serial than are compared
 * singly. */
DEFINE_TEST(restore_looks_at_few_candidates_and_finds_the_same)
{
	struct pass p = { 0 };
	char name[16];

	srand(1);
	request_begin(false);
	p.in = t.in;
	for (int i = 0; i < CARDS; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.0", i >> 5, i & 31);
		plug_at(name, (int)below(CARDS), i < 40 ? 99 : below(CARDS));
	}
	model_lock(t.m);
	CHECK_EQ(pass_find_candidates(&p), 0);
	for (int i = 0; i < 20000; i++) {
		struct identity wanted = p.candidates[below(CARDS)].id;

		p.candidates[below(CARDS)].serial_unknown = !below(4);
		if (!below(3))
			wanted.serial = below(CARDS);
		if (!below(3))
			STR_COPY(wanted.path, p.candidates[below(CARDS)].id.path);
		if (!below(9))
			wanted.vf = 0;
		expect_same(&p, &wanted);
	}
	model_unlock(t.m);
	pass_free(&p);
	request_end();
}

/* CPU time of this thread, which a busy machine does not lengthen. */
static uint64_t spent_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static uint64_t look_us(void)
{
	struct pass p = { .in = t.in };
	uint64_t start = spent_us();

	model_lock(t.m);
	CHECK_EQ(pass_find_candidates(&p), 0);
	model_unlock(t.m);
	pass_free(&p);
	return spent_us() - start;
}

/* This locks the model, also for readers: no look at all devices for each intent. */
DEFINE_SLOW_TEST(restore_keeps_many_first_requests_by_few_looks, 300)
{
	_free_ struct request *requests = calloc(FIRST, sizeof(*requests));
	uint64_t start, took, look;
	struct out o = { 0 };
	char name[16];

	CHECK(requests);
	request_begin(false);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.0", i >> 5, i & 31);
		plug_at(name, i, 1000 + (uint64_t)i);
	}
	request_restore();
	model_lock(t.m);
	for (int i = 0; i < FIRST; i++) {
		snprintf(name, sizeof(name), "0000:%02x:%02x.0", i >> 5, i & 31);
		requests[i] = (struct request){ .dev = request_key(name),
						.file = "pooled",
						.value = "0" };
		model_edit(t.m, &requests[i].dev, false)->intent.single = true;
	}
	model_publish(t.m);
	model_unlock(t.m);
	look = look_us();
	start = spent_us();
	CHECK_EQ(intents_keep(t.in, requests, FIRST, false, NULL), 0);
	took = spent_us() - start;
	printf("# %d first wishes among %d devices in %llu us, one look takes %llu\n", FIRST, MANY,
	       (unsigned long long)took, (unsigned long long)look);
	intents_health(t.in, &o);
	CHECK_IN(out_text(&o), " records=1000 ");
	CHECK(took < FIRST / 20 * look);
	out_free(&o);
	request_end();
}
