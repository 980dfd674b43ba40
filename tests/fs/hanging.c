// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hanging DIR: lists DIR into a page that never comes, as one that is mapped from a file system
 * whose server does not answer. Says "lists" just before it does. Status 3: such a page cannot be
 * had.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 64 << 10, NO_PAGE = 3 };

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC), fd;
	void *page = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (argc != 2 || page == MAP_FAILED)
		return 2;
	area.range = (struct uffdio_range){ (unsigned long)page, SIZE };
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) || ioctl(uffd, UFFDIO_REGISTER, &area))
		return NO_PAGE;
	fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 2;
	puts("lists");
	fflush(stdout);
	printf("listed: %ld\n", syscall(SYS_getdents64, fd, page, SIZE));
	return 0;
}
