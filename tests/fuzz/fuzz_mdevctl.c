// SPDX-License-Identifier: GPL-2.0-or-later
/* mdevctl's definition of a mediated device: whatever it holds, it starts by one of two ways or is
 * none, and none is what does not begin as an object does. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mdev/mdevctl.h"
#include "pcidevfs/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_free_ char *text = malloc(size + 1);
	char start[MDEVCTL_START];

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	mdevctl_parse(text, start);
	if (strcmp(start, "") && strcmp(start, "auto") && strcmp(start, "manual"))
		abort();
	if (start[0] && text[strspn(text, " \t\r\n")] != '{')
		abort();
	if (!strcmp(start, "auto") && !strstr(text, "\"start\"") && !strchr(text, '\\'))
		abort();
	return 0;
}
