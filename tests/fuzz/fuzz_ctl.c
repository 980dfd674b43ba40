// SPDX-License-Identifier: GPL-2.0-or-later
/* What is written to ctl: the first byte cuts the stream into writes, the rest is the stream. What
 * is taken for a line gives the same requests and refusals whatever the cut, and its requests keep
 * their promises. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fs/ctl/ctl.h"
#include "fs/ctl/ctl_job.h"
#include "fs/ctl/lines.h"
#include "pcidevfs/err.h"
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REGION ((size_t)1 << 20)

static struct tree tree;
static struct ctl_files *store;

static void judge(char *line, bool own)
{
	const struct lines_of of = { .tree = &tree, .file = "ctl", .home = own ? &home : NULL };
	char label[LINE_LABEL] = "", *arg;
	struct request at;
	struct err err = { 0 };
	struct request request;

	if (command_of(line, &arg)) {
		if (line_target(&of, arg, &at, &err))
			check(err.code && err.text[0]);
		else
			check(at.dev.bus != BUS_NONE);
		return;
	}
	if (line_request(&of, line, &request, label, &err)) {
		check(err.code > 0 && err.text[0] && !strchr(err.text, '\n'));
		return;
	}
	check(attr_by_name(OBJ_DEVICE, request.file) != NULL);
	check(key_eq(&request.dev, &home) && request.child <= 8 &&
	      strlen(request.value) < sizeof(request.value));
}

/* Takes all lines that are whole; returns how many. */
static size_t take(struct ctl *ctl, bool own)
{
	const char *at;
	size_t n, len;

	for (n = 0; (at = ctl_line(ctl, &len)); n++) {
		bool ends = len == 6 && !memcmp(at, "commit", 6);
		char *line = strndup(at, len);

		check(line != NULL);
		judge(line, own);
		free(line);
		ctl->scanned += len + 1;
		if (ends)
			ctl_cut(ctl, true);
	}
	return n;
}

static size_t run(const uint8_t *data, size_t size, size_t cut, bool own)
{
	static const struct creds who = { .uid = 1000 };
	struct ctl *ctl;
	size_t lines = 0;

	check(!ctl_add(store, cut, &who, &ctl, NULL));
	for (size_t at = 0; at < size; at += cut) {
		size_t n = size - at < cut ? size - at : cut;

		out_put(&ctl->text, (const char *)data + at, n);
		lines += take(ctl, own);
	}
	ctl_remove(store, ctl);
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t lines = 0;

	if (!store) {
		plant(&tree);
		check(!ctl_new(map(REGION), REGION, NULL, &store, NULL));
	}
	if (!size || size > CTL_WRITE)
		return 0;
	for (size_t i = 1; i < size; i++)
		lines += data[i] == '\n';
	for (int own = 0; own < 2; own++) {
		check(run(data + 1, size - 1, CTL_WRITE, own) == lines);
		check(run(data + 1, size - 1, data[0] % 64 + 1, own) == lines);
	}
	return 0;
}
