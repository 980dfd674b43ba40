// SPDX-License-Identifier: GPL-2.0-or-later
/* What sync sends, and when again: this is the rest of sync, and the API server. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fakeapi.h"
#include "k8s-sync/sync.h"
#include "pcidevfs/util.h"
#include "syncworld.h"
#include "test.h"

static struct sync s;
static struct options options;
static unsigned int touched;

void sync_touch(struct sync *sync)
{
	touched++;
}

void sync_say(struct sync *sync, enum say_slot slot, const char *sentence)
{
	STR_COPY(s.said[slot], sentence);
}

void sync_gone(struct sync *sync, enum kind_id kind, const char *name)
{
}

void sync_store(struct sync *sync, enum kind_id kind, json_object *o)
{
	json_object_object_add(s.world.objects[kind], js_text(o, "metadata.name"),
			       json_object_get(o));
}

void sync_deleted(struct sync *sync, enum kind_id kind, const char *name, const char *uid)
{
}

void sync_event(struct sync *sync, enum kind_id kind, json_object *about, const char *reason,
		const char *sentence)
{
}

void asks_do(struct sync *sync, const struct action *a)
{
}

void label_read(struct sync *sync, json_object *node)
{
}

void labels_note(struct sync *sync, json_object *node)
{
}

void labels_touch(struct sync *sync)
{
}

static void begin(void)
{
	s = (struct sync){ .o = &options };
	options = (struct options){ .node = "node1" };
	s.world.node = options.node;
	s.world.node_uid = s.node_uid;
	for (enum kind_id k = 0; k < KINDS; k++)
		s.world.objects[k] = json_object_new_object();
	CHECK_EQ(loop_open(&s.loop, NULL), 0);
	loop_timer(&s.loop, &s.work, NULL, UINT64_MAX);
	s.writes = writes_new(&s);
	touched = 0;
}

static void end(void)
{
	writes_free(s.writes);
	node_close(&s);
	CHECK_EQ(n_queued, 0);
	for (enum kind_id k = 0; k < KINDS; k++)
		json_object_put(s.world.objects[k]);
	loop_close(&s.loop);
}

/* The API server has this now. */
static json_object *stands(const char *name, unsigned int version)
{
	json_object *o = json_object_new_object();
	char text[16];

	snprintf(text, sizeof(text), "%u", version);
	js_set_text(o, "metadata.name", name);
	js_set_text(o, "metadata.resourceVersion", text);
	json_object_object_add(s.world.objects[USB_DEVICE], name, json_object_get(o));
	return o;
}

static void want(struct actions *list, enum action_kind act, const char *name, const char *body)
{
	struct action *a = calloc(1, sizeof(*a));

	*a = (struct action){ .act = act, .kind = USB_DEVICE, .body = json_tokener_parse(body) };
	STR_COPY(a->name, name);
	*(list->last ? &list->last->next : &list->first) = a;
	list->last = a;
}

static void decided(struct actions *list)
{
	writes_do(s.writes, list->first);
	actions_free(list->first);
	*list = (struct actions){ 0 };
}

static void decided_one(enum action_kind act, const char *name, const char *body)
{
	struct actions list = { 0 };

	want(&list, act, name, body);
	decided(&list);
}

static void answer(struct call *c, const struct reply *r)
{
	fakeapi_leave(c);
	c->done(c, r);
	json_object_put(r->doc);
}

static void is_queued(const char *part)
{
	CHECK_EQ(n_queued, 1);
	CHECK_IN(queued[0]->path, part);
}

/* The first status of a kind goes alone. */
DEFINE_TEST(sync_what_waited_for_a_write_that_is_taken_back_is_decided_again)
{
	struct actions list = { 0 };

	begin();
	json_object_put(stands("a", 1));
	json_object_put(stands("b", 1));
	want(&list, ACT_STATUS, "a", "{}");
	want(&list, ACT_STATUS, "b", "{}");
	decided(&list);
	is_queued("/a/status");
	decided_one(ACT_STATUS, "b", "{}");
	CHECK_EQ(n_queued, 0);
	CHECK_EQ(touched, 1);
	decided_one(ACT_STATUS, "b", "{}");
	is_queued("/b/status");
	CHECK_EQ(touched, 1);
	end();
}

#define WITH(version) "{\"metadata\":{\"resourceVersion\":\"" version "\",\"uid\":\"u\"}}"

