// SPDX-License-Identifier: GPL-2.0-or-later
/* Three-way agreement: every case, and every case again after whoever agrees was killed. */
#include <stdio.h>
#include <string.h>

#include "k8s-sync/agree/agree.h"
#include "pcidevfs/util.h"
#include "test.h"

static const char *const values[] = { "none", "alice", "bob c" };

struct state {
	char note[2 * ACCORD_VALUE + 2], tree[ACCORD_VALUE], cluster[ACCORD_VALUE];
	bool overruled;
};

static const char *note_of(const struct state *s)
{
	return s->note[0] ? s->note : NULL;
}

/* One step, as sync takes it. False: all is done. */
static bool step(struct state *s)
{
	struct accord a;

	accord_decide(note_of(s), WHOSE_USERS, s->tree, s->cluster, s->cluster, &a);
	s->overruled |= a.overruled;
	switch (a.what) {
	case ACCORD_REST:
		return false;
	case ACCORD_NOTE:
		STR_COPY(s->note, a.note);
		break;
	case ACCORD_TO_TREE:
		STR_COPY(s->tree, s->cluster);
		break;
	case ACCORD_TO_CLUSTER:
		STR_COPY(s->cluster, s->tree);
		break;
	}
	return true;
}

static void settle(struct state *s, const char *value)
{
	unsigned int steps = 0;

	while (step(s))
		CHECK(++steps < 8);
	CHECK_STR(s->tree, value);
	CHECK_STR(s->cluster, value);
	CHECK_STR(s->note, strcmp(value, "none") ? value : "");
}

static struct state agreed(const char *was, const char *tree, const char *cluster)
{
	struct state s = { 0 };

	STR_COPY(s.note, strcmp(was, "none") ? was : "");
	STR_COPY(s.tree, tree);
	STR_COPY(s.cluster, cluster);
	return s;
}

#define EACH(v) for (size_t v##_i = 0; v##_i < ARRAY_SIZE(values); v##_i++)
#define VALUE(v) values[v##_i]

DEFINE_TEST(sync_who_changed_wins_and_the_cluster_of_both)
{
	EACH(was) EACH(tree) EACH(cluster)
	{
		struct state s = agreed(VALUE(was), VALUE(tree), VALUE(cluster));
		bool only_tree = !strcmp(VALUE(was), VALUE(cluster));
		bool only_cluster = !strcmp(VALUE(was), VALUE(tree));
		bool same = !strcmp(VALUE(tree), VALUE(cluster));

		settle(&s, only_tree ? VALUE(tree) : VALUE(cluster));
		CHECK_EQ(s.overruled, !only_tree && !only_cluster && !same);
	}
}

/* A side may change between any two steps: the later change is never taken for the older one. */
DEFINE_TEST(sync_a_change_between_two_steps_counts)
{
	EACH(was) EACH(first) EACH(then)
	{
		for (unsigned int at = 0; at < 4; at++) {
			struct state s = agreed(VALUE(was), VALUE(was), VALUE(first));

			for (unsigned int i = 0; i < at; i++)
				step(&s);
			STR_COPY(s.cluster, VALUE(then));
			settle(&s, VALUE(then));
			s = agreed(VALUE(was), VALUE(first), VALUE(was));
			for (unsigned int i = 0; i < at; i++)
				step(&s);
			STR_COPY(s.tree, VALUE(then));
			settle(&s, VALUE(then));
		}
	}
}

/* What is released by the one side while a step of the other has just been taken stays released. */
DEFINE_TEST(sync_a_step_that_was_taken_is_known_after_a_kill)
{
	struct state s = agreed("none", "none", "alice");

	while (strcmp(s.tree, "alice"))
		CHECK(step(&s));
	STR_COPY(s.cluster, "none"); /* killed here, and the claim is deleted meanwhile */
	settle(&s, "none");
	CHECK(!s.overruled);
	s = agreed("none", "alice", "none");
	while (strcmp(s.cluster, "alice"))
		CHECK(step(&s));
	STR_COPY(s.tree, "none"); /* released in a shell meanwhile */
	settle(&s, "none");
	CHECK(!s.overruled);
}

