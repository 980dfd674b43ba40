// SPDX-License-Identifier: GPL-2.0-or-later
/* NVIDIA's labels of a Node: what they ask of the tree, and what the Node gets for it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/inventory.h"
#include "k8s-sync/api/brake.h"
#include "k8s-sync/nvidia/labels.h"
#include "pcidevfs/util.h"
#include "test.h"

#define HEAD "pcidevfs-inventory 1 generation=7 boot=b devices=9\n"
#define CARD "vendor=0x10de device=0x25b6 class=0x030200 "

/* GPUs: free with VFs, with a vGPU, of alice, of the label, of another class; and a NIC. */
static const char machine[] =
	HEAD "0000:01:00.0 " CARD "kind=sriov-gpu sriov_numvfs=2 enabled=1 claim=none\n"
	     "0000:01:00.1 " CARD "kind=vgpu physfn=0000:01:00.0 profile=none claim=none\n"
	     "0000:02:00.0 " CARD "kind=sriov-gpu sriov_numvfs=1 claim=none\n"
	     "0000:02:00.1 " CARD "kind=vgpu physfn=0000:02:00.0 profile=\"NVIDIA A2-4Q\"\n"
	     "0000:03:00.0 " CARD "kind=pci claim=alice\n"
	     "0000:04:00.0 " CARD "kind=pci claim=nvidia.com\n"
	     "0000:05:00.0 " CARD "kind=pci claim=none\n"
	     "0000:05:00.1 vendor=0x10de class=0x040300 kind=pci claim=none\n"
	     "0000:06:00.0 vendor=0x8086 class=0x020000 kind=pci claim=none\n"
	     "mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4 kind=mdev parent=0000:07:00.0 "
	     "profile=\"GRID T4-8Q\" claim=admin\n"
	     "0000:07:00.0 " CARD "kind=pci claim=none\n";

static char *no_text(void *ctx, const char *id, const char *file)
{
	return NULL;
}

/* The plan's transactions, "; " between them, then what is told or refused, and with a note of what
 * was agreed the new one. */
static void check_plan_of(const char *devices, bool nvswitches, enum label_id id,
			  const char *value, const char *file, const char *note, const char *want)
{
	struct tree_inventory inv = { 0 };
	struct label_source source = {
		.path = "f",
		.text = file,
		.why = "f is a riddle",
		.note = note,
		.view = { .inv = &inv, .text = no_text },
		.nvswitches = nvswitches,
	};
	struct label_plan plan = { 0 };
	struct out got = { 0 };

	CHECK_EQ(tree_inventory_parse(strdup(devices), &inv, NULL), 0);
	label_plan(id, value, &source, &plan);
	for (size_t i = 0; i < plan.n; i++)
		out_printf(&got, "%s; ", plan.lines[i]);
	for (char *at = got.data; at && *at; at++)
		if (*at == '\n')
			*at = ',';
	out_printf(&got, "| %s", plan.err.code ? plan.err.text : out_text(&plan.told));
	if (note)
		out_printf(&got, "| %s", plan.note);
	CHECK_STR(out_text(&got), want);
	out_free(&got);
	label_plan_free(&plan);
	tree_inventory_free(&inv);
}

static void check_plan(enum label_id id, const char *value, const char *file, const char *want)
{
	check_plan_of(machine, false, id, value, file, NULL, want);
}

static void check_anew(enum label_id id, const char *value, const char *file, const char *note,
		       const char *want)
{
	check_plan_of(machine, false, id, value, file, note, want);
}

#define TAIL " 0000:01:00.0 0000:02:00.0 0000:03:00.0 0000:04:00.0 0000:05:00.0 0000:07:00.0"
#define SEEN " seen" TAIL

