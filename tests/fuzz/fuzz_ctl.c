// SPDX-License-Identifier: GPL-2.0-or-later
/* What is written to ctl: the first byte cuts the stream into writes, the rest is the stream. What
 * is taken for a line gives the same requests and refusals whatever the cut, and its requests keep
 * their promises. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fs/ctl/ctl_job.h"
#include "fs/ctl/lines.h"
#include "pcidevfs/err.h"
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REGION ((size_t)1088 << 20)

static struct tree tree;
static struct ctls *store;

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
	check(attr_by_name(OBJ_DEVICE, 0, request.file) != NULL);
	check(key_eq(&request.dev, &home) && request.child <= 8 &&
	      strlen(request.value) < sizeof(request.value));
}

/* Takes all lines that are whole; returns how many. */
static size_t take(struct ctl *ctl, bool own)
{
	size_t n = 0, len;
	const char *at;

	for (;; n++) {
		struct ctl_state *next = ctl_next(ctl);
		char *line;

		at = ctl_line(ctl, next, &len);
		if (!at)
			return n;
		line = strndup(at, len);
		check(line != NULL);
		judge(line, own);
		free(line);
		next->scanned += (uint32_t)len + 1;
		if (len == 6 && !memcmp(at, "commit", 6))
			next->begin = next->scanned;
		ctl_swap(ctl);
	}
}

static size_t run(const uint8_t *data, size_t size, size_t cut, bool own)
{
	struct ctl *ctl = ctls_open(store, cut);
	size_t lines = 0;

	for (size_t at = 0; at < size; at += cut) {
		struct ctl_state *next = ctl_next(ctl);
		size_t n = size - at < cut ? size - at : cut;

		check(!ctl_append(ctl, next, (const char *)data + at, n));
		ctl_swap(ctl);
		lines += take(ctl, own);
	}
	ctls_close(store, ctl);
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t lines = 0;

	if (!store) {
		plant(&tree);
		check(!ctls_new(map(REGION), REGION, &store, NULL));
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
