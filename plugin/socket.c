// SPDX-License-Identifier: GPL-2.0-or-later
#include "socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "plugin.h"

int socket_bind(const char *dir, const char *name, struct err *err)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	_close_ int fd = -1;

	if ((size_t)snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", dir, name) >= sizeof(a.sun_path))
		return fail(err, ENAMETOOLONG, "%s: too long a path for a socket", dir);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || chmod(a.sun_path, 0600) || listen(fd, SOMAXCONN))
		return fail(err, errno, "%s: %s", a.sun_path, strerror(errno));
	return steal_fd(&fd);
}

void socket_unlink(const char *dir, const char *name)
{
	char path[256];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path))
		unlink(path);
}

bool socket_peer_allowed(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		return false;
	if (!who.uid || who.uid == geteuid())
		return true;
	say("a connection of uid %u (pid %d) is refused: only root may be kubelet", who.uid, (int)who.pid);
	return false;
}