/* GPUs that were left are looked at again, and new ones, and no others. */
DEFINE_TEST(node_labels_gpus_that_were_left)
{
	struct label_now now = { .note = "vm-passthrough left 0000:02:00.0" };
	struct label_plan plan = { .value = "vm-passthrough", .note = "vm-passthrough" };
	char line[] = "0000:05:00.0/claim nvidia.com\n", *lines[] = { line };

	CHECK(label_goes_on(&now));
	STR_COPY(now.note, "vm-passthrough");
	CHECK(!label_goes_on(&now));
	check_anew(WORKLOAD_LABEL, "vm-passthrough", NULL, "container left 0000:04:00.0",
		   "0000:01:00.0/enabled 0,0000:01:00.0/claim nvidia.com,; "
		   "0000:05:00.0/claim nvidia.com,; "
		   "| 0000:02:00.0 is left: it has vGPUs; end them first; "
		   "0000:03:00.0 is left: it is claimed by alice; "
		   "0000:07:00.0 is left: it has vGPUs; end them first"
		   "| vm-passthrough" SEEN " left 0000:02:00.0 0000:03:00.0 0000:07:00.0");
	check_anew(WORKLOAD_LABEL, "vm-passthrough", NULL, "vm-passthrough",
		   "| | vm-passthrough" SEEN);
	/* One that was given back, and one that has come since. */
	check_anew(WORKLOAD_LABEL, "vm-passthrough", NULL,
		   "vm-passthrough seen 0000:05:00.0 left 0000:04:00.0",
		   "0000:01:00.0/enabled 0,0000:01:00.0/claim nvidia.com,; "
		   "| 0000:02:00.0 is left: it has vGPUs; end them first; "
		   "0000:03:00.0 is left: it is claimed by alice; "
		   "0000:07:00.0 is left: it has vGPUs; end them first"
		   "| vm-passthrough" SEEN " left 0000:02:00.0 0000:03:00.0 0000:07:00.0");
	/* Half done by another process, or by ours before it was killed. */
	check_anew(WORKLOAD_LABEL, "container", NULL, "container begun",
		   "0000:04:00.0/claim none,; | 0000:03:00.0 is left: it is claimed by alice"
		   "| container" SEEN);
	/* One that comes with the claim that it had when it went. */
	check_anew(WORKLOAD_LABEL, "container", NULL, "container seen 0000:01:00.0 0000:05:00.0",
		   "0000:04:00.0/claim none,; | 0000:03:00.0 is left: it is claimed by alice"
		   "| container" SEEN);
	check_anew(WORKLOAD_LABEL, "container", NULL, "container ended",
		   "0000:04:00.0/claim none,; | 0000:03:00.0 is left: it is claimed by alice"
		   "| container" SEEN);
	check_anew(WORKLOAD_LABEL, "vm-passthrough", NULL,
		   "vm-passthrough left 0000:05:00.0 0000:03:00.0 0000:09:00.0",
		   "0000:05:00.0/claim nvidia.com,; | 0000:03:00.0 is left: it is claimed by alice"
		   "| vm-passthrough" SEEN " left 0000:09:00.0 0000:03:00.0");
	/* Those that are away are as they were when they are back. */
	check_anew(WORKLOAD_LABEL, "vm-passthrough", NULL,
		   "vm-passthrough seen 0000:08:00.0 0000:09:00.0" TAIL " left 0000:08:00.0",
		   "| | vm-passthrough" SEEN " 0000:08:00.0 0000:09:00.0 left 0000:08:00.0");
	check_anew(WORKLOAD_LABEL, "container", NULL, "vm-passthrough seen 0000:09:00.0",
		   "0000:04:00.0/claim none,; | 0000:03:00.0 is left: it is claimed by alice"
		   "| container" SEEN);
	check_anew(WORKLOAD_LABEL, "container", NULL, "container left 0000:04:00.0",
		   "0000:04:00.0/claim none,; | | container" SEEN);
	/* The tree refuses it. */
	plan.lines = lines;
	label_plan_left(&plan, 0);
	CHECK_STR(plan.note, "vm-passthrough left 0000:05:00.0");
	label_plan_left(&plan, 0);
	CHECK_STR(plan.note, "vm-passthrough left 0000:05:00.0 0000:05:00.0");
}

