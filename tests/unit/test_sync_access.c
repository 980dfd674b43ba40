// SPDX-License-Identifier: GPL-2.0-or-later
/* How pcidevfs-sync comes to its credentials, and how often it asks the API server. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/loop.h"
#include "k8s-sync/api/access.h"
#include "k8s-sync/api/credential.h"
#include "k8s-sync/api/exec.h"
#include "k8s-sync/api/pace.h"
#include "k8s-sync/api/queue.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

#define V1 "client.authentication.k8s.io/v1"
#define CONFIG(exec)                                                                               \
	"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"              \
	"clusters: [{name: k, cluster: {server: 'https://h:1', tls-server-name: n.example, "       \
	"certificate-authority-data: aGFsbG8=}}]\nusers: [{name: u, user: {exec: " exec "}}]\n"

static int parse(const char *text, struct access *a, struct err *err)
{
	return access_parse(text, strlen(text), "/etc/k", a, err);
}

DEFINE_TEST(sync_a_kubeconfig_names_a_program)
{
	static const char text[] =
		CONFIG("{apiVersion: " V1 ", command: bin/tell, args: [a, 'b c'], "
		       "env: [{name: A, value: 'x y'}], provideClusterInfo: true}");
	struct access a;

	CHECK_EQ(parse(text, &a, NULL), 0);
	CHECK_STR(a.server_name, "n.example");
	CHECK_STR(a.exec->argv[0], "/etc/k/bin/tell");
	CHECK_STR(a.exec->argv[1], "a");
	CHECK_STR(a.exec->argv[2], "b c");
	CHECK(!a.exec->argv[3]);
	CHECK_STR(a.exec->env[0], "A=x y");
	CHECK_IN(a.exec->env[1], "KUBERNETES_EXEC_INFO={");
	CHECK_IN(a.exec->env[1], "\"interactive\": false");
	CHECK_IN(a.exec->env[1], "\"certificate-authority-data\": \"aGFsbG8=\"");
	CHECK(!a.exec->env[2]);
	access_free(&a);
}

DEFINE_TEST(sync_a_program_that_cannot_be_used_is_refused_with_a_sentence)
{
	static const char *const rows[][2] = {
		{ CONFIG("{command: x}"), "it must be " V1 },
		{ CONFIG("{apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"),
		  "v1alpha1" },
		{ CONFIG("{apiVersion: " V1 "}"), "the command is missing" },
		{ CONFIG("{apiVersion: " V1 ", command: x, interactiveMode: Always}"),
		  "no terminal" },
		{ CONFIG("{apiVersion: " V1 ", command: x, args: [[y]]}"), "not a text" },
		{ CONFIG("{apiVersion: " V1 ", command: x, env: [{name: a=b, value: c}]}"),
		  "without name and value" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct access a;

		CHECK(parse(rows[i][0], &a, &err) < 0);
		CHECK_IN(err.text, rows[i][1]);
	}
}

static int take(const char *text, struct access *a, uint64_t *ends, struct err *err)
{
	CHECK_EQ(parse(CONFIG("{apiVersion: " V1 ", command: x}"), a, NULL), 0);
	return credential_take(a, text, strlen(text), ends, err);
}

#define ANSWER(status)                                                                             \
	"{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{" status "}}"

DEFINE_TEST(sync_a_program_tells_a_credential)
{
	static const struct {
		const char *text;
		uint64_t ends;
	} rows[] = {
		{ ANSWER("\"token\":\"t\""), 0 },
		{ ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T00:01:00Z\""), 60 },
		{ ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T02:00:00.5+01:00\""),
		  3600 },
	};
	uint64_t ends;
	struct access a;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(take(rows[i].text, &a, &ends, NULL), 0);
		CHECK_EQ(ends, rows[i].ends);
		CHECK_STR(a.secrets[SECRET_TOKEN], "t");
		access_free(&a);
	}
	CHECK_EQ(take(ANSWER("\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\""), &a, &ends,
		      NULL),
		 0);
	CHECK_STR(a.secrets[SECRET_CERT], "C");
	CHECK_STR(a.secrets[SECRET_KEY], "K");
	access_free(&a);
}

DEFINE_TEST(sync_a_credential_that_is_none_is_refused_with_a_sentence)
{
	static const char *const rows[][2] = {
		{ "", "not an ExecCredential" },
		{ "<html>", "not an ExecCredential" },
		{ "{\"kind\":\"ExecCredential\",\"apiVersion\":\"v1\"}", "but " V1 },
		{ ANSWER(""), "neither a token nor a certificate" },
		{ ANSWER("\"clientKeyData\":\"K\""), "only one of" },
		{ ANSWER("\"token\":\"a\\r\\nHost: b\""), "more than one line" },
		{ ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"soon\""), "not a time" },
		{ ANSWER("\"token\":\"t\",\"expirationTimestamp\":\"2026-01-01T00:00:00Zx\""),
		  "not a time" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct access a;
		uint64_t ends;

		CHECK(take(rows[i][0], &a, &ends, &err) < 0);
		CHECK_IN(err.text, rows[i][1]);
		access_free(&a);
	}
}

/* ---- the program */