/* Of a claim that is replaced there is none in between: that is nobody's value. */
DEFINE_TEST(sync_only_what_somebody_asked_for_is_overruled)
{
	static const struct {
		const char *note, *tree, *cluster;
		bool overruled;
	} rows[] = {
		{ "alice", "carol", "bob", true },	 { "alice", "none", "bob", true },
		{ "alice", "carol", "none", true },	 { "alice>bob", "none", "bob", false },
		{ "alice>bob", "none", "carol", false }, { "alice>bob", "alice", "carol", false },
		{ "alice>bob", "bob", "carol", false },	 { "alice>bob", "carol", "bob", true },
		{ "carol>bob", "carol", "bob", false },	 { "alice<bob", "bob", "carol", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct accord a;

		accord_decide(rows[i].note, WHOSE_USERS, rows[i].tree, rows[i].cluster,
			      rows[i].cluster, &a);
		CHECK_EQ(a.overruled, rows[i].overruled);
	}
}

DEFINE_TEST(sync_a_release_that_is_refused_never_makes_the_claim_anew)
{
	struct state s = agreed("alice", "alice", "none");
	struct accord a;

	CHECK(step(&s));
	for (unsigned int i = 0; i < 3; i++) {
		accord_decide(note_of(&s), WHOSE_USERS, s.tree, s.cluster, s.cluster, &a);
		CHECK_EQ(a.what, ACCORD_TO_TREE);
	}
}

DEFINE_TEST(sync_notes_of_any_text_end)
{
	static const char *const notes[] = { "<",     ">",	   "<>",     "><",
					     "a<b<c", "none>none", ">alice", "alice<" };

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		EACH(tree) EACH(cluster)
		{
			struct state s = agreed("none", VALUE(tree), VALUE(cluster));
			unsigned int steps = 0;

			STR_COPY(s.note, notes[i]);
			while (step(&s))
				CHECK(++steps < 8);
			CHECK_STR(s.tree, s.cluster);
		}
}

DEFINE_TEST(sync_a_users_name_becomes_one_that_claim_takes)
{
	static const char *const rows[][2] = {
		{ "admin", "admin" },
		{ "", "_" },
		{ "none", "none_" },
		{ "on", "on_" },
		{ "0", "0_" },
		{ ".x", "_x" },
		{ "-x", "_x" },
		{ "a\nb", "a_b" },
		{ "J\xc3\xbcrgen", "J__rgen" },
		{ "system:node:n1", "system:node:n1" },
		{ "a b ", "a b_" },
		{ "a<b>c", "a_b_c" },
	};
	char got[ACCORD_VALUE];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		claim_value(rows[i][0], got, sizeof(got));
		CHECK_STR(got, rows[i][1]);
	}
}

DEFINE_TEST(sync_a_value_that_is_gone_and_there_again_is_a_new_one)
{
	static const struct {
		const char *note, *tree, *cluster, *writes;
		enum accord_do what;
		bool overruled;
	} rows[] = {
		{ "alice", "alice", "alice", "alice", ACCORD_REST },
		{ "alice", "none", "alice", "none>alice", ACCORD_NOTE, true },
		{ "alice", "alice", "bob", "alice>bob", ACCORD_NOTE },
		{ "alice<none", "none", "alice", "none>alice", ACCORD_NOTE },
		{ "none>alice", "none", "alice", "none>alice", ACCORD_TO_TREE },
		{ "alice", "bob", "alice", "bob>alice", ACCORD_NOTE, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct accord a;

		accord_decide(rows[i].note, WHOSE_ANEW, rows[i].tree, rows[i].cluster,
			      rows[i].cluster, &a);
		CHECK_EQ(a.what, rows[i].what);
		CHECK_STR(a.note, rows[i].writes);
		CHECK_EQ(a.overruled, rows[i].overruled);
	}
}
