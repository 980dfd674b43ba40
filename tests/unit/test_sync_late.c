// SPDX-License-Identifier: GPL-2.0-or-later
/* Claims of a group that follow the first one, and what people are told about claims. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/agree/agree.h"
#include "pcidevfs/util.h"
#include "syncworld.h"
#include "test.h"

#define SIBLING "0000:05:00.1"
#define SIBLING_NAME "node1-000005001"

/* As sync keeps it: since when the value does not agree. */
static void note_open(struct syncworld *s, struct verdict *v)
{
	struct action *list = decide(&s->w);

	*v = (struct verdict){ 0 };
	for (const struct action *a = list; a; a = a->next)
		if (a->act == ACT_OPEN) {
			STR_COPY(v->about, a->about);
			v->open = a->seen;
			v->since = s->w.now_ms;
		}
	actions_free(list);
	CHECK(v->open != 0);
	s->w.verdicts = v;
}

static void expect_part(struct syncworld *s, const char *part, bool there)
{
	char *got = syncworld_decide(s);

	CHECK_EQ(strstr(got, part) != NULL, there);
	free(got);
}

static void begin_group(struct syncworld *s, const char *user)
{
	syncworld_init(s);
	syncworld_device(s, NVME, CLAIMED("a_b"));
	syncworld_device(s, SIBLING, CLAIMED("a_b"));
	free(syncworld_settle(s));
	json_object_object_del(s->w.objects[PCI_CLAIM], SIBLING_NAME);
	json_object_object_del(
		js_get(object_find(&s->w, PCI_DEVICE, SIBLING_NAME), "metadata.annotations"),
		"pcidevfs/claim");
	js_set_text(claim_of(s), "spec.userName", user);
}

DEFINE_TEST(sync_a_siblings_claim_follows_after_a_while_as_its_user_spells_it)
{
	struct syncworld s;
	struct verdict v;

	begin_group(&s, "a\"b");
	note_open(&s, &v);
	s.w.now_ms += SIBLING_MS - 1;
	expect(syncworld_settle(&s), "");
	CHECK(!object_find(&s.w, PCI_CLAIM, SIBLING_NAME));
	s.w.now_ms++;
	expect(syncworld_settle(&s), "");
	CHECK_STR(js_text(object_find(&s.w, PCI_CLAIM, SIBLING_NAME), "spec.userName"), "a\"b");
	syncworld_free(&s);
}

/* Its note has not been written yet when the group is released. */
DEFINE_TEST(sync_a_claim_that_sync_made_is_nobodys_wish)
{
	struct syncworld s;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	o = claim_of(&s);
	js_set(o, "metadata.managedFields",
	       json_tokener_parse("[{\"manager\":\"pcidevfs-spec\",\"operation\":\"Update\","
				  "\"fieldsV1\":{\"f:spec\":{\"f:userName\":{}}}}]"));
	writers_note(o);
	expect(syncworld_settle(&s), "");
	CHECK(!claim_of(&s));
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	o = claim_of(&s);
	js_set(o, "metadata.managedFields",
	       json_tokener_parse("[{\"manager\":\"pcidevfs\",\"fieldsV1\":{\"f:metadata\":{}}},"
				  "{\"manager\":\"kubectl\",\"fieldsV1\":{\"f:spec\":"
				  "{\"f:address\":{},\"f:userName\":{}}}}]"));
	writers_note(o);
	expect(syncworld_settle(&s), "ctl pcideviceclaims/" NAME " " NVME "/claim alice\n");
	syncworld_free(&s);
}

DEFINE_TEST(sync_a_claim_that_stays_open_says_so)
{
	static const char sentence[] =
		"the cluster has alice as the user of " NVME ", and the tree still has none";
	struct syncworld s;
	struct verdict v;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	free(syncworld_settle(&s));
	note_open(&s, &v);
	s.w.now_ms += LATE_MS - 1;
	expect_part(&s, sentence, false);
	s.w.now_ms++;
	expect_part(&s, "late pcideviceclaims/" NAME " Pending: ", true);
	free(syncworld_settle(&s));
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "reason"), "Pending");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "message"), sentence);
	json_object_object_del(s.w.objects[PCI_CLAIM], NAME);
	syncworld_device(&s, NVME, CLAIMED("alice"));
	syncworld_free(&s);
}

/* Where the cluster's CRDs have no conditions: else thousands of claims would be thousands of
 * Events. */
DEFINE_TEST(sync_a_claim_of_no_device_is_told_by_an_event)
{
	struct syncworld s;

	for (int no_conditions = 0; no_conditions <= 1; no_conditions++) {
		syncworld_init(&s);
		s.w.lacks[PCI_CLAIM] = no_conditions ? LACKS_CONDITIONS : 0;
		syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
		expect_part(&s,
			    "event pcideviceclaims/" NAME
			    " NoDevice: node node1 has no PCI function " NVME,
			    no_conditions);
		free(syncworld_settle(&s));
		js_set_text(claim_of(&s), "spec.address", "x");
		expect_part(&s, "event pcideviceclaims/" NAME " Invalid: ", no_conditions);
		syncworld_free(&s);
	}
}
