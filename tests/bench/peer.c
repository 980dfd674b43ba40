// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * peer DIR [-BYTES] COUNT[xTIMES]...: what FUSE itself costs. Mounts on DIR, in the foreground, a
 * tree of directories d/directory0000000 and so on, each with so many files, TIMES of them alike;
 * every answer is made before it is asked for, by one thread that does nothing but read a request,
 * copy and write. No server of the same tree can be faster that lets a file be opened. The first
 * file of a directory is one that never changes, which the kernel caches; the others are read each
 * time, and the third has BYTES.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "bench.h"

/* Node ids: the root, d, its directories, and their files by number above the directory's id. */
enum { ROOT = FUSE_ROOT_ID, D, DIRS, MAX_DIRS = 8192, NAME = 16, FILE_SHIFT = 16, LONG_FILE = 3 };

/* A struct fuse_direntplus and its name. */
struct listed {
	char bytes[FUSE_NAME_OFFSET_DIRENTPLUS + NAME] __attribute__((aligned(8)));
};

struct dir {
	unsigned int count;
	struct listed *list; /* as READDIRPLUS wants it: all records are of one size */
};

static struct dir dirs[1 + MAX_DIRS]; /* from D on */
static unsigned int n_dirs;	      /* but D */
static volatile sig_atomic_t ended;
static char *long_text;
static size_t long_size = 7;

static void end(int sig)
{
	ended = 1;
}

static struct fuse_attr attr_of(uint64_t node)
{
	bool file = node >> FILE_SHIFT;

	return (struct fuse_attr){
		.ino = node,
		.mode = file ? S_IFREG | 0444 : S_IFDIR | 0755,
		.nlink = 1,
		.size = node >> FILE_SHIFT == LONG_FILE ? long_size : file ? 4096 : 0,
		.blksize = 4096,
	};
}

static struct fuse_entry_out entry_of(uint64_t node)
{
	return (struct fuse_entry_out){
		.nodeid = node, .entry_valid = 3600, .attr_valid = 3600, .attr = attr_of(node)
	};
}

static int prepare(uint64_t node, unsigned int count)
{
	struct dir *dir = &dirs[node - D];

	dir->count = count;
	dir->list = calloc(count, sizeof(*dir->list));
	for (unsigned int i = 0; dir->list && i < count; i++) {
		uint64_t child = node == D ? DIRS + i : (uint64_t)(i + 1) << FILE_SHIFT | node;
		const struct fuse_direntplus plus = {
			.entry_out = entry_of(child),
			.dirent = { .ino = child,
				    .off = i + 1,
				    .namelen = NAME,
				    .type = attr_of(child).mode >> 12 },
		};
		char *bytes = dir->list[i].bytes, name[NAME + 1];

		snprintf(name, sizeof(name), "%s%07u", node == D ? "directory" : "attribute",
			 i % 10000000);
		memcpy(bytes, &plus, FUSE_NAME_OFFSET_DIRENTPLUS);
		memcpy(bytes + FUSE_NAME_OFFSET_DIRENTPLUS, name, NAME);
	}
	return dir->list ? 0 : -1;
}

static void answer(int fd, uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + size),
					.error = -error,
					.unique = unique };
	struct iovec v[] = { { &head, sizeof(head) }, { (void *)data, size } };

	if (writev(fd, v, 2) < 0 && errno != ENOENT)
		perror("peer: answer");
}

static void greet(int fd, const struct fuse_in_header *in)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 65536,
		.flags = FUSE_DO_READDIRPLUS | FUSE_NO_OPENDIR_SUPPORT | FUSE_PARALLEL_DIROPS |
			 FUSE_MAX_PAGES,
		.max_write = 65536,
		.max_pages = 16,
		.time_gran = 1,
	};

	answer(fd, in->unique, 0, &out, sizeof(out));
}

