// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * oracle RO_FILE RW_FILE DIR LINK: how a tree answers calls that are made by accident, by attack or
 * by habit. A line per call, "NAME: RESULT", the errno's name where it fails. Run on real sysfs and
 * on the mounted tree; what differs needs a reason (oracle.expected).
 *
 * Results depend on the tree's behaviour only, not on its contents: RO_FILE holds more than one
 * byte and fewer than 100; newlines and 5000 blanks are written to RW_FILE; LINK is in DIR and
 * leads to a directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { PAGE = 4096, LONG_WRITE = 5000, NAME = 255, TOO_LONG = 299, ENTRIES = 4096 };

struct where {
	const char *ro;
	const char *rw;
	const char *dir;
	const char *link;
	char absent[512]; /* a name in dir that is not there */
	char below[512];  /* a name below ro, which is no directory */
};

static char buf[2 * PAGE] __attribute__((aligned(PAGE)));
/* Not NULL, which sanitizers refuse before the kernel does. */
static char *volatile nowhere = (char *)16;

static void said(const char *name, long result)
{
	if (result < 0)
		printf("%s: %s\n", name, strerrorname_np(errno));
	else
		printf("%s: %ld\n", name, result);
}

/* Where the number itself is the tree's own business: did it work? */
static void worked(const char *name, long result)
{
	said(name, result < 0 ? -1 : 0);
}

static void opened(const char *name, int fd)
{
	worked(name, fd);
	if (fd >= 0)
		close(fd);
}

static long size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : (long)st.st_size;
}

static void ask_stat(const struct where *w)
{
	struct stat st = { 0 };
	struct statfs fs = { 0 };

	said("st_size of an attribute", size_of(w->ro));
	said("st_size of a writable attribute", size_of(w->rw));
	worked("stat", stat(w->ro, &st));
	said("st_blocks", (long)st.st_blocks);
	said("st_blksize", (long)st.st_blksize);
	said("st_nlink", (long)st.st_nlink);
	said("type and mode", (long)st.st_mode);
	said("st_uid", (long)st.st_uid);
	said("st_size of a directory", size_of(w->dir));
	worked("statfs", statfs(w->dir, &fs));
	said("f_bsize", (long)fs.f_bsize);
	said("f_namelen", (long)fs.f_namelen);
}

static void ask_read(const struct where *w)
{
	int fd = open(w->ro, O_RDONLY);

	said("read 1 byte", read(fd, buf, 1));
	worked("read the rest", read(fd, buf, PAGE));
	said("read at the end", read(fd, buf, 10));
	said("lseek SEEK_END", lseek(fd, 0, SEEK_END));
	said("pread at 4096", pread(fd, buf, 10, PAGE));
	said("pread far behind the end", pread(fd, buf, 10, 1L << 40));
	worked("pread at 1", pread(fd, buf, 100, 1));
	said("lseek SEEK_DATA", lseek(fd, 0, SEEK_DATA));
	said("lseek to -1", lseek(fd, -1, SEEK_SET));
	worked("lseek to 2^31 - 1", lseek(fd, (1L << 31) - 1, SEEK_SET));
	said("read there", read(fd, buf, 10));
	worked("lseek to 2^62", lseek(fd, 1L << 62, SEEK_SET));
	said("pread at 2^62", pread(fd, buf, 10, 1L << 62));
	said("pread across 2^63", pread(fd, buf, 10, INT64_MAX - 5));
	said("read into no memory", pread(fd, nowhere, 10, 0));
	close(fd);
}

static void *map(int fd, int prot, int flags)
{
	return mmap(NULL, PAGE, prot, flags, fd, 0);
}

static void ask_descriptor(const struct where *w)
{
	int fd = open(w->ro, O_RDONLY);
	struct flock lock = { .l_type = F_RDLCK };

	said("mmap private", map(fd, PROT_READ, MAP_PRIVATE) == MAP_FAILED ? -1 : 0);
	said("mmap shared", map(fd, PROT_READ, MAP_SHARED) == MAP_FAILED ? -1 : 0);
	said("an unknown ioctl", ioctl(fd, 0x1234, buf));
	said("write to a descriptor for reading", write(fd, "1", 1));
	said("fsync", fsync(fd));
	said("ftruncate of a descriptor for reading", ftruncate(fd, 0));
	said("flock", flock(fd, LOCK_EX | LOCK_NB));
	said("fcntl lock", fcntl(fd, F_SETLK, &lock));
	said("fallocate", fallocate(fd, 0, 0, 10));
	said("posix_fadvise", posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED));
	close(fd);
}

