// SPDX-License-Identifier: GPL-2.0-or-later
#include "load.h"
#include "machine.h"
#include "main.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* gzread() also reads plain files. */
static int read_all(gzFile in, char **ret, size_t *ret_len)
{
	size_t len = 0, max = 1 << 20;
	char *buf = malloc(max), *more;
	int n = 0;

	while (buf && (n = gzread(in, buf + len, (unsigned int)(max - len))) > 0) {
		len += (size_t)n;
		if (len > MACHINE_MAX_SIZE)
			break;
		if (len < max)
			continue;
		more = realloc(buf, max *= 2);
		if (!more)
			free(buf);
		buf = more;
	}
	if (!buf)
		return -ENOMEM;
	if (n < 0) {
		free(buf);
		return -EIO;
	}
	*ret = buf;
	*ret_len = len;
	return 0;
}

static int parse(const char *name, const char *buf, size_t len, struct machine **ret)
{
	struct machine_err why;
	int r = machine_parse(buf, len, ret, &why);

	if (r == -EINVAL && why.line)
		fprintf(stderr, "pcidevfs-sim: %s line %u: %s\n", name, why.line, why.text);
	else if (r)
		fprintf(stderr, "pcidevfs-sim: %s: %s\n", name,
			r == -EINVAL ? why.text : strerror(-r));
	return r;
}

int load_machine(const char *path, struct machine **ret)
{
	gzFile in;
	char *buf;
	size_t len;
	int r;

	if (!path)
		return parse("built-in machine", small_server,
			     (size_t)(small_server_end - small_server), ret);
	in = gzopen(path, "re");
	if (!in) {
		r = errno ? -errno : -ENOMEM;
		fprintf(stderr, "pcidevfs-sim: can not open %s: %s\n", path, strerror(-r));
		return r;
	}
	r = read_all(in, &buf, &len);
	gzclose(in);
	if (r) {
		fprintf(stderr, "pcidevfs-sim: can not read %s: %s\n", path, strerror(-r));
		return r;
	}
	r = parse(path, buf, len, ret);
	free(buf);
	return r;
}