DEFINE_TEST(sync_two_writers_of_one_object_do_not_fight)
{
	char body[80];

	begin();
	for (unsigned int i = 1; i <= 5; i++) {
		json_object_put(stands("a", 2 * i));
		snprintf(body, sizeof(body), WITH("%u"), 2 * i);
		decided_one(ACT_STRIP, "a", body);
		is_queued("/a/status");
		CHECK_STR(s.said[SAY_WRITES], "");
		answer(queued[0], &(struct reply){ .status = 200, .doc = stands("a", 2 * i + 1) });
	}
	CHECK(s.declared[USB_DEVICE]);
	json_object_put(stands("a", 20));
	decided_one(ACT_STRIP, "a", WITH("20"));
	CHECK_EQ(n_queued, 0);
	CHECK_IN(s.said[SAY_WRITES], "usbdevices/a: somebody else writes its status");
	decided_one(ACT_STRIP, "a", "{\"another\":1}");
	is_queued("/a/status");
	end();
}

static void written(enum action_kind act, unsigned int version, const char *body)
{
	decided_one(act, "a", body);
	is_queued("/a?");
	answer(queued[0], &(struct reply){ .status = 200, .doc = stands("a", version) });
}

/* In the cluster and in the tree: the same is patched each time, but each change is agreed on. */
DEFINE_TEST(sync_a_value_that_two_change_in_turn_is_no_fight)
{
	begin();
	json_object_put(stands("a", 1));
	for (unsigned int i = 1; i <= 8; i++) {
		written(ACT_APPLY, 4 * i, "{\"agreed\":2}");
		json_object_put(stands("a", 4 * i + 1)); /* the tree has 0 now */
		written(ACT_PATCH, 4 * i + 2, "{\"value\":0}");
		written(ACT_APPLY, 4 * i + 3, "{\"agreed\":0}");
	}
	CHECK_STR(s.said[SAY_WRITES], "");
	end();
}

/* An object that is made again and again is another one each time. */
DEFINE_TEST(sync_an_object_that_comes_and_goes_is_no_fight)
{
	begin();
	for (unsigned int i = 1; i <= 8; i++) {
		decided_one(ACT_APPLY, "a", "{}");
		is_queued("/a?");
		answer(queued[0], &(struct reply){ .status = 200, .doc = stands("a", i) });
		json_object_object_del(s.world.objects[USB_DEVICE], "a");
		writes_do(s.writes, NULL);
	}
	end();
}

#define UNDECLARED                                                                                 \
	"failed to create typed patch object: .status.classType: field not declared in schema"

/* The CRD was changed meanwhile, by whoever saw the same refusal. */
DEFINE_TEST(sync_what_was_refused_for_a_field_is_sent_again_when_the_crd_has_it)
{
	struct reply r = { .status = 500, .err.code = EIO };

	begin();
	json_object_put(stands("a", 1));
	decided_one(ACT_STATUS, "a", "{}");
	r.doc = json_object_new_object();
	js_set_text(r.doc, "message", UNDECLARED);
	answer(queued[0], &r);
	CHECK(s.world.lacks[USB_DEVICE]);
	decided_one(ACT_STATUS, "a", "{}");
	is_queued("/a/status");
	end();
}

static uint64_t waits_when(bool back)
{
	begin();
	json_object_put(stands("a", 1));
	decided_one(ACT_STATUS, "a", "{}");
	answer(queued[0], &(struct reply){ .status = 403, .err.code = EACCES, .back = back });
	decided_one(ACT_STATUS, "a", "{}");
	CHECK_EQ(n_queued, 0);
	end();
	return s.work.at - now_ms();
}

DEFINE_TEST(sync_what_a_server_refuses_that_comes_up_is_sent_again_soon)
{
	CHECK(waits_when(true) <= 1000);
	CHECK(waits_when(false) > 30000);
}

DEFINE_TEST(sync_its_own_deletion_is_known)
{
	begin();
	json_object_put(stands("a", 1));
	decided_one(ACT_DELETE, "a", "{}");
	CHECK(!writes_deletes(s.writes, USB_DEVICE, "a"));
	queued[0]->wire = (struct wire *)&s;
	CHECK(writes_deletes(s.writes, USB_DEVICE, "a"));
	CHECK(!writes_deletes(s.writes, USB_DEVICE, "b"));
	CHECK(!writes_deletes(s.writes, PCI_DEVICE, "a"));
	end();
}

/* ---- the core Node */

static void ask(void)
{
	s.core.at = UINT64_MAX;
	s.core.due(&s.core);
}

static void patched(struct sync *sync, const struct reply *r)
{
}