struct ran {
	struct loop loop;
	char text[64], why[ERR_TEXT];
	size_t size;
};

static void on_done(void *ctx, const char *text, size_t size, const struct err *err)
{
	struct ran *r = ctx;

	r->size = size;
	snprintf(r->text, sizeof(r->text), "%.*s", (int)size, text);
	STR_COPY(r->why, err ? err->text : "");
	r->loop.ended = true;
}

static void run_shell(char *script, unsigned int ms, struct ran *r)
{
	char sh[] = "/bin/sh", c[] = "-c", var[] = "KUBERNETES_EXEC_INFO=info";
	struct exec_plugin e = { .argv = (char *[]){ sh, c, script, NULL },
				 .env = (char *[]){ var, NULL } };
	struct exec_run *run;

	*r = (struct ran){ 0 };
	CHECK_EQ(loop_open(&r->loop, NULL), 0);
	CHECK_EQ(exec_start(&r->loop, &e, ms, on_done, r, &run, NULL), 0);
	loop_run(&r->loop);
	/* One that is given up is freed by the loop, when it has ended. */
	if (strstr(r->why, "printed too much") || strstr(r->why, "has not ended"))
		exec_cancel(run);
	loop_leave(&r->loop);
	loop_close(&r->loop);
}

DEFINE_TEST(sync_a_program_is_run_without_a_terminal)
{
	char script[] = "cat; echo $KUBERNETES_EXEC_INFO";
	char lingers[] = "echo said; sleep 20 2>/dev/null &";
	struct ran r;

	run_shell(script, 60000, &r);
	CHECK_STR(r.text, "info\n");
	CHECK_STR(r.why, "");
	run_shell(lingers, 60000, &r); /* its child keeps the pipe open */
	CHECK_STR(r.text, "said\n");
}

DEFINE_TEST(sync_a_program_that_fails_has_a_sentence)
{
	static char missing[] = "/nowhere/x", hint[] = "install x";
	char fails[] = "exit 3", dies[] = "kill -9 $$", endless[] = "yes", hangs[] = "sleep 100";
	struct exec_plugin none = { .argv = (char *[]){ missing, NULL },
				    .env = (char *[]){ NULL },
				    .hint = hint };
	struct err err = { 0 };
	struct exec_run *run;
	struct ran r;

	run_shell(fails, 60000, &r);
	CHECK_STR(r.why, "exec: /bin/sh ended with status 3");
	run_shell(dies, 60000, &r);
	CHECK_STR(r.why, "exec: /bin/sh was killed by signal 9");
	run_shell(endless, 60000, &r);
	CHECK_STR(r.why, "exec: /bin/sh printed too much");
	run_shell(hangs, 50, &r);
	CHECK_STR(r.why, "exec: /bin/sh has not ended within 50 ms");
	CHECK_EQ(loop_open(&r.loop, NULL), 0);
	CHECK_EQ(exec_start(&r.loop, &none, 1000, on_done, &r, &run, &err), -ENOENT);
	CHECK_IN(err.text, "/nowhere/x cannot be started: No such file or directory; install x");
	loop_leave(&r.loop);
	loop_close(&r.loop);
}

/* ---- how often */