static void ask_poll(const struct where *w)
{
	int fd = open(w->ro, O_RDONLY);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };

	said("poll before a read", poll(&p, 1, 0));
	said("its events", p.revents);
	worked("read before poll", read(fd, buf, PAGE));
	said("poll after a read", poll(&p, 1, 0));
	said("its events then", p.revents);
	close(fd);
}

static void ask_open(const struct where *w)
{
	int fd = open(w->ro, O_RDONLY | O_DIRECT);

	worked("open O_DIRECT", fd);
	if (fd >= 0) {
		worked("read after O_DIRECT", read(fd, buf, PAGE));
		close(fd);
	}
	opened("open a 0444 file O_RDWR", open(w->ro, O_RDWR));
	opened("open a 0444 file O_WRONLY", open(w->ro, O_WRONLY));
	opened("open a file O_DIRECTORY", open(w->ro, O_RDONLY | O_DIRECTORY));
	opened("open O_NOFOLLOW", open(w->ro, O_RDONLY | O_NOFOLLOW));
	opened("open O_PATH", open(w->ro, O_PATH));
	opened("open O_CREAT of what is there", open(w->rw, O_CREAT | O_WRONLY, 0644));
	opened("open O_CREAT O_EXCL", open(w->rw, O_CREAT | O_EXCL | O_WRONLY, 0644));
	opened("open O_TRUNC", open(w->rw, O_WRONLY | O_TRUNC));
	opened("open O_APPEND", open(w->rw, O_WRONLY | O_APPEND));
	opened("open a directory for writing", open(w->dir, O_WRONLY));
	opened("open O_TMPFILE", open(w->dir, O_TMPFILE | O_RDWR, 0600));
	opened("open FILE/x", open(w->below, O_RDONLY));
}

static void ask_write(const struct where *w)
{
	int fd = open(w->rw, O_WRONLY);

	said("write 0 bytes", write(fd, "", 0));
	memset(buf, ' ', LONG_WRITE);
	said("write 5000 bytes", write(fd, buf, LONG_WRITE));
	said("write at offset 10", pwrite(fd, "\n", 1, 10));
	said("write from no memory", write(fd, nowhere, 10));
	said("read a descriptor for writing", read(fd, buf, 1));
	close(fd);
	fd = open(w->rw, O_RDWR);
	said("ftruncate", ftruncate(fd, 10));
	close(fd);
	said("truncate", truncate(w->rw, 0));
	said("truncate of a 0444 file", truncate(w->ro, 0));
}

static void ask_create(const struct where *w)
{
	opened("create", open(w->absent, O_CREAT | O_WRONLY, 0644));
	said("mkdir", mkdir(w->absent, 0755));
	said("mknod a fifo", mknod(w->absent, S_IFIFO | 0644, 0));
	said("mknod a file", mknod(w->absent, S_IFREG | 0644, 0));
	said("symlink", symlink("x", w->absent));
	said("link", link(w->ro, w->absent));
	said("unlink", unlink(w->rw));
	said("unlink of what is not there", unlink(w->absent));
	said("rmdir", rmdir(w->dir));
	said("rename", rename(w->rw, w->absent));
	said("rename onto another", rename(w->rw, w->ro));
}

static void ask_metadata(const struct where *w)
{
	struct stat st = { 0 };

	stat(w->rw, &st);
	said("chmod to the same", chmod(w->rw, st.st_mode & 07777));
	said("chown to the same", chown(w->rw, st.st_uid, st.st_gid));
	said("utimensat", utimensat(AT_FDCWD, w->rw, NULL, 0));
	said("access W_OK of a 0444 file", access(w->ro, W_OK));
	said("access X_OK of a file", access(w->ro, X_OK));
	said("setxattr user", setxattr(w->rw, "user.x", "1", 1, 0));
	said("getxattr user", getxattr(w->rw, "user.x", buf, 10));
	said("setxattr trusted", setxattr(w->rw, "trusted.x", "1", 1, 0));
	removexattr(w->rw, "trusted.x");
	worked("listxattr", listxattr(w->rw, buf, PAGE));
	said("getxattr security.capability", getxattr(w->rw, "security.capability", buf, 100));
}

