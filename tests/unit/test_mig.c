// SPDX-License-Identifier: GPL-2.0-or-later
/* MIG layouts of all cards that have MIG, against all ways to fill their slices. */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/mig.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"

#define A100                                                                                       \
	"profile 19 7 7 4864 1 0,1,2,3,4,5,6:1 1g.5gb\n"                                           \
	"profile 20 1 1 4864 1 0,1,2,3,4,5,6:1 1g.5gb+me\n"                                        \
	"profile 15 4 4 9856 1 0,2,4,6:2 1g.10gb\n"                                                \
	"profile 14 3 3 9856 2 0,2,4:2 2g.10gb\n"                                                  \
	"profile 9 2 2 19968 3 0,4:4 3g.20gb\n"                                                    \
	"profile 5 1 1 19968 4 0:4 4g.20gb\n"                                                      \
	"profile 0 1 1 40192 7 0:8 7g.40gb\n"
/* Read off the card (spec/nvml.md 9); the H200 has the same ids and places. */
#define H100                                                                                       \
	"profile 19 7 7 9984 1 0,1,2,3,4,5,6:1 1g.10gb\n"                                          \
	"profile 14 3 3 20096 2 0,2,4:2 2g.20gb\n"                                                 \
	"profile 9 2 2 40448 3 0,4:4 3g.40gb\n"                                                    \
	"profile 5 1 1 40448 4 0:4 4g.40gb\n"                                                      \
	"profile 0 1 1 81152 7 0:8 7g.80gb\n"                                                      \
	"profile 20 1 1 9984 1 0,1,2,3,4,5,6:1 1g.10gb+me\n"                                       \
	"profile 15 4 4 20096 1 0,2,4,6:2 1g.20gb\n"
#define A30                                                                                        \
	"profile 14 4 4 5952 1 0,1,2,3:1 1g.6gb\n"                                                 \
	"profile 21 1 1 5952 1 0,1,2,3:1 1g.6gb+me\n"                                              \
	"profile 5 2 2 12032 2 0,2:2 2g.12gb\n"                                                    \
	"profile 6 1 1 12032 2 0,2:2 2g.12gb+me\n"                                                 \
	"profile 0 1 1 24192 4 0:4 4g.24gb\n"
#define RTX_PRO_6000                                                                               \
	"profile 14 4 4 24000 1 0,1,2,3:1 1g.24gb\n"                                               \
	"profile 21 1 1 24000 1 0,1,2,3:1 1g.24gb+me\n"                                            \
	"profile 47 4 4 24000 1 0,1,2,3:1 1g.24gb+gfx\n"                                           \
	"profile 5 2 2 48000 2 0,2:2 2g.48gb\n"                                                    \
	"profile 35 2 2 48000 2 0,2:2 2g.48gb+gfx\n"                                               \
	"profile 0 1 1 96000 4 0:4 4g.96gb\n"                                                      \
	"profile 32 1 1 96000 4 0:4 4g.96gb+gfx\n"

static const char *const cards[] = { A100, H100, A30, RTX_PRO_6000 };

static struct mig read_card(const char *text, const char *more)
{
	struct mig m = { 0 };

	CHECK(!mig_read(text, &m));
	CHECK(!mig_read(more, &m));
	return m;
}

/* ---- all that fits, found by filling slice after slice */

enum { COUNTS = 7 };
static unsigned char possible[1 << 21]; /* by counts, three bits each */

static unsigned int index_of(const uint8_t *n)
{
	unsigned int at = 0;

	for (int i = 0; i < COUNTS; i++)
		at = at << 3 | n[i];
	return at;
}

static void fill(const struct mig *m, unsigned int start, uint8_t *n)
{
	possible[index_of(n)] = 1;
	if (start >= MIG_SLICES)
		return;
	fill(m, start + 1, n);
	for (size_t i = 0; i < m->n_profiles; i++) {
		const struct mig_profile *p = &m->profiles[i];

		if (!(p->starts & 1u << start) || n[i] == p->max)
			continue;
		n[i]++;
		fill(m, start + p->size, n);
		n[i]--;
	}
}