DEFINE_TEST(sync_sends_a_thousand_requests_and_then_twenty_a_second)
{
	uint64_t now = 5000, end = now + 60000;
	unsigned int at_once = 0, later = 0;
	struct pace p;

	pace_start(&p, now);
	for (; pace_at(&p, now, RANK_BULK) == now; at_once++)
		pace_spend(&p);
	CHECK_EQ(at_once, 950);
	for (; pace_at(&p, now, RANK_SOON) == now; at_once++) /* what the bulk has left */
		pace_spend(&p);
	CHECK_EQ(at_once, 1000);
	CHECK_EQ(pace_at(&p, now, RANK_URGENT), now); /* a list and a watch do not wait */
	for (; now < end; later++) {
		uint64_t at = pace_at(&p, now, RANK_SOON);

		CHECK(at <= now + 50);
		now = at > now ? at : now;
		if (pace_at(&p, now, RANK_SOON) == now)
			pace_spend(&p);
		else
			later--;
	}
	CHECK(later >= 1190 && later <= 1210);
	pace_at(&p, now + 3600000, RANK_SOON); /* an hour at rest does not pile up */
	for (at_once = 0; pace_at(&p, now + 3600000, RANK_SOON) == now + 3600000; at_once++)
		pace_spend(&p);
	CHECK_EQ(at_once, 1000);
}

DEFINE_TEST(sync_sends_by_rank_and_then_in_order)
{
	static const enum rank ranks[] = { RANK_BULK, RANK_BULK, RANK_SOON,  RANK_URGENT,
					   RANK_BULK, RANK_SOON, RANK_URGENT };
	static const size_t sent[] = { 3, 6, 2, 5, 0, 4 };
	struct call calls[ARRAY_SIZE(ranks)] = { 0 };
	struct queue q;

	queue_init(&q);
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		calls[i].rank = ranks[i];
		queue_put(&q, &calls[i]);
	}
	queue_remove(&q, &calls[1]);
	queue_remove(&q, &calls[1]);
	for (size_t i = 0; i < ARRAY_SIZE(sent); i++)
		CHECK(queue_take(&q) == &calls[sent[i]]);
	CHECK(!q.first);
	queue_put(&q, &calls[0]);
	CHECK(queue_take(&q) == &calls[0]);
	CHECK(!q.first);
}

/* An API server that is away for an hour is asked by one request at a time. */
DEFINE_TEST(sync_an_hour_away_is_a_few_looks)
{
	uint64_t begin = 5000, now = begin;
	unsigned int tries = 0, random = 1;
	struct pace p;

	pace_start(&p, now);
	CHECK(!pace_probes(&p));
	while (now < begin + 3600000) {
		uint64_t next;

		random = random * 1103515245 + 12345;
		pace_away(&p, now, 0, random >> 8);
		CHECK(pace_probes(&p));
		next = pace_at(&p, now, RANK_URGENT);
		CHECK(next >= now + 200 && next <= now + 37500);
		CHECK_EQ(pace_at(&p, next, RANK_BULK), next);
		now = next;
		tries++;
	}
	CHECK(tries > 3600 / 38 && tries < 300);
	pace_back(&p);
	CHECK(!pace_probes(&p));
	pace_away(&p, now, 60, 0); /* Retry-After, and then the first pause anew */
	CHECK_EQ(pace_at(&p, now, RANK_URGENT), now + 60200);
	pace_away(&p, now, 30, 0); /* a second refusal of the same moment adds nothing */
	CHECK_EQ(pace_at(&p, now, RANK_URGENT), now + 60200);
	pace_away(&p, now, 600, 0); /* but for more patience, if it asks for that */
	CHECK_EQ(pace_at(&p, now, RANK_URGENT), now + 600000);
}

DEFINE_TEST(sync_a_token_is_read_again_when_its_file_is_another_one)
{
	static const char text[] =
		"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
		"clusters: [{name: k, cluster: {server: 'https://h'}}]\n"
		"users: [{name: u, user: {tokenFile: token}}]\n";
	char file[256], next[256];
	struct access a;

	snprintf(file, sizeof(file), "%s/token", test_dir());
	snprintf(next, sizeof(next), "%s/next", test_dir());
	test_file("token", "one\n");
	CHECK_EQ(access_parse(text, strlen(text), test_dir(), &a, NULL), 0);
	CHECK_STR(a.secrets[SECRET_TOKEN], "one");
	CHECK(!access_refresh(&a));
	test_file("next", "two");
	CHECK(!rename(next, file));
	CHECK(access_refresh(&a));
	CHECK_STR(a.secrets[SECRET_TOKEN], "two");
	CHECK(!access_refresh(&a));
	test_file("next", "half\na line");
	CHECK(!rename(next, file));
	CHECK(!access_refresh(&a)); /* what cannot be used does not replace it */
	CHECK_STR(a.secrets[SECRET_TOKEN], "two");
	CHECK(!unlink(file));
	CHECK(!access_refresh(&a));
	access_free(&a);
}
