// SPDX-License-Identifier: GPL-2.0-or-later
/* Two bytes are the device id; then, each ended by a NUL, vendor, product and class. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/device.h"
#include "pcidevfs/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct facts facts = { 0 };
	struct names names;
	char *text, *words[3];

	if (size < 2)
		return 0;
	facts.device = (uint16_t)(data[0] << 8 | data[1]);
	text = calloc(1, size + 1); /* three strings always end: size - 2 bytes and three NULs */
	if (!text)
		return 0;
	memcpy(text, data + 2, size - 2);
	words[0] = text;
	for (int i = 1; i < 3; i++) {
		char *end = words[i - 1] + strlen(words[i - 1]);

		words[i] = end < text + size ? end + 1 : end;
	}
	names_resource(words[0], words[1][0] ? words[1] : NULL, facts.device, names.resource,
		       sizeof(names.resource));
	if (!valid_qualified(names.resource))
		abort();
	names_description(&facts, words[2], words[0], words[1], names.description,
			  sizeof(names.description));
	if (!names.description[0] || strlen(names.description) >= sizeof(names.description))
		abort();
	free(text);
	return 0;
}
