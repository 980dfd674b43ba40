// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/wire.h"
#include "fakehost.h"
#include "pcidevfs/backend.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/fdmsg.h"
#include "pcidevfs/io.h"
#include "pcidevfs/step.h"
#include "pcidevfs/util.h"

/* The test program starts its own helpers, as the daemon does. */
static void __attribute__((constructor)) be_spawner(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], SPAWNER_ARG))
		_exit(backend_spawner(argc, argv));
}

static struct roots own_roots(void)
{
	return (struct roots){ test_dir(), test_dir(), test_dir() };
}

static struct io *new_io(struct roots *roots)
{
	struct io *io;

	*roots = own_roots();
	CHECK_EQ(backend_open_spawner(roots, &roots->spawner, NULL), 0);
	CHECK_EQ(io_new(roots, &io, NULL), 0);
	return io;
}

/* An attribute that may be written, and its value. */
#define PROBE "bus/pci/drivers_probe"
#define FUNCTION "0000:05:00.0"

#define CALL(io, ms, answer, late, ...)                                                            \
	io_call(io, (const char *const[]){ __VA_ARGS__, NULL }, ms, answer, late, NULL)

DEFINE_TEST(io_reads_and_writes)
{
	struct roots roots;
	struct io *io = new_io(&roots);
	struct out o = { 0 };

	test_file("bus/value", "0000\n");
	test_file(PROBE, "");
	CHECK(!chdir(test_dir()) && !symlink("../x/nvme", "bus/driver"));
	CHECK_EQ(CALL(io, 5000, &o, NULL, "read", "bus/value"), 0);
	CHECK_STR(o.data, "0000");
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "write", PROBE, FUNCTION), 0);
	CHECK_EQ(CALL(io, 5000, &o, NULL, "read", PROBE), 0);
	CHECK_STR(o.data, "0000" FUNCTION);
	out_free(&o);
	o = (struct out){ 0 };
	CHECK_EQ(CALL(io, 5000, &o, NULL, "link", "bus/driver"), 0);
	CHECK_STR(o.data, "nvme");
	out_free(&o);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "read", "bus/none"), -ENOENT);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "read", "../../etc/passwd"), -EINVAL);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "write", "bus/value"), -EINVAL);
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
	CHECK_EQ(io_await(&who, 20000), 0);
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

/* An invalid record costs only itself: descriptors with it are closed, and the next one is
 * served. */
DEFINE_TEST(io_spawner_refuses_garbage)
{
	static const struct {
		struct wire_spawn what;
		size_t size;
	} rows[] = {
		{ { WIRE_SPAWN + 1, HELPER_SYSFS }, sizeof(struct wire_spawn) },
		{ { WIRE_SPAWN, HELPER_KINDS }, sizeof(struct wire_spawn) },
		{ { WIRE_SPAWN, UINT32_MAX }, sizeof(struct wire_spawn) },
		{ { WIRE_SPAWN, HELPER_SYSFS }, sizeof(struct wire_spawn) - 1 },
		{ { WIRE_SPAWN, HELPER_SYSFS }, 1 },
	};
	struct roots roots;
	struct io *io = new_io(&roots);
	char c;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int pair[2];

		CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
		CHECK_EQ(fdmsg_send(roots.spawner, &rows[i].what, rows[i].size, &pair[1], 1), 0);
		close(pair[1]);
		CHECK_EQ(read(pair[0], &c, 1), 0);
		close(pair[0]);
	}
	/* Without a descriptor, and with too many. */
	CHECK_EQ(fdmsg_send(roots.spawner, &rows[0].what, sizeof(rows[0].what), NULL, 0), 0);
	CHECK_EQ(fdmsg_send(roots.spawner, &(struct wire_spawn){ WIRE_SPAWN, HELPER_SYSFS },
			    sizeof(struct wire_spawn), (int[]){ 0, 1, 2 }, 3),
		 0);
	test_file("bus/v", "1\n");
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "read", "bus/v"), 0);
	io_free(io);
}

static void ask(int sock, const char *const *argv, int *ret_result)
{
	struct wire_request head = { .deadline_ms = 5000 };
	struct wire_answer answer;
	char words[256];

	for (; argv[head.argc]; head.argc++) {
		strcpy(words + head.size, argv[head.argc]);
		head.size += (uint32_t)strlen(argv[head.argc]) + 1;
	}
	CHECK_EQ(wire_send(sock, &head, sizeof(head), words, head.size), 0);
	CHECK_EQ(wire_receive(sock, &answer, sizeof(answer)), 0);
	*ret_result = answer.result;
}