static long stat_long_name(const struct where *w, int len)
{
	snprintf(buf, sizeof(buf), "%s/%0*d", w->dir, len, 0);
	return size_of(buf);
}

static void ask_names(const struct where *w)
{
	said("stat of a name of 255", stat_long_name(w, NAME));
	said("stat of a name of 299", stat_long_name(w, TOO_LONG));
	said("stat of what is not there", size_of(w->absent));
	said("stat FILE/x", size_of(w->below));
	said("readlink of a file", readlink(w->ro, buf, PAGE));
}

/* Number of entries from here on. */
static int count(DIR *d)
{
	int n = 0;

	while (readdir(d))
		n++;
	return n;
}

static void ask_directory(const struct where *w)
{
	static long pos[ENTRIES];
	int n = 0, other_inode = 0, no_type = 0, fd = open(w->dir, O_RDONLY);
	DIR *d = opendir(w->dir);
	struct dirent *e;
	struct stat st;

	said("read a directory", read(fd, buf, 10));
	close(fd);
	if (!d)
		return;
	while (n < ENTRIES && (e = readdir(d))) {
		pos[n++] = telldir(d);
		no_type += e->d_type == DT_UNKNOWN;
		other_inode += strcmp(e->d_name, "..") &&
			       (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
				st.st_ino != e->d_ino);
	}
	said("entries whose d_ino is not their st_ino", other_inode);
	said("entries of no type", no_type);
	seekdir(d, pos[n / 2]);
	said("entries missed after seekdir", n - n / 2 - 1 - count(d));
	rewinddir(d);
	said("entries missed after rewinddir", n - count(d));
	closedir(d);
}

/* What moves data without a buffer, or in several. */
static void ask_moves(const struct where *w)
{
	struct iovec v[] = { { buf, 1 }, { buf + 1, PAGE } };
	int ro = open(w->ro, O_RDONLY), rw = open(w->rw, O_RDWR), p[2];

	if (pipe2(p, O_NONBLOCK))
		return;
	worked("readv", readv(ro, v, 2));
	worked("preadv at 1", preadv(ro, v, 2, 1));
	said("read of 0 bytes", pread(ro, buf, 0, 0));
	worked("sendfile to a pipe", sendfile(p[1], ro, &(off_t){ 0 }, 100));
	worked("what came of it", read(p[0], buf, PAGE));
	worked("splice to a pipe", splice(ro, &(off64_t){ 0 }, p[1], NULL, 100, 0));
	worked("what came of that", read(p[0], buf, PAGE));
	said("copy_file_range of nothing",
	     copy_file_range(ro, &(off64_t){ PAGE }, rw, &(off64_t){ 0 }, 10, 0));
	worked("fill the pipe", write(p[1], "\n", 1));
	said("splice from a pipe", splice(p[0], NULL, rw, NULL, 1, 0));
	said("writev", writev(rw, (struct iovec[]){ { "\n", 1 }, { "", 0 } }, 2));
	said("pwritev at 4096", pwritev(rw, (struct iovec[]){ { "\n", 1 } }, 1, PAGE));
	close(ro);
	close(rw);
	close(p[0]);
	close(p[1]);
}

static void ask_append(const struct where *w)
{
	int fd = open(w->rw, O_RDWR | O_APPEND | O_SYNC | O_NONBLOCK);
	struct flock lock = { .l_type = F_WRLCK };

	said("write O_APPEND", write(fd, "\n", 1));
	said("where it ends", lseek(fd, 0, SEEK_CUR) > 0);
	worked("read from the start", pread(fd, buf, PAGE, 0));
	said("fcntl write lock", fcntl(fd, F_SETLK, &lock));
	said("lease", fcntl(fd, F_SETLEASE, F_WRLCK));
	fcntl(fd, F_SETLEASE, F_UNLCK);
	said("fallocate of a writable file", fallocate(fd, 0, 0, 10));
	said("punch a hole", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 10));
	said("mmap shared for writing",
	     map(fd, PROT_READ | PROT_WRITE, MAP_SHARED) == MAP_FAILED ? -1 : 0);
	said("ftruncate to -1", ftruncate(fd, -1));
	said("fdatasync", fdatasync(fd));
	said("syncfs", syncfs(fd));
	said("ioctl FIONREAD", ioctl(fd, FIONREAD, buf));
	said("ioctl FIBMAP", ioctl(fd, FIBMAP, &(int){ 0 }));
	said("ioctl FS_IOC_GETFLAGS", ioctl(fd, FS_IOC_GETFLAGS, buf));
	said("lseek SEEK_HOLE", lseek(fd, 0, SEEK_HOLE) > 0);
	said("lseek SEEK_DATA far behind", lseek(fd, 1L << 40, SEEK_DATA));
	close(fd);
}

