// SPDX-License-Identifier: GPL-2.0-or-later
/* uevlog [SUBSYSTEM]...: print kernel uevents, one a line, fields parted by blanks. */
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int wanted(const char *buf, size_t n, int argc, char **argv)
{
	const char *p;

	for (p = buf; p < buf + n; p += strlen(p) + 1)
		for (int i = 1; i < argc && !strncmp(p, "SUBSYSTEM=", 10); i++)
			if (!strcmp(p + 10, argv[i]))
				return 1;
	return argc == 1;
}

int main(int argc, char **argv)
{
	struct sockaddr_nl me = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	char buf[8192];

	if (s < 0 || bind(s, (struct sockaddr *)&me, sizeof(me))) {
		perror("uevlog");
		return 1;
	}
	printf("ready\n");
	for (;;) {
		struct sockaddr_nl from = { 0 };
		socklen_t size = sizeof(from);
		ssize_t n;

		fflush(stdout);
		n = recvfrom(s, buf, sizeof(buf) - 1, 0, (struct sockaddr *)&from, &size);
		if (n <= 0)
			return 1;
		buf[n] = 0;
		if (from.nl_pid || !wanted(buf, (size_t)n, argc, argv))
			continue; /* only the kernel has nl_pid 0 */
		for (ssize_t i = 0; i < n - 1; i++)
			if (!buf[i])
				buf[i] = ' ';
		printf("%s\n", buf);
	}
}