static void node_answers(long status, const char *doc)
{
	struct reply r = { .status = status, .doc = json_tokener_parse(doc) };

	ask();
	is_queued("/api/v1/nodes/node1");
	if (status != 200)
		fail(&r.err, ENOENT, "nodes \"node1\" not found");
	answer(queued[0], &r);
}

DEFINE_TEST(sync_a_node_that_never_was_is_told)
{
	begin();
	node_open(&s);
	node_answers(404, "{}");
	CHECK(s.node_known);
	CHECK_STR(s.said[SAY_OWNER],
		  "node node1 is not in the cluster; its objects have no owner and outlive it");
	node_answers(200, "{\"metadata\":{\"uid\":\"N\"}}");
	CHECK_STR(s.said[SAY_OWNER], "");
	end();
}

#define OWNED(kind)                                                                                \
	"{\"metadata\":{\"ownerReferences\":[{\"kind\":\"" kind                                    \
	"\",\"name\":\"node1\",\"uid\":\"N\"}]}}"

/* It was deleted while sync was not there. */
DEFINE_TEST(sync_a_node_that_owned_what_is_there_is_gone)
{
	json_object *o = json_tokener_parse(OWNED("Node"));

	begin();
	node_open(&s);
	node_answers(404, "{}");
	node_note_owner(&s, PCI_CLAIM, o); /* it may be anybody's */
	CHECK(s.node_known);
	node_note_owner(&s, PCI_DEVICE, o);
	CHECK(!s.node_known);
	node_answers(404, "{}");
	CHECK(!s.node_known);
	CHECK_IN(s.said[SAY_NODE], "node node1 is no longer in the cluster");
	json_object_put(o);
	end();
}

DEFINE_TEST(sync_decides_although_objects_leave_without_a_pause)
{
	begin();
	node_open(&s);
	node_answers(200, "{\"metadata\":{\"uid\":\"N\"}}");
	CHECK(s.core.at == UINT64_MAX);
	node_ask(&s);
	ask();
	node_ask(&s);
	CHECK(!s.node_known);
	answer(queued[0],
	       &(struct reply){ .status = 200,
				.doc = json_tokener_parse("{\"metadata\":{\"uid\":\"N\"}}") });
	CHECK(s.node_known);
	CHECK_EQ(s.core.at, 0);
	end();
}

#define COPY(version) "{\"metadata\":{\"uid\":\"N\",\"resourceVersion\":\"" version "\"}}"

/* An answer that a newer copy has overtaken; and a cluster that was restored from an older one. */
DEFINE_TEST(sync_the_newest_copy_of_a_node_counts)
{
	_json_ json_object *body = json_object_new_object();

	begin();
	node_open(&s);
	node_answers(200, COPY("20"));
	CHECK_EQ(s.core_version, 20);
	ask();
	CHECK(node_patch(&s, body, patched));
	CHECK(!node_patch(&s, body, patched));
	answer(s.patching, &(struct reply){ .status = 200,
					    .doc = json_tokener_parse(COPY("21")) });
	CHECK_EQ(s.core_version, 21);
	answer(s.asking, &(struct reply){ .status = 200,
					  .doc = json_tokener_parse(COPY("20")) });
	CHECK_EQ(s.core_version, 21);
	node_answers(200, COPY("7"));
	CHECK_EQ(s.core_version, 7);
	end();
}

DEFINE_TEST(sync_a_node_whose_name_takes_no_label_is_not_asked_for)
{
	char name[80];

	begin();
	memset(name, 'n', sizeof(name));
	name[64] = '\0';
	options.node = name;
	node_open(&s);
	node_ask(&s);
	CHECK(s.core.at == UINT64_MAX);
	end();
}

/* In a pod /etc/machine-id may be the image's. */
DEFINE_TEST(sync_the_host_is_compared_outside_of_pods)
{
	static const char another[] =
		"{\"metadata\":{\"uid\":\"N\"},\"status\":{\"nodeInfo\":{\"machineID\":"
		"\"00000000000000000000000000000000\"}}}";
	char id[40] = "";
	FILE *f;

	begin();
	options.kubeconfig = "kubeconfig";
	node_open(&s);
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	node_answers(200, another);
	CHECK(s.node_known);
	unsetenv("KUBERNETES_SERVICE_HOST");
	node_answers(200, another);
	f = fopen("/etc/machine-id", "re");
	if (f) {
		CHECK(fread(id, 1, sizeof(id) - 1, f) < sizeof(id));
		fclose(f);
	}
	CHECK_EQ(s.node_missing, strspn(id, "0123456789abcdef") == 32);
	end();
}
