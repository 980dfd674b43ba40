/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The physical slots of a machine, as drivers of slots name them (bus/pci/slots). */
#ifndef BACKEND_PCI_SLOTS_H
#define BACKEND_PCI_SLOTS_H

#include "pcidevfs/facts.h"
#include "pcidevfs/key.h"

struct sysfs;

/* All zeros: not read yet. */
struct pci_slots {
	struct pci_slot *v;
	size_t n, cap;
	bool read;
};

/* The slot that the function's address is in; "": none, and a device of another bus has none. The
 * slots are read by the first call. Returns 0 or -errno if we failed to read them: no memory or
 * descriptor. */
int pci_slot_of(const struct sysfs *s, struct pci_slots *slots, const struct key *dev,
		char ret[static SLOT_NAME]);
/* Then they are all zeros again. */
void pci_slots_free(struct pci_slots *slots);

/* The address of a slot, "0000:0a:00", as that of function 0. False: it is not one; a slot that has
 * only a bus, "0000:0a", is a placeholder that no function is in. Pure. */
bool pci_slot_address(const char *text, struct pci_addr *ret);

#endif
