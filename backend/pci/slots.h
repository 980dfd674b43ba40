/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The physical slots of a machine, as drivers of slots name them (bus/pci/slots). */
#ifndef BACKEND_PCI_SLOTS_H
#define BACKEND_PCI_SLOTS_H

#include "pcidevfs/facts.h"
#include "pcidevfs/key.h"

struct sysfs;

/* All of them, as they were read once. It does not change, and threads may share it. */
struct pci_slots;

/* Reads them; of those that were read before (NULL: none) no address is read again if the names are
 * the same, and the caller gets another reference to them: a slot keeps its address as long as it is
 * there. Returns 0 or -errno if we failed to read them: no memory or descriptor. */
int pci_slots_read(const struct sysfs *s, struct pci_slots *before, struct pci_slots **ret);
/* NULL is fine. */
struct pci_slots *pci_slots_ref(struct pci_slots *slots);
void pci_slots_unref(struct pci_slots *slots);
/* The slot that the function's address is in; "" stays where it is in none. */
void pci_slot_of(const struct pci_slots *slots, const struct key *dev, char ret[static SLOT_NAME]);

/* The address of a slot, "0000:0a:00", as that of function 0. False: it is not one; a slot that has
 * only a bus, "0000:0a", is a placeholder that no function is in. Pure. */
bool pci_slot_address(const char *text, struct pci_addr *ret);

#endif
