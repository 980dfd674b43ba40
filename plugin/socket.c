// SPDX-License-Identifier: GPL-2.0-or-later

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#include "plugin.h"

int socket_bind(const char *dir, const char *name, struct err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	_close_ int fd = -1;

	if ((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", dir, name) >=
	    sizeof(a.sun_path))
		return fail(err, ENAMETOOLONG, "%s: the path is too long for a socket", dir);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || chmod(a.sun_path, 0600) ||
	    listen(fd, SOMAXCONN))
		return fail(err, errno, "%s: %s", a.sun_path, strerror(errno));
	return steal_fd(&fd);
}

void socket_unlink(const char *dir, const char *name)
{
	char path[256];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path))
		unlink(path);
}

static int check_peer(int fd, const char *what, struct err *err)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		return fail(err, errno, "%s: %s", what, strerror(errno));
	if (!who.uid || who.uid == geteuid())
		return 0;
	return fail(err, EPERM, "%s belongs to uid %u: only root may be kubelet", what, who.uid);
}

bool socket_peer_allowed(int fd)
{
	struct err err;

	if (!check_peer(fd, "a connection", &err))
		return true;
	say("%s", err.text);
	return false;
}

pid_t socket_peer(int fd)
{
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) ? 0 : who.pid;
}

int socket_connect(const char *path, struct err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	_close_ int fd = -1;
	int r;

	if (!STR_COPY(a.sun_path, path))
		return fail(err, ENAMETOOLONG, "%s: the path is too long for a socket", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fail(err, errno, "%s: %s", path, strerror(errno));
	r = check_peer(fd, path, err);
	return r ? r : steal_fd(&fd);
}
