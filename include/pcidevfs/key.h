/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The name of an object: { bus, name }. Every name that comes from outside goes through here before
 * it becomes part of a path. */
#ifndef PCIDEVFS_KEY_H
#define PCIDEVFS_KEY_H

#include <stdbool.h>
#include <stdint.h>

enum bus { BUS_NONE, BUS_PCI, BUS_MDEV, BUS_USB, BUS_COUNT };

#define KEY_NAME 48

struct key {
	enum bus bus;
	char name[KEY_NAME]; /* "0000:08:00.4", UUID in lower case, "2-1.3" */
};

/* domain has 16 bits, or up to 32 behind Intel VMD ("10000:e1:00.0") */
struct pci_addr {
	uint32_t domain;
	uint8_t bus, dev, fn;
};

/* Exactly the kernel's spelling (%04x:%02x:%02x.%d, lower case); false otherwise, ret untouched. */
bool pci_addr_parse(const char *text, struct pci_addr *ret);

/* False if the name is not valid for the bus. No other function makes a key from text. */
bool key_make(enum bus bus, const char *name, struct key *ret);

/* The id that inventory, events and ctl use: "0000:08:00.4", "usb/2-1", "mdev/<uuid>". */
bool key_parse(const char *id, struct key *ret);
#define KEY_HINT 64
/* The way out for a person whose text is not an id: "did you mean 0000:07:00.0?" for the 07:00.0 of
 * lspci, else an example. */
const char *key_hint(const char *text, char buf[static KEY_HINT]);
const char *key_id(const struct key *key, char buf[static KEY_NAME + 8]);

/* The kernel's name of the bus: the link "subsystem" in a device's sysfs directory leads there.
 * NULL if the directory's name is enough, because no other bus has such names. */
const char *bus_subsystem(enum bus bus);

/* A random one (version 4), a name for a mediated device. */
void key_random_uuid(char buf[static KEY_NAME]);

/* Does its parent make it under a name known in advance? Then the name and the parent are its
 * identity. */
bool key_is_made(const struct key *key);

/* Does it have other nodes each time it is plugged in, even in the same place? */
bool key_is_renumbered(const struct key *key);

/* Why a device with this key is not offered to kubelet, or NULL. */
const char *key_withheld(const struct key *key);

/* Is it one that key_make() would make? For a key from memory that others could write. */
bool key_valid(const struct key *key);

bool key_eq(const struct key *a, const struct key *b);
/* By bus, then by name. */
int key_cmp(const struct key *a, const struct key *b);
uint32_t key_hash(const struct key *key);

#endif
