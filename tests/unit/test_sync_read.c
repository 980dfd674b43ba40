// SPDX-License-Identifier: GPL-2.0-or-later
/* What comes from an API server and from kubeconfig files, whatever it is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "k8s-sync/agree/js.h"
#include "k8s-sync/api/access.h"
#include "k8s-sync/api/intake.h"
#include "client/yaml.h"
#include "pcidevfs/util.h"
#include "test.h"

static unsigned int seen;

static void count(void *ctx, json_object *doc)
{
	CHECK(json_object_is_type(doc, json_type_object));
	seen++;
}

static int verdict(const char *text, long http, struct err *err)
{
	struct intake r;
	long status;
	int rc;

	CHECK_EQ(intake_open(&r, false), 0);
	intake_feed(&r, text, strlen(text));
	rc = intake_verdict(&r, http, &status, err);
	intake_close(&r);
	return rc;
}

DEFINE_TEST(sync_a_webhook_that_does_not_answer_is_not_the_server)
{
	static const struct {
		const char *message, *name;
		bool lacks;
	} rows[] = {
		{ "Internal error occurred: failed calling webhook \"a.b\": failed to call", "", true },
		{ "Internal error occurred: failed calling webhook \"a.b\": failed to call", "a.b",
		  true },
		{ "Internal error occurred: failed calling webhook \"c.b\": failed to call", "a.b",
		  false },
		{ "failed calling webhook \"", "a.b", false },
		{ "admission webhook \"a.b\" denied the request", "a.b", false },
		{ "", "", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_json_ json_object *o = json_object_new_object();

		js_set_text(o, "message", rows[i].message);
		CHECK_EQ(answer_lacks_webhook(o, rows[i].name), rows[i].lacks);
	}
	CHECK(!answer_lacks_webhook(NULL, ""));
}

DEFINE_TEST(sync_an_answer_that_is_none_has_a_sentence)
{
	static const struct {
		const char *text;
		long http;
		const char *says;
	} rows[] = {
		{ "<html><body>Login</body></html>", 200, "not JSON, beginning with \"<html>" },
		{ "", 200, "ended before it was complete" },
		{ "{\"kind\":\"PCIDeviceList\",\"items\":[{", 200, "ended before it was complete" },
		{ "[1,2]", 200, "not JSON" },
		{ "{\"a\":nope}", 200, "not JSON" },
		{ "{\"a\":1}{\"b\":2}", 200, "not JSON" },
		{ "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":403,\"message\":\"no\"}",
		  200, "no" },
		{ "{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":\"x\"}", 200,
		  "answered 500 without" },
		{ "{\"kind\":\"Status\",\"message\":\"forbidden: no\"}", 403, "forbidden: no" },
		{ "<html>", 502, "answered 502 without a reason" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		CHECK(verdict(rows[i].text, rows[i].http, &err) < 0);
		CHECK_IN(err.text, rows[i].says);
	}
	CHECK_EQ(verdict("  {\"metadata\":{}}\n", 200, NULL), 0);
}

DEFINE_TEST(sync_events_of_a_watch_are_found_however_they_are_cut)
{
	static const char text[] =
		"{\"type\":\"ADDED\",\"object\":{\"a\":\"}{\"}}\n{\"type\":\"X\"}\n\n{}\n";

	for (size_t cut = 1; cut < sizeof(text); cut++) {
		struct intake r;

		CHECK_EQ(intake_open(&r, true), 0);
		r.document = count;
		seen = 0;
		for (size_t at = 0; at < sizeof(text) - 1; at += cut)
			CHECK_EQ(intake_feed(&r, text + at,
					     at + cut < sizeof(text) ? cut : sizeof(text) - 1 - at),
				 0);
		CHECK_EQ(seen, 3);
		intake_close(&r);
	}
}

DEFINE_TEST(sync_an_endless_answer_is_refused)
{
	static char block[65536];
	struct intake r;
	int rc = 0;

	memset(block, 'a', sizeof(block));
	CHECK_EQ(intake_open(&r, true), 0);
	r.document = count;
	CHECK_EQ(intake_feed(&r, "{\"a\":\"", 6), 0);
	for (size_t i = 0; i < 100 && !rc; i++)
		rc = intake_feed(&r, block, sizeof(block));
	CHECK_EQ(rc, -E2BIG);
	intake_close(&r);
	CHECK_EQ(intake_open(&r, true), 0);
	memset(block, '[', sizeof(block));
	CHECK_EQ(intake_feed(&r, "{\"a\":", 5), 0);
	CHECK_EQ(intake_feed(&r, block, 100), -EPROTO); /* too deep */
	intake_close(&r);
}

