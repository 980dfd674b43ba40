// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists and watches of an API server that answers strangely. */
#include <errno.h>
#include <string.h>

#include "client/loop.h"
#include "fakeapi.h"
#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/follow.h"
#include "pcidevfs/util.h"
#include "test.h"

static struct loop loop;
static struct follow *follow;
static unsigned int taken, known;
static char said[ERR_TEXT];

static void nothing(void *ctx)
{
}

static void know(void *ctx)
{
	known++;
}

static int take(void *ctx, json_object *o, bool listing, struct err *err)
{
	CHECK(js_get(o, "metadata"));
	taken++;
	return 0;
}

static void gone(void *ctx, json_object *o, bool listing)
{
}

static bool none(void *ctx, const struct reply *r, struct err *err)
{
	return false;
}

static void tell(void *ctx, const char *sentence)
{
	STR_COPY(said, sentence);
}

static void end_turn(void *ctx)
{
	loop.ended = true;
}

static void turn(void)
{
	loop.ended = false;
	loop_run(&loop);
}

static void begin(void)
{
	static const struct follow_ops ops = { .begin = nothing,
					       .know = know,
					       .drop = nothing,
					       .take = take,
					       .gone = gone,
					       .none = none,
					       .say = tell };
	static const char *const selectors[] = { "labelSelector=node%3D", NULL };
	static const struct follow_what what = { .api = "v1",
						 .plural = "pods",
						 .selectors = selectors,
						 .value = "n1",
						 .page = 10,
						 .ops = &ops };

	CHECK_EQ(loop_open(&loop, NULL), 0);
	loop.after = end_turn;
	follow = follow_new(&loop, NULL, &what, NULL);
	CHECK(follow && follow_start(follow));
	turn();
	CHECK_EQ(n_queued, 1);
	CHECK_IN(queued[0]->path, "labelSelector=node%3Dn1");
	CHECK_IN(queued[0]->path, "sendInitialEvents=true");
}

static void end(void)
{
	follow_free(follow);
	CHECK_EQ(n_queued, 0);
	loop_close(&loop);
}

static void event(const char *text)
{
	_json_ json_object *o = json_tokener_parse(text);

	CHECK(o);
	queued[0]->document(queued[0], o);
}

static void answer(unsigned int status, int code, const char *text)
{
	_json_ json_object *doc = text ? json_tokener_parse(text) : NULL;
	struct reply r = { .status = status, .doc = doc, .err.code = code };
	struct call *call = queued[0];

	fakeapi_leave(call);
	call->done(call, &r);
}

DEFINE_TEST(follow_another_selector_lists_anew)
{
	begin();
	event("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}}");
	event("{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}");
	CHECK_EQ(known, 1);
	CHECK_EQ(taken, 1);
	answer(400, EINVAL, NULL);
	turn();
	CHECK_EQ(n_queued, 1);
	CHECK(!strstr(queued[0]->path, "labelSelector"));
	CHECK_IN(queued[0]->path, "sendInitialEvents=true");
	end();
}

DEFINE_TEST(follow_passes_over_what_is_no_object)
{
	begin();
	answer(422, EINVAL, NULL);
	turn();
	CHECK_IN(queued[0]->path, "limit=10");
	answer(200, 0,
	       "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[null,1,{},[],{\"metadata\":[]},{\"metadata\":{\"name\":\"a\"}}]}");
	CHECK_EQ(taken, 1);
	CHECK_EQ(known, 1);
	end();
}
