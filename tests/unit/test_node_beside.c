// SPDX-License-Identifier: GPL-2.0-or-later
/* NVIDIA's operator on the node: what its components are told. */
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/agree/inventory.h"
#include "k8s-sync/nvidia/beside.h"
#include "pcidevfs/util.h"
#include "test.h"

#define D "\"nvidia.com/gpu.deploy."
#define PRESENT "\"nvidia.com/gpu.present\":\"true\","
#define PLUGIN(v) D "sandbox-device-plugin\":\"" v "\""
#define VALIDATOR(v) D "sandbox-validator\":\"" v "\""
#define MIG(v) D "mig-manager\":\"" v "\""
#define NODE(labels, note)                                                                         \
	"{\"metadata\":{\"labels\":{" labels "},\"annotations\":{\"pcidevfs/gpu.deploy\":\"" note  \
	"\"}}}"
#define NO_NOTE(labels) "{\"metadata\":{\"labels\":{" labels "}}}"
#define LABELS(labels) "{\"metadata\":{\"labels\":{" labels "}"
#define AND_NOTE(note) ",\"annotations\":{\"pcidevfs/gpu.deploy\":" note "}}}"
#define PAUSED "paused-for-vgpu-change"

static void check(const char *node, struct beside_case is, const char *want)
{
	struct beside_now now;
	json_object *o = json_tokener_parse(node), *patch = NULL;

	CHECK(o);
	beside_read(o, &now);
	is.now = &now;
	CHECK_EQ(beside_patch(&is, &patch), want[0] != '\0');
	CHECK_STR(patch ? js_line(patch) : "", want);
	json_object_put(patch);
	json_object_put(o);
}

static const struct beside_case role = { .workload = true, .vgpu = true, .world = WORLD_MDEV };

DEFINE_TEST(beside_without_the_operator_nothing_is_said)
{
	check("{}", role, "");
	check("{\"metadata\":{\"labels\":7,\"annotations\":[]}}", role, "");
	check(NO_NOTE(PRESENT "\"x\":\"y\""), role, "");
	check(NO_NOTE(PLUGIN("true")), role, "");
	check(NO_NOTE(PRESENT PLUGIN("")), role, "");
	check(NO_NOTE(PRESENT PLUGIN("true")), (struct beside_case){ 0 }, "");
}

DEFINE_TEST(beside_says_what_is_ours_and_keeps_what_is_an_admins)
{
	struct beside_case mig = role;
	const struct beside_case alone = { .mig = true };

	mig.mig = true;
	check(NO_NOTE(PRESENT PLUGIN("true")), role,
	      LABELS(PLUGIN("false")) AND_NOTE("\"sandbox-device-plugin=false\""));
	check(NO_NOTE(PRESENT PLUGIN("false")), role, "");
	check(NODE(PRESENT PLUGIN("false"), "sandbox-device-plugin=false"), role, "");
	check(NO_NOTE(PRESENT MIG("true")), role, "");
	check(NO_NOTE(PRESENT MIG("true")), mig,
	      LABELS(MIG("false")) AND_NOTE("\"mig-manager=false\""));
	check(NODE(PRESENT MIG("false"), "mig-manager=false"), role,
	      LABELS(MIG("true")) AND_NOTE("null"));
	/* Changed by somebody since, or taken away: it is not ours any more. */
	check(NODE(PRESENT PLUGIN("paused-for-driver-upgrade"), "sandbox-device-plugin=false"),
	      role, "{\"metadata\":{\"annotations\":{\"pcidevfs/gpu.deploy\":null}}}");
	check(NODE(PRESENT MIG("x"), "sandbox-device-plugin=false"), (struct beside_case){ 0 },
	      "{\"metadata\":{\"annotations\":{\"pcidevfs/gpu.deploy\":null}}}");
	/* The role, or the operator, is away. */
	check(NODE(PRESENT PLUGIN("false"), "sandbox-device-plugin=false"),
	      (struct beside_case){ 0 }, LABELS(PLUGIN("true")) AND_NOTE("null"));
	/* MIG alone does none of its work. */
	check(NODE(PRESENT PLUGIN("false"), "sandbox-device-plugin=false"), alone,
	      LABELS(PLUGIN("true")) AND_NOTE("null"));
	check(NODE(PLUGIN("false"), "sandbox-device-plugin=false"), role,
	      LABELS(PLUGIN("true")) AND_NOTE("null"));
	check(NODE(PLUGIN("false"), ""), role, "");
}

