// SPDX-License-Identifier: GPL-2.0-or-later
/* How pcidevfs-sync comes to its credentials, and how often it asks the API server. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/file.h"
#include "client/yaml.h"
#include "k8s-sync/api/access.h"
#include "k8s-sync/api/pace.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

#define CONFIG(user)                                                                               \
	"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"              \
	"clusters: [{name: k, cluster: {server: 'https://h'}}]\n"                                  \
	"users: [{name: u, user: {" user "}}]\n"

DEFINE_TEST(sync_a_kubeconfig_that_names_a_program_is_refused_with_a_way_out)
{
	static const char *const rows[] = { CONFIG("exec: {command: x}"),
					    CONFIG("auth-provider: {name: gcp}") };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		struct access a;

		CHECK_EQ(access_parse(rows[i], strlen(rows[i]), "/", &a, &err), -EOPNOTSUPP);
		CHECK_IN(err.text, i ? "auth-provider is not supported" : "exec is not supported");
		CHECK_IN(err.text,
			 "a client certificate, a token file, or a pod's service account");
	}
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
	CHECK_EQ(pace_at(&p, now, RANK_SOON), now + 50);
	now += 45;
	CHECK_EQ(pace_at(&p, now, RANK_SOON), now + 5);
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

DEFINE_TEST(sync_the_bulk_is_sent_while_something_always_comes_soon)
{
	struct call bulk = { .rank = RANK_BULK },
		    soon[2] = { { .rank = RANK_SOON }, { .rank = RANK_SOON } };
	struct queue q;

	queue_init(&q);
	queue_put(&q, &bulk);
	queue_put(&q, &soon[0]);
	for (unsigned int i = 0; i < 7; i++) {
		queue_put(&q, &soon[(i + 1) % 2]);
		CHECK(queue_take(&q) == &soon[i % 2]);
	}
	CHECK(queue_take(&q) == &bulk);
	CHECK(queue_take(&q) == &soon[1]);
	CHECK(!q.first);
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

static void check_small_file(const char *path, int want, const char *why)
{
	_free_ char *text = NULL;
	struct err err = { 0 };

	CHECK_EQ(small_file(path, &text, &err), want);
	CHECK(!text == (want < 0));
	CHECK_IN(err.text, path);
	CHECK_IN(err.text, why);
}

/* To open a watchdog starts it. */
DEFINE_TEST(sync_what_is_no_regular_file_is_not_opened)
{
	_close_ int seen = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[256], event[sizeof(struct inotify_event) + 256];

	snprintf(path, sizeof(path), "%s/f", test_dir());
	CHECK(!mkfifo(path, 0600));
	CHECK(inotify_add_watch(seen, path, IN_OPEN) >= 0);
	check_small_file(path, -EINVAL, " is not a regular file");
	CHECK(read(seen, event, sizeof(event)) < 0 && errno == EAGAIN);
}

/* Nothing that a user names holds up a thread or takes all memory. */
DEFINE_SLOW_TEST(sync_a_small_file_is_regular_and_bounded, 10)
{
	_free_ char *full = calloc(1, YAML_SIZE_MAX + 2), *text = NULL;
	char path[256];

	snprintf(path, sizeof(path), "%s/f", test_dir());
	check_small_file(path, -ENOENT, " cannot be read: No such file");
	CHECK(!mkfifo(path, 0600));
	check_small_file(path, -EINVAL, " is not a regular file");
	CHECK(!unlink(path));
	check_small_file(test_dir(), -EINVAL, " is not a regular file");
	check_small_file("/dev/zero", -EINVAL, " is not a regular file");
	memset(full, 'x', YAML_SIZE_MAX + 1);
	test_file("f", full);
	check_small_file(path, -E2BIG, " has more than 1048576 bytes");
	full[YAML_SIZE_MAX] = '\0';
	test_file("f", full);
	CHECK_EQ(small_file(path, &text, NULL), 0);
	CHECK(!strcmp(text, full));
	CHECK(!truncate(path, 9) && !truncate(path, 10));
	check_small_file(path, -EILSEQ, " is not a text: it has a NUL");
}

DEFINE_TEST(sync_a_token_is_read_again_when_its_file_is_another_one)
{
	static const char text[] = CONFIG("tokenFile: token");
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

DEFINE_TEST(sync_a_certificate_and_its_key_are_read_again_when_they_are_renewed)
{
	static const char text[] = CONFIG("client-certificate: cert, client-key: key");
	struct access a;

	test_file("cert", "one");
	test_file("key", "secret one");
	CHECK_EQ(access_parse(text, strlen(text), test_dir(), &a, NULL), 0);
	CHECK(!access_refresh(&a));
	test_file("cert", "two");
	test_file("key", "secret two");
	CHECK(access_refresh(&a));
	CHECK_STR(a.secrets[SECRET_CERT], "two");
	CHECK_STR(a.secrets[SECRET_KEY], "secret two");
	access_free(&a);
}