DEFINE_TEST(node_labels_workloads)
{
	check_plan(WORKLOAD_LABEL, "vm-passthrough", NULL,
		   "0000:01:00.0/enabled 0,0000:01:00.0/claim nvidia.com,; "
		   "0000:05:00.0/claim nvidia.com,; "
		   "| 0000:02:00.0 is left: it has vGPUs; end them first; "
		   "0000:03:00.0 is left: it is claimed by alice; "
		   "0000:07:00.0 is left: it has vGPUs; end them first");
	check_plan(WORKLOAD_LABEL, "container", NULL,
		   "0000:04:00.0/claim none,; | 0000:03:00.0 is left: it is claimed by alice");
	check_plan(WORKLOAD_LABEL, "vm-vgpu", NULL,
		   "0000:04:00.0/claim none,; | 0000:03:00.0 is left: it is claimed by alice");
	check_plan(WORKLOAD_LABEL, "games", NULL,
		   "| it is not one of vm-passthrough, vm-vgpu and container; nothing is done");
}

#define ALL_SEEN                                                                                   \
	" seen 0000:01:00.0 0000:07:00.0 0000:02:00.0 0000:03:00.0 0000:04:00.0 0000:08:00.0"

DEFINE_TEST(node_labels_nvswitches)
{
	static const char hgx[] = HEAD
		"0000:01:00.0 " CARD "kind=pci claim=none\n"
		"0000:02:00.0 vendor=0x10de class=0x068000 kind=pci claim=none\n"
		"0000:03:00.0 vendor=0x10de class=0x068000 kind=pci claim=nvidia.com\n"
		"0000:04:00.0 vendor=0x10de class=0x068000 kind=pci claim=alice\n"
		"0000:05:00.0 vendor=0x1000 class=0x068000 kind=pci claim=none\n"
		"0000:06:00.0 vendor=0x10de class=0x060400 kind=bridge claim=none\n"
		/* Both are claimed with the group. */
		"0000:07:00.0 " CARD "kind=pci claim=nvidia.com iommu_group=9\n"
		"0000:08:00.0 vendor=0x10de class=0x068000 kind=pci claim=nvidia.com "
		"iommu_group=9\n";
	static const struct {
		const char *value, *want;
		bool nvswitches;
	} rows[] = {
		{ "vm-passthrough",
		  "0000:01:00.0/claim nvidia.com,; 0000:02:00.0/claim nvidia.com,; "
		  "| 0000:04:00.0 is left: it is claimed by alice",
		  true },
		{ "container",
		  "0000:07:00.0/claim none,; 0000:03:00.0/claim none,; 0000:08:00.0/claim none,; "
		  "| 0000:04:00.0 is left: it is claimed by alice",
		  true },
		/* Without the option they are left, but what it has taken is given back. */
		{ "vm-passthrough", "0000:01:00.0/claim nvidia.com,; 0000:03:00.0/claim none,; | ",
		  false },
		{ "vm-vgpu", "0000:07:00.0/claim none,; 0000:03:00.0/claim none,; | ", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_plan_of(hgx, rows[i].nvswitches, WORKLOAD_LABEL, rows[i].value, NULL, NULL,
			      rows[i].want);
	/* The option comes and goes after the label was carried out: GPUs stay as they are. */
	check_plan_of(
		hgx, true, WORKLOAD_LABEL, "vm-passthrough", NULL, "vm-passthrough",
		"0000:02:00.0/claim nvidia.com,; | 0000:04:00.0 is left: it is claimed by alice"
		"| vm-passthrough with-nvswitches" ALL_SEEN " left 0000:04:00.0");
	check_plan_of(
		hgx, true, WORKLOAD_LABEL, "vm-passthrough", NULL,
		"vm-passthrough with-nvswitches left 0000:01:00.0",
		"0000:01:00.0/claim nvidia.com,; | | vm-passthrough with-nvswitches" ALL_SEEN);
	check_plan_of(hgx, false, WORKLOAD_LABEL, "vm-passthrough", NULL,
		      "vm-passthrough with-nvswitches left 0000:04:00.0",
		      "0000:03:00.0/claim none,; | | vm-passthrough" ALL_SEEN);
	check_plan_of(hgx, true, WORKLOAD_LABEL, "container", NULL, "container",
		      "| | container" ALL_SEEN);
}

/* Anybody who may write the Node writes its notes. */
DEFINE_TEST(node_labels_notes_of_others)
{
	static const struct {
		const char *note, *begun;
	} rows[] = {
		{ "a begun", "a" },
		{ " begun", NULL },
		{ "a b begun", NULL },
		{ "a 0123456789abcdef", NULL },
		{ "a23456789-123456789-123456789-123456789-123456789-123456789-123 begun",
		  "a23456789-123456789-123456789-123456789-123456789-123456789-123" },
		{ "a23456789-123456789-123456789-123456789-123456789-123456789-1234 begun", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct label_now now = { 0 };
		char begun[LABEL_VALUE + 1] = "-";

		STR_COPY(now.note, rows[i].note);
		CHECK_EQ(label_begun(&now, begun), rows[i].begun != NULL);
		CHECK_STR(begun, rows[i].begun ?: "-");
	}
}

DEFINE_TEST(node_labels_layouts)
{
	static const char nic[] = "version: v1\nlayouts:\n"
				  "  x: [{match: {address: '06:00.0'}, claim: bob}]\n"
				  "  y: [{match: {address: '03:00.0'}, claim: none}]\n"
				  "  v: [{match: {address: '02:00.0'}, sriov_numvfs: 0}]\n";

	check_plan(VGPU_LABEL, "x", nic, "0000:06:00.0/claim bob,; | ");
	check_plan(VGPU_LABEL, "y", nic,
		   "0000:03:00.0/claim none,; | 0000:03:00.0/claim alice ends");
	check_plan(VGPU_LABEL, "v", nic,
		   "0000:02:00.0/sriov_numvfs 0,; | 0000:02:00.0/sriov_numvfs 1 ends; "
		   "0000:02:00.1/profile NVIDIA A2-4Q ends");
	check_plan(VGPU_LABEL, "z", nic, "| f:2: there is no \"z\"; the file has x, y, v");
	check_plan(VGPU_LABEL, "x", "", "| f: the file is empty");
	check_plan(VGPU_LABEL, "x", NULL, "| f is a riddle");
}

/* ---- which value counts */

static const char *value(const char *node, const char *workload, const char *config)
{
	static struct label_now now[NODE_LABELS];
	const char *const fallback[NODE_LABELS] = { [WORKLOAD_LABEL] = workload,
						    [VGPU_LABEL] = config };
	json_object *o = json_tokener_parse(node);

	CHECK(o);
	labels_read(o, now);
	json_object_put(o);
	return label_value(VGPU_LABEL, now, fallback) ?: "-";
}

#define NODE_OF(labels, notes)                                                                     \
	"{\"metadata\":{\"labels\":{" labels "},\"annotations\":{" notes "}}}"
#define CONFIG(name) "\"nvidia.com/vgpu.config\":\"" name "\""
#define WORK(name) "\"nvidia.com/gpu.workload.config\":\"" name "\""
#define WORKED(text) "\"pcidevfs/gpu.workload.config\":\"" text "\""
#define NOTE(text) "\"pcidevfs/vgpu.config\":\"" text "\""

DEFINE_TEST(node_labels_values)
{
	CHECK_STR(value("{}", NULL, NULL), "-");
	CHECK_STR(value("{\"metadata\":{\"labels\":[1],\"annotations\":7}}", NULL, NULL), "-");
	CHECK_STR(value(NODE_OF(CONFIG("a"), ""), NULL, NULL), "a");
	CHECK_STR(value(NODE_OF(CONFIG("a"), ""), NULL, "default"), "a");
	/* Without the label the default counts, unless something else is agreed. */
	CHECK_STR(value(NODE_OF("", ""), NULL, "default"), "default");
	CHECK_STR(value(NODE_OF("", NOTE("default 0000000000000001")), NULL, "default"),
		  "default");
	CHECK_STR(value(NODE_OF("", NOTE("a 0000000000000001")), NULL, "default"), "-");
	CHECK_STR(value(NODE_OF("", NOTE("def 0000000000000001")), NULL, "default"), "-");
	CHECK_STR(value(NODE_OF("", NOTE("a 0000000000000001")), NULL, NULL), "-");
	CHECK_STR(value(NODE_OF("", NOTE("a ended")), NULL, "default"), "-");
	/* Of another workload it waits. */
	CHECK_STR(value(NODE_OF(CONFIG("a") "," WORK("vm-vgpu"), ""), NULL, NULL), "a");
	CHECK_STR(value(NODE_OF(CONFIG("a") "," WORK("vm-vgpu"), ""), "container", NULL), "a");
	CHECK_STR(value(NODE_OF(CONFIG("a") "," WORK("vm-passthrough"), ""), NULL, NULL), "-");
	CHECK_STR(value(NODE_OF(CONFIG("a") "," WORK("games"), ""), NULL, NULL), "-");
	CHECK_STR(value(NODE_OF(CONFIG("a"), ""), "container", NULL), "-");
	CHECK_STR(value(NODE_OF(CONFIG("a"), WORKED("vm-vgpu")), "container", NULL), "-");
	CHECK_STR(value(NODE_OF(CONFIG("a"), ""), "vm-vgpu", NULL), "a");
}

/* ---- what is done, and what the Node gets */

/* "ACT PATCH" */
static const char *decided(enum label_id id, const char *state, const char *agreed,
			   struct label_case is)
{
	static char text[256];
	struct label_now now = { 0 };
	struct label_step step;
	json_object *patch;

	STR_COPY(now.state, state);
	STR_COPY(now.note, agreed);
	is.now = &now;
	step = label_decide(&is);
	patch = label_patch(id, &now, &step);
	snprintf(text, sizeof(text), "%d %s", (int)step.act, patch ? js_line(patch) : "-");
	json_object_put(patch);
	return text;
}

#define STATE(text) "{\"metadata\":{\"labels\":{\"nvidia.com/vgpu.config.state\":\"" text "\"}"
#define BEGUN ",\"annotations\":{\"pcidevfs/vgpu.config\":\"a begun\"}}}"
#define ENDED ",\"annotations\":{\"pcidevfs/vgpu.config\":\"a ended\"}}}"
#define NOTED ",\"annotations\":{\"pcidevfs/vgpu.config\":\"a 1\"}}}"

DEFINE_TEST(node_labels_states)
{
	struct label_plan plan = { .value = "a",
				   .note = "a 1",
				   .begun = "a begun",
				   .ended = "a ended",
				   .n = 1 },
			  none = plan, bad = plan,
			  all = { .value = "container", .note = "container", .n = 3 };

	none.n = 0;
	bad.err.code = ENOENT;
	CHECK_STR(decided(VGPU_LABEL, "", "", (struct label_case){ 0 }), "1 -");
	/* Pending goes before the request, but for one that is tried again. */
	CHECK_STR(decided(VGPU_LABEL, "success", "b 2", (struct label_case){ .plan = &plan }),
		  "2 " STATE("pending") BEGUN);
	CHECK_STR(decided(VGPU_LABEL, "pending", "a begun", (struct label_case){ .plan = &plan }),
		  "2 -");
	CHECK_STR(decided(VGPU_LABEL, "failed", "a begun",
			  (struct label_case){ .plan = &plan, .repeated = true }),
		  "2 -");
	/* What is so already, or has become so, is a success; no pending. */
	CHECK_STR(decided(VGPU_LABEL, "", "", (struct label_case){ .plan = &none }),
		  "0 " STATE("success") NOTED);
	CHECK_STR(decided(VGPU_LABEL, "pending", "b 2",
			  (struct label_case){ .plan = &plan, .ran = true }),
		  "0 " STATE("success") NOTED);
	/* Agreed: what differs in the tree is what somebody wrote since. */
	CHECK_STR(decided(VGPU_LABEL, "success", "a 1", (struct label_case){ .plan = &plan }),
		  "0 -");
	CHECK_STR(decided(VGPU_LABEL, "", "a 1", (struct label_case){ .plan = &plan }),
		  "0 " STATE("success") "}}");
	/* Refused: what was agreed before stays so. */
	CHECK_STR(decided(VGPU_LABEL, "success", "a 1", (struct label_case){ .plan = &bad }),
		  "0 " STATE("failed") "}}");
	CHECK_STR(decided(VGPU_LABEL, "pending", "b 2",
			  (struct label_case){ .plan = &plan, .ran = true, .failed = true }),
		  "0 " STATE("failed") "}}");
	CHECK_STR(decided(VGPU_LABEL, "pending", "a begun",
			  (struct label_case){
				  .plan = &plan, .before = "a 1", .ran = true, .failed = true }),
		  "0 " STATE("failed") NOTED);
	/* Another value counts by now: what was not done comes to nothing, what was is told. */
	CHECK_STR(decided(VGPU_LABEL, "pending", "a begun",
			  (struct label_case){ .plan = &plan, .before = "b 2", .settles = true }),
		  "0 " STATE("success") ",\"annotations\":{\"pcidevfs/vgpu.config\":\"b 2\"}}}");
	CHECK_STR(decided(VGPU_LABEL, "pending", "a begun",
			  (struct label_case){ .plan = &plan, .settles = true }),
		  "0 " STATE("failed") ENDED);
	CHECK_STR(decided(VGPU_LABEL, "pending", "a begun",
			  (struct label_case){ .plan = &bad, .settles = true }),
		  "0 " STATE("failed") ENDED);
	/* Nothing was agreed before, or not any more. */
	CHECK_STR(
		decided(VGPU_LABEL, "pending", "a begun",
			(struct label_case){ .plan = &plan, .before = "b ended", .settles = true }),
		"0 " STATE("failed") ",\"annotations\":{\"pcidevfs/vgpu.config\":\"b ended\"}}}");
	CHECK_STR(decided(VGPU_LABEL, "pending", "a begun",
			  (struct label_case){ .plan = &plan, .before = "", .settles = true }),
		  "0 " STATE("failed") ",\"annotations\":{\"pcidevfs/vgpu.config\":null}}}");
	CHECK_STR(decided(VGPU_LABEL, "pending", "a begun",
			  (struct label_case){ .plan = &none, .settles = true }),
		  "0 " STATE("success") NOTED);
	/* A workload has no state. */
	CHECK_STR(decided(WORKLOAD_LABEL, "", "", (struct label_case){ .plan = &all }), "2 -");
	CHECK_STR(decided(WORKLOAD_LABEL, "", "",
			  (struct label_case){ .plan = &all, .ran = true }),
		  "0 {\"metadata\":{\"annotations\":{\"pcidevfs/gpu.workload.config\":"
		  "\"container\"}}}");
	CHECK_STR(decided(WORKLOAD_LABEL, "", "container", (struct label_case){ .plan = &all }),
		  "0 -");
}

/* ---- somebody undoes what is written */

DEFINE_TEST(node_labels_undone)
{
	struct brake b = { 0 };
	uint64_t now = 1000;

	for (int i = 1; i < FIGHT_TIMES; i++) {
		brake_send(&b, 7);
		CHECK(!brake_taken(&b, now));
		CHECK(!brake_over(&b, now));
	}
	brake_send(&b, 7);
	CHECK(brake_taken(&b, now));
	CHECK_EQ(brake_until(&b, 7), now + CALM_MS);
	CHECK(!brake_over(&b, now + CALM_MS - 1));
	/* Once more, and then it stays. */
	now += CALM_MS;
	brake_send(&b, 7);
	CHECK(!brake_over(&b, now));
	CHECK(brake_taken(&b, now));
	now += CALM_MS;
	CHECK(brake_over(&b, now));
	CHECK(!brake_over(&b, now));
	CHECK_EQ(brake_until(&b, 7), 0);
	brake_send(&b, 7);
	CHECK(!brake_taken(&b, now));
}