/* Calls check() for each choice of counts up to what the card can have of each profile. */
static void each_counts(const struct mig *m, size_t i, struct mig_wanted *w,
			void (*check)(const struct mig *m, const struct mig_wanted *w))
{
	if (i == m->n_profiles) {
		check(m, w);
		return;
	}
	for (w->n[i] = 0; w->n[i] <= m->profiles[i].max; w->n[i]++)
		each_counts(m, i + 1, w, check);
	w->n[i] = 0;
}

static void check_plan(const struct mig *m, const struct mig_wanted *w, const struct mig_plan *plan)
{
	uint8_t n[MIG_PROFILES] = { 0 };
	unsigned int taken = 0;

	for (size_t i = 0; i < plan->n; i++) {
		const struct mig_profile *p = &m->profiles[plan->add[i].profile];
		unsigned int slices = ((1u << p->size) - 1) << plan->add[i].start;

		CHECK(p->starts & 1u << plan->add[i].start);
		CHECK(!(taken & slices));
		taken |= slices;
		n[plan->add[i].profile]++;
	}
	CHECK(!memcmp(n, w->n, sizeof(n)));
}

static void check_counts(const struct mig *m, const struct mig_wanted *w)
{
	struct mig_plan plan;
	int rc = mig_fit(m, w, &plan, NULL);

	CHECK_EQ(rc, possible[index_of(w->n)] ? 0 : -ENOSPC);
	if (!rc)
		check_plan(m, w, &plan);
}

DEFINE_TEST(mig_finds_all_that_fits_on_each_card)
{
	for (size_t i = 0; i < ARRAY_SIZE(cards); i++) {
		struct mig m = read_card(cards[i], "mode 1 1\n");
		struct mig_wanted w = { 0 };
		uint8_t n[MIG_PROFILES] = { 0 };

		memset(possible, 0, sizeof(possible));
		fill(&m, 0, n);
		each_counts(&m, 0, &w, check_counts);
	}
}

/* The model is locked meanwhile, so whatever a driver tells it must end. */
static void check_ends(const char *layout, int code, const char *why)
{
	struct mig m = { .current = true };
	struct mig_wanted w;
	struct mig_plan plan;
	struct err err = { 0 };
	char line[96];

	for (int i = 0; i < MIG_PROFILES; i++) {
		snprintf(line, sizeof(line),
			 "profile %d 16 16 %d 1 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15:1 p%d\n", i,
			 i + 1, i);
		CHECK(!mig_read(line, &m));
	}
	CHECK(!mig_parse(&m, layout, &w, NULL));
	CHECK_EQ(mig_fit(&m, &w, &plan, &err), -code);
	CHECK_STR(err.text, why);
}

DEFINE_TEST(mig_ends_whatever_a_driver_tells)
{
	check_ends("p0 p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15", 0, "");
	check_ends(
		"p0*16 p1*16 p2*16 p3*16 p4*16 p5*16 p6*16 p7*16 p8*16 p9*16", ENOSPC,
		"p9*16 p8*16 p7*16 p6*16 p5*16 p4*16 p3*16 p2*16 p1*16 p0*16 does not fit on this "
		"card; write fewer instances");
}

/* ---- text */

static void check_refused(const struct mig *m, const char *text, int code, const char *why)
{
	struct mig_wanted w;
	struct mig_plan plan;
	struct err err = { 0 };
	int rc = mig_parse(m, text, &w, &err);

	rc = rc ? rc : mig_fit(m, &w, &plan, &err);
	CHECK_EQ(rc, -code);
	CHECK_STR(err.text, why);
}

