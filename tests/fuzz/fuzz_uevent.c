// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/key.h"
#include "pcidevfs/uevent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *buf = malloc(size ? size : 1);
	struct uevent ev;
	struct key key;

	if (!buf)
		return 0;
	memcpy(buf, data, size);
	/* Every field must lie in the buffer and end there. */
	if (!uevent_parse(buf, size, &ev)) {
		const char *fields[] = { ev.action, ev.devpath, ev.subsystem, ev.slot };

		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			if (strlen(fields[i]) >= UEVENT_MAX)
				abort();
		uevent_function(&ev, &key);
		uevent_usb(&ev, &key);
	}
	free(buf);
	return 0;
}
