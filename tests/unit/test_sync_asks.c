// SPDX-License-Identifier: GPL-2.0-or-later
/* When sync asks the tree for something, once, again or not at all: see test_sync_decide.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/agree/agree.h"
#include "pcidevfs/util.h"
#include "syncworld.h"
#include "test.h"

/* As with a verdict that is about what is seen now. */
static void answer(struct syncworld *s, struct verdict *v, int code, const char *sentence)
{
	struct action *list = decide(&s->w);

	*v = (struct verdict){ 0 };
	for (struct action *a = list; a; a = a->next)
		if (a->act == ACT_CTL) {
			STR_COPY(v->about, a->about);
			v->seen = a->seen;
			v->was = a->was;
		}
	CHECK(v->seen != 0);
	actions_free(list);
	if (code)
		fail(&v->err, code, "%s", sentence);
	s->w.verdicts = v;
}

/* alice's claim was asked for, and refused for that reason. */
static void begin_refused(struct syncworld *s, struct verdict *v, const char *why)
{
	syncworld_init(s);
	syncworld_device(s, NVME, UNCLAIMED);
	syncworld_object(s, PCI_CLAIM, CLAIM("alice"));
	free(syncworld_settle(s));
	answer(s, v, EPERM, why);
	expect(syncworld_settle(s), "");
}

DEFINE_TEST(sync_a_refusal_is_a_condition_and_not_asked_again)
{
	struct syncworld s;
	struct verdict v;

	begin_refused(&s, &v, "the host needs it: disk / is mounted");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "status"), "False");
	CHECK_STR(condition(&s, PCI_CLAIM, NAME, "message"),
		  "the host needs it: disk / is mounted");
	syncworld_device(&s, NVME, UNCLAIMED " host_critical=none"); /* the cause may be gone */
	expect(syncworld_settle(&s), "ctl pcideviceclaims/" NAME " " NVME "/claim alice\n");
	syncworld_free(&s);
}

DEFINE_TEST(sync_what_was_refused_is_asked_for_again_when_the_user_asks_anew)
{
	static const char ask[] = "ctl pcideviceclaims/" NAME " " NVME "/claim alice\n";
	struct syncworld s;
	struct verdict v;

	begin_refused(&s, &v, "the host needs it");
	js_set(claim_of(&s), "metadata.resourceVersion", json_object_new_string("8"));
	expect(syncworld_settle(&s), ""); /* a status, or a label */
	js_set(claim_of(&s), "metadata.generation", json_object_new_int(3));
	expect(syncworld_settle(&s), ask);
	answer(&s, &v, EPERM, "the host needs it");
	expect(syncworld_settle(&s), "");
	js_set(claim_of(&s), "metadata.uid", json_object_new_string("D"));
	expect(syncworld_settle(&s), ask);
	syncworld_free(&s);
}

#define RELEASE "ctl pcidevices/" NAME " " NVME "/claim none\n"

/* The user deletes the claim while the tree carries it out, and before the tree's news are here. */
DEFINE_TEST(sync_a_claim_that_is_deleted_on_its_way_is_released_when_it_has_come)
{
	struct syncworld s;
	struct verdict v;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	free(syncworld_settle(&s));
	CHECK_STR(note_of(&s), "none>alice");
	answer(&s, &v, 0, NULL);
	v.running = true;
	json_object_object_del(s.w.objects[PCI_CLAIM], NAME);
	expect(syncworld_settle(&s), "");
	CHECK_STR(note_of(&s), "none>alice");
	v.running = false;
	v.lands = 1;
	expect(syncworld_settle(&s), "");
	CHECK_STR(note_of(&s), "none>alice");
	syncworld_device(&s, NVME, CLAIMED("alice"));
	expect(syncworld_settle(&s), RELEASE);
	/* It has changed nothing: some other request was faster. */
	v.lands = 0;
	syncworld_device(&s, NVME, UNCLAIMED);
	expect(syncworld_settle(&s), "");
	CHECK(!note_of(&s));
	syncworld_free(&s);
}

