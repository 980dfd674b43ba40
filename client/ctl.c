// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <pcidevfs/err.h>
#include <pcidevfs/util.h>

/* "error EBUSY 0000:05:00.0/claim: SENTENCE": the sentence of the first one. */
static int verdict(const char *tree, char *answers, int code, struct err *err)
{
	for (char *save, *line = strtok_r(answers, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, "error ", 6)) {
			char *text = line + 6 + strcspn(line + 6, " ");

			return fail(err, code, "%s", text + strspn(text, " "));
		}
	return fail(err, code, "%s/ctl: %s", tree, strerror(code));
}

int ctl_commit(const char *tree, const char *name, const char *lines, struct err *err)
{
	struct out text = { 0 };
	char path[4096], answers[4096];
	_close_ int fd = -1;
	ssize_t n = -1;
	int code;

	if ((size_t)snprintf(path, sizeof(path), "%s/ctl", tree) >= sizeof(path))
		return fail(err, ENAMETOOLONG, "%.100s...: too long a path", tree);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail(err, errno, "%s: %s", path, strerror(errno));
	out_printf(&text, "hello %s\n%scommit\n", name, lines);
	if (!text.failed)
		n = write(fd, text.data, text.len);
	code = text.failed ? ENOMEM : n < 0 ? errno : EIO;
	if (n >= 0 && (size_t)n == text.len)
		code = 0;
	out_free(&text);
	if (!code)
		return 0;
	n = read(fd, answers, sizeof(answers) - 1);
	answers[n > 0 ? n : 0] = '\0';
	return verdict(tree, answers, code, err);
}
