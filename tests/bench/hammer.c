// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hammer TREE PLACE SECONDS KILLS HOLDER FILE...: clients in another mount namespace, where TREE is
 * bound on PLACE, read and map the FILEs (names below TREE; what ends in "=TEXT" is written
 * instead) and list their directories, while the serving process is killed KILLS times at random
 * moments.
 *
 * Prints what they met. Status 0: nothing failed, nobody hung, all kills were made.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { CLIENTS_MAX = 64, WAYS = 4, LINGER_MS = 10000 };

struct client {
	long operations, failed;
	int error; /* errno of the last failure */
	double slowest_ms;
};

struct shared {
	atomic_bool stop;
	struct client client[CLIENTS_MAX];
};

static int write_text(const char *path, const char *text)
{
	size_t len = strlen(text);
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, len) == (ssize_t)len;
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return good ? 0 : -1;
}

static int read_file(const char *path)
{
	char buf[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool good = fd >= 0 && read(fd, buf, sizeof(buf)) > 0;
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return good ? 0 : -1;
}

/* A descriptor that is held over many kills. */
static int read_held(const char *path)
{
	static int fd = -1;
	char buf[65536];

	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && pread(fd, buf, sizeof(buf), 0) > 0 ? 0 : -1;
}

static int list_beside(const char *path)
{
	char dir[PATH_MAX];
	struct dirent *e;
	struct stat st;
	bool good = true;
	size_t n = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path), path);
	d = opendir(dir);
	if (!d)
		return -1;
	for (errno = 0; (e = readdir(d)); n++)
		good &= !fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW);
	good &= !errno && n > 2;
	closedir(d);
	return good ? 0 : -1;
}

static sigjmp_buf back;

static void on_bus(int sig)
{
	siglongjmp(back, 1);
}

/* What is read into a mapping is locked until it is answered, be the server killed meanwhile or
 * not. */
static int map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	volatile const char *text = MAP_FAILED;
	volatile int r = -1;

	if (fd < 0)
		return -1;
	text = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text != MAP_FAILED && !sigsetjmp(back, 1))
		r = text[0] ? 0 : -1;
	if (text != MAP_FAILED)
		munmap((void *)text, 1);
	close(fd);
	errno = r ? EFAULT : 0;
	return r;
}

static int op(const char *path, const char *text, int way)
{
	static int (*const ways[WAYS])(const char *) = { read_file, read_held, list_beside,
							 map_file };

	return text ? write_text(path, text) : ways[way](path);
}

static void __attribute__((noreturn))
run_client(struct shared *all, int me, const char *place, const char *what, int way)
{
	struct client *c = &all->client[me];
	char path[PATH_MAX], *text;

	snprintf(path, sizeof(path), "%s/%s", place, what);
	signal(SIGBUS, on_bus);
	text = strchr(path, '=');
	if (text)
		*text++ = '\0';
	while (!atomic_load(&all->stop)) {
		double start = bench_ms(), took;

		if (op(path, text, way)) {
			c->failed++;
			c->error = errno;
		}
		took = bench_ms() - start;
		c->slowest_ms = took > c->slowest_ms ? took : c->slowest_ms;
		c->operations++;
	}
	_exit(0);
}

/* Ends when all clients have. */
static void __attribute__((noreturn))
run_clients(struct shared *all, const char *tree, const char *place, char **what, int n)
{
	/* EINVAL: in a chroot / is no mount point. */
	if (unshare(CLONE_NEWNS) ||
	    (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) && errno != EINVAL) ||
	    mount(tree, place, NULL, MS_BIND, NULL)) {
		perror("hammer: mount namespace");
		_exit(1);
	}
	for (int i = 0; i < n; i++)
		if (!fork())
			run_client(all, i, place, what[i / WAYS], i % WAYS);
	while (wait(NULL) > 0)
		;
	_exit(0);
}

static bool has_ended(pid_t pid)
{
	double end = bench_ms() + LINGER_MS;

	while (bench_ms() < end) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		usleep(10000);
	}
	return false;
}

int main(int argc, char **argv)
{
	struct client sum = { 0 };
	struct shared *all;
	int kills, done, n;
	bool hung;
	pid_t pid;

	if (argc < 7 || (argc - 6) * WAYS > CLIENTS_MAX)
		return 2;
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return 2;
	n = (argc - 6) * WAYS;
	pid = fork();
	if (!pid)
		run_clients(all, argv[1], argv[2], argv + 6, n);
	kills = atoi(argv[4]);
	usleep(200000);
	done = bench_kill_at_random(strtod(argv[3], NULL), kills, atoi(argv[5]));
	atomic_store(&all->stop, true);
	hung = !has_ended(pid);
	for (int i = 0; i < n; i++) {
		const struct client *c = &all->client[i];

		sum.operations += c->operations;
		sum.failed += c->failed;
		sum.error = c->error ? c->error : sum.error;
		sum.slowest_ms = c->slowest_ms > sum.slowest_ms ? c->slowest_ms : sum.slowest_ms;
	}
	printf("kills=%d clients=%d operations=%ld failed=%ld%s%s hung=%s slowest_ms=%.1f\n", done,
	       n, sum.operations, sum.failed, sum.error ? " error=" : "",
	       sum.error ? strerrorname_np(sum.error) : "", hung ? "yes" : "no", sum.slowest_ms);
	return sum.failed || hung || done != kills || !sum.operations;
}
