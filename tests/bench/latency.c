// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * latency EVENTS ROUNDS WORD... -- WORD...: how long after the kernel's uevent the tree tells of
 * it. Two commands take turns to make a change; this program hears the first uevent of subsystem
 * pci or usb as any listener does, and then waits for POLLPRI on EVENTS and for a new line in it.
 *
 * Prints percentiles of both. A change that was not told in LIMIT_MS counts as told never (inf),
 * and so does one of which the kernel's own uevent did not come. Status 0: every change was told.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bench.h"

enum { LIMIT_MS = 2000, SETTLE_US = 60000, ROUNDS_MAX = 10000 };

extern char **environ;

static int listen_uevents(void)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	return fd >= 0 && !bind(fd, (struct sockaddr *)&nl, sizeof(nl)) ? fd : -1;
}

static bool bus_event(int fd)
{
	static const char pci[] = "SUBSYSTEM=pci", usb[] = "SUBSYSTEM=usb";
	char buf[8192];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);

	return n > 0 && (memmem(buf, (size_t)n, pci, sizeof(pci)) ||
			 memmem(buf, (size_t)n, usb, sizeof(usb)));
}

static void drain(int uevents, int events)
{
	char buf[65536];

	while (recv(uevents, buf, sizeof(buf), 0) > 0)
		;
	while (pread(events, buf, sizeof(buf), 0) < 0)
		;
}

/* The last line's number. */
static long newest(int events)
{
	static char buf[1 << 20];
	ssize_t n = 0, r;
	char *at;

	while ((r = pread(events, buf + n, sizeof(buf) - 1 - (size_t)n, n)) > 0)
		n += r;
	buf[n] = '\0';
	while (n > 0 && buf[n - 1] == '\n')
		buf[--n] = '\0';
	at = memrchr(buf, '\n', (size_t)n);
	at = at ? at + 1 : buf;
	return strncmp(at, "seq=", 4) ? -1 : strtol(at + 4, NULL, 10);
}

/* Times in ms after the uevent, of POLLPRI and of the line read; inf: it never came. */
static void one_change(int uevents, int events, char **command, double *ret_poll, double *ret_line)
{
	struct pollfd p[] = { { uevents, POLLIN, 0 }, { events, POLLPRI, 0 } };
	double begun = bench_ms(), heard = 0, woken = 0, line = 0;
	long before = newest(events);
	int status;
	pid_t pid;

	*ret_poll = *ret_line = INFINITY;
	drain(uevents, events);
	if (posix_spawn(&pid, command[0], NULL, NULL, command, environ))
		return;
	while (!(heard && woken) && bench_ms() - begun < LIMIT_MS) {
		if (poll(p, 2, LIMIT_MS) <= 0)
			break;
		if (!heard && p[0].revents && bus_event(uevents)) {
			heard = bench_ms();
			p[0].fd = -1;
		}
		if (p[1].revents & POLLPRI) {
			woken = bench_ms();
			p[1].fd = -1;
		}
	}
	while (!line && bench_ms() - begun < LIMIT_MS)
		line = newest(events) == before ? 0 : bench_ms();
	if (heard && woken)
		*ret_poll = woken > heard ? woken - heard : 0;
	if (heard && line)
		*ret_line = line - heard;
	waitpid(pid, &status, 0);
	usleep(SETTLE_US);
}

static void percentiles(const char *name, double *v, size_t n)
{
	qsort(v, n, sizeof(*v), bench_compare);
	printf(" %s_p50_ms=%.2f %s_p99_ms=%.2f", name, bench_percentile(v, n, 50), name,
	       bench_percentile(v, n, 99));
}

int main(int argc, char **argv)
{
	static double woken[ROUNDS_MAX], line[ROUNDS_MAX];
	int events = argc > 5 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1,
	    uevents = listen_uevents(), odd = 3;
	size_t n = argc > 5 ? strtoul(argv[2], NULL, 10) : 0, told = 0;

	while (odd < argc && strcmp(argv[odd], "--"))
		odd++;
	if (events < 0 || uevents < 0 || !n || n > ROUNDS_MAX || odd + 1 >= argc)
		return 2;
	argv[odd++] = NULL;
	for (size_t i = 0; i < n; i++) {
		one_change(uevents, events, argv + (i % 2 ? odd : 3), &woken[i], &line[i]);
		told += !isinf(woken[i]) && !isinf(line[i]);
	}
	printf("changes=%zu told=%zu", n, told);
	percentiles("poll", woken, n);
	percentiles("line", line, n);
	putchar('\n');
	return told != n;
}
