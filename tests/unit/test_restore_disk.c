// SPDX-License-Identifier: GPL-2.0-or-later
/* What is stored comes back whatever befell the disk or us meanwhile, and soon. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakerequest.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define NIC REQUEST_NIC
#define nic request_nic

static void put_state(const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "state/%s", name);
	test_file(path, text);
}

static bool health_has(const char *part)
{
	struct out o = { 0 };
	bool has;

	intents_health(t.in, &o);
	has = strstr(out_text(&o), part);
	out_free(&o);
	return has;
}

/* The one that health names. */
static void remove_damaged(void)
{
	struct out o = { 0 };
	char path[512], *name;

	intents_health(t.in, &o);
	name = strstr(out_text(&o), "intent.damaged-");
	CHECK(name);
	name[strcspn(name, ": ")] = '\0';
	snprintf(path, sizeof(path), "%s/state/%s", test_dir(), name);
	CHECK_EQ(unlink(path), 0);
	out_free(&o);
}

DEFINE_TEST(restore_sets_a_damaged_file_aside)
{
	put_state(INTENT_FILE, "pcidevfs-intent 1\nrubbish\n");
	put_state("intent.damaged-1", "an older one");
	request_boot(&nic);
	request_calm();
	CHECK(health_has("intent was set aside as intent.damaged-"));
	remove_damaged();
	CHECK(health_has("intent.damaged-1 was damaged and is now in "));
	remove_damaged();
	CHECK(!health_has("damaged"));
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_expect_line("claim=alice", "state=held");
	request_end();
}

/* A state directory that cannot be: reading goes on, what is asked is refused. */
DEFINE_TEST(restore_without_a_directory)
{
	struct out o = { 0 };

	test_file("state", "");
	request_boot(&nic);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), -ENOTDIR);
	CHECK_STR(request_state_of(NIC).facts.driver, "igb");
	CHECK_EQ(t.ops, 0);
	intents_health(t.in, &o);
	CHECK_IN(out_text(&o), "state=broken");
	out_free(&o);
	request_end();
}

static void offer_alone(struct device *dev)
{
	dev->intent.single = true;
}

/* What a disk has refused has not happened; health says so until it takes something again. */
DEFINE_TEST(restore_forgets_nothing_that_stays_on_the_disk)
{
	const char *name = "0000:00/03.0/00.0,8086:1521:0000:0000,none";
	struct request alone = { .dev = request_key(NIC), .file = "pooled", .value = "0" };
	char dir[256];

	request_boot(&nic);
	request_edit(NIC, offer_alone);
	CHECK_EQ(intents_keep(t.in, &alone, 1, false, NULL), 0);
	snprintf(dir, sizeof(dir), "%s/state/" INTENT_FILE ".new", test_dir());
	CHECK_EQ(mkdir(dir, 0700), 0);
	CHECK(intents_forget(t.in, name, NULL, NULL) < 0);
	CHECK(health_has("state=refused"));
	CHECK(health_has("fix that and write again"));
	CHECK_EQ(request_state_of(NIC).intent.single, 1);
	request_expect_line("pooled=0", "state=held");
	CHECK_EQ(rmdir(dir), 0);
	CHECK_EQ(intents_forget(t.in, name, NULL, NULL), 0);
	CHECK(!health_has("refused"));
	CHECK_EQ(request_state_of(NIC).intent.single, 0);
	request_end();
}

static int _Atomic verdict;

static void forget_in_op(void)
{
	struct err err = { 0 };

	verdict = intents_forget(t.in, "0000:00/03.0/00.0,8086:1521:0000:0000,none", NULL, &err);
	CHECK_IN(err.text, "an operation runs on " NIC);
}

/* The operation ends by writing its claim down, with what is noted: neither may be lost. */
DEFINE_TEST(restore_forgets_nothing_while_an_op_runs)
{
	struct request alone = { .dev = request_key(NIC), .file = "pooled", .value = "0" };

	request_boot(&nic);
	request_edit(NIC, offer_alone);
	CHECK_EQ(intents_keep(t.in, &alone, 1, false, NULL), 0);
	t.in_step = forget_in_op;
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	CHECK_EQ(verdict, -EBUSY);
	request_calm();
	request_expect_line("claim=alice", "pooled=0");
	CHECK_STR(request_state_of(NIC).intent.claim, "alice");
	request_end();
}

/* Somebody writes while the disk works for forget: his request is kept next. */
static int ask_meanwhile(void *ctx, const struct key *dev, bool owned, struct err *err)
{
	model_lock(t.m);
	STR_COPY(model_edit(t.m, dev, false)->intent.resource, "acme.com/x");
	model_publish(t.m);
	model_unlock(t.m);
	return 0;
}

DEFINE_TEST(restore_forgets_only_what_was_stored)
{
	struct settler settler = { .may = ask_meanwhile };

	request_boot(&nic);
	CHECK_EQ(request_ask(NIC, "pooled", "0"), 0);
	CHECK(request_state_of(NIC).intent.noted);
	CHECK_EQ(intents_forget(t.in, "0000:00/03.0/00.0,8086:1521:0000:0000,none", &settler, NULL),
		 0);
	CHECK(!request_state_of(NIC).intent.noted);
	CHECK_EQ(request_state_of(NIC).intent.single, 0);
	CHECK_STR(request_state_of(NIC).intent.resource, "acme.com/x");
	request_end();
}

