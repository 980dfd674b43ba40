// SPDX-License-Identifier: GPL-2.0-or-later
#include "tar.h"

#include <stdio.h>
#include <string.h>

#include "pcidevfs/util.h"

enum { BLOCK = 512 };

/* pax(1), "ustar Interchange Format". Numbers are octal digits. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[8], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a block");

static const char zeroes[2 * BLOCK];

void tar_add(struct out *tar, const char *path, const char *text, size_t size, uint64_t time)
{
	struct tar_header h = { .mode = "0000600",
				.uid = "0000000",
				.gid = "0000000",
				.type = '0',
				.magic = "ustar\00000" };
	unsigned int sum = 0;

	STR_COPY(h.name, path);
	snprintf(h.size, sizeof(h.size), "%011zo", size);
	snprintf(h.mtime, sizeof(h.mtime), "%011llo", (unsigned long long)time);
	memset(h.sum, ' ', sizeof(h.sum));
	for (size_t i = 0; i < BLOCK; i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.sum, sizeof(h.sum), "%06o", sum);
	out_put(tar, (const char *)&h, BLOCK);
	out_put(tar, text, size);
	out_put(tar, zeroes, (BLOCK - size % BLOCK) % BLOCK);
}

void tar_end(struct out *tar)
{
	out_put(tar, zeroes, 2 * BLOCK);
}
