// SPDX-License-Identifier: GPL-2.0-or-later
/* MIG of a GPU and its MigConfiguration: see test_sync_decide.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/agree/agree.h"
#include "pcidevfs/util.h"
#include "syncworld.h"
#include "test.h"

/* As the tree tells of an H100. */
#define PROFILES(small, large)                                                                     \
	"mig_profiles=\"name=\\\"1g.10gb\\\" id=19 max=7 available=" small                         \
	" memory_mib=9984 slices=1 placements=0,1,2,3,4,5,6:1 "                                    \
	"name=\\\"3g.40gb\\\" id=9 max=2 available=" large                                         \
	" memory_mib=40192 slices=3 placements=0,4:4\" "
#define INSTANCES                                                                                    \
	"mig_instances=\"id=1 profile=\\\"3g.40gb\\\" placement=4:4 compute=\\\"3g.40gb\\\" used=0 " \
	"id=7 profile=\\\"1g.10gb\\\" placement=0:1 compute=\\\"1g.10gb\\\" used=0 "                 \
	"id=8 profile=\\\"1g.10gb\\\" placement=1:1 compute=\\\"1g.10gb\\\" used=0\" "
#define CARD(on, more) GPU_FACTS(on) " state=free " more
#define EMPTY(mode)                                                                                \
	"mig_support=yes mig_mode=" mode " mig_layout=none mig_instances=none " PROFILES("7", "2")
#define LAYOUT "3g.40gb 1g.10gb*2"
#define FULL "mig_support=yes mig_mode=1 mig_layout=\"" LAYOUT "\" " INSTANCES PROFILES("2", "0")
#define UNKNOWN                                                                                    \
	"mig_support=\"0000:08:00.0 has no driver, so nobody knows its profiles\" mig_mode=none "  \
	"mig_layout=none mig_profiles=none mig_instances=none"
#define TO_TREE "ctl migconfigurations/" GPU_NAME " " GPU "/mig/layout "

static const char *plain(json_object *o)
{
	return json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							 JSON_C_TO_STRING_NOSLASHESCAPE);
}

static json_object *config(struct syncworld *s)
{
	return object(s, MIG_CONFIG, GPU_NAME);
}

static const char *word(struct syncworld *s)
{
	return js_text(config(s), "status.status");
}

static void begin(struct syncworld *s, const char *card)
{
	syncworld_init(s);
	syncworld_device(s, GPU, card);
	expect(syncworld_settle(s), "");
}

static void ask(struct syncworld *s, bool on, const char *requests)
{
	json_object *list = json_tokener_parse(requests);

	CHECK(list);
	js_set(config(s), "spec.enabled", json_object_new_boolean(on));
	js_set(config(s), "spec.profileSpec", list);
}

#define TWO_SIZES                                                                                  \
	"[{\"name\":\"MIG 1g.10gb\",\"id\":19,\"requested\":2},"                                   \
	"{\"name\":\"MIG 3g.40gb\",\"id\":9,\"requested\":1}]"
#define NO_SIZES                                                                                   \
	"[{\"name\":\"MIG 1g.10gb\",\"id\":19,\"requested\":0},"                                   \
	"{\"name\":\"MIG 3g.40gb\",\"id\":9,\"requested\":0}]"

DEFINE_TEST(sync_mig_a_card_that_can_has_an_object)
{
	struct syncworld s;
	json_object *o;

	begin(&s, CARD("0", EMPTY("0")));
	o = config(&s);
	CHECK_STR(plain(js_get(o, "spec")), "{\"gpuAddress\":\"" GPU "\",\"nodeName\":\"node1\","
					    "\"profileSpec\":" NO_SIZES ",\"enabled\":false}");
	CHECK_STR(
		plain(js_get(o, "status")),
		"{\"profileStatus\":[{\"name\":\"MIG 1g.10gb\",\"id\":19,\"total\":7,\"available\":7},"
		"{\"name\":\"MIG 3g.40gb\",\"id\":9,\"total\":2,\"available\":2}]}");
	CHECK_STR(js_text(js_find(js_get(o, "metadata.ownerReferences"), "kind", "SRIOVGPUDevice"),
			  "name"),
		  GPU_NAME);
	syncworld_free(&s);
	begin(&s, CARD("0", ""));
	CHECK(!object_find(&s.w, MIG_CONFIG, GPU_NAME));
	syncworld_free(&s);
}