static int count_asked(void *ctx, const struct key *dev, bool owned, struct err *err)
{
	++*(int *)ctx;
	return 0;
}

static int may_not(void *ctx, const struct key *dev, bool owned, struct err *err)
{
	CHECK(dev && !strcmp(dev->name, NIC) && !owned);
	return fail(err, EACCES, "not his");
}

/* The process that removed it from the disk ended before it told the model; the user asks again. */
DEFINE_TEST(restore_forgets_once_for_who_asks_again)
{
	const char *name = "0000:00/03.0/00.0,8086:1521:0000:0000,none";
	int asked = 0;
	struct settler s = { .may = count_asked, .ctx = &asked, .again = true };
	struct settler refused = { .may = may_not, .again = true };
	struct key k = request_key(NIC);

	request_boot(&nic);
	request_edit(NIC, offer_alone);
	CHECK_EQ(intents_forget(t.in, name, NULL, NULL), -EINVAL);
	CHECK_EQ(request_state_of(NIC).intent.single, 1);
	CHECK_EQ(intents_forget(t.in, name, &refused, NULL), -EACCES);
	CHECK_EQ(request_state_of(NIC).intent.single, 1);
	CHECK_EQ(intents_forget(t.in, name, &s, NULL), 0);
	CHECK_EQ(request_state_of(NIC).intent.single, 0);
	CHECK(key_eq(&s.dev, &k));
	CHECK_EQ(asked, 1); /* who asks again may have been refused */
	CHECK_EQ(intents_accept(t.in, &k, NULL, NULL), -EINVAL);
	CHECK_EQ(intents_accept(t.in, &k, &s, NULL), 0);
	CHECK_EQ(asked, 2);
	request_end();
}

/* Each in a process of its own. */
static void keep_asking(_Atomic int *acknowledged)
{
	request_begin(false);
	request_plug(&nic);
	CHECK_EQ(intents_note(t.in, NULL), 0);
	for (;;) {
		char value[16];

		snprintf(value, sizeof(value), "n%d", *acknowledged + 1);
		CHECK_EQ(request_ask(NIC, "claim", value), 0);
		(*acknowledged)++;
	}
}

static void look_what_is_stored(_Atomic int *acknowledged)
{
	int stored, last = *acknowledged;

	request_boot(&nic);
	stored = request_state_of(NIC).intent.claim[0]
			 ? atoi(request_state_of(NIC).intent.claim + 1)
			 : 0;
	if (stored != last && stored != last + 1)
		FAIL("n%d was acknowledged, n%d is stored", last, stored);
	*acknowledged = stored;
	request_end();
}

static pid_t in_child(void (*run_there)(_Atomic int *), _Atomic int *arg)
{
	pid_t pid = fork();

	if (!pid) {
		run_there(arg);
		_exit(0);
	}
	CHECK(pid > 0);
	return pid;
}

#ifdef __SANITIZE_THREAD__
#define SLOWNESS 10
#else
#define SLOWNESS 1
#endif

/* Killed anywhere while requests are kept: what the last answer said is there. */
DEFINE_SLOW_TEST(restore_after_kill_while_keeping, 300)
{
	_Atomic int *acknowledged =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	/* On a busy machine the first rounds may end before there is an answer. */
	for (useconds_t round = 0; round < 40 || (!*acknowledged && round < 400); round++) {
		pid_t pid = in_child(keep_asking, acknowledged);
		int status;

		usleep((3000 + round * 500) * SLOWNESS);
		kill(pid, SIGKILL);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFSIGNALED(status));
		pid = in_child(look_what_is_stored, acknowledged);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	}
	printf("# %d acknowledged\n", *acknowledged);
	CHECK(*acknowledged > 0);
}

enum { MANY = 64 };

/* A machine with many claims: what we ourselves take for it. */
DEFINE_TEST(restore_many_is_quick)
{
	char names[MANY][16], paths[MANY][32];
	struct plug p = nic;
	uint64_t start;

	for (int reboot = 0; reboot < 2; reboot++) {
		request_begin(false);
		for (int i = 0; i < MANY; i++) {
			snprintf(names[i], sizeof(names[i]), "0000:%02x:00.0", i + 1);
			snprintf(paths[i], sizeof(paths[i]), "0000:00/%02x.0/00.0", i & 31);
			p.name = names[i];
			p.path = paths[i];
			p.group = i;
			p.serial = 1000 + (uint64_t)i;
			request_plug(&p);
		}
		start = now_ms();
		request_restore();
		request_calm();
		if (reboot)
			printf("# %d claims in %llu ms\n", MANY,
			       (unsigned long long)(now_ms() - start));
		for (int i = 0; i < MANY; i++)
			if (!reboot)
				CHECK_EQ(request_ask(names[i], "claim", "alice"), 0);
			else
				CHECK_STR(request_state_of(names[i]).intent.claim, "alice");
		request_end();
	}
}
