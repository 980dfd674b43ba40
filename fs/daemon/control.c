// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#include "handoff.h"
#include "mountpoint.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

enum { PATIENCE_SECONDS = 60 };

/* Newer than the headers of Linux 6.1. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Somebody else may have made an existing directory. */
int control_dir(bool make, struct err *err)
{
	struct stat st;
	int fd;

	if (make && mkdir(CONTROL_DIR, 0700) && errno != EEXIST)
		return fail(err, errno, "no " CONTROL_DIR ": %s", strerror(errno));
	fd = open(CONTROL_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail(err, errno, CONTROL_DIR ": %s", strerror(errno));
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return fd;
	close(fd);
	return fail(err, EPERM, CONTROL_DIR " does not belong to user %u alone (mode 0700)",
		    (unsigned int)geteuid());
}

/* By descriptor, so that the checked directory is the one that is used. */
static struct sockaddr_un address(int dir, const struct mount_entry *mount)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%u:%u", dir, mount->major,
		 mount->minor);
	return addr;
}

int control_listen(const struct mount_entry *mount)
{
	struct err err = { 0 };
	_close_ int dir = control_dir(true, &err);
	_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un addr = address(dir, mount);

	/* The number is now this mount's; a socket of that name is left from a killed holder. */
	if (dir >= 0 && fd >= 0)
		unlink(addr.sun_path);
	if (dir >= 0 && fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    !listen(fd, 4))
		return steal_fd(&fd);
	if (dir >= 0)
		fail(&err, errno, "no socket in " CONTROL_DIR ": %s", strerror(errno));
	say("--replace will not reach this daemon: %s", err.text);
	return -1;
}

void control_forget(int *listen_fd, const struct mount_entry *mount)
{
	_close_ int dir = *listen_fd < 0 ? -1 : control_dir(false, NULL);

	drop_fd(listen_fd);
	if (dir >= 0)
		unlink(address(dir, mount).sun_path);
}

static bool same_namespace(pid_t pid, const char *name)
{
	char mine[32], theirs[48];
	struct stat a, b;

	snprintf(mine, sizeof(mine), "/proc/self/ns/%s", name);
	snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", (int)pid, name);
	return !stat(mine, &a) && !stat(theirs, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int refuse_user(uid_t uid, struct err *err)
{
	return fail(err, EPERM, "--replace is for root, not for user %u", (unsigned int)uid);
}

static int check_rights(const struct ucred *peer, struct err *err)
{
	static const char *const names[][2] = { { "user", "user" },
						{ "mnt", "mount" },
						{ "pid", "pid" } };

	if (peer->uid)
		return refuse_user(peer->uid, err);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (peer->pid <= 0 || !same_namespace(peer->pid, names[i][0]))
			return fail(err, EPERM,
				    "--replace must be run where the daemon runs; pid %d is in "
				    "another %s namespace",
				    (int)peer->pid, names[i][1]);
	if (~confine_lacks(UINT64_MAX) & ~confine_effective(peer->pid))
		return fail(err, EPERM,
			    "--replace needs every capability that the daemon has; pid %d "
			    "lacks some",
			    (int)peer->pid);
	return 0;
}

static int check_peer(int fd, struct err *err)
{
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer), fd_size = sizeof(int);
	struct pollfd gone = { .fd = -1, .events = POLLIN };
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return fail(err, EPERM, "the caller of --replace is not known: %s", strerror(errno));
	/* By its pidfd, so that a reused pid is noticed. Before Linux 6.5 only from now on. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &gone.fd, &fd_size))
		gone.fd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	r = check_rights(&peer, err);
	if (!r && (gone.fd < 0 || poll(&gone, 1, 0)))
		r = fail(err, EPERM, "the caller of --replace is gone");
	closep(&gone.fd);
	return r;
}

int control_accept(int listen_fd, struct err *err)
{
	_close_ int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int r = fd < 0 ? -errno : check_peer(fd, err);

	if (!r)
		return steal_fd(&fd);
	if (fd >= 0)
		handoff_report(fd, REPORT_REFUSED, err->text);
	return r;
}

int control_connect(const struct mount_entry *mount, pid_t *ret_pid, struct err *err)
{
	const struct timeval limit = { .tv_sec = PATIENCE_SECONDS };
	_close_ int dir = control_dir(false, err);
	struct sockaddr_un addr = address(dir, mount);
	_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (geteuid())
		return refuse_user(geteuid(), err);
	if (dir < 0)
		return dir;
	if (fd < 0)
		return fail(err, errno, "no socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		*ret_pid = peer.pid;
		return steal_fd(&fd);
	}
	return fail(err, errno, "nobody answers in " CONTROL_DIR " (%s)", strerror(errno));
}