/* A helper's rights are those of one kind of request, and no other is heard. */
DEFINE_TEST(io_helper_serves_its_kind_alone)
{
	static const char *const requests[][4] = {
		{ "read", "bus/v" }, { "serials", "" }, { "holders", "" },
		{ "critical", "" },  { "modprobe", "" },
	};
	const struct wire_spawn what = { WIRE_SPAWN, HELPER_MODULE };
	struct roots roots;
	struct io *io = new_io(&roots);
	struct wire_hello hello;
	int pair[2], result;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	CHECK_EQ(fdmsg_send(roots.spawner, &what, sizeof(what), &pair[1], 1), 0);
	CHECK_EQ(wire_receive(pair[0], &hello, sizeof(hello)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		ask(pair[0], requests[i], &result);
		CHECK_EQ(result, i + 1 < ARRAY_SIZE(requests) ? -EPERM : -EINVAL);
	}
	close(pair[0]);
	/* Nor does one that writes reach what is the whole machine's. */
	test_file("kernel/uevent_helper", "");
	test_file("bus/x/module/parameters/p", "");
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "write", "kernel/uevent_helper", "/bin/sh"), -EPERM);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "write", "bus/x/module/parameters/p", "1"), -EPERM);
	io_free(io);
}

/* Between a request and its hello nothing was begun: it is asked for again. */
DEFINE_TEST(io_asks_again_where_a_spawner_dies)
{
	struct roots roots = own_roots();
	struct io *io;
	int pair[2], other = -1;
	struct wire_spawn what;
	pthread_t t;
	void *rc;

	test_file("v", "value\n");
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	roots.spawner = pair[0];
	CHECK_EQ(io_new(&roots, &io, NULL), 0);
	CHECK(!pthread_create(&t, NULL, caller, io));
	CHECK_EQ(fdmsg_recv(pair[1], &what, sizeof(what), &other, 1), 0);
	close(other); /* as its death would */
	CHECK(backend_spawn(&roots, pair[1]) > 0);
	CHECK(!pthread_join(t, &rc));
	CHECK(!rc);
	io_free(io);
}

struct killed {
	struct io *io;
	const char *const *argv;
	struct out answer;
	int rc;
};

static void *call_killed(void *arg)
{
	struct killed *k = arg;

	k->rc = io_call(k->io, k->argv, 60000, &k->answer, NULL, NULL);
	return NULL;
}

/* The helper that the next request gets. */
static struct helper_id next_helper(struct io *io)
{
	struct helper_id who;

	CHECK_EQ(io_call(io, (const char *const[]){ "read", "bus/v", NULL }, 20000, NULL, NULL,
			 &who),
		 0);
	return who;
}

static void end_helper(const struct helper_id *who)
{
	CHECK(!kill(who->pid, SIGKILL));
	CHECK_EQ(io_await(who, 20000), 0);
}

/* One that was killed before it read its request has done nothing. */
DEFINE_TEST(io_asks_again_where_an_idle_helper_dies)
{
	static const char *const rows[][4] = { { "read", "bus/v" }, { "write", PROBE, FUNCTION } };
	struct roots roots;
	struct io *io = new_io(&roots);

	test_file("bus/v", "0\n");
	test_file(PROBE, "");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct killed k = { .io = io, .argv = rows[i] };
		struct helper_id who = next_helper(io);
		pthread_t t;

		CHECK(!kill(who.pid, SIGSTOP));
		CHECK(!pthread_create(&t, NULL, call_killed, &k));
		usleep(50000);
		end_helper(&who);
		CHECK(!pthread_join(t, NULL));
		CHECK_EQ(k.rc, 0);
		out_free(&k.answer);
	}
	io_free(io);
}

/* One that was killed while it read is asked for once more. */
DEFINE_TEST(io_asks_again_where_a_reader_dies)
{
	static const char *const argv[] = { "read", "hangs/x", NULL };
	int fuse = host_hang("hangs");
	struct roots roots;
	struct io *io = new_io(&roots);
	struct killed k = { .io = io, .argv = argv };
	struct helper_id who;
	pthread_t t;

	test_file("bus/v", "0\n");
	who = next_helper(io);
	CHECK(!pthread_create(&t, NULL, call_killed, &k));
	usleep(100000);
	end_helper(&who);
	close(fuse);
	CHECK(!pthread_join(t, NULL));
	CHECK(k.rc && k.rc != -EIO); /* as the second one met it */
	out_free(&k.answer);
	io_free(io);
}