/* alice's claim was deleted, and its release refused since a pod has the device. */
static void begin_kept(struct syncworld *s, struct verdict *v)
{
	syncworld_init(s);
	syncworld_device(s, NVME, CLAIMED("alice"));
	free(syncworld_settle(s));
	json_object_object_del(s->w.objects[PCI_CLAIM], NAME);
	expect(syncworld_settle(s), RELEASE);
	answer(s, v, EBUSY, "it is allocated to a/b/c");
	expect(syncworld_settle(s), "");
}

/* A finalizer keeps it until the device is released. */
DEFINE_TEST(sync_a_claim_that_is_being_deleted_is_none)
{
	struct syncworld s;

	for (size_t ours = 0; ours < 2; ours++) {
		syncworld_init(&s);
		syncworld_device(&s, NVME, CLAIMED("alice"));
		syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
		expect(syncworld_settle(&s), "");
		if (ours)
			js_set(claim_of(&s), "metadata.managedFields",
			       json_tokener_parse("[{\"manager\":\"" SPEC_MANAGER
						  "\",\"fieldsV1\":{\"f:spec\":"
						  "{\"f:userName\":{}}}}]"));
		writers_note(claim_of(&s));
		js_set_text(claim_of(&s), "metadata.deletionTimestamp", "2026-01-01T00:00:00Z");
		expect(syncworld_settle(&s), RELEASE);
		syncworld_free(&s);
	}
}

DEFINE_TEST(sync_a_release_that_is_refused_stands_at_the_device)
{
	struct syncworld s;
	struct verdict v;

	begin_kept(&s, &v);
	CHECK(!claim_of(&s));
	CHECK_STR(condition(&s, PCI_DEVICE, NAME, "type"), "Released");
	CHECK_STR(condition(&s, PCI_DEVICE, NAME, "message"), "it is allocated to a/b/c");
	syncworld_device(&s, NVME, UNCLAIMED);
	expect(syncworld_settle(&s), "");
	CHECK(!note_of(&s));
	syncworld_free(&s);
}

DEFINE_TEST(sync_a_release_is_asked_for_again_after_both_agreed)
{
	struct syncworld s;
	struct verdict v;

	begin_kept(&s, &v);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice")); /* somebody thinks better of it */
	expect(syncworld_settle(&s), "");
	json_object_object_del(s.w.objects[PCI_CLAIM], NAME);
	expect(syncworld_settle(&s), RELEASE);
	syncworld_free(&s);
}

/* As long as it is known that it has gone: one that was left out for lack of room has not. */
DEFINE_TEST(sync_a_claim_that_was_left_out_of_a_device_that_is_away_is_not_forgotten)
{
	struct syncworld s;

	syncworld_init(&s);
	syncworld_device(&s, NVME, CLAIMED("alice"));
	free(syncworld_settle(&s));
	inventory_drop(&s.inv, NVME);
	json_object_object_del(s.w.objects[PCI_CLAIM], NAME);
	s.w.left_out[PCI_CLAIM] = true;
	expect(syncworld_settle(&s), "");
	s.w.left_out[PCI_CLAIM] = false;
	expect(syncworld_settle(&s), "ctl pcidevices/" NAME " forget " NVME "\n");
	syncworld_free(&s);
}

#define OTHER "0000:06:00.0"
#define OTHER_NAME "node1-000006000"
#define OTHER_CLAIM                                                                                \
	"{\"metadata\":{\"name\":\"" OTHER_NAME "\",\"uid\":\"O\"},"                               \
	"\"spec\":{\"address\":\"" OTHER "\",\"nodeName\":\"node1\",\"userName\":\"bob\"}}"

#define LINE(name, device, user) "ctl pcideviceclaims/" name " " device "/claim " user "\n"
/* Of a pair that is there twice the first one counts. */
#define IN_GROUP(group) "iommu_group=" group " " UNCLAIMED

/* The line for NVME runs; what does the tree get for another device? */
static void expect_beside(const char *pairs, const char *wanted)
{
	struct syncworld s;
	struct verdict v;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	expect(syncworld_settle(&s), LINE(NAME, NVME, "alice"));
	answer(&s, &v, 0, "");
	v.running = true;
	syncworld_device(&s, OTHER, pairs);
	syncworld_object(&s, PCI_CLAIM, OTHER_CLAIM);
	expect(syncworld_settle(&s), wanted);
	v.running = false;
	syncworld_device(&s, NVME, CLAIMED("alice"));
	expect(syncworld_settle(&s), *wanted ? wanted : LINE(OTHER_NAME, OTHER, "bob"));
	json_object_object_del(s.w.objects[PCI_CLAIM], OTHER_NAME);
	expect(syncworld_settle(&s), "");
	syncworld_free(&s);
}