DEFINE_TEST(mig_refuses_with_what_would_fit)
{
	struct mig m = read_card(H100, "mode 1 1\n");

	check_refused(&m, "3g.40gb*2 1g.10gb", ENOSPC,
		      "3g.40gb*2 1g.10gb does not fit on this card; 3g.40gb*2 would");
	check_refused(&m, "1g.20gb*4 1g.10gb*4", ENOSPC,
		      "1g.20gb*4 1g.10gb*4 does not fit on this card; 1g.20gb*4 would");
	check_refused(&m, "4g.40gb 7g.80gb", ENOSPC,
		      "7g.80gb 4g.40gb does not fit on this card; 7g.80gb would");
	check_refused(&m, "1g.10gb*8", ERANGE, "8 of 1g.10gb are wanted; the card can have 7");
	check_refused(&m, "1g.10gb+me 1g.10gb+me", ERANGE,
		      "2 of 1g.10gb+me are wanted; the card can have 1");
	check_refused(
		&m, "1g.5gb", EINVAL,
		"\"1g.5gb\" is not a MIG profile of this card, which has 1g.10gb, 2g.20gb, 3g.40gb, "
		"4g.40gb, 7g.80gb, 1g.10gb+me, 1g.20gb");
	check_refused(
		&m, "4c.3g.40gb", EINVAL,
		"\"4c.3g.40gb\" is not a MIG profile of this card, which has 1g.10gb, 2g.20gb, "
		"3g.40gb, 4g.40gb, 7g.80gb, 1g.10gb+me, 1g.20gb");
	check_refused(&m, "1g.10gb*0", EINVAL, "\"1g.10gb*0\" must end in a number from 1 to 16");
	check_refused(&m, "1g.10gb*", EINVAL, "\"1g.10gb*\" must end in a number from 1 to 16");
}

static const char *printed(const struct mig *m, const char *text)
{
	static char copy[256];
	struct out o = { 0 };
	struct mig_wanted w;

	CHECK(!mig_parse(m, text, &w, NULL));
	mig_print_wanted(m, &w, &o);
	STR_COPY(copy, out_text(&o));
	out_free(&o);
	return copy;
}

DEFINE_TEST(mig_prints_a_layout_as_it_is_read)
{
	struct mig m = read_card(H100, "mode 1 1\n");

	CHECK_STR(printed(&m, ""), "none");
	CHECK_STR(printed(&m, "none"), "none");
	CHECK_STR(printed(&m, " 1g.10gb  3g.40gb 1g.10gb*2 "), "3g.40gb 1g.10gb*3");
	CHECK_STR(printed(&m, "1c.3g.40gb*2 3g.40gb"), "1c.3g.40gb*2 3g.40gb");
	CHECK_STR(printed(&m, "3c.3g.40gb"), "3g.40gb");
	/* Each word alone would take a GPU instance of its own. */
	CHECK_STR(printed(&m, "1c.3g.40gb 1c.3g.40gb 3g.40gb"), "1c.3g.40gb*2 3g.40gb");
	CHECK_STR(printed(&m, "2c.3g.40gb 1c.3g.40gb 3g.40gb"), "1c.3g.40gb 2c.3g.40gb 3g.40gb");
	/* A name that begins with a number is not "Nc.": this profile has one slice. */
	CHECK_STR(printed(&m, "1g.20gb*2 2g.20gb*3"), "2g.20gb*3 1g.20gb*2");
}

DEFINE_TEST(mig_shares_a_gpu_instance_among_compute_instances)
{
	struct mig m = read_card(H100, "mode 1 1\n" "instance 1 9 4 4\n"
				       "compute 1 0 0 2\ncompute 1 1 2 1\n");
	uint8_t rows[MIG_INSTANCES][MIG_SLICES];
	struct mig_wanted w;
	struct out o = { 0 };

	CHECK(!mig_parse(&m, "1c.3g.40gb*3 2c.3g.40gb", &w, NULL));
	CHECK_EQ(w.n[2], 2);
	CHECK_EQ(mig_share(&m.profiles[2], w.computes[2], rows), 2);
	CHECK(rows[0][2] == 1 && rows[0][1] == 1 && rows[1][1] == 2 && !rows[1][2]);
	check_refused(&m, "2c.3g.40gb*3", ERANGE, "3 of 3g.40gb are wanted; the card can have 2");
	/* One that others have made. */
	mig_print(&m, &o);
	CHECK_STR(out_text(&o), "1c.3g.40gb 2c.3g.40gb");
	out_free(&o);
}

