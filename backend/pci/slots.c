// SPDX-License-Identifier: GPL-2.0-or-later
#include "slots.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcidevfs/sysfs.h"
#include "pcidevfs/util.h"

#define SLOTS "bus/pci/slots"
#define ENTRIES_MAX 1024

struct pci_slot {
	struct pci_addr at;
	char name[SLOT_NAME];
};

struct pci_slots {
	atomic_uint refs;
	uint64_t names; /* of all entries, whatever their order */
	struct pci_slot *v;
	size_t n, cap;
};

bool pci_slot_address(const char *text, struct pci_addr *ret)
{
	char function[24];

	return snprintf(function, sizeof(function), "%s.0", text) < (int)sizeof(function) &&
	       pci_addr_parse(function, ret);
}

static bool is_of_us(int rc)
{
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOMEM;
}

static int add(const struct sysfs *s, struct pci_slots *slots, const char *name)
{
	char text[32];
	struct pci_slot *v;
	struct pci_addr at;
	int rc;

	if (name[0] == '.' || strlen(name) >= SLOT_NAME || name[str_clean_len(name, SIZE_MAX)])
		return 0;
	rc = sysfs_read(s, ROOT_SYS, text, sizeof(text), SLOTS "/%s/address", name);
	if (rc < 0 || !pci_slot_address(text, &at))
		return is_of_us(rc) ? rc : 0;
	v = more_rows(slots->v, slots->n, &slots->cap, sizeof(*v));
	if (!v)
		return -ENOMEM;
	slots->v = v;
	v += slots->n++;
	v->at = at;
	STR_COPY(v->name, name);
	return 0;
}

static uint64_t hash_names(DIR *dir)
{
	const struct dirent *e;
	uint64_t sum = 0;

	for (int n = 0; n < ENTRIES_MAX && (e = readdir(dir)); n++)
		sum += fnv1a(FNV1A, e->d_name, strlen(e->d_name));
	return sum;
}

int pci_slots_read(const struct sysfs *s, struct pci_slots *before, struct pci_slots **ret)
{
	_closedir_ DIR *dir = sysfs_dir(s, ROOT_SYS, SLOTS);
	int rc = dir || !is_of_us(-errno) ? 0 : -errno;
	uint64_t names = dir ? hash_names(dir) : 0;
	struct pci_slots *slots;
	const struct dirent *e;

	if (!rc && before && before->names == names) {
		*ret = pci_slots_ref(before);
		return 0;
	}
	slots = rc ? NULL : calloc(1, sizeof(*slots));
	if (!slots)
		return rc ?: -ENOMEM;
	slots->refs = 1;
	slots->names = names;
	if (dir)
		rewinddir(dir);
	for (int n = 0; dir && !rc && n < ENTRIES_MAX && (e = readdir(dir)); n++)
		rc = add(s, slots, e->d_name);
	if (rc)
		pci_slots_unref(slots);
	else
		*ret = slots;
	return rc;
}

struct pci_slots *pci_slots_ref(struct pci_slots *slots)
{
	if (slots)
		slots->refs++;
	return slots;
}

void pci_slots_unref(struct pci_slots *slots)
{
	if (!slots || --slots->refs)
		return;
	free(slots->v);
	free(slots);
}

void pci_slot_of(const struct pci_slots *slots, const struct key *dev, char ret[static SLOT_NAME])
{
	struct pci_addr at;

	if (dev->bus != BUS_PCI || !pci_addr_parse(dev->name, &at))
		return;
	for (const struct pci_slot *v = slots->v; v < slots->v + slots->n; v++)
		/* The smallest name, so that the order of the entries does not matter. */
		if (v->at.domain == at.domain && v->at.bus == at.bus && v->at.dev == at.dev &&
		    (!ret[0] || strcmp(v->name, ret) < 0))
			str_copy(ret, SLOT_NAME, v->name);
}
