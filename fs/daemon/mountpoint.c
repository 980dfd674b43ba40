// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "control.h"
#include "pcidevfs/confine.h"
#include "pcidevfs/critical.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

#define MOUNTS "/proc/self/mountinfo"

int mountpoint_in(char *mountinfo, const char *path, struct mount_entry *ret)
{
	struct mount_line line;
	int r = -ENOENT;

	/* Later mounts come later: the last match is on top. */
	while (mount_next(&mountinfo, &line))
		if (!strcmp(line.point, path)) {
			*ret = (struct mount_entry){ line.major, line.minor,
						     !strcmp(line.type, MOUNT_TYPE) };
			r = 0;
		}
	return r;
}

bool mountpoint_any(char *ret, size_t size)
{
	_free_ char *text = file_text(AT_FDCWD, MOUNTS);
	char *next = text;
	struct mount_line line;

	while (mount_next(&next, &line))
		if (!strcmp(line.type, MOUNT_TYPE) && str_copy(ret, size, line.point))
			return true;
	return false;
}

int mountpoint_find(const char *path, struct mount_entry *ret)
{
	_free_ char *text = file_text(AT_FDCWD, MOUNTS);

	return text ? mountpoint_in(text, path, ret) : -errno;
}

/* Resolves all but the last component: a dead mount cannot be looked up. NULL with errno set. */
static char *resolve_parent(const char *arg)
{
	_free_ char *copy = strdup(arg);
	_free_ char *dir = NULL;
	char *slash, *base, *path;

	if (!copy)
		return NULL;
	for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	slash = strrchr(copy, '/');
	base = slash ? slash + 1 : copy;
	if (!*base || !strcmp(base, ".") || !strcmp(base, ".."))
		return realpath(copy, NULL);
	if (slash)
		*slash = '\0';
	dir = realpath(!slash ? "." : *copy ? copy : "/", NULL);
	if (!dir)
		return NULL;
	return asprintf(&path, "%s/%s", strcmp(dir, "/") ? dir : "", base) < 0 ? NULL : path;
}

int mountpoint_resolve(const char *arg, char **ret_path, struct err *err)
{
	char *path = resolve_parent(arg);
	struct mount_entry entry;
	struct stat st;

	if (!path)
		return fail(err, errno, "%s: the directory above the mount point: %s", arg,
			    strerror(errno));
	/* Nothing is mounted there, so lstat() is safe. */
	if (mountpoint_find(path, &entry) && !lstat(path, &st) && S_ISLNK(st.st_mode)) {
		char *target = realpath(path, NULL);

		free(path);
		if (!target)
			return fail(err, errno, "%s: %s", arg, strerror(errno));
		path = target;
	}
	*ret_path = path;
	return 0;
}

/* Has a mount of ours lost its daemon? A child asks, which can be abandoned if it hangs, by statfs,
 * which the kernel never answers from its cache as it does stat. */
static bool is_dead(const char *path)
{
	pid_t pid = fork();
	struct statfs st;
	int status = 0;

	if (pid < 0)
		return false;
	if (!pid)
		_exit(statfs(path, &st) && errno == ENOTCONN);
	for (int i = 0; i < 300; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 1;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	return false;
}

/* A serving process whose holder was killed ends soon after it. */
#define LAST_WORDS 60

static int clear_dead(const char *path, struct err *err)
{
	struct mount_entry entry;
	pid_t pid;
	int looks = 0;

	while (!mountpoint_find(path, &entry) && entry.ours) {
		int fd = control_connect(&entry, &pid, NULL);

		if (fd >= 0)
			close(fd);
		if (fd >= 0)
			return fail(err, EBUSY,
				    "%s is already served by pcidevfsd (pid %d); "
				    "pcidevfsd --replace %s upgrades it",
				    path, (int)pid, path);
		if (!is_dead(path)) {
			usleep(50000);
			if (looks++ < LAST_WORDS)
				continue;
			return fail(err, EBUSY,
				    "%s is already served by a pcidevfsd that cannot be "
				    "reached from here; end it or unmount it first",
				    path);
		}
		if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW))
			return fail(err, errno,
				    "%s: the mount of a pcidevfsd that is dead cannot be "
				    "detached: %s",
				    path, strerror(errno));
		say("detached the mount of a dead daemon from %s", path);
	}
	return 0;
}