DEFINE_TEST(sync_mig_instances_are_made_from_either_side)
{
	struct syncworld s;

	begin(&s, CARD("1", EMPTY("1")));
	ask(&s, true, TWO_SIZES);
	expect(syncworld_settle(&s), TO_TREE LAYOUT "\n");
	CHECK_STR(word(&s), "out-of-sync");
	syncworld_device(&s, GPU, CARD("1", FULL "asked=\"mig/layout=\\\"" LAYOUT "\\\"\""));
	expect(syncworld_settle(&s), "");
	CHECK_STR(word(&s), "synced");
	CHECK_STR(
		plain(js_get(config(&s), "status.profileStatus")),
		"[{\"name\":\"MIG 1g.10gb\",\"id\":19,\"total\":7,\"available\":2,\"vGPUID\":[\"7\",\"8\"]},"
		"{\"name\":\"MIG 3g.40gb\",\"id\":9,\"total\":2,\"available\":0,\"vGPUID\":[\"1\"]}]");
	CHECK_STR(js_meta(config(&s), "annotations", "pcidevfs/mig-layout"), LAYOUT);
	/* Harvester's UI leaves the requests, and disables it. */
	js_set(config(&s), "spec.enabled", json_object_new_boolean(false));
	expect(syncworld_settle(&s), TO_TREE "none\n");
	CHECK_STR(word(&s), "out-of-sync");
	syncworld_device(&s, GPU, CARD("1", EMPTY("1")));
	expect(syncworld_settle(&s), "");
	CHECK_STR(word(&s), "disabled");
	/* The shell. */
	syncworld_device(&s, GPU, CARD("1", FULL));
	expect(syncworld_settle(&s), "");
	CHECK_STR(plain(js_get(config(&s), "spec")),
		  "{\"gpuAddress\":\"" GPU "\",\"nodeName\":\"node1\",\"profileSpec\":" TWO_SIZES
		  ",\"enabled\":true}");
	CHECK_STR(word(&s), "synced");
	syncworld_free(&s);
}

/* What it holds after a reboot until the tree has made it again, nobody has changed. */
DEFINE_TEST(sync_mig_what_is_stored_waits)
{
	struct syncworld s;

	begin(&s, CARD("1", FULL "asked=\"mig/layout=\\\"" LAYOUT "\\\"\""));
	syncworld_device(&s, GPU,
			 CARD("1", EMPTY("0") "asked=\"mig/layout=\\\"" LAYOUT "\\\"\" "
					      "unsatisfied=\"the mode is off\""));
	expect(syncworld_settle(&s), "");
	CHECK(json_object_get_boolean(js_get(config(&s), "spec.enabled")));
	CHECK_STR(word(&s), "out-of-sync");
	CHECK_STR(js_text(config(&s), "status.message"), "the mode is off");
	CHECK_STR(condition(&s, MIG_CONFIG, GPU_NAME, "reason"), "Unsatisfied");
	syncworld_free(&s);
}

/* As Harvester's controller leaves it. */
DEFINE_TEST(sync_mig_instances_that_nobody_requested_stay)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, GPU, CARD("1", FULL));
	syncworld_object(&s, MIG_CONFIG,
			 "{\"metadata\":{\"name\":\"" GPU_NAME
			 "\",\"uid\":\"M\"},\"spec\":{\"gpuAddress\":\"" GPU
			 "\",\"nodeName\":\"node1\",\"enabled\":true,\"profileSpec\":" NO_SIZES
			 "}}");
	expect(syncworld_settle(&s), "");
	CHECK_STR(word(&s), "synced");
	CHECK_STR(plain(js_get(config(&s), "spec.profileSpec")), NO_SIZES);
	syncworld_free(&s);
}

DEFINE_TEST(sync_mig_a_card_whose_driver_is_away_has_an_object)
{
	struct syncworld s;

	begin(&s, CARD("0", UNKNOWN));
	CHECK_STR(plain(js_get(config(&s), "spec")),
		  "{\"gpuAddress\":\"" GPU "\",\"nodeName\":\"node1\",\"enabled\":false}");
	CHECK_STR(word(&s), "");
	syncworld_device(&s, GPU, CARD("0", FULL));
	expect(syncworld_settle(&s), "");
	CHECK_STR(plain(js_get(config(&s), "spec.profileSpec")), TWO_SIZES);
	CHECK_STR(word(&s), "synced");
	/* That the driver goes is not that somebody has removed the instances. */
	syncworld_device(&s, GPU, CARD("0", UNKNOWN));
	expect(syncworld_settle(&s), "");
	CHECK(json_object_get_boolean(js_get(config(&s), "spec.enabled")));
	CHECK_STR(word(&s), "out-of-sync");
	CHECK_IN(js_text(config(&s), "status.message"), "has no driver");
	/* What is asked of it all the same, the tree judges. */
	ask(&s, true, "[{\"name\":\"MIG 1g.10gb\",\"requested\":1}]");
	expect(syncworld_settle(&s), TO_TREE "1g.10gb\n");
	syncworld_free(&s);
}

DEFINE_TEST(sync_mig_a_refusal_is_told_in_the_status)
{
	struct verdict v = { .about = GPU "/mig/layout", .err = { .code = ENOSPC } };
	struct action *list;
	struct syncworld s;

	begin(&s, CARD("1", EMPTY("1")));
	ask(&s, true, TWO_SIZES);
	expect(syncworld_settle(&s), TO_TREE LAYOUT "\n");
	list = decide(&s.w);
	for (const struct action *a = list; a; a = a->next)
		v.seen = a->act == ACT_CTL ? a->seen : v.seen;
	actions_free(list);
	STR_COPY(v.err.text, GPU "/mig/layout: 3g.40gb has no room");
	s.w.verdicts = &v;
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(config(&s), "status.message"), "spec.profileSpec: 3g.40gb has no room");
	CHECK_STR(condition(&s, MIG_CONFIG, GPU_NAME, "type"), "Applied");
	CHECK_STR(condition(&s, MIG_CONFIG, GPU_NAME, "message"),
		  "spec.profileSpec: 3g.40gb has no room");
	syncworld_free(&s);
}

