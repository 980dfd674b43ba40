// SPDX-License-Identifier: GPL-2.0-or-later
/* qmp SOCKET COMMAND [KEY=VALUE]...: one command to QEMU's control socket, such as device_add
 * driver=edu bus=rp6 id=hot. Status 1: it was refused, and why is printed. Words that JSON would
 * quote are not taken. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static FILE *reach(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || strlen(path) >= sizeof(un.sun_path))
		return NULL;
	strcpy(un.sun_path, path);
	return connect(fd, (struct sockaddr *)&un, sizeof(un)) ? NULL : fdopen(fd, "r+");
}

/* The first line that is an answer; what happens meanwhile is told as well, and skipped. */
static bool answered(FILE *f, char *line, int size)
{
	while (fgets(line, size, f)) {
		if (!strncmp(line, "{\"return\"", 9))
			return true;
		if (!strncmp(line, "{\"error\"", 8))
			return false;
	}
	strcpy(line, "no answer\n");
	return false;
}

static bool ask(FILE *f, const char *command, char **words, char *line, int size)
{
	fprintf(f, "{\"execute\":\"%s\",\"arguments\":{", command);
	for (char **w = words; *w; w++) {
		size_t key = strcspn(*w, "=");

		fprintf(f, "%s\"%.*s\":\"%s\"", w == words ? "" : ",", (int)key, *w,
			*w + key + ((*w)[key] == '='));
	}
	fputs("}}\n", f);
	fflush(f);
	return answered(f, line, size);
}

int main(int argc, char **argv)
{
	char *none[] = { NULL }, line[4096];
	FILE *f;

	if (argc < 3)
		return 2;
	for (int i = 2; i < argc; i++)
		if (strpbrk(argv[i], "\"\\\n"))
			return 2;
	f = reach(argv[1]);
	if (!f) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	if (ask(f, "qmp_capabilities", none, line, sizeof(line)) &&
	    ask(f, argv[2], argv + 3, line, sizeof(line)))
		return 0;
	fputs(line, stderr);
	return 1;
}
