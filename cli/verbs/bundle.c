// SPDX-License-Identifier: GPL-2.0-or-later
/* What a support case needs, in one tar. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/anonymous.h"
#include "cli/cli.h"
#include "cli/out.h"
#include "cli/access.h"
#include "cli/tar.h"
#include "pcidevfs/err.h"
#include "pcidevfs/say.h"
#include "pcidevfs/util.h"

static const char *const files[] = { "version",	   "health",   "inventory",
				     "intents",	   "overview", "events",
				     "last_error", "log",      "metrics.prom" };

static const struct {
	const char *name;
	char *const argv[4];
	bool ours; /* only lines about devices of the tree */
} programs[] = {
	{ "kernel.version", { "uname", "-srvm" }, false },
	{ "os-release", { "cat", "/etc/os-release" }, false },
	{ "kernel.log", { "dmesg" }, true },
	{ "lspci", { "lspci", "-nnk" }, false },
};

struct bundle {
	struct cli *cli;
	struct out tar, missing;
	struct known_names names;
	char dir[40];
	uint64_t time;
};

static void add(struct bundle *b, const char *name, const char *text)
{
	char path[100];
	_free_ char *copy = NULL;

	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	if (b->cli->opt[OPT_ANONYMOUS]) {
		copy = anonymous(&b->names, text);
		text = copy ?: "no memory\n";
	}
	tar_add(&b->tar, path, text, strlen(text), b->time);
}

/* Lines that name a device, or the drivers that all claims need. */
static void keep_ours(const struct tree_inventory *inv, const char *text, struct out *ret)
{
	static const char *const words[] = { "vfio", "iommu", "DMAR", "AMD-Vi" };

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		for (size_t i = 0; i < inv->n + ARRAY_SIZE(words); i++) {
			const char *word = i < inv->n ? inv->devices[i].id : words[i - inv->n];

			if (memmem(text, len, word, strlen(word))) {
				out_printf(ret, "%.*s\n", (int)len, text);
				break;
			}
		}
	}
}

static void add_program(struct bundle *b, size_t i)
{
	struct err err = { 0 };
	struct out ours = { 0 };
	_free_ char *text = NULL;

	if (run_program(b->cli, programs[i].argv, &text, &err))
		out_printf(&b->missing, "%s: %s\n", programs[i].name, err.text);
	if (text && programs[i].ours)
		keep_ours(&b->cli->inv, text, &ours);
	if (text && *text)
		add(b, programs[i].name, programs[i].ours ? out_text(&ours) : text);
	out_free(&ours);
}

static void add_files(struct bundle *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct err err = { 0 };
		_free_ char *text = NULL;

		if (tree_read(b->cli, files[i], &text, &err))
			out_printf(&b->missing, "%s: %s\n", files[i], err.text);
		else
			add(b, files[i], text);
	}
}

/* Also of claimants whose devices are gone, and of those who hold none any more. */
static void find_names(struct bundle *b)
{
	static const char *const where[] = { "inventory", "intents", "log" };
	char host[256] = "";

	for (size_t i = 0; i < ARRAY_SIZE(where); i++) {
		_free_ char *text = tree_text(b->cli, "%s", where[i]);

		names_of(&b->names, text ?: "");
	}
	if (!gethostname(host, sizeof(host) - 1))
		names_add(&b->names, host);
}

static int write_tar(struct bundle *b, const char *path, struct err *err)
{
	size_t at = 0;
	ssize_t n = 0;
	int fd;

	if (!strcmp(path, "-"))
		return print_out(&b->tar, err);
	/* For its owner alone, and never over another file. */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(err, errno, "%s: %s", path, strerror(errno));
	for (; at < b->tar.len && n >= 0; at += n > 0 ? (size_t)n : 0)
		n = write(fd, out_text(&b->tar) + at, b->tar.len - at);
	if (n < 0 || close(fd)) {
		fail(err, errno, "%s: %s; nothing is left of it", path, strerror(errno));
		unlink(path);
		return -err->code;
	}
	say("wrote %s; it holds no secrets%s%s", path,
	    b->cli->opt[OPT_ANONYMOUS] ? ", and no names of users"
				       : ", but names of users: --anonymous leaves them out",
	    b->missing.len ? "; not all could be read, see missing" : "");
	return 0;
}

int verb_bundle(struct cli *cli, struct err *err)
{
	struct bundle b = { .cli = cli, .time = (uint64_t)time(NULL) };
	time_t at = (time_t)b.time;
	struct tm tm;
	struct err none = { 0 };
	char path[64];
	int r = inventory_read(cli, &none);

	/* Without a daemon it is wanted most; but then nobody tells which names are to be left out. */
	if (r && cli->opt[OPT_ANONYMOUS])
		return fail(err, -r, "%s", none.text);
	strftime(b.dir, sizeof(b.dir), "pcidevfs-%Y%m%d-%H%M%S", gmtime_r(&at, &tm));
	snprintf(path, sizeof(path), "%s.tar", b.dir);
	find_names(&b);
	add_files(&b);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		add_program(&b, i);
	add(&b, "command.version", VERSION "\n");
	add(&b, "missing", out_text(&b.missing));
	tar_end(&b.tar);
	r = b.tar.failed ? fail_nomem(err) : write_tar(&b, cli->opt[OPT_OUTPUT] ?: path, err);
	names_free(&b.names);
	out_free(&b.tar);
	out_free(&b.missing);
	return r;
}