/* What would wait behind a long operation is decided when that has ended, by what is wanted then. */
DEFINE_TEST(sync_the_tree_gets_lines_for_several_devices_at_a_time)
{
	expect_beside(IN_GROUP("38"), LINE(OTHER_NAME, OTHER, "bob"));
	expect_beside(IN_GROUP("none"), LINE(OTHER_NAME, OTHER, "bob"));
	expect_beside(IN_GROUP("37"), "");
	expect_beside(IN_GROUP("38") " physfn=" NVME, "");
}

/* VFs of two cards that are in one group: what is done to one card concerns the other. */
DEFINE_TEST(sync_the_tree_gets_one_line_for_children_of_one_group)
{
	static const char *const groups[] = { "37", "38" };
	struct syncworld s;
	struct verdict v;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		char second[64];

		snprintf(second, sizeof(second), "iommu_group=%s class=0x020000 kind=sriov-nic",
			 groups[i]);
		syncworld_init(&s);
		syncworld_device(&s, "0000:02:00.0",
				 "iommu_group=37 class=0x020000 kind=sriov-nic");
		syncworld_device(&s, "0000:03:00.0", second);
		syncworld_device(&s, NVME, "iommu_group=90 physfn=0000:02:00.0 " UNCLAIMED);
		syncworld_device(&s, OTHER, "iommu_group=91 physfn=0000:03:00.0 " UNCLAIMED);
		syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
		expect(syncworld_settle(&s), LINE(NAME, NVME, "alice"));
		answer(&s, &v, 0, "");
		v.running = true;
		syncworld_object(&s, PCI_CLAIM, OTHER_CLAIM);
		expect(syncworld_settle(&s), i ? LINE(OTHER_NAME, OTHER, "bob") : "");
		syncworld_free(&s);
	}
}

/* Before Linux 6.2. */
DEFINE_TEST(sync_the_tree_gets_one_line_at_a_time_where_the_kernel_has_it_so)
{
	struct syncworld s;

	syncworld_init(&s);
	s.w.one_line = true;
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_device(&s, OTHER, IN_GROUP("38"));
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	syncworld_object(&s, PCI_CLAIM, OTHER_CLAIM);
	expect(syncworld_settle(&s), LINE(NAME, NVME, "alice"));
	syncworld_free(&s);
}

DEFINE_TEST(sync_the_tree_gets_so_many_lines_and_no_more)
{
	char id[32], text[512];
	const char *said;
	char *all;
	struct syncworld s;
	size_t n = 0;

	syncworld_init(&s);
	for (unsigned int i = 0; i < 2 * LINES_MAX; i++) {
		snprintf(id, sizeof(id), "0000:%02x:00.0", i + 1);
		snprintf(text, sizeof(text), IN_GROUP("%u"), i);
		syncworld_device(&s, id, text);
		snprintf(
			text, sizeof(text),
			"{\"metadata\":{\"name\":\"node1-0000%02x000\",\"uid\":\"C\"},"
			"\"spec\":{\"address\":\"%s\",\"nodeName\":\"node1\",\"userName\":\"al\"}}",
			i + 1, id);
		syncworld_object(&s, PCI_CLAIM, text);
	}
	all = syncworld_settle(&s);
	for (said = all; (said = strstr(said, "ctl ")); said++)
		n++;
	CHECK_EQ(n, LINES_MAX);
	free(all);
	syncworld_free(&s);
}

/* A line that is refused again and again does not keep the others waiting. */
DEFINE_TEST(sync_who_has_waited_longest_is_next)
{
	struct syncworld s;
	struct verdict other = { .about = OTHER "/claim", .seen = 1, .turn = 1 };
	struct verdict v = { .about = NVME "/claim", .seen = 1, .turn = 2, .next = &other };

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	syncworld_device(&s, OTHER, UNCLAIMED); /* of the same group */
	syncworld_object(&s, PCI_CLAIM, CLAIM("alice"));
	syncworld_object(&s, PCI_CLAIM, OTHER_CLAIM);
	s.w.verdicts = &v;
	expect(syncworld_settle(&s), LINE(OTHER_NAME, OTHER, "bob"));
	other.turn = 3;
	expect(syncworld_settle(&s), LINE(NAME, NVME, "alice"));
	syncworld_free(&s);
}

