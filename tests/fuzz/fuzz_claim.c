// SPDX-License-Identifier: GPL-2.0-or-later
/* What is written to a file: the first byte chooses among the rows that take writes, the rest is
 * the text as write(2) had it. What a row accepts must fit the promises of its request. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fs/internal.h"
#include "fs/request.h"
#include "pcidevfs/err.h"
#include "pcidevfs/util.h"
#include "tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tree tree;
static struct device dev = {
	.key = { BUS_PCI, "0000:02:00.0" },
	.caps = CAP_PCI | CAP_CLAIM | CAP_SRIOV | CAP_GROUP,
};

static const struct attr *pick(unsigned int n)
{
	const struct attr *row;

	for (size_t at = 0;; at++) {
		row = row_at(OBJ_DEVICE, at);
		if (!row)
			at = (size_t)-1; /* from the beginning */
		else if (row->store && !n--)
			return row;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct subject s = { .tree = &tree, .dev = &dev };
	char text[WRITE_MAX + 1];
	struct request request = { 0 };
	struct err err = { 0 };
	const struct attr *row;

	if (!tree.conf.model)
		plant(&tree);
	if (!size)
		return 0;
	row = pick(data[0] % 16);
	if (request_text(row->name, (const char *)data + 1, size - 1, text, &err)) {
		check(err.code == EINVAL || err.code == E2BIG);
		return 0;
	}
	check(strlen(text) <= WRITE_MAX && !strpbrk(text, "\n\t\r"));
	if (request_parse(&s, row, text, &request, &err)) {
		check(err.code > 0 && err.text[0] && !strchr(err.text, '\n'));
		check(!request.file[0]);
	} else if (!(row->flags & (ATTR_ASIDE | ATTR_ALIAS))) {
		check(attr_by_name(OBJ_DEVICE, request.file) == row);
		check(key_eq(&request.dev, &dev.key) &&
		      strlen(request.value) < sizeof(request.value));
	}
	return 0;
}
