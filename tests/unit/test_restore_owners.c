// SPDX-License-Identifier: GPL-2.0-or-later
/* Owners and modes are kept with what was asked. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fakerequest.h"
#include "pcidevfs/lockfile.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

#define NIC REQUEST_NIC
#define nic request_nic

static void *ask_owner(void *arg)
{
	struct ownership alice = { 1000, 1001, 0664 };
	struct key k = request_key(NIC);

	*(int *)arg = intents_set_owner(t.in, &k, "claim", &alice, NULL, NULL);
	return NULL;
}

/* Who only looks up a mode must not wait while somebody waits for the state directory. */
DEFINE_TEST(owners_are_told_while_the_directory_is_waited_for)
{
	uint64_t quickest = UINT64_MAX;
	struct key k = request_key(NIC);
	struct ownership got;
	char dir[256];
	int dirfd, fd;

	snprintf(dir, sizeof(dir), "%s/state", test_dir());
	CHECK_EQ(mkdir(dir, 0700), 0);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = lockfile_take(dirfd, "lock", NULL); /* waited for, half a second each time */
	CHECK(fd >= 0);
	request_begin(false);
	request_plug(&nic);
	for (int i = 0; i < 3; i++) { /* a loaded machine may be slow once */
		pthread_t asker;
		uint64_t start;
		int rc = 0;

		CHECK_EQ(pthread_create(&asker, NULL, ask_owner, &rc), 0);
		usleep(100000);
		start = now_ms();
		CHECK(!intents_owner(t.in, &k, "claim", &got));
		start = now_ms() - start;
		quickest = start < quickest ? start : quickest;
		pthread_join(asker, NULL);
		CHECK_EQ(rc, -EBUSY);
	}
	if (quickest >= 200)
		FAIL("a look at an owner waited %u ms", (unsigned int)quickest);
	close(fd);
	close(dirfd);
	CHECK_EQ(
		intents_set_owner(t.in, &k, "claim", &(struct ownership){ 7, 8, 0600 }, NULL, NULL),
		0);
	CHECK(intents_owner(t.in, &k, "claim", &got) && got.uid == 7);
	request_end();
}

DEFINE_TEST(restore_owners_and_forget)
{
	struct ownership alice = { 1000, 1001, 0664 }, got;
	struct key k = request_key(NIC);
	struct out o = { 0 };

	request_boot(&nic);
	CHECK_EQ(intents_set_owner(t.in, &k, "claim", &alice, NULL, NULL), 0);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	request_end();
	request_boot(&nic);
	CHECK(intents_owner(t.in, &k, "claim", &got));
	CHECK_EQ(got.uid, 1000);
	CHECK_EQ(got.mode, 0664);
	CHECK(!intents_owner(t.in, &k, "plan", &got));
	CHECK_EQ(request_state_of(NIC).intent.uid, 1000);
	CHECK_EQ(intents_forget(t.in, "0000:00/03.0/00.0,8086:1521:0000:0000,none", NULL, NULL),
		 -EBUSY);
	request_unplug(NIC);
	request_calm();
	CHECK_EQ(intents_forget(t.in, "0000:00/03.0/00.0", NULL, NULL), -EINVAL);
	CHECK_EQ(intents_forget(t.in, "0000:00/03.0/00.0,8086:1521:0000:0000,none", NULL, NULL), 0);
	intents_print(t.in, &o);
	CHECK_STR(out_text(&o), "");
	request_end();
}

/* Users of a fresh process do not wait until it has looked at the devices, and the kernel caches
 * for long what it is told. */
DEFINE_TEST(owners_hold_from_the_first_moment_of_a_process)
{
	struct plug other = nic;
	struct ownership got;
	struct key k = request_key(NIC);

	request_boot(&nic);
	CHECK_EQ(
		intents_set_owner(t.in, &k, "claim", &(struct ownership){ 7, 8, 0600 }, NULL, NULL),
		0);
	request_end();
	request_begin(true);
	CHECK(intents_owner(t.in, &k, "claim", &got) && got.uid == 7);
	request_restore();
	CHECK(intents_owner(t.in, &k, "claim", &got) && got.uid == 7);
	CHECK_EQ(request_ask(NIC, "claim", "alice"), 0);
	CHECK_EQ(request_state_of(NIC).intent.n_owners, 1);
	request_unplug(NIC);
	other.device++;
	request_plug(&other);
	request_end();
	request_begin(true);
	CHECK(!intents_owner(t.in, &k, "claim", &got));
	request_restore();
	CHECK(!intents_owner(t.in, &k, "claim", &got));
	request_expect_line("owner.claim=7:8:0600", "state=stranger");
	request_end();
}

/* What is kept must be what can be read again. */
DEFINE_TEST(restore_keeps_as_many_owners_as_it_reads)
{
	struct ownership is = { 1000, 1001, 0664 }, got;
	struct key k = request_key(NIC);
	struct err err = { 0 };
	char file[16];
	int n = 0;

	request_boot(&nic);
	do
		snprintf(file, sizeof(file), "f%d", n);
	while (!intents_set_owner(t.in, &k, file, &is, NULL, &err) && ++n < 1000);
	CHECK_EQ(err.code, ENOSPC);
	CHECK_EQ(n, 64);
	CHECK_IN(err.text, "f64: 64 files of " NIC " have an owner");
	is.uid = 7;
	CHECK_EQ(intents_set_owner(t.in, &k, "f63", &is, NULL, NULL), 0);
	request_end();
	request_boot(&nic);
	CHECK(intents_owner(t.in, &k, "f63", &got));
	CHECK_EQ(got.uid, 7);
	request_end();
}

/* The root is no device that could be waited for, come or go. */
DEFINE_TEST(restore_keeps_the_owners_of_the_root)
{
	struct ownership is = { 1000, 1001, 0640 }, got;
	struct out o = { 0 };

	request_boot(&nic);
	CHECK(!intents_owner(t.in, NULL, "ctl", &got));
	CHECK_EQ(intents_set_owner(t.in, NULL, "ctl", &is, NULL, NULL), 0);
	is.mode = 0600;
	CHECK_EQ(intents_set_owner(t.in, NULL, "ctl", &is, NULL, NULL), 0);
	CHECK_EQ(intents_set_owner(t.in, NULL, "", &is, NULL, NULL), 0);
	request_end();
	request_boot(&nic);
	request_unplug(NIC);
	request_calm();
	CHECK(intents_owner(t.in, NULL, "ctl", &got));
	CHECK_EQ(got.mode, 0600);
	CHECK(!intents_owner(t.in, NULL, "log", &got));
	intents_print(t.in, &o);
	CHECK_STR(out_text(&o), "/ state=held device=none identity=/,0000:0000:0000:0000,none at=/ "
				"owner.ctl=1000:1001:0600 owner.=1000:1001:0600\n");
	out_free(&o);
	request_end();
}
