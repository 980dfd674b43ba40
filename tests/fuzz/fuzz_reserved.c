// SPDX-License-Identifier: GPL-2.0-or-later
/* reserved_regions of a group: no group is reserved without a line that says so. /proc/iomem: no
 * framebuffer is found that is not named. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/pci/reserved.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), name[FRAMEBUFFER_NAME];
	bool reserved;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!reserved_parse(text, &reserved))
		check(!reserved || strstr(text, "direct"));
	framebuffer_in(text, "0000:09:00.0", name);
	check(strstr(text, name) && (!name[0] || strstr(text, "0000:09:00.0")));
	free(text);
	return 0;
}