/* ---- what is there */

static void check_stay(const char *there, const char *layout, const char *kept, size_t added)
{
	struct mig m = read_card(H100, there);
	struct mig_wanted w;
	struct mig_plan plan;
	char keep[MIG_INSTANCES + 1] = "";

	CHECK(!mig_parse(&m, layout, &w, NULL));
	CHECK(!mig_fit(&m, &w, &plan, NULL));
	for (size_t i = 0; i < m.n_instances; i++)
		keep[i] = plan.keep[i] ? 'k' : '-';
	CHECK_STR(keep, kept);
	CHECK_EQ(plan.n, added);
}

DEFINE_TEST(mig_keeps_what_can_stay)
{
	check_stay("instance 1 9 4 4\n", "3g.40gb 1g.10gb*2", "k", 2);
	check_stay("instance 1 9 4 4\ninstance 2 19 0 1\n", "3g.40gb 4g.40gb", "k-", 1);
	/* The middle ones are in the way; one stays at each end. */
	check_stay("instance 1 19 0 1\ninstance 2 19 1 1\ninstance 3 19 5 1\n", "1g.10gb*3 4g.40gb",
		   "--k", 3);
	check_stay("instance 1 19 0 1\n", "none", "-", 0);
}

static void check_busy(const char *there, const char *layout, const char *why)
{
	struct mig m = read_card(H100, there);
	struct mig_wanted w;
	struct mig_plan plan;
	struct err err = { 0 };

	CHECK(!mig_parse(&m, layout, &w, NULL));
	CHECK_EQ(mig_fit(&m, &w, &plan, &err), -EBUSY);
	CHECK_STR(err.text, why);
}

DEFINE_TEST(mig_never_touches_what_is_used)
{
	check_busy("instance 1 9 4 4\nprocess 812 1 0\n", "1g.10gb*7",
		   "MIG instance 1 (3g.40gb) is used by process 812; end that, or leave the instance in "
		   "the layout");
	check_busy(
		"instance 1 19 0 1\nvm 1 900 x\n", "1g.10gb 4g.40gb",
		"the MIG instances that are used lie where the others would have to; end what uses "
		"them and write again");
	check_stay("instance 1 19 6 1\nprocess 812 1 0\n", "1g.10gb 4g.40gb", "k", 1);
	check_stay("instance 1 19 0 1\nprocess 812 -1 -1\n", "4g.40gb", "-", 1);
}

DEFINE_TEST(mig_refuses_lines_that_are_out_of_bounds)
{
	static const char *const bad[] = {
		"profile 1 7 7 1 1 0:1\n",
		"profile 1 7 7 1 1 16:1 a\n",
		"profile 1 7 7 1 1 0:17 a\n",
		"profile 1 7 7 1 1 0 a\n",
		"profile 1 99 7 1 1 0:1 a\n",
		"profile 1 7 7 1 0 0:1 a\n",
		"profile 1 7 7 1 1 0:1 a b\n",
		H100 "profile 19 7 7 1 1 0:1 a\n",
		H100 "instance 1 3 0 1\n",
		H100 "instance 1 19 16 1\n",
		H100 "instance 1 19 -1 1\n",
		H100 "instance 1 19 0 2\n",
		H100 "compute 1 0 0 1\n",
		H100 "instance 1 19 0 1\ncompute 1 0 0 16\n",
		"vm x\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct mig m = { 0 };

		CHECK_EQ(mig_read(bad[i], &m), -EBADMSG);
	}
}