/* Somebody's finalizer keeps it, and its claim is another object. The cluster deletes claims for
 * the sake of their owner only with a finalizer of its own. */
DEFINE_TEST(sync_a_claim_counts_while_its_devices_object_is_being_deleted)
{
	static const char *const finalizers[] = { "example.com/mine", "foregroundDeletion" };
	struct syncworld s;

	for (size_t i = 0; i < ARRAY_SIZE(finalizers); i++) {
		json_object *o, *all = json_object_new_array();

		syncworld_init(&s);
		syncworld_device(&s, NVME, CLAIMED("alice"));
		free(syncworld_settle(&s));
		o = object_find(&s.w, PCI_DEVICE, NAME);
		js_set(o, "metadata.deletionTimestamp", json_object_new_string("now"));
		json_object_array_add(all, json_object_new_string(finalizers[i]));
		js_set(o, "metadata.finalizers", all);
		json_object_object_del(s.w.objects[PCI_CLAIM], NAME);
		expect(syncworld_settle(&s), i ? "" : RELEASE);
		syncworld_free(&s);
	}
}

/* It is no longer selected, since somebody has taken its label: nothing tells that from its end. */
DEFINE_TEST(sync_an_object_that_left_is_written_as_the_same_with_its_notes)
{
	struct syncworld s;
	char *said;

	syncworld_init(&s);
	syncworld_device(&s, NVME, UNCLAIMED);
	free(syncworld_settle(&s));
	syncworld_device(&s, NVME, CLAIMED("alice"));
	free(syncworld_settle(&s));
	s.w.left[PCI_DEVICE] = s.w.objects[PCI_DEVICE];
	s.w.objects[PCI_DEVICE] = json_object_new_object();
	said = syncworld_decide(&s);
	CHECK_IN(said, "\"name\":\"" NAME "\",\"uid\":\"U\",\"labels\":{\"nodename\":\"node1\"}");
	CHECK_IN(said, "\"harvesterhci.io/pcideviceDriver\":\"nvme\",\"pcidevfs/claim\":\"alice\"");
	CHECK(!strstr(said, "status pcidevices"));
	free(said);
	json_object_put(s.w.left[PCI_DEVICE]);
	s.w.left[PCI_DEVICE] = NULL;
	said = syncworld_decide(&s);
	CHECK(!strstr(said, "\"uid\":\"U\""));
	free(said);
	syncworld_free(&s);
}

/* The VF's claim that was in the way does not stand in the PF's line. */
DEFINE_TEST(sync_what_a_vf_had_refused_is_asked_for_again_when_the_vf_changes)
{
	static const char ask[] = "ctl sriovgpudevices/" GPU_NAME " " GPU "/enabled 0\n";
	struct syncworld s;
	struct verdict v;
	json_object *o;

	syncworld_init(&s);
	syncworld_device(&s, GPU, GPU_FACTS("1"));
	syncworld_device(&s, "0000:08:00.4", "class=0x030200 kind=vgpu claim=bob physfn=" GPU);
	syncworld_device(&s, NVME, UNCLAIMED);
	free(syncworld_settle(&s));
	o = object_find(&s.w, GPU_DEVICE, GPU_NAME);
	js_set(o, "spec.enabled", json_object_new_boolean(false));
	expect(syncworld_settle(&s), ask);
	answer(&s, &v, EBUSY, "0000:08:00.4 is claimed by bob");
	expect(syncworld_settle(&s), "");
	syncworld_device(&s, NVME, UNCLAIMED " numa_node=0"); /* another device */
	expect(syncworld_settle(&s), "");
	syncworld_device(&s, "0000:08:00.4", "class=0x030200 kind=vgpu claim=none physfn=" GPU);
	expect(syncworld_settle(&s), ask);
	syncworld_free(&s);
}
