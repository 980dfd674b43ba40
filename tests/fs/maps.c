// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * maps MAPPERS[+READERS] FILE...: so many threads open the FILEs in turn, map each and touch all
 * its pages, and so many read them to their ends, until SIGTERM. A page of a mapping is locked in
 * the kernel until its read is answered.
 *
 * Prints how many mappings and reads were made, and how many failed. Status 0: some were made.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, STACK = 128 << 10 };

static char **files;
static int n_files;
static atomic_bool ended;
static atomic_long mapped, read_whole, failed;
static __thread sigjmp_buf back;

static void on_bus(int sig)
{
	siglongjmp(back, 1);
}

static void on_term(int sig)
{
	atomic_store(&ended, true);
}

/* Could all of it be touched? */
static bool touch(int fd)
{
	struct stat st;
	volatile const char *text;
	volatile bool good = false;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return false;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return false;
	if (!sigsetjmp(back, 1)) {
		for (off_t at = 0; at < st.st_size; at += PAGE)
			(void)text[at];
		good = true;
	}
	munmap((void *)text, (size_t)st.st_size);
	return good;
}

static bool read_all(int fd)
{
	char buf[65536];
	ssize_t n = -1, all = 0;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		all += n;
	return fd >= 0 && !n && all;
}

static void *run_reader(void *ctx)
{
	for (long i = (long)ctx; !atomic_load(&ended); i++) {
		int fd = open(files[i % n_files], O_RDONLY | O_CLOEXEC);

		atomic_fetch_add(read_all(fd) ? &read_whole : &failed, 1);
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

static void *run(void *ctx)
{
	for (long i = (long)ctx; !atomic_load(&ended); i++) {
		int fd = open(files[i % n_files], O_RDONLY | O_CLOEXEC);

		atomic_fetch_add(touch(fd) ? &mapped : &failed, 1);
		if (fd >= 0)
			close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction bus = { .sa_handler = on_bus }, term = { .sa_handler = on_term };
	long mappers = 0, readers = 0, n;
	pthread_t *threads;
	pthread_attr_t small;

	if (argc < 3 || sscanf(argv[1], "%ld+%ld", &mappers, &readers) < 1)
		return 2;
	n = mappers + readers;
	threads = calloc((size_t)n + 1, sizeof(*threads));
	if (n <= 0 || !threads)
		return 2;
	files = argv + 2;
	n_files = argc - 2;
	sigaction(SIGBUS, &bus, NULL);
	sigaction(SIGTERM, &term, NULL);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	for (long i = 0; i < n; i++)
		if (pthread_create(&threads[i], &small, i < mappers ? run : run_reader, (void *)i))
			return 2;
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	printf("mapped=%ld read=%ld failed=%ld\n", (long)mapped, (long)read_whole, (long)failed);
	return !mapped && !read_whole;
}
