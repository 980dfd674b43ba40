// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * aio read|write FILE N: opens FILE, sets O_DIRECT as fcntl(2) lets one do afterwards, and asks for
 * N asynchronous reads, or writes of "0", at once. Prints what became of each, or "waits", and stays
 * until its input ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, SIZE = 4096, WAIT_S = 1 };

int main(int argc, char **argv)
{
	static char bufs[MOST][SIZE] __attribute__((aligned(SIZE)));
	static struct iocb cbs[MOST], *list[MOST];
	static struct io_event events[MOST];
	struct timespec wait = { .tv_sec = WAIT_S };
	aio_context_t ctx = 0;
	bool writes = argc > 1 && !strcmp(argv[1], "write");
	long n = argc > 3 ? strtol(argv[3], NULL, 10) : 0, got;
	int fd = n > 0 && n <= MOST ? open(argv[2], writes ? O_WRONLY : O_RDONLY) : -1;

	if (fd < 0 || fcntl(fd, F_SETFL, O_DIRECT) || syscall(SYS_io_setup, MOST, &ctx)) {
		perror("aio");
		return 1;
	}
	for (long i = 0; i < n; i++) {
		memcpy(bufs[i], "0\n", 2);
		cbs[i] = (struct iocb){ .aio_fildes = (uint32_t)fd,
					.aio_lio_opcode = writes ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
					.aio_buf = (uintptr_t)bufs[i],
					.aio_nbytes = writes ? 2 : SIZE };
		list[i] = &cbs[i];
	}
	if (syscall(SYS_io_submit, ctx, n, list) != n) {
		perror("io_submit");
		return 1;
	}
	got = syscall(SYS_io_getevents, ctx, n, n, events, &wait);
	for (long i = 0; i < n; i++)
		puts(i >= got ? "waits" : events[i].res < 0 ? strerror((int)-events[i].res) : "done");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