static void ask_handles(const struct where *w)
{
	struct file_handle *h = (void *)buf;
	struct stat st;
	struct statx stx = { 0 };
	int fd = open(w->ro, O_PATH), mount, watch;

	said("read from O_PATH", read(fd, buf, 1));
	said("fstat of O_PATH", fstat(fd, &st));
	said("fchmod of O_PATH", fchmod(fd, 0444));
	close(fd);
	opened("open O_NOATIME", open(w->ro, O_RDONLY | O_NOATIME));
	worked("statx", statx(AT_FDCWD, w->ro, 0, STATX_ALL, &stx));
	said("statx knows a birth", (stx.stx_mask & STATX_BTIME) != 0);
	h->handle_bytes = MAX_HANDLE_SZ;
	said("name_to_handle_at", name_to_handle_at(AT_FDCWD, w->ro, h, &mount, 0));
	watch = inotify_init1(IN_CLOEXEC);
	worked("inotify of a file", inotify_add_watch(watch, w->ro, IN_ALL_EVENTS));
	worked("inotify of a directory", inotify_add_watch(watch, w->dir, IN_ALL_EVENTS));
	close(watch);
}

static void ask_open_directory(const struct where *w)
{
	int fd = open(w->dir, O_RDONLY | O_DIRECTORY);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };

	opened("open a directory O_RDWR", open(w->dir, O_RDWR));
	opened("open a directory O_CREAT", open(w->dir, O_CREAT | O_RDONLY, 0644));
	opened("open a directory O_DIRECT", open(w->dir, O_RDONLY | O_DIRECT));
	opened("open a directory O_TRUNC", open(w->dir, O_RDONLY | O_TRUNC));
	said("write to a directory", write(fd, "1", 1));
	said("pread of a directory", pread(fd, buf, 10, 0));
	said("ftruncate of a directory", ftruncate(fd, 0));
	said("truncate of a directory", truncate(w->dir, 0));
	said("fsync of a directory", fsync(fd));
	said("fallocate of a directory", fallocate(fd, 0, 0, 10));
	said("flock of a directory", flock(fd, LOCK_SH | LOCK_NB));
	said("mmap of a directory", map(fd, PROT_READ, MAP_PRIVATE) == MAP_FAILED ? -1 : 0);
	said("ioctl of a directory", ioctl(fd, 0x1234, buf));
	worked("poll of a directory", poll(&p, 1, 0));
	said("events of a directory", p.revents);
	said("lseek of a directory to -1", lseek(fd, -1, SEEK_SET));
	said("fstat of a directory", fstat(fd, &(struct stat){ 0 }));
	said("fchmod of a directory", fchmod(fd, 0755));
	said("futimens of a directory", futimens(fd, NULL));
	said("access X_OK of a directory", access(w->dir, X_OK));
	said("setxattr of a directory", setxattr(w->dir, "user.x", "1", 1, 0));
	close(fd);
}

/* Number of entries that come in buffers of this size; -1 where that is refused. */
static long entries_by(int fd, size_t size)
{
	long n = 0, got;

	lseek(fd, 0, SEEK_SET);
	while ((got = getdents64(fd, buf, size)) > 0)
		for (long at = 0; at < got; at += ((struct dirent64 *)(buf + at))->d_reclen)
			n++;
	return got < 0 ? -1 : n;
}

static void ask_getdents(const struct where *w)
{
	int fd = open(w->dir, O_RDONLY | O_DIRECTORY);
	long all = entries_by(fd, sizeof(buf));

	said("getdents into 1 byte", entries_by(fd, 1));
	said("getdents into 24 bytes", entries_by(fd, 24));
	said("entries missed by small buffers", all - entries_by(fd, 64));
	said("entries missed by odd buffers", all - entries_by(fd, 333));
	lseek(fd, 0, SEEK_SET);
	said("getdents into no memory", getdents64(fd, nowhere, PAGE));
	lseek(fd, 1L << 40, SEEK_SET);
	said("getdents far behind the end", getdents64(fd, buf, PAGE));
	close(fd);
}

