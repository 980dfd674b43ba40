// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * uevsend ACTION DEVPATH [KEY=VALUE]...: make the kernel broadcast a uevent
 * in the caller's network namespace.
 *
 * The message goes to the kernel's side of NETLINK_KOBJECT_UEVENT, which (since
 * 4.18, for CAP_SYS_ADMIN over the namespace) adds SEQNUM and broadcasts it to
 * group 1 with nl_pid 0: a listener cannot tell it from the kernel's own, but
 * for SCM_CREDENTIALS, whose pid is the sender's and not 0. Meant for
 * "unshare -n", so that only the test's own listener hears it.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char msg[4096];
static size_t len = NLMSG_HDRLEN;

static int add(const char *a, const char *sep, const char *b)
{
	int n = snprintf(msg + len, sizeof(msg) - len, "%s%s%s", a, sep, b);

	if (n < 0 || (size_t)n >= sizeof(msg) - len)
		return -1;
	len += (size_t)n + 1; /* the NUL parts the fields */
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct nlmsghdr *h = (struct nlmsghdr *)msg;
	int s, n, bad;

	if (argc < 3) {
		fprintf(stderr, "usage: uevsend ACTION DEVPATH [KEY=VALUE]...\n");
		return 2;
	}
	bad = add(argv[1], "@", argv[2]) || add("ACTION", "=", argv[1]) ||
	      add("DEVPATH", "=", argv[2]);
	for (n = 3; n < argc && !bad; n++)
		bad = add(argv[n], "", "");
	if (bad) {
		fprintf(stderr, "uevsend: message too long\n");
		return 2;
	}
	h->nlmsg_len = (__u32)len;
	h->nlmsg_type = NLMSG_MIN_TYPE; /* anything lower is a control message */
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	h->nlmsg_seq = 1;
	s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
	if (s < 0 || sendto(s, msg, len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0) {
		perror("uevsend");
		return 1;
	}
	/* The kernel answers an NLM_F_ACK request with an error code, 0 for done. */
	n = (int)recv(s, msg, sizeof(msg), 0);
	if (n >= (int)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && h->nlmsg_type == NLMSG_ERROR) {
		errno = -((struct nlmsgerr *)NLMSG_DATA(h))->error;
		if (!errno)
			return 0;
		perror("uevsend");
	}
	return 1;
}