static void look_up(int fd, const struct fuse_in_header *in)
{
	const char *name = (const char *)(in + 1);
	struct fuse_entry_out out;
	unsigned int number;
	uint64_t node = 0;

	if (in->nodeid == ROOT && !strcmp(name, "d"))
		node = D;
	else if (in->nodeid == D && sscanf(name, "directory%u", &number) == 1 && number < n_dirs)
		node = DIRS + number;
	else if (in->nodeid > D && sscanf(name, "attribute%u", &number) == 1)
		node = (uint64_t)(number + 1) << FILE_SHIFT | in->nodeid;
	out = entry_of(node);
	answer(fd, in->unique, node ? 0 : ENOENT, &out, node ? sizeof(out) : 0);
}

static void list(int fd, const struct fuse_in_header *in)
{
	const struct fuse_read_in *ask = (const void *)(in + 1);
	size_t i = in->nodeid - D, fit = ask->size / sizeof(struct listed), left;

	if (i > n_dirs || ask->offset > dirs[i].count) {
		answer(fd, in->unique, 0, NULL, 0);
		return;
	}
	left = dirs[i].count - ask->offset;
	answer(fd, in->unique, 0, &dirs[i].list[ask->offset],
	       (left < fit ? left : fit) * sizeof(struct listed));
}

static void read_file(int fd, const struct fuse_in_header *in)
{
	const struct fuse_read_in *ask = (const void *)(in + 1);
	size_t off = ask->offset < long_size ? ask->offset : long_size;

	if (in->nodeid >> FILE_SHIFT != LONG_FILE)
		answer(fd, in->unique, 0, "0x8086\n", 7);
	else
		answer(fd, in->unique, 0, long_text + off,
		       long_size - off < ask->size ? long_size - off : ask->size);
}

static void serve(int fd, const struct fuse_in_header *in)
{
	struct fuse_open_out opened = { .open_flags = in->nodeid >> FILE_SHIFT == 1
							      ? FOPEN_KEEP_CACHE | FOPEN_NOFLUSH
							      : FOPEN_DIRECT_IO | FOPEN_NOFLUSH };
	struct fuse_attr_out attr = { .attr_valid = 3600, .attr = attr_of(in->nodeid) };

	switch (in->opcode) {
	case FUSE_INIT:
		greet(fd, in);
		break;
	case FUSE_LOOKUP:
		look_up(fd, in);
		break;
	case FUSE_GETATTR:
		answer(fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_READDIRPLUS:
		list(fd, in);
		break;
	case FUSE_OPEN:
		answer(fd, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		read_file(fd, in);
		break;
	case FUSE_RELEASE:
		answer(fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default: /* OPENDIR above all: the kernel asks once and no more */
		answer(fd, in->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static char buf[65536 + 8192] __attribute__((aligned(8)));
	struct sigaction op = { .sa_handler = end };
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	for (int i = 2; i < argc; i++) {
		unsigned int count = 0, times = 1;

		if (argv[i][0] == '-') {
			long_size = strtoul(argv[i] + 1, NULL, 10);
			continue;
		}
		sscanf(argv[i], "%ux%u", &count, &times);
		for (; times && n_dirs < MAX_DIRS; times--, n_dirs++)
			if (prepare(DIRS + n_dirs, count))
				return 1;
	}
	long_text = malloc(long_size + 1);
	if (!long_text || prepare(D, n_dirs))
		return 1;
	memset(long_text, 'x', long_size);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other", fd);
	if (!n_dirs || fd < 0 ||
	    mount("peer", argv[1], "fuse.peer", MS_NOSUID | MS_NODEV, options)) {
		perror("peer");
		return 1;
	}
	sigaction(SIGTERM, &op, NULL);
	while (!ended)
		if (read(fd, buf, sizeof(buf)) >= (ssize_t)sizeof(struct fuse_in_header))
			serve(fd, (const void *)buf);
	return umount2(argv[1], MNT_DETACH) ? 1 : 0;
}
