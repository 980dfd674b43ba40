// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "backend/gpu/card_health.h"
#include "pcidevfs/key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Records of the kernel's log, and lines of pcidevfs-nvml: without an end in the memory. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct card_told told = CARD_TOLD_NOTHING;
	char *record = malloc(size + 1), *line = strndup((const char *)data, size);
	char text[CARD_HEALTH];
	struct kernel_line text_line;
	unsigned int number;
	struct key key;

	if (record && line) {
		memcpy(record, data, size);
		if (kernel_line_read(record, size, &text_line) &&
		    card_logged(&text_line, &key, &number)) {
			if (key.bus != BUS_PCI || !key_valid(&key) || record[0] > '9' || number > 9999999)
				abort();
			card_error(key.name, number, text);
		}
		card_health_read(line, &told);
		card_sentence("0000:3b:00.0", &told, text);
		if (strlen(text) >= CARD_HEALTH)
			abort();
	}
	free(record);
	free(line);
	return 0;
}
