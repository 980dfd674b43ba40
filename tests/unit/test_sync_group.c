// SPDX-License-Identifier: GPL-2.0-or-later
/* An IOMMU group of two, whose members users claim and release: see groupsim.h. SYNC_GROUP is how
 * many courses each script takes. */
#include <stdlib.h>
#include <string.h>

#include "groupsim.h"
#include "pcidevfs/util.h"
#include "test.h"

/* What a user does, one step behind another. */
struct deed {
	/* '+' claims, '~' deletes with a finalizer, '-' deletes, '=' waits until the tree has the
	 * user, '?' until there is a claim, '!' until the note is about this claim */
	char what;
	unsigned int member;
	const char *user;
};

/* ---- users */

static bool do_deed(struct group_sim *m, const struct deed *d)
{
	const char *name = group_names[d->member];
	char text[512];

	if (d->what == '=')
		return !strcmp(m->tree, d->user);
	if (d->what == '?')
		return object_find(&m->server.w, PCI_CLAIM, name);
	if (d->what == '!')
		return object_find(&m->server.w, PCI_CLAIM, name) &&
		       !strcmp(group_noted(&m->view, d->member),
			       js_text(object_find(&m->server.w, PCI_CLAIM, name), "metadata.uid"));
	if (d->what == '~') {
		js_set_text(object_find(&m->server.w, PCI_CLAIM, name),
			    "metadata.deletionTimestamp", "now");
		group_wrote(m, PCI_CLAIM, name, NULL);
		return true;
	}
	if (d->what == '-') {
		if (!object_find(&m->server.w, PCI_CLAIM, name))
			return true;
		json_object_object_del(m->server.w.objects[PCI_CLAIM], name);
		group_wrote(m, PCI_CLAIM, name, NULL);
		return true;
	}
	if (object_find(&m->server.w, PCI_CLAIM, name)) /* 409: another user tries again */
		return !strcmp(group_claim(&m->server, d->member), d->user);
	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"address\":\"%s\",\"nodeName\":"
		 "\"node1\",\"userName\":\"%s\"}}",
		 name, group_ids[d->member], d->user);
	syncworld_object(&m->server, PCI_CLAIM, text);
	group_wrote(m, PCI_CLAIM, name, "ui");
	return true;
}

/* Runs until nothing happens for a long time. */
static void run(struct group_sim *m, const struct deed *script, bool kills)
{
	unsigned int idle = 0;

	for (unsigned int n = 0; idle < 12; n++) {
		CHECK(n < 4000); /* else it never rests */
		if (script->what && group_any(m, 4) == 0 && do_deed(m, script)) {
			script++;
			continue;
		}
		if (kills && n < 200 && group_any(m, 40) == 0) {
			group_kill_sync(m);
			idle = 0;
		}
		if (group_happen(m)) {
			idle = 0;
			m->view.w.now_ms += group_any(m, 50);
		} else if (!script->what || group_any(m, 4) == 0) {
			idle++;
			m->view.w.now_ms += 600;
		}
		group_turn(m);
	}
	CHECK(!script->what);
}

static void try(const char *what, const struct deed *script, const char *last, bool kills)
{
	const char *count = getenv("SYNC_GROUP");
	unsigned int courses = count ? (unsigned int)strtoul(count, NULL, 10) : 30;
	char is[256], want[256];

	for (uint32_t seed = 1; seed <= courses; seed++) {
		static const struct deed none[] = { { 0 } };
		struct group_sim m;

		group_begin(&m, seed);
		run(&m, none, false); /* the devices' objects are made */
		run(&m, script, kills);
		snprintf(want, sizeof(want), "%s %u: %s, %s and %s, noted %s and %s", what, seed,
			 last, last, last, last, last);
		snprintf(is, sizeof(is), "%s %u: %s, %s and %s, noted %s and %s", what, seed,
			 m.tree, group_claim(&m.server, 0), group_claim(&m.server, 1),
			 group_note(&m.server, 0), group_note(&m.server, 1));
		CHECK_STR(is, want);
		group_end(&m);
	}
}

