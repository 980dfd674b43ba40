// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices of nodes that nobody hears of: what becomes of their condition InUse. */
#include <string.h>

#include "cluster.h"
#include "k8s-sync/cluster/lost.h"

#define SINCE "2026-11-29T01:30:00Z"
#define BEFORE "2026-11-29T01:00:00Z"
#define AFTER "2026-11-29T01:30:00Z"
#define NOW "2026-11-29T02:00:00Z"

static json_object *nodes, *changes;

/* status: of Ready; "": the Node has no conditions. */
static void node_since(const char *name, const char *status, const char *time)
{
	_free_ char *text = NULL;
	_json_ json_object *o = NULL;
	char key[64];

	CHECK(asprintf(
		      &text,
		      "{\"status\":{\"conditions\":[{\"type\":\"DiskPressure\",\"status\":\"Unknown\"},"
		      "{\"type\":\"%s\",\"status\":\"%s\",\"lastTransitionTime\":\"%s\"}]}}",
		      *status ? "Ready" : "Other", status, time) > 0);
	o = json_tokener_parse(text);
	CHECK(o);
	snprintf(key, sizeof(key), "/%s", name);
	json_object_object_add(nodes, key, node_digest(o));
}

static void node(const char *name, const char *status)
{
	node_since(name, status, SINCE);
}

/* A device of node n1, whose second condition is InUse. */
static json_object *used(const char *status, const char *time, const char *message)
{
	char text[2 * PICK_TEXT];
	json_object *o;

	snprintf(text, sizeof(text),
		 "{\"metadata\":{\"name\":\"n1-1\",\"labels\":{\"nodename\":\"n1\"}},"
		 "\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"nodeName\":\"n1\",\"conditions\":["
		 "{\"type\":\"Present\",\"status\":\"True\"},{\"type\":\"InUse\",\"status\":\"%s\","
		 "\"lastTransitionTime\":\"%s\",\"reason\":\"Allocated\",\"message\":\"%s\"}]}}",
		 status, time, message);
	o = json_tokener_parse(text);
	CHECK(o);
	return o;
}

static void start(void)
{
	begin();
	nodes = json_object_new_object();
	changes = json_object_new_object();
}

static void stop(void)
{
	json_object_put(nodes);
	json_object_put(changes);
	end();
}

static void decide_lost(void)
{
	json_object_put(changes);
	changes = json_object_new_object();
	lost_decide(&cluster, nodes, NOW, changes);
}

/* What the object has by then. */
static json_object *after(enum pick_kind kind, json_object *o)
{
	char path[256];

	CHECK(picks_put(cluster.table[kind], kind, o) >= 0);
	decide_lost();
	CHECK_EQ(json_object_object_length(changes), 1);
	snprintf(path, sizeof(path), "/apis/devices.harvesterhci.io/v1beta1/%s/n1-1/status",
		 pick_rows[kind].plural);
	CHECK_EQ(patch_apply(o, json_object_object_get(changes, path)), 0);
	return json_object_array_get_idx(js_get(o, "status.conditions"), 1);
}

static void check_unknown(json_object *c, const char *reason, const char *message, const char *when)
{
	CHECK_STR(js_text(c, "status"), "Unknown");
	CHECK_STR(js_text(c, "reason"), reason);
	CHECK_STR(js_text(c, "message"), message);
	CHECK_STR(js_text(c, "lastTransitionTime"), when);
}

DEFINE_TEST(cluster_devices_of_a_lost_node_are_in_unknown_use)
{
	for (enum pick_kind k = 0; k < PICK_KINDS; k++) {
		_json_ json_object *o = used("True", BEFORE, "VM default/vm2");

		start();
		node("n1", "Unknown");
		check_unknown(after(k, o), "NodeUnreachable",
			      "node n1 has not reported since " SINCE "; before: VM default/vm2",
			      SINCE);
		/* It is not said again. */
		CHECK(picks_put(cluster.table[k], k, o) >= 0);
		decide_lost();
		CHECK_EQ(json_object_object_length(changes), 0);
		stop();
	}
}

DEFINE_TEST(cluster_devices_of_a_node_that_is_gone_are_in_unknown_use)
{
	_json_ json_object *o = used("True", BEFORE, "VM default/vm2");

	start();
	node("n2", "True");
	check_unknown(after(PICK_PCI_DEVICE, o), "NodeGone",
		      "node n1 is not in the cluster any more; before: VM default/vm2", NOW);
	stop();
}

/* An agent that lives on a node without a Node is not contradicted for ever. */
DEFINE_TEST(cluster_who_tells_a_use_without_a_node_is_heard)
{
	_json_ json_object *o = used("True", BEFORE, "VM default/vm2");
	_json_ json_object *again = used("True", "2026-11-29T02:00:03Z", "VM default/vm2");

	start();
	node("n2", "True");
	after(PICK_PCI_DEVICE, o);
	CHECK_EQ(picks_put(cluster.table[PICK_PCI_DEVICE], PICK_PCI_DEVICE, again), 1);
	decide_lost();
	CHECK_EQ(json_object_object_length(changes), 0);
	/* Its Node comes, and is lost: that is another matter. */
	node_since("n1", "Unknown", "2026-11-29T03:00:00Z");
	after(PICK_PCI_DEVICE, again);
	stop();
}

/* A message of any length is no reason to keep a condition that is not true any more. */
DEFINE_TEST(cluster_a_long_message_does_not_keep_a_use)
{
	char message[PICK_TEXT + 1];
	json_object *o, *c;

	memset(message, 'x', PICK_TEXT);
	message[PICK_TEXT] = '\0';
	o = used("True", BEFORE, message);
	start();
	node("n1", "Unknown");
	c = after(PICK_PCI_CLAIM, o);
	CHECK_STR(js_text(c, "message"), "node n1 has not reported since " SINCE);
	json_object_put(o);
	stop();
}

/* No API server has such a time, but whoever answers in its place. */
DEFINE_TEST(cluster_a_time_of_any_length_is_cut)
{
	_json_ json_object *o = used("True", BEFORE, "VM default/vm2");
	char time[8 * PICK_TEXT];
	const char *message;

	memset(time, '9', sizeof(time));
	time[sizeof(time) - 1] = '\0';
	start();
	node_since("n1", "Unknown", time);
	message = js_text(after(PICK_PCI_DEVICE, o), "message");
	CHECK(strlen(message) < 4 * PICK_TEXT);
	CHECK(strstr(message, "node n1 has not reported since 999"));
	stop();
}

DEFINE_TEST(cluster_a_use_stays_as_its_node_tells_it)
{
	static const struct {
		const char *node, *status, *use, *time;
	} rows[] = {
		{ "n1", "True", "True", BEFORE },
		/* kubelet tells itself that something is wrong: the node is there. */
		{ "n1", "False", "True", BEFORE },
		/* It has just come, and has told nothing. */
		{ "n1", "", "True", BEFORE },
		/* Told since then: the agent is well, kubelet is not. */
		{ "n1", "Unknown", "True", AFTER },
		{ "n1", "Unknown", "Unknown", BEFORE },
		{ "n1", "Unknown", "False", BEFORE },
		/* No node at all is a list that nobody should believe. */
		{ NULL, "", "True", BEFORE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_json_ json_object *o = used(rows[i].use, rows[i].time, "VM default/vm2");

		start();
		if (rows[i].node)
			node(rows[i].node, rows[i].status);
		CHECK(picks_put(cluster.table[PICK_PCI_DEVICE], PICK_PCI_DEVICE, o) >= 0);
		decide_lost();
		CHECK_EQ(json_object_object_length(changes), 0);
		stop();
	}
}
