// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * put FILE VALUE: one write(2) of VALUE and a newline, as echo makes it, but it says by name what
 * the kernel answered, which no shell does. "-" reads the bytes from standard input.
 * put --text NAME: the words for an errno's name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ERRNO_LAST = 133, TEXT_MAX = 4 << 20 };

static int print_text(const char *name)
{
	for (int i = 1; i <= ERRNO_LAST; i++) {
		const char *n = strerrorname_np(i);

		if (n && !strcmp(n, name))
			return puts(strerror(i)) < 0;
	}
	return 2;
}

static size_t from_stdin(char *buf)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(STDIN_FILENO, buf + len, TEXT_MAX - len)) > 0)
		len += (size_t)n;
	return len;
}

int main(int argc, char **argv)
{
	static char buf[TEXT_MAX];
	ssize_t done = -1;
	size_t len;
	int fd;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "--text"))
		return print_text(argv[2]);
	len = strcmp(argv[2], "-") ? (size_t)snprintf(buf, sizeof(buf), "%s\n", argv[2])
				   : from_stdin(buf);
	fd = open(argv[1], O_WRONLY | O_TRUNC);
	if (fd < 0 || (done = write(fd, buf, len)) < 0) {
		puts(strerrorname_np(errno));
		return 1;
	}
	close(fd); /* what close says, no shell hears */
	if (done == (ssize_t)len)
		return 0;
	puts("short");
	return 1;
}