DEFINE_TEST(sync_events_that_end_a_watch)
{
	static const struct {
		const char *text;
		enum watched is;
	} rows[] = {
		{ "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}",
		  WATCHED_GONE },
		{ "{\"type\":\"ERROR\",\"object\":{\"code\":500,\"message\":\"etcd\"}}",
		  WATCHED_ERROR },
		{ "{\"type\":\"ADDED\"}", WATCHED_ERROR },
		{ "{\"type\":\"ADDED\",\"object\":{\"metadata\":{}}}", WATCHED_ERROR },
		{ "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}",
		  WATCHED_ADDED },
		{ "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}",
		  WATCHED_BOOKMARK },
		{ "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"1\"}}}",
		  WATCHED_DELETED },
		{ "{}", WATCHED_ERROR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		json_object *doc = json_tokener_parse(rows[i].text), *o;
		struct err err = { 0 };

		CHECK_EQ(watch_event(doc, &o, &err), rows[i].is);
		CHECK_EQ(err.code != 0, rows[i].is == WATCHED_ERROR);
		json_object_put(doc);
	}
}

#define CONFIG(server, user)                                                                       \
	"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"              \
	"clusters: [{name: k, cluster: {server: \"" server "\"}}]\nusers: [{name: u, user: " user  \
	"}]\n"

DEFINE_TEST(sync_a_kubeconfig_tells_server_and_user)
{
	static const char text[] =
		CONFIG("https://10.0.0.1:6443/", "{token: abc, client-key-data: aGFsbG8=}");
	struct access a;

	CHECK_EQ(access_parse(text, strlen(text), ".", &a, NULL), 0);
	CHECK_STR(a.server, "https://10.0.0.1:6443");
	CHECK_STR(a.secrets[SECRET_TOKEN], "abc");
	CHECK_STR(a.secrets[SECRET_KEY], "hallo");
	access_free(&a);
}

DEFINE_TEST(sync_a_kubeconfig_that_is_none_is_refused_with_a_sentence)
{
	static const char *const rows[][2] = {
		{ "", "the file is empty" },
		{ "a: [", "this is not YAML" },
		{ "\t", "this is not YAML" },
		{ "a: 1\na: 2\n", "\"a\" comes twice" },
		{ "a: &x 1\nb: *x\n", "anchors" },
		{ "a: 1\n---\nb: 1\n", "line 2: a second document begins" },
		{ "{}", "there is no context" },
		{ "[1]", "there is no context" },
		{ CONFIG("ftp://x", "{}"), "is not an address" },
		{ CONFIG("https://x y", "{}"), "is not an address" },
		{ CONFIG("https://u:p@host", "{}"), "is not an address" },
		{ CONFIG("https://x", "{token: \"a\\nHost: b\"}"), "more than one line" },
		{ CONFIG("https://x", "{client-key-data: \"!\"}"), "not base64" },
		{ CONFIG("https://x", "{client-key: missing}"), "No such file" },
		{ CONFIG("https://x", "{auth-provider: {name: x}}"), "not supported" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct access a;

		CHECK(access_parse(rows[i][0], strlen(rows[i][0]), "/nowhere", &a, &err) < 0);
		CHECK_IN(err.text, rows[i][1]);
	}
}

DEFINE_TEST(sync_yaml_has_bounds)
{
	struct out deep = { 0 }, many = { 0 };
	struct err err = { 0 };
	json_object *y;

	for (unsigned int i = 0; i < 1000; i++)
		out_printf(&deep, "[");
	CHECK_EQ(yml_read(out_text(&deep), deep.len, &y, &err), -EINVAL);
	CHECK_IN(err.text, "nested too deeply");
	for (unsigned int i = 0; i < 3 * YAML_NODES_MAX / 2; i++)
		out_printf(&many, "- x\n");
	CHECK_EQ(yml_read(out_text(&many), many.len, &y, &err), -E2BIG);
	out_free(&deep);
	out_free(&many);
}

DEFINE_TEST(sync_objects_are_printed_as_yaml_that_reads_the_same)
{
	static const char text[] =
		"{\"a\":{\"b/c\":\"x: y\",\"d\":[],\"e\":[{\"f\":\"1\",\"g\":[\"h\\n\"]}]},\"i\":true}";
	_json_ json_object *o = json_tokener_parse(text);
	struct out out = { 0 };
	json_object *y = NULL;

	js_yaml(o, &out);
	CHECK_STR(
		out_text(&out),
		"a:\n  b/c: \"x: y\"\n  d: []\n  e:\n  - f: \"1\"\n    g:\n    - \"h\\n\"\ni: true\n");
	CHECK_EQ(yml_read(out_text(&out), out.len, &y, NULL), 0);
	CHECK_STR(js_text(y, "a.b/c"), "x: y");
	json_object_put(y);
	out_free(&out);
}

DEFINE_TEST(sync_a_name_is_one_segment_of_a_path)
{
	static const struct {
		const char *name, *path;
	} rows[] = {
		{ "node1-000005000", "node1-000005000" },
		{ "node1-eth0.100", "node1-eth0.100" },
		{ "node1-a?b%2f#c/../d e", "node1-a%3Fb%252f%23c%2F..%2Fd%20e" },
		{ "..", "%2E%2E" },
		{ "\xc3\xa4\n", "%C3%A4%0A" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out path = { 0 };

		path_put(&path, rows[i].name);
		CHECK_STR(out_text(&path), rows[i].path);
		out_free(&path);
	}
	CHECK(path_is_version("18446744073709551615") && path_is_version("0"));
	CHECK(!path_is_version("") && !path_is_version("1 2") && !path_is_version("7&limit=1") &&
	      !path_is_version("184467440737095516150"));
}
