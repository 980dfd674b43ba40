// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../backend/wire.h"
#include "fakehost.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/err.h"
#include "pcidevfs/io.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"

/* The test program is its own helper, as the daemon is. */
static void __attribute__((constructor)) be_helper(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], HELPER_ARG))
		_exit(backend_helper(argc, argv));
}

static struct roots own_roots(void)
{
	return (struct roots){ test_dir(), test_dir(), test_dir(), "/proc/self/exe" };
}

static struct io *new_io(struct roots *roots)
{
	struct io *io;

	*roots = own_roots();
	CHECK_EQ(io_new(roots, &io, NULL), 0);
	return io;
}

#define CALL(io, ms, answer, late, ...)                                                            \
	io_call(io, (const char *const[]){ __VA_ARGS__, NULL }, ms, answer, late, NULL)

DEFINE_TEST(io_reads_and_writes)
{
	struct roots roots;
	struct io *io = new_io(&roots);
	struct out o = { 0 };

	test_file("a/value", "0000\n");
	CHECK(!chdir(test_dir()) && !symlink("../x/nvme", "a/driver"));
	CHECK_EQ(CALL(io, 5000, &o, NULL, "read", "a/value"), 0);
	CHECK_STR(o.data, "0000");
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "write", "a/value", "12\n"), 0);
	CHECK_EQ(CALL(io, 5000, &o, NULL, "read", "a/value"), 0);
	CHECK_STR(o.data, "000012\n0");
	out_free(&o);
	o = (struct out){ 0 };
	CHECK_EQ(CALL(io, 5000, &o, NULL, "link", "a/driver"), 0);
	CHECK_STR(o.data, "nvme");
	out_free(&o);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "read", "a/none"), -ENOENT);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "read", "../../etc/passwd"), -EINVAL);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "write", "a/value"), -EINVAL);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "rubbish"), -ENOSYS);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "read", "a", "b", "c", "d", "e", "f", "g", "h"),
		 -E2BIG);
	io_free(io);
}

static void *send_all(void *arg)
{
	static const char head[] = "head", body[1 << 20] = "body";
	int *fd = arg;

	CHECK_EQ(wire_send(*fd, head, 4, body, sizeof(body)), 0);
	CHECK_EQ(wire_send(*fd, head, 4, NULL, 0), 0);
	close(*fd);
	return NULL;
}

/* Through a buffer that is far too small for it. */
DEFINE_TEST(io_what_is_sent_in_pieces_arrives_whole)
{
	static char text[4 + (1 << 20) + 4];
	int pair[2], small = 4096;
	pthread_t sender;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	CHECK(!setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)));
	CHECK(!pthread_create(&sender, NULL, send_all, &pair[0]));
	CHECK_EQ(wire_receive(pair[1], text, sizeof(text)), 0);
	CHECK(!memcmp(text, "headbody", 8) && !memcmp(text + sizeof(text) - 4, "head", 4));
	CHECK_EQ(wire_receive(pair[1], text, 1), -EPIPE);
	CHECK(!pthread_join(sender, NULL));
	close(pair[1]);
}

DEFINE_TEST(io_that_cannot_start_a_helper_says_so)
{
	struct roots roots = own_roots();
	struct io *io;

	roots.helper = "/nonexistent";
	CHECK_EQ(io_new(&roots, &io, NULL), 0);
	CHECK_EQ(CALL(io, 1000, NULL, NULL, "read", "x"), -ECHILD);
	io_free(io);
}

DEFINE_TEST(io_helper_has_only_its_socket_and_ends_with_it)
{
	struct roots roots;
	struct io *io = new_io(&roots);
	struct helper_id who;
	char path[64], to[512];
	int n = 0;

	test_file("v", "1\n");
	CHECK_EQ(io_call(io, (const char *const[]){ "read", "v", NULL }, 5000, NULL, NULL, &who),
		 0);
	/* Its descriptors: the socket, /dev/null twice, the three roots. */
	for (int fd = 0; fd < 256; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)who.pid, fd);
		n += readlink(path, to, sizeof(to)) > 0;
	}
	CHECK_EQ(n, 6);
	io_free(io);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

DEFINE_TEST(io_deadline_leaves_the_helper_alone)
{
	struct roots roots;
	struct io *io = new_io(&roots);
	struct io_late *late;
	uint64_t start = now_ms();
	char path[512], text[8] = "";
	int fd;

	/* A write to a fifo that nobody reads sleeps in open, as one to a held device does in
	 * write. */
	snprintf(path, sizeof(path), "%s/fifo", test_dir());
	CHECK(!mkfifo(path, 0600));
	test_file("v", "1\n");
	CHECK_EQ(CALL(io, 50, NULL, &late, "write", "fifo", "hello"), -ETIMEDOUT);
	CHECK(late && now_ms() - start >= 50 && now_ms() - start < 10000);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "read", "v"), 0);
	fd = open(path, O_RDONLY);
	CHECK_EQ(io_late(io, late, NULL), 0);
	CHECK_EQ(read(fd, text, 5), 5);
	CHECK_STR(text, "hello");
	/* Without a token the late one is nobody's, and ends by itself. */
	close(fd);
	CHECK_EQ(CALL(io, 20, NULL, NULL, "write", "fifo", "x"), -ETIMEDOUT);
	io_free(io);
	fd = open(path, O_RDONLY);
	CHECK_EQ(read(fd, text, 5), 1);
	CHECK_EQ(waitpid(-1, NULL, 0) > 0, true);
}

/* A look that comes late tells nobody anything: it takes no more time. */
DEFINE_TEST(io_late_reader_is_killed)
{
	struct roots roots;
	struct io *io = new_io(&roots);
	const char *const argv[] = { "read", "hangs/x", NULL };
	struct helper_id who;
	int fuse = host_hang("hangs");

	CHECK_EQ(io_call(io, argv, 50, NULL, NULL, &who), -ETIMEDOUT);
	CHECK(who.pid > 0);
	CHECK_EQ(io_await(&who, 20000), 0);
	close(fuse);
	io_free(io);
}

static void *caller(void *arg)
{
	for (int i = 0; i < 200; i++) {
		struct out o = { 0 };

		if (CALL(arg, 10000, &o, NULL, "read", "v") || strcmp(out_text(&o), "value"))
			return arg;
		out_free(&o);
	}
	return NULL;
}

DEFINE_TEST(io_serves_threads_side_by_side)
{
	struct roots roots;
	struct io *io = new_io(&roots);
	pthread_t t[8];
	void *bad;

	test_file("v", "value\n");
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		CHECK(!pthread_create(&t[i], NULL, caller, io));
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		CHECK(!pthread_join(t[i], &bad));
		CHECK(!bad);
	}
	io_free(io);
}

DEFINE_TEST(io_warm_call_is_cheap)
{
	struct roots roots;
	struct io *io = new_io(&roots);
	const char *const argv[] = { "read", "v", NULL };
	struct helper_id first, who;
	uint64_t start;

	test_file("v", "1\n");
	CHECK_EQ(io_call(io, argv, 5000, NULL, NULL, &first), 0);
	start = now_us();
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(io_call(io, argv, 5000, NULL, NULL, &who), 0);
		CHECK_EQ(who.pid, first.pid);
	}
	printf("# %u us a call\n", (unsigned int)((now_us() - start) / 1000));
	io_free(io);
}