/* A fifo that nobody can write to until somebody reads. Returns its other end. */
static int full_fifo(const char *path)
{
	static const char page[4096];
	int fd;

	CHECK(!mkfifo(path, 0600));
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	CHECK(fd >= 0);
	while (write(fd, page, sizeof(page)) > 0)
		;
	return fd;
}

static bool has_open(pid_t pid, const char *path)
{
	char link[64], to[512] = "";
	bool has = false;

	for (int fd = 0; fd < 32 && !has; fd++) {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
		memset(to, 0, sizeof(to));
		has = readlink(link, to, sizeof(to) - 1) > 0 && !strcmp(to, path);
	}
	return has;
}

/* Of one that was killed while it wrote nobody knows what it did. */
DEFINE_TEST(io_asks_a_writer_once)
{
	static const char *const argv[] = { "write", PROBE, FUNCTION, NULL };
	struct roots roots;
	struct io *io = new_io(&roots);
	struct killed k = { .io = io, .argv = argv };
	struct helper_id who;
	char path[512];
	pthread_t t;
	int fd;

	snprintf(path, sizeof(path), "%s/" PROBE, test_dir());
	test_file("bus/v", "0\n");
	test_file("bus/pci/.there", "");
	fd = full_fifo(path);
	who = next_helper(io);
	CHECK(!pthread_create(&t, NULL, call_killed, &k));
	while (!has_open(who.pid, path))
		usleep(1000);
	end_helper(&who);
	CHECK(!pthread_join(t, NULL));
	CHECK_EQ(k.rc, -EIO);
	close(fd);
	io_free(io);
}

/* What is refused for want of a capability can be told so. */
DEFINE_TEST(io_tells_what_helpers_lack)
{
	const uint64_t least = CAP(SYS_ADMIN) | CAP(SETPCAP);
	struct roots roots;
	struct io *io;

	if (confine_lacks(least))
		SKIP("this needs capabilities");
	CHECK_EQ(confine_caps(least, least, NULL), 0);
	io = new_io(&roots);
	CHECK(!io_lacks(io, "modprobe")); /* nobody has asked for one yet */
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "modprobe", "no/name"), -EINVAL);
	CHECK_EQ(io_lacks(io, "modprobe"), CAP(SYS_MODULE));
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "serials", ""), 0);
	CHECK(!io_lacks(io, "serials"));
	CHECK(!io_lacks(io, "rubbish"));
	io_free(io);
}

DEFINE_TEST(io_deadline_leaves_the_helper_alone)
{
	struct roots roots;
	struct io *io = new_io(&roots);
	void *late;
	uint64_t start = now_ms();
	struct helper_id who;
	char path[512], text[16] = "";
	int fd;

	/* A write to a fifo that nobody reads sleeps in open, as one to a held device does in
	 * write. */
	snprintf(path, sizeof(path), "%s/" PROBE, test_dir());
	test_file("bus/pci/.there", "");
	CHECK(!mkfifo(path, 0600));
	test_file("v", "1\n");
	CHECK_EQ(CALL(io, 50, NULL, &late, "write", PROBE, FUNCTION), -ETIMEDOUT);
	CHECK(late && now_ms() - start >= 50 && now_ms() - start < 10000);
	CHECK_EQ(CALL(io, 5000, NULL, NULL, "read", "v"), 0);
	fd = open(path, O_RDONLY);
	CHECK_EQ(io_late(io, late, NULL), 0);
	CHECK_EQ(read(fd, text, sizeof(text)), strlen(FUNCTION));
	CHECK_STR(text, FUNCTION);
	/* Without a token the late one is nobody's, and ends by itself. */
	close(fd);
	CHECK_EQ(io_call(io, (const char *const[]){ "write", PROBE, FUNCTION, NULL }, 500, NULL,
			 NULL, &who),
		 -ETIMEDOUT);
	io_free(io);
	fd = open(path, O_RDONLY);
	CHECK_EQ(read(fd, text, sizeof(text)), strlen(FUNCTION));
	CHECK_EQ(io_await(&who, 20000), 0);
}

/* A look that comes late tells nobody anything: it takes no more time. */
DEFINE_TEST(io_late_reader_ends_itself)
{
	const char *const argv[] = { "read", "hangs/x", NULL };
	int fuse = host_hang("hangs"); /* in a mount namespace that its helpers are to share */
	struct roots roots;
	struct io *io = new_io(&roots);
	struct helper_id who;

	CHECK_EQ(io_call(io, argv, 50, NULL, NULL, &who), -ETIMEDOUT);
	CHECK(who.pid > 0);
	CHECK_EQ(io_await(&who, 20000), 0);
	close(fuse);
	io_free(io);
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
