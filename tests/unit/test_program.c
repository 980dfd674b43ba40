// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs of a vendor's driver, by a stand-in below a root of its own: sh and little else is in
 * there. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "backend/program.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"

#define PROGRAM "driver/usr/lib/nvidia/sriov-manage"
#define GPU "0000:08:00.0"
#define NEEDED (CAP(SYS_ADMIN) | CAP(SYS_CHROOT) | CAP(SYS_MODULE) | CAP(MKNOD))

static void script(const char *text)
{
	char whole[2048];

	snprintf(whole, sizeof(whole), "#!/bin/sh\n%s\n", text);
	test_file(PROGRAM, whole);
	CHECK_EQ(chmod(PROGRAM, 0755), 0);
}

static void lend(const char *dir)
{
	char at[64];

	snprintf(at, sizeof(at), "driver%s", dir);
	if (!access(dir, F_OK))
		CHECK(!mkdir(at, 0755) && !mount(dir, at, NULL, MS_BIND | MS_REC, NULL));
}

/* In a mount namespace that helpers are to share: before the spawner is started. */
static struct io *start(struct roots *roots)
{
	static char driver[512];
	struct io *io;

	if (geteuid() || confine_lacks(NEEDED))
		SKIP("this needs capabilities");
	umask(022);
	CHECK_EQ(chdir(test_dir()), 0);
	script("exit 0");
	if (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		SKIP("no mount namespace: %s", strerror(errno));
	for (const char *const *dir =
		     (const char *const[]){ "/bin", "/lib", "/lib64", "/dev", "/proc", NULL };
	     *dir; dir++)
		lend(*dir);
	snprintf(driver, sizeof(driver), "%s/driver", test_dir());
	*roots = (struct roots){ test_dir(), test_dir(), test_dir(), driver };
	CHECK_EQ(backend_open_spawner(roots, &roots->spawner, NULL), 0);
	CHECK_EQ(io_new(roots, &io, NULL), 0);
	return io;
}

static int run(struct io *io, struct err *err)
{
	*err = (struct err){ 0 };
	return program_run(io, "sriov-manage", "-e", GPU, 60000, NULL, NULL, err);
}

static void check_run(struct io *io, int code, const char *text)
{
	struct err err;
	int rc = run(io, &err);

	if (rc != -code || !strstr(err.text, text))
		FAIL("%s \"%s\", should be %s \"%s\"", err_name(-rc), err.text, err_name(code),
		     text);
}

static const char *said(const char *name)
{
	static char text[4096];
	_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read_all(fd, text, sizeof(text) - 1);

	CHECK(n >= 0);
	text[n] = '\0';
	return text;
}

DEFINE_TEST(program_runs_with_what_it_needs_alone)
{
	struct roots roots;
	struct io *io = start(&roots);
	char caps[64];

	script("echo \"$@\" >/args; pwd >/cwd; cat >/in; echo $$ >/pid\n"
	       "tr '\\0' '\\n' </proc/self/environ >/env; cat /proc/self/status >/status");
	check_run(io, 0, "");
	CHECK_STR(said("driver/args"), "-e " GPU "\n");
	CHECK_STR(said("driver/cwd"), "/\n");
	CHECK_STR(said("driver/in"), "");
	CHECK_STR(said("driver/pid"), "1\n");
	/* What sh sets by itself is not ours. */
	CHECK(!strstr(said("driver/env"), "PATH=") && !strstr(said("driver/env"), "HOME="));
	snprintf(caps, sizeof(caps), "CapEff:\t%016llx\n",
		 (unsigned long long)(NEEDED & ~CAP(SYS_CHROOT)));
	CHECK(strstr(said("driver/status"), caps));
	CHECK(strstr(said("driver/status"), "NoNewPrivs:\t1\n"));
	CHECK(strstr(said("driver/status"), "Seccomp:\t2\n"));
	/* It cannot leave its root, nor enter another, nor mount. */
	script("chroot /proc/1/root true && exit 9; unshare -m true && exit 9\n"
	       "mount -t tmpfs x /bin && exit 9; exit 0");
	check_run(io, 0, "");
	io_free(io);
}

DEFINE_TEST(program_that_fails_is_told_by_its_last_lines)
{
	struct roots roots;
	struct io *io = start(&roots);
	struct err err;

	script("echo first; echo cannot obtain unbindLock >&2; exit 3");
	check_run(io, EIO, "sriov-manage ended with status 3: first;cannot obtain unbindLock");
	script("exit 1");
	check_run(io, EIO, "status 1: it printed nothing");
	script("kill -9 $$; kill -9 $$; sh -c 'kill -9 $$'; exit $?");
	check_run(io, EIO, "status 137");
	script("head -c 10000000 /dev/zero | tr '\\0' 'x'; echo; echo '\033[1mthe end'; exit 4");
	CHECK_EQ(run(io, &err), -EIO);
	CHECK(strstr(err.text, "status 4: ?[1mthe end") && strlen(err.text) < 100);
	/* Whatever it is, nothing else is started in its place. */
	script("");
	test_file(PROGRAM, "neither a script nor a program");
	check_run(io, EIO, "exec: Exec format error");
	io_free(io);
}

/* Nothing goes on after it: not what it left behind, nor what ignores signals. */
DEFINE_TEST(program_ends_with_all_that_it_started)
{
	struct roots roots;
	struct io *io = start(&roots);
	char c;
	int fd;

	CHECK_EQ(mkfifo("driver/alive", 0600), 0);
	fd = open("driver/alive", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	script("trap '' HUP TERM INT; setsid sleep 1000 >/alive & exit 0");
	check_run(io, 0, "");
	CHECK_EQ(read(fd, &c, 1), 0); /* nobody has it open */
	close(fd);
	io_free(io);
}

DEFINE_TEST(program_that_hangs_is_killed)
{
	struct roots roots;
	struct io *io = start(&roots);
	struct helper_id who;
	void *late;
	struct err err = { 0 };
	uint64_t since = now_ms();

	script("trap '' TERM; echo half way; sleep 1000 & sleep 1000");
	CHECK_EQ(program_run(io, "sriov-manage", "-d", GPU, 300, &late, &who, &err), -ETIMEDOUT);
	CHECK(now_ms() - since >= 300);
	CHECK(!late);
	CHECK(strstr(err.text, "sriov-manage did not end within 300 ms and was killed: half way"));
	/* One that floods us does not keep the time from passing. */
	script("while :; do echo and so on; done");
	CHECK_EQ(program_run(io, "sriov-manage", "-d", GPU, 300, &late, &who, &err), -ETIMEDOUT);
	CHECK(strstr(err.text, "and so on;and so on"));
	script("exit 0");
	check_run(io, 0, "");
	io_free(io);
}

/* A file system that accepts requests and does not answer until gate is open: who waits for it is
 * in state D, and SIGKILL does not end it. */
struct hole {
	int fd;
	atomic_bool asked, gate;
};

static void *serve_hole(void *arg)
{
	struct hole *h = arg;
	static char text[FUSE_MIN_READ_BUFFER * 2];
	const struct fuse_in_header *in = (const void *)text;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = FUSE_KERNEL_MINOR_VERSION,
				      .max_write = 4096 };

	for (;;) {
		struct fuse_out_header out = { .len = sizeof(out), .error = -ENOENT };
		struct iovec v[] = { { &out, sizeof(out) }, { &init, sizeof(init) } };
		bool is_init;

		if (read(h->fd, text, sizeof(text)) < 0)
			return NULL;
		is_init = in->opcode == FUSE_INIT;
		if (in->opcode == FUSE_INTERRUPT || in->opcode == FUSE_FORGET)
			continue;
		if (!is_init)
			atomic_store(&h->asked, true);
		while (!is_init && !atomic_load(&h->gate))
			usleep(1000);
		out.unique = in->unique;
		if (is_init)
			out = (struct fuse_out_header){ sizeof(out) + sizeof(init), 0, in->unique };
		if (writev(h->fd, v, is_init ? 2 : 1) < 0 && errno != ENOENT)
			return NULL;
	}
}

static void open_hole(struct hole *h, pthread_t *server)
{
	char options[128];

	h->fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (h->fd < 0)
		SKIP("no /dev/fuse: %s", strerror(errno));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", h->fd);
	CHECK(!mkdir("driver/hole", 0755));
	CHECK(!mount("hole", "driver/hole", "fuse", 0, options));
	CHECK(!pthread_create(server, NULL, serve_hole, h));
}

/* It is left alone: the next one runs beside it, and its own end is told when it comes. */
DEFINE_TEST(program_that_cannot_be_killed_is_left_alone)
{
	struct roots roots;
	struct io *io = start(&roots);
	struct hole hole = { 0 };
	struct helper_id who;
	void *late = NULL;
	struct err err = { 0 };
	struct out said = { 0 };
	pthread_t server;

	open_hole(&hole, &server);
	script("cat /hole/file");
	CHECK_EQ(program_run(io, "sriov-manage", "-d", GPU, 300, &late, &who, &err), -ETIMEDOUT);
	CHECK(atomic_load(&hole.asked));
	CHECK(late);
	CHECK_IN(err.text,
		 "did not end within 300 ms and cannot be killed: it waits in the kernel");
	script("exit 0");
	check_run(io, 0, "");
	CHECK_EQ(io_await(&who, 0), -ETIMEDOUT);
	atomic_store(&hole.gate, true);
	CHECK_EQ(io_late(io, late, &said), -ETIMEDOUT);
	CHECK_IN(out_text(&said), "sriov-manage did not end within 300 ms and was killed");
	out_free(&said);
	CHECK(!umount2("driver/hole", MNT_FORCE | MNT_DETACH));
	CHECK(!pthread_join(server, NULL));
	close(hole.fd);
	io_free(io);
}

/* Who it is was written before the program began, which the sanitizer cannot know. */
__attribute__((no_sanitize("thread"))) static void *kill_helper(void *who)
{
	while (access("driver/there", F_OK))
		usleep(1000);
	CHECK(!kill(((struct helper_id *)who)->pid, SIGKILL));
	return NULL;
}

/* Nor does it outlive its helper. */
DEFINE_TEST(program_ends_with_its_helper)
{
	struct roots roots;
	struct io *io = start(&roots);
	struct helper_id who;
	struct err err = { 0 };
	pthread_t killer;
	char c;
	int fd;

	CHECK_EQ(mkfifo("driver/alive", 0600), 0);
	fd = open("driver/alive", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	script("sleep 1000 >/alive & : >/there; wait");
	CHECK(!pthread_create(&killer, NULL, kill_helper, &who));
	CHECK_EQ(program_run(io, "sriov-manage", "-d", GPU, 60000, NULL, &who, &err), -EIO);
	CHECK(!pthread_join(killer, NULL));
	while (read(fd, &c, 1))
		usleep(1000);
	close(fd);
	io_free(io);
}

static void others_may_write(void)
{
	CHECK_EQ(chmod(PROGRAM, 0757), 0);
}

static void group_may_write(void)
{
	CHECK_EQ(chmod(PROGRAM, 0775), 0);
}

static void not_roots(void)
{
	CHECK_EQ(chown(PROGRAM, 1000, 0), 0);
}

static void way_is_writable(void)
{
	CHECK_EQ(chmod("driver/usr/lib", 01777), 0);
}

static void way_is_not_roots(void)
{
	CHECK_EQ(chown("driver/usr", 1000, 0), 0);
}

static void root_is_writable(void)
{
	CHECK_EQ(chmod("driver", 0777), 0);
}

static void no_program(void)
{
	CHECK_EQ(unlink(PROGRAM), 0);
}

static void directory_in_place(void)
{
	CHECK(!unlink(PROGRAM) && !mkdir(PROGRAM, 0755));
}

static void fifo_in_place(void)
{
	CHECK(!unlink(PROGRAM) && !mkfifo(PROGRAM, 0755));
}

static void link_out(void)
{
	CHECK(!unlink(PROGRAM) && !symlink("/../../../../../bin/true", PROGRAM));
}

static void way_is_a_link(void)
{
	CHECK(!rename("driver/usr/lib/nvidia", "elsewhere") &&
	      !symlink("../../../elsewhere", "driver/usr/lib/nvidia"));
}

DEFINE_TEST(program_that_may_be_anybodys_is_not_run)
{
	static const struct {
		void (*spoil)(void);
		int code;
		const char *text;
	} rows[] = {
		{ others_may_write, EPERM, "sriov-manage must belong to root" },
		{ group_may_write, EPERM, "sriov-manage must belong to root" },
		{ not_roots, EPERM, "sriov-manage must belong to root" },
		{ way_is_writable, EPERM, "/driver/usr/lib must belong to root" },
		{ way_is_not_roots, EPERM, "/driver/usr must belong to root" },
		{ root_is_writable, EPERM, "/driver/ must belong to root" },
		{ no_program, EOPNOTSUPP,
		  "has no usr/lib/nvidia/sriov-manage: install the driver there" },
		{ directory_in_place, EPERM, "sriov-manage is not a regular file" },
		{ fifo_in_place, EPERM, "sriov-manage is not a regular file" },
		{ link_out, EPERM, "sriov-manage is not a regular file" },
		{ way_is_a_link, EPERM, "/driver/usr/lib/nvidia is not a directory" },
	};
	struct roots roots;
	struct io *io = start(&roots);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK(!system("rm -rf driver/usr elsewhere"));
		CHECK_EQ(chmod("driver", 0755), 0);
		script(": >/was_run");
		rows[i].spoil();
		check_run(io, rows[i].code, rows[i].text);
		CHECK(access("driver/was_run", F_OK));
	}
	CHECK(!umount2("driver/proc", MNT_DETACH));
	io_free(io);
}

DEFINE_TEST(program_is_run_only_by_its_row)
{
	static const char *const rows[][3] = {
		{ "sh", "-e", GPU },
		{ "../nvidia/sriov-manage", "-e", GPU },
		{ "", "", "" },
		{ "sriov-manage", "-c", GPU },
		{ "sriov-manage", "", GPU },
		{ "sriov-manage", "-e", "ALL" },
		{ "sriov-manage", "-e", "0000:08:00.0 -d" },
		{ "sriov-manage", "-e", "../../x" },
	};
	struct roots roots;
	struct io *io = start(&roots);

	script(": >/was_run");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(program_run(io, rows[i][0], rows[i][1], rows[i][2], 60000, NULL, NULL,
				     NULL),
			 -EINVAL);
	CHECK(access("driver/was_run", F_OK));
	check_run(io, 0, "");
	CHECK(!access("driver/was_run", F_OK));
	io_free(io);
}

/* The file that was checked is the one that runs, whatever has its name by then. */
DEFINE_TEST(program_is_the_one_that_was_checked)
{
	struct roots roots;
	struct io *io = start(&roots);
	int runs = 0;
	pid_t pid;

	script("exit 0");
	CHECK(!rename(PROGRAM, "driver/good"));
	test_file("driver/bad", "#!/bin/sh\n: >/was_run\n");
	CHECK(!chmod("driver/bad", 0777) && !link("driver/good", PROGRAM));
	pid = fork();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!pid) /* one that others may write, and the good one, in turns */
		CHECK(!rename("driver/bad", PROGRAM) && !link(PROGRAM, "driver/bad") &&
		      !unlink(PROGRAM) && !link("driver/good", PROGRAM));
	for (uint64_t until = now_ms() + 300; now_ms() < until; runs++) {
		struct err err;
		int rc = run(io, &err);

		if (rc && rc != -EPERM && rc != -EOPNOTSUPP)
			FAIL("%s: %s", err_name(-rc), err.text);
	}
	kill(pid, SIGKILL);
	CHECK(runs > 0 && access("driver/was_run", F_OK));
	io_free(io);
}

static struct io *start_with(uint64_t caps, struct roots *roots)
{
	struct io *io;

	CHECK_EQ(confine_caps(caps, caps, NULL), 0);
	CHECK_EQ(backend_open_spawner(roots, &roots->spawner, NULL), 0);
	CHECK_EQ(io_new(roots, &io, NULL), 0);
	return io;
}

DEFINE_TEST(program_lacks_a_capability)
{
	struct roots roots;
	struct io *io = start(&roots);

	io_free(io);
	/* Enough to be started, and it alone knows what else it needs. */
	io = start_with(CAP(SETPCAP) | CAP(SYS_CHROOT) | CAP(SYS_ADMIN) | CAP(MKNOD), &roots);
	check_run(io, 0, "");
	script("exit 1");
	check_run(io, EIO, "status 1: it printed nothing; pcidevfsd lacks CAP_SYS_MODULE");
	io_free(io);
	io = start_with(CAP(SETPCAP) | CAP(SYS_ADMIN), &roots);
	check_run(io, EPERM, "sriov-manage cannot be started; pcidevfsd lacks CAP_SYS_");
	io_free(io);
}