int mountpoint_prepare(const char *path, struct err *err)
{
	struct statfs fs;
	struct stat st;
	int r = clear_dead(path, err);

	if (r)
		return r;
	if (mkdir(path, 0755) && errno != EEXIST)
		return fail(err, errno, "%s: cannot make the mount point: %s", path,
			    strerror(errno));
	if (stat(path, &st))
		return fail(err, errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return fail(err, ENOTDIR, "%s is not a directory, so nothing can be mounted there",
			    path);
	/* We read the machine there, by path, before anybody serves the mount. */
	if (!statfs(path, &fs) && (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC))
		return fail(
			err, EINVAL,
			"%s lies in the kernel's own %s; choose a mount point elsewhere, for "
			"example /run/pcidevfs",
			path, fs.f_type == SYSFS_MAGIC ? "sysfs" : "proc");
	return 0;
}

int mountpoint_open_fuse(int *ret, struct err *err)
{
	_close_ int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	/* Where everybody may open it: said before anything else fails for the same lack. */
	if (fd >= 0 && confine_lacks(CAP(SYS_ADMIN)))
		return fail(err, EPERM, "mounting needs root (CAP_SYS_ADMIN)");
	if (fd >= 0) {
		*ret = steal_fd(&fd);
		return 0;
	}
	if ((errno == EACCES || errno == EPERM) && geteuid())
		return fail(err, errno, "no right to open /dev/fuse; run as root");
	if (errno == EACCES || errno == EPERM)
		return fail(err, errno,
			    "/dev/fuse cannot be opened although this is root; "
			    "allow this container or unit the device (c 10:229 rw)");
	if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		return fail(err, errno,
			    "there is no /dev/fuse; load the fuse module (modprobe fuse)");
	return fail(err, errno, "/dev/fuse: %s", strerror(errno));
}

int mountpoint_attach(const char *path, int fuse_fd, struct mount_entry *ret, struct err *err)
{
	char data[128];
	int r;

	snprintf(data, sizeof(data),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other",
		 fuse_fd);
	if (mount("pcidevfs", path, MOUNT_TYPE, MS_NOSUID | MS_NODEV, data)) {
		r = errno;
		if (r == EPERM)
			return fail(err, r, "%s: mounting needs root (CAP_SYS_ADMIN)", path);
		return fail(err, r, "%s: cannot mount: %s", path, strerror(r));
	}
	r = mountpoint_find(path, ret);
	if (r) {
		umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
		return fail(err, -r,
			    "%s was mounted but is not in /proc/self/mountinfo; check that /proc "
			    "is that of this process",
			    path);
	}
	return 0;
}

int mountpoint_anew(const char *path, int *fuse_fd, struct mount_entry *ret, struct err *err)
{
	int fd = -1, r = mountpoint_open_fuse(&fd, err);

	if (r)
		return r;
	close(*fuse_fd);
	*fuse_fd = fd;
	return mountpoint_attach(path, fd, ret, err);
}

int mountpoint_detach(const char *path, const struct mount_entry *mine, bool abort)
{
	struct mount_entry top;
	int r;

	if (mountpoint_find(path, &top))
		return 0;
	if (top.major != mine->major || top.minor != mine->minor) {
		say("something else is mounted over %s; left as it is", path);
		return -EBUSY;
	}
	if (!umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW | (abort ? MNT_FORCE : 0)))
		return 0;
	r = -errno;
	say("%s: cannot unmount: %s", path, strerror(-r));
	return r;
}
