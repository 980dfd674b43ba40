// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks that nobody else can take, and the state directory's. */
#include "pcidevfs/lockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fakerequest.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "test.h"

#define t fakerequest

static int open_test_dir(void)
{
	int dir = open(test_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(dir >= 0);
	return dir;
}

DEFINE_TEST(lockfile_has_one_holder)
{
	int dir = open_test_dir(), first = lockfile_take(dir, "x", NULL);
	struct stat st;

	CHECK(first >= 0 && !fstat(first, &st));
	CHECK_EQ(st.st_mode & 0777, 0600);
	CHECK_EQ(lockfile_take(dir, "x", NULL), -EWOULDBLOCK);
	close(first);
	first = lockfile_take(dir, "x", NULL);
	CHECK(first >= 0 && lockfile_holds(first, dir, "x"));
	CHECK(!unlinkat(dir, "x", 0) && !lockfile_holds(first, dir, "x"));
	close(lockfile_take(dir, "x", NULL));
	CHECK(!lockfile_holds(first, dir, "x"));
	close(first);
	close(dir);
}

/* Whoever can open it can lock it, and keep us out. */
DEFINE_TEST(lockfile_that_others_could_open_is_refused)
{
	static const mode_t modes[] = { 0644, 0620, 0604 };
	struct err err = { 0 };
	int dir = open_test_dir();

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		close(openat(dir, "open", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		CHECK(!fchmodat(dir, "open", modes[i], 0));
		CHECK_EQ(lockfile_take(dir, "open", &err), -EPERM);
		CHECK_IN(err.text, "open is not a file that user ");
	}
	CHECK(!symlinkat("open", dir, "link"));
	CHECK_EQ(lockfile_take(dir, "link", NULL), -ELOOP);
	CHECK(!mkfifoat(dir, "fifo", 0600));
	CHECK_EQ(lockfile_take(dir, "fifo", NULL), -EPERM);
	CHECK(!mkdirat(dir, "dir", 0700));
	CHECK_EQ(lockfile_take(dir, "dir", NULL), -EISDIR);
	close(dir);
}

/* flock -x /var/lib/pcidevfs needs no more than the right to read it. */
DEFINE_TEST(a_locked_state_directory_refuses_nothing)
{
	char dir[256];
	int fd;

	snprintf(dir, sizeof(dir), "%s/state", test_dir());
	CHECK_EQ(mkdir(dir, 0755), 0);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0 && !flock(fd, LOCK_EX));
	request_boot(&request_nic);
	CHECK_EQ(request_ask(REQUEST_NIC, "claim", "alice"), 0);
	request_end();
	close(fd);
}

static int own(uid_t uid, struct err *err)
{
	struct ownership request = { uid, 1, 0600 };
	struct key k = request_key(REQUEST_NIC);

	return intents_set_owner(t.in, &k, "claim", &request, NULL, err);
}

/* Whoever removes the lock does not let a second daemon write there: it is made and taken again. */
DEFINE_TEST(a_removed_state_lock_is_taken_again)
{
	char dir[256];
	int fd;

	snprintf(dir, sizeof(dir), "%s/state", test_dir());
	request_boot(&request_nic);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_EQ(own(1000, NULL), 0);
	CHECK_EQ(lockfile_take(fd, "lock", NULL), -EWOULDBLOCK);
	CHECK(!unlinkat(fd, "lock", 0));
	CHECK_EQ(own(1001, NULL), 0);
	CHECK_EQ(lockfile_take(fd, "lock", NULL), -EWOULDBLOCK);
	request_end();
	close(fd);
}

/* Nothing is written without the lock, and what is there is read all the same. */
DEFINE_TEST(a_state_directory_without_a_lock_is_read)
{
	struct key k = request_key(REQUEST_NIC);
	struct ownership got;
	struct err err = { 0 };
	struct out o = { 0 };
	char dir[256];
	int fd;

	snprintf(dir, sizeof(dir), "%s/state", test_dir());
	request_boot(&request_nic);
	CHECK_EQ(own(1000, NULL), 0);
	request_end();
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0 && !fchmodat(fd, "lock", 0666, 0));
	request_boot(&request_nic);
	CHECK(intents_owner(t.in, &k, "claim", &got));
	CHECK_EQ(got.uid, 1000);
	intents_health(t.in, &o);
	CHECK_IN(out_text(&o), "state=refused");
	CHECK_IN(out_text(&o), "state/lock is not a file that user ");
	CHECK_EQ(own(1001, &err), -EPERM);
	CHECK_IN(err.text, "state/lock is not a file that user ");
	CHECK(!unlinkat(fd, "lock", 0));
	CHECK_EQ(own(1001, NULL), 0);
	out_free(&o);
	intents_health(t.in, &o);
	CHECK(!strstr(out_text(&o), "refused"));
	out_free(&o);
	request_end();
	close(fd);
}
