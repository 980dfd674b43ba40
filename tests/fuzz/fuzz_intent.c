// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes between the header and a right checksum as the state file. What is accepted and written again
 * must be accepted again, and be written the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/intent_file.h"
#include "pcidevfs/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frame(struct out *o, const uint8_t *data, size_t size)
{
	uint64_t h = 0xcbf29ce484222325ull;

	out_printf(o, "pcidevfs-intent 1\n");
	out_put(o, (const char *)data, size);
	if (o->data[o->len - 1] != '\n')
		out_put(o, "\n", 1);
	for (size_t i = 0; i < o->len; i++)
		h = (h ^ (unsigned char)o->data[i]) * 0x100000001b3ull;
	out_printf(o, "checksum=%016llx\n", (unsigned long long)h);
}

/* False: refused, with a sentence. */
static int again(const struct out *text, struct out *ret)
{
	struct records rs = { 0 };
	struct err err = { 0 };
	char *copy = malloc(text->len + 1);

	memcpy(copy, text->data, text->len + 1);
	if (intent_parse(copy, text->len, &rs, &err)) {
		if (!err.code || !err.text[0] || rs.n)
			abort();
		free(copy);
		return 0;
	}
	intent_format(&rs, ret);
	records_free(&rs);
	free(copy);
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct out given = { 0 }, once = { 0 }, twice = { 0 };

	frame(&given, data, size);
	if (again(&given, &once)) {
		if (!again(&once, &twice) || strcmp(out_text(&once), out_text(&twice)))
			abort();
	}
	out_free(&given);
	out_free(&once);
	out_free(&twice);
	return 0;
}
