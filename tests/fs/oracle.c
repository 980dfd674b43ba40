// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * oracle RO_FILE RW_FILE DIR: how a tree answers calls that are made by accident, by attack or by
 * habit. A line per call, "NAME: RESULT", the errno's name where it fails. Run on real sysfs and on
 * the mounted tree; what differs needs a reason (oracle.expected).
 *
 * Results depend on the tree's behaviour only, not on its contents: RO_FILE holds more than one byte
 * and fewer than 100; a newline and 5000 blanks are written to RW_FILE.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { PAGE = 4096, LONG_WRITE = 5000, NAME = 255, TOO_LONG = 299, ENTRIES = 4096 };

struct where {
	const char *ro;
	const char *rw;
	const char *dir;
	char absent[512]; /* a name in dir that is not there */
	char below[512]; /* a name below ro, which is no directory */
};

static char buf[2 * PAGE] __attribute__((aligned(PAGE)));
static char *volatile nowhere; /* volatile: the compiler would refuse such calls */

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
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };
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

int main(int argc, char **argv)
{
	struct where w;

	if (argc != 4) {
		fprintf(stderr, "usage: oracle RO_FILE RW_FILE DIR\n");
		return 2;
	}
	w = (struct where){ .ro = argv[1], .rw = argv[2], .dir = argv[3] };
	snprintf(w.absent, sizeof(w.absent), "%s/absent", w.dir);
	snprintf(w.below, sizeof(w.below), "%s/x", w.ro);
	ask_stat(&w);
	ask_read(&w);
	ask_descriptor(&w);
	ask_open(&w);
	ask_write(&w);
	ask_create(&w);
	ask_metadata(&w);
	ask_names(&w);
	ask_directory(&w);
	return 0;
}
