/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts as a backend would set them. */
#ifndef PCIDEVFS_TEST_FACTS_H
#define PCIDEVFS_TEST_FACTS_H

#include "pcidevfs/device.h"
#include "pcidevfs/pci.h"
#include "pcidevfs/util.h"

/* Binds it to this driver. Its class and group must be set before. */
static inline void set_driver(struct facts *f, const char *driver)
{
	STR_COPY(f->driver, driver);
	f->use = pci_use(f);
}

/* Makes /dev/vfio/<group> exist. */
static inline void set_node(struct facts *f)
{
	pci_nodes(f->iommu_group, "", false, f->nodes);
}

/* What it had before its claim; "" none. Valid until the next call. */
static inline const char *former_of(struct intent w, const char *name)
{
	static char value[FORMER_TEXT];

	former_get(w.former, name, value, sizeof(value));
	return value;
}

#endif