DEFINE_TEST(beside_reads_notes_that_are_none)
{
	check(NODE(PRESENT PLUGIN("false"), "sandbox-device-plugi=false sandbox-device-plugin"),
	      (struct beside_case){ 0 },
	      "{\"metadata\":{\"annotations\":{\"pcidevfs/gpu.deploy\":null}}}");
	check(NODE(PRESENT PLUGIN("false"), "  sandbox-device-plugin=false  =  x="),
	      (struct beside_case){ 0 }, LABELS(PLUGIN("true")) AND_NOTE("null"));
	/* A value that is never ours stays, whatever the note says of it. */
	check(NODE(PRESENT PLUGIN("paused-for-driver-upgrade"),
		   "sandbox-device-plugin=paused-for-driver-upgrade"),
	      role, "{\"metadata\":{\"annotations\":{\"pcidevfs/gpu.deploy\":null}}}");
}

DEFINE_TEST(beside_the_validator_pauses_or_stays_away)
{
	struct beside_case is = role;
	static const char paused[] = NODE(PRESENT VALIDATOR(PAUSED), "sandbox-validator=" PAUSED);

	check(NO_NOTE(PRESENT VALIDATOR("true")), is, "");
	is.change = CHANGE_UNKNOWN;
	check(NO_NOTE(PRESENT VALIDATOR("true")), is, "");
	check(paused, is, "");
	is.change = CHANGE_RUNS;
	check(NO_NOTE(PRESENT VALIDATOR("true")), is,
	      LABELS(VALIDATOR(PAUSED)) AND_NOTE("\"sandbox-validator=" PAUSED "\""));
	check(NO_NOTE(PRESENT VALIDATOR("false")), is, "");
	check(NO_NOTE(PRESENT VALIDATOR("")), is, "");
	check(paused, is, "");
	is.change = CHANGE_NONE;
	check(paused, is, LABELS(VALIDATOR("true")) AND_NOTE("null"));
	/* Of NVIDIA's manager, which was told to stay away meanwhile. */
	check(NO_NOTE(PRESENT VALIDATOR(PAUSED)), is, LABELS(VALIDATOR("true")) "}}");
	check(NO_NOTE(PRESENT VALIDATOR(PAUSED)), (struct beside_case){ 0 }, "");
	/* Where a VF is the vGPU, and without VFs afterwards. */
	is.world = WORLD_VFIO;
	check(paused, is, LABELS(VALIDATOR("false")) AND_NOTE("\"sandbox-validator=false\""));
	is.world = WORLD_UNKNOWN;
	check(NODE(PRESENT VALIDATOR("false"), "sandbox-validator=false"), is, "");
	check(NO_NOTE(PRESENT VALIDATOR("true")), is, "");
}

/* ---- how vGPUs are made */

static enum beside_world world_of(const char *id, const char *pairs)
{
	struct inventory inv = { 0 };
	char first[] = "vendor=0x10de kind=sriov-gpu";
	_free_ char *text = strdup(pairs);
	enum beside_world world;

	CHECK_EQ(inventory_take(&inv, "0000:01:00.0", first), 0);
	CHECK_EQ(inventory_take(&inv, id, text), 0);
	world = beside_world(&inv);
	inventory_free(&inv);
	return world;
}

DEFINE_TEST(beside_worlds)
{
	static const char vf[] = "0000:01:00.1";

	CHECK_EQ(world_of(vf, "vendor=0x10de kind=vgpu profile=none"), WORLD_UNKNOWN);
	CHECK_EQ(world_of(vf, "vendor=0x8086 kind=vf"), WORLD_UNKNOWN);
	CHECK_EQ(world_of(vf, "vendor=0x10de kind=vgpu profile=none "
			      "profiles_available=\"name=\\\"A2-4Q\\\" id=747\""),
		 WORLD_VFIO);
	CHECK_EQ(world_of(vf, "vendor=0x10de kind=vgpu profile=none "
			      "profiles_available=\"name=\\\"A2-4Q\\\" id=nvidia-747\""),
		 WORLD_MDEV);
	CHECK_EQ(world_of(vf, "vendor=0x10de kind=vgpu profile_id=747 mdev_uuid=none"), WORLD_VFIO);
	CHECK_EQ(world_of(vf, "vendor=0x10de kind=vgpu profile_id=nvidia-747"),
		 WORLD_MDEV);
	CHECK_EQ(world_of("mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4",
			  "kind=mdev profile_id=nvidia-231"),
		 WORLD_MDEV);
	CHECK_EQ(world_of("mdev/70a78f40-0039-4f74-85f4-b4d8d1dd3cf4",
			  "kind=mdev profile_id=i915-GVTg_V5_4"),
		 WORLD_UNKNOWN);
}
