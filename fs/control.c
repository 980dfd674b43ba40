// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "mountpoint.h"
#include "options.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "handoff.h"

enum { REPLACE_SECONDS = 60 };

static socklen_t control_address(const struct mount_entry *mount, struct sockaddr_un *ret)
{
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "pcidevfs/%u:%u", mount->major,
		     mount->minor);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool peer_is_root(int fd, pid_t *ret_pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.uid != 0)
		return false;
	*ret_pid = peer.pid;
	return true;
}

int control_listen(const struct mount_entry *mount)
{
	struct sockaddr_un addr;
	socklen_t len = control_address(mount, &addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&addr, len) || listen(fd, 4)) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

int control_accept(int listen_fd)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	pid_t pid;

	if (fd < 0)
		return -errno;
	if (peer_is_root(fd, &pid))
		return fd;
	close(fd);
	return -EPERM;
}

int control_connect(const struct mount_entry *mount, pid_t *ret_pid, struct err *err)
{
	struct sockaddr_un addr;
	socklen_t len = control_address(mount, &addr);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return fail(err, errno, "no socket: %s", strerror(errno));
	if (connect(fd, (struct sockaddr *)&addr, len))
		r = fail(err, errno, "nobody answers for it in this network namespace (%s)",
			 strerror(errno));
	else if (!peer_is_root(fd, ret_pid))
		r = fail(err, EPERM, "who answers for it is not root");
	else
		return fd;
	close(fd);
	return r;
}

/* Prints what the holder says until it has said the last. */
static int follow(int fd)
{
	struct report_msg msg;
	int r;

	while (!(r = handoff_recv(fd, &msg, sizeof(msg), NULL, 0))) {
		msg.text[sizeof(msg.text) - 1] = '\0';
		fprintf(msg.what == REPORT_REFUSED ? stderr : stdout, "pcidevfsd: %s\n", msg.text);
		fflush(stdout);
		if (msg.what == REPORT_DONE || msg.what == REPORT_REFUSED)
			return msg.what == REPORT_DONE ? 0 : 1;
	}
	fprintf(stderr, "pcidevfsd: the daemon did not say how it ended%s; see its log\n",
		r == -EAGAIN ? " in a minute" : "");
	return 1;
}

static int replace_connect(const struct options *o, struct err *err)
{
	_free_ char *path = NULL;
	struct mount_entry mount;
	int r = mountpoint_resolve(o->mountpoint, &path, err);
	pid_t pid;

	if (r)
		return r;
	if (mountpoint_find(path, &mount) || !mount.ours)
		return fail(err, ENOENT, "%s is no mount of pcidevfsd, so there is nothing to replace; "
			    "start it without --replace", path);
	r = control_connect(&mount, &pid, err);
	return r < 0 ? fail_wrap(err, "%s cannot be taken over", path) : r;
}

/* Paths are made absolute: the holder stands elsewhere. */
static int fill_offer(const struct options *o, struct offer *offer, struct err *err)
{
	STR_COPY(offer->version, VERSION);
	for (size_t i = 0; i < OPTION_VALUES; i++) {
		const char *given = options_given(o, i);
		_free_ char *path = NULL;

		if (!given)
			continue;
		if (options_is_path(i) && *given != '/') {
			path = realpath(given, NULL);
			if (!path)
				return fail(err, errno, "%s: %s", given, strerror(errno));
			given = path;
		}
		if (!STR_COPY(offer->value[i], given))
			return fail(err, ENAMETOOLONG, "%s is too long to be handed over", given);
	}
	return 0;
}

int replace_run(const struct options *o)
{
	struct offer offer = { 0 };
	struct timeval limit = { .tv_sec = REPLACE_SECONDS };
	struct err err = { 0 };
	_close_ int fd = replace_connect(o, &err);
	_close_ int exe = -1;

	if (fd < 0 || fill_offer(o, &offer, &err)) {
		fprintf(stderr, "pcidevfsd: %s\n", err.text);
		return 1;
	}
	exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (exe < 0 || handoff_send(fd, &offer, sizeof(offer), &exe, 1)) {
		fprintf(stderr, "pcidevfsd: cannot hand this program over: %s\n", strerror(errno));
		return 1;
	}
	return follow(fd);
}