#define CLAIMS(member, user)                                                                       \
	{                                                                                          \
		'+', member, user                                                                  \
	}
#define DELETES(member)                                                                            \
	{                                                                                          \
		'-', member, NULL                                                                  \
	}
#define MARKS(member)                                                                              \
	{                                                                                          \
		'~', member, NULL                                                                  \
	}
#define MEETS(member)                                                                              \
	{                                                                                          \
		'?', member, NULL                                                                  \
	}
#define NOTED(member)                                                                              \
	{                                                                                          \
		'!', member, NULL                                                                  \
	}
#define SEES(user)                                                                                 \
	{                                                                                          \
		'=', 0, user                                                                       \
	}

static const struct deed hasty[] = { CLAIMS(0, "u"), SEES("u"),	     DELETES(0),
				     SEES("none"),   CLAIMS(0, "u"), SEES("u"),
				     DELETES(0),     SEES("none"),   { 0 } };
static const struct deed in_turn[] = { CLAIMS(0, "u"), SEES("u"), DELETES(0),
				       CLAIMS(0, "v"), SEES("v"), DELETES(0),
				       CLAIMS(0, "w"), SEES("w"), { 0 } };
static const struct deed bulk[] = { CLAIMS(0, "u"), CLAIMS(1, "u"), SEES("u"), DELETES(0),
				    DELETES(1),	    SEES("none"),   { 0 } };
static const struct deed half[] = { CLAIMS(0, "u"), CLAIMS(1, "u"), SEES("u"),
				    DELETES(1),	    SEES("none"),   { 0 } };
static const struct deed marked[] = { CLAIMS(0, "u"), MEETS(1),	  MARKS(1),
				      SEES("none"),   DELETES(1), { 0 } };
static const struct deed early[] = { CLAIMS(0, "u"), MEETS(1), DELETES(1), SEES("none"), { 0 } };
static const struct deed across[] = { CLAIMS(0, "u"), SEES("u"), DELETES(0), SEES("none"),
				      CLAIMS(1, "v"), SEES("v"), { 0 } };

/* The sibling's claim is made anew while the group is on its way to nobody. */
static const struct deed anew[] = { CLAIMS(0, "u"), NOTED(0),	    NOTED(1), DELETES(0),
				    DELETES(1),	    CLAIMS(1, "u"), { 0 } };
static const struct deed anew_late[] = { CLAIMS(0, "u"), NOTED(0),   NOTED(1),	     DELETES(0),
					 SEES("none"),	 DELETES(1), CLAIMS(1, "u"), { 0 } };
static const struct deed anew_alone[] = {
	CLAIMS(0, "u"), NOTED(1), DELETES(1), CLAIMS(1, "u"), { 0 }
};
static const struct deed anew_ended[] = { CLAIMS(0, "u"), NOTED(0), NOTED(1), DELETES(1),
					  CLAIMS(1, "u"), NOTED(1), NOTED(0), DELETES(0),
					  SEES("none"),	  { 0 } };

DEFINE_TEST(sync_a_claim_of_a_group_that_is_made_anew_at_once_stays)
{
	try("anew", anew, "u", false);
	try("anew late", anew_late, "u", false);
	try("anew alone", anew_alone, "u", false);
	try("anew ended", anew_ended, "none", false);
}

DEFINE_TEST(sync_a_deleted_claim_of_a_group_stays_deleted)
{
	try("hasty", hasty, "none", false);
	try("bulk", bulk, "none", false);
	try("half", half, "none", false);
	try("marked", marked, "none", false);
	try("early", early, "none", false);
}

DEFINE_TEST(sync_users_in_turn_of_a_group_never_lock_each_other)
{
	try("in turn", in_turn, "w", false);
	try("across", across, "v", false);
}

DEFINE_TEST(sync_claims_of_a_group_end_right_after_kills)
{
	try("hasty", hasty, "none", true);
	try("in turn", in_turn, "w", true);
	try("bulk", bulk, "none", true);
	try("anew", anew, "u", true);
	try("anew late", anew_late, "u", true);
}
