// SPDX-License-Identifier: GPL-2.0-or-later
/* modules.alias, and the links that tell where a device sits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/pci/variant.h"
#include "pcidevfs/pci.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct facts f = { .vendor = 0x15b3, .device = 0x101e, .class_code = 0x020000 };
	struct key behind;
	char *text = malloc(size + 1), driver[DRIVER_NAME], path[sizeof(f.path)];

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	variant_choose(text, &f, driver);
	if (!driver_is_vfio(driver) || strchr(driver, '/'))
		abort();
	pci_path(text, path, sizeof(path));
	if (strlen(path) >= sizeof(path))
		abort();
	pci_behind(text, &behind);
	if (behind.bus && (behind.bus != BUS_PCI || !key_make(BUS_PCI, behind.name, &behind)))
		abort();
	free(text);
	return 0;
}