static void ask_change_directory(const struct where *w)
{
	char dot[600], inside[600];

	snprintf(dot, sizeof(dot), "%s/.", w->dir);
	snprintf(inside, sizeof(inside), "%s/below", w->dir);
	said("mkdir of what is there", mkdir(w->dir, 0755));
	said("mkdir of a file's name", mkdir(w->ro, 0755));
	said("mkdir below a file", mkdir(w->below, 0755));
	said("mknod of what is there", mknod(w->ro, S_IFIFO | 0644, 0));
	said("mknod of a device", mknod(w->absent, S_IFCHR | 0600, 0x103));
	said("symlink of what is there", symlink("x", w->ro));
	said("link of a directory", link(w->dir, w->absent));
	said("link onto what is there", link(w->ro, w->rw));
	said("unlink of a directory", unlink(w->dir));
	said("unlink of a link", unlink(w->link));
	said("rmdir of a file", rmdir(w->ro));
	said("rmdir of .", rmdir(dot));
	said("rmdir of a link", rmdir(w->link));
	said("rename of a directory", rename(w->dir, w->absent));
	said("rename of a directory into itself", rename(w->dir, inside));
	said("rename of a file onto a directory", rename(w->ro, w->link));
	said("rename of what is not there", rename(w->absent, w->ro));
	said("rename to itself", rename(w->ro, w->ro));
	said("rename NOREPLACE", renameat2(AT_FDCWD, w->ro, AT_FDCWD, w->absent, RENAME_NOREPLACE));
	said("rename EXCHANGE", renameat2(AT_FDCWD, w->ro, AT_FDCWD, w->rw, RENAME_EXCHANGE));
}

static void ask_link(const struct where *w)
{
	struct stat st = { 0 };
	int fd = open(w->link, O_PATH | O_NOFOLLOW);

	worked("lstat of a link", lstat(w->link, &st));
	said("its type and mode", (long)st.st_mode);
	said("its st_nlink", (long)st.st_nlink);
	said("its st_size", (long)st.st_size);
	said("its st_blocks", (long)st.st_blocks);
	worked("readlink", readlink(w->link, buf, PAGE));
	said("readlink into 3 bytes", readlink(w->link, buf, 3));
	said("readlink into 0 bytes", readlink(w->link, buf, 0 * (size_t)fd));
	said("readlink into no memory", readlink(w->link, nowhere, 10));
	worked("readlink of O_PATH", readlinkat(fd, "", buf, PAGE));
	opened("open of a link O_NOFOLLOW", open(w->link, O_RDONLY | O_NOFOLLOW));
	opened("open through a link", open(w->link, O_RDONLY | O_DIRECTORY));
	opened("open of a link for writing", open(w->link, O_WRONLY));
	said("lchown to the same", lchown(w->link, st.st_uid, st.st_gid));
	said("utimensat of a link", utimensat(AT_FDCWD, w->link, NULL, AT_SYMLINK_NOFOLLOW));
	said("lsetxattr", lsetxattr(w->link, "user.x", "1", 1, 0));
	said("link of a link", link(w->link, w->absent));
	said("rename of a link", rename(w->link, w->absent));
	close(fd);
}

int main(int argc, char **argv)
{
	struct where w;

	if (argc != 5) {
		fprintf(stderr, "usage: oracle RO_FILE RW_FILE DIR LINK\n");
		return 2;
	}
	w = (struct where){ .ro = argv[1], .rw = argv[2], .dir = argv[3], .link = argv[4] };
	snprintf(w.absent, sizeof(w.absent), "%s/absent", w.dir);
	snprintf(w.below, sizeof(w.below), "%s/x", w.ro);
	ask_stat(&w);
	ask_read(&w);
	ask_descriptor(&w);
	ask_poll(&w);
	ask_open(&w);
	ask_write(&w);
	ask_create(&w);
	ask_metadata(&w);
	ask_names(&w);
	ask_directory(&w);
	ask_moves(&w);
	ask_append(&w);
	ask_handles(&w);
	ask_open_directory(&w);
	ask_getdents(&w);
	ask_change_directory(&w);
	ask_link(&w);
	return 0;
}