DEFINE_TEST(sync_mig_requests_of_any_form_are_one_line)
{
	static const char *const rows[][2] = {
		{ "[{\"name\":\"MIG 1g.10gb+me\",\"requested\":1},{\"name\":\"1g.10gb\",\"requested\":1}]",
		  "1g.10gb+me 1g.10gb" },
		/* The same twice; not as many; by its number. */
		{ "[{\"id\":19,\"requested\":1},{\"name\":\"MIG 1g.10gb\",\"requested\":2},"
		  "{\"id\":9,\"requested\":-4}]",
		  "1g.10gb*3" },
		{ "[{\"name\":\"MIG a\\nb*9 c<>\",\"requested\":1}]", "a_b_9_c__" },
		{ "[{\"name\":\"\",\"requested\":1}]", "_" },
		{ "[{\"name\":\"MIG 1g.10gb\",\"requested\":4294967295}]", "1g.10gb*4294967295" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char want[256];
		struct syncworld s;

		begin(&s, CARD("1", EMPTY("1")));
		ask(&s, true, rows[i][0]);
		snprintf(want, sizeof(want), TO_TREE "%s\n", rows[i][1]);
		expect(syncworld_settle(&s), want);
		syncworld_free(&s);
	}
}

DEFINE_TEST(sync_mig_layouts_are_the_same_without_compute_instances)
{
	static const char *const rows[][2] = {
		{ "none", "none" },
		{ "", "none" },
		{ "1g.10gb*2 3g.40gb", LAYOUT },
		{ "1g.10gb 3g.40gb 1g.10gb", LAYOUT },
		{ "1c.3g.40gb*3 1g.10gb*2", LAYOUT },
		{ "2c.3g.40gb 1c.3g.40gb", "3g.40gb" },
		{ "2c.3g.40gb*2", "3g.40gb*2" },
		{ "3g.40gb 1c.3g.40gb", "3g.40gb*2" },
		{ "7g.80gb", "7g.80gb" },
		{ "1g.24gb+gfx*4", "1g.24gb+gfx*4" },
		{ "1g.10gb*0", "none" },
	};
	char got[ACCORD_VALUE];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		mig_layout(rows[i][0], got);
		CHECK_STR(got, rows[i][1]);
	}
}

#define ENABLE "ctl sriovgpudevices/" GPU_NAME " "

static void enable(struct syncworld *s)
{
	js_set(object(s, GPU_DEVICE, GPU_NAME), "spec.enabled", json_object_new_boolean(true));
}

/* The mode comes with the GPU that the cluster enables, and with nothing else. */
DEFINE_TEST(sync_mig_the_mode_comes_with_the_gpu)
{
	static const struct {
		const char *card, *skip, *want;
	} rows[] = {
		{ CARD("0", EMPTY("0")), NULL, ENABLE GPU "/mig/mode 1\n" GPU "/enabled 1\n" },
		{ CARD("0", EMPTY("0")), "false", ENABLE GPU "/mig/mode 1\n" GPU "/enabled 1\n" },
		{ CARD("0", EMPTY("0")), "true", ENABLE GPU "/enabled 1\n" },
		{ CARD("0", EMPTY("1")), NULL, ENABLE GPU "/enabled 1\n" },
		{ CARD("0", UNKNOWN), NULL, ENABLE GPU "/enabled 1\n" },
		{ CARD("0", ""), NULL, ENABLE GPU "/enabled 1\n" },
		/* Adoption. */
		{ CARD("1", EMPTY("0")), NULL, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct syncworld s;

		begin(&s, rows[i].card);
		js_set_meta(object(&s, GPU_DEVICE, GPU_NAME), "annotations",
			    "harvesterhci.io/skip-mig-configuration", rows[i].skip);
		enable(&s);
		expect(syncworld_settle(&s), rows[i].want);
		syncworld_free(&s);
	}
}

DEFINE_TEST(sync_mig_the_mode_stays_when_others_enable_or_the_cluster_disables_the_gpu)
{
	struct syncworld s;

	begin(&s, CARD("0", EMPTY("0")));
	syncworld_device(&s, GPU, CARD("1", EMPTY("0"))); /* the shell */
	expect(syncworld_settle(&s), "");
	js_set(object(&s, GPU_DEVICE, GPU_NAME), "spec.enabled", json_object_new_boolean(false));
	expect(syncworld_settle(&s), ENABLE GPU "/enabled 0\n");
	syncworld_free(&s);
}
