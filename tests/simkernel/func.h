/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI functions: what they are, their files, VFs, how they come and go. */
#ifndef SIM_FUNC_H
#define SIM_FUNC_H

#include <stdbool.h>
#include <stdint.h>

#include "bus.h"
#include "dev.h"
#include "reaction.h"
#include "rtnetlink.h"

#define ADDR_LEN 16

struct func {
	struct dev dev; /* must be first: func_of() */
	uint32_t domain, rid; /* rid: bus << 8 | device << 3 | function */
	uint16_t vendor, device, sub_vendor, sub_device;
	uint32_t class_code;
	bool bridge;		  /* header type 1 or 2 */
	int enabled;		  /* writes to "enable": ones minus zeros */
	unsigned long vfio_binds; /* how often vfio-pci was bound */

	struct func *pf; /* of a VF */
	unsigned int vf_index;
	struct func **vfs; /* of a PF: total_vfs of them, made when first needed */
	unsigned int total_vfs, num_vfs, vf_offset, vf_stride;
	uint16_t vf_device;
	bool autoprobe;
	struct vf_config config; /* of a VF of a NIC: what the driver of its PF holds */

	struct card *card; /* vgpu.h; of a PF that nvidia has or had */
	struct vgpu *vgpu; /* likewise of a VF */

	struct func *hash_next;
};

/* The function of a device of s->pci; NULL for NULL. */
static inline struct func *func_of(struct dev *d)
{
	return (struct func *)d;
}

#define for_each_func(s, f)                                                                        \
	for (struct func *f = func_of((s)->pci.devs); f; f = func_of(f->dev.next))

/* pci.c */
struct func *func_find(struct sim *s, const char *addr);
bool func_parse(const char *addr, uint32_t *domain, uint32_t *rid);
struct func *func_new(struct sim *s, const struct record *r);
int func_appear(struct sim *s, struct func *f);
void func_vanish(struct sim *s, struct func *f);
/* Those on the buses behind it. */
void func_vanish_below(struct sim *s, struct func *f);
void pci_build(struct sim *s);

/* files.c */
extern const struct reaction func_rows[];

/* pci_bus.c */
extern const struct bus_rules pci_rules;
void pci_rescan(struct sim *s);
/* Serializes removals of functions by a file, and rescans. */
int rescan_lock(struct sim *s);
void rescan_unlock(struct sim *s);

/* pci_driver.c */
extern const struct driver_kind pci_drivers[];
extern const struct reaction pci_driver_rows[];
bool pci_has_id(const struct driver *drv, struct dev *d);
/* What most drivers do. */
int pci_host_probe(struct sim *s, struct dev *d);
int pci_host_remove(struct sim *s, struct dev *d);
/* Binds the driver that the function had when it was recorded. */
int pci_attach_recorded(struct sim *s, struct func *f);

/* vmd.c */
int vmd_probe(struct sim *s, struct dev *d);
int vmd_remove(struct sim *s, struct dev *d);

/* sriov.c */
extern const struct reaction sriov_rows[];
void sriov_init(struct sim *s, struct func *f);
void sriov_links(struct sim *s, struct func *f);
/* The device lock of the PF must be held. */
int sriov_enable(struct sim *s, struct func *pf, unsigned int n);
int sriov_disable(struct sim *s, struct func *pf);

/* plug.c: by command, like plugging by hand */
int plug(struct sim *s, const char *addr, const char *from);
int unplug(struct sim *s, const char *addr);
/* A file of the firmware or the kernel itself, which no recording has. */
int make_file(struct sim *s, const char *path);
/* A module without a driver is loaded, or unloaded. */
int plug_module(struct sim *s, const char *name, bool on);
/* Makes config space read all ones, or as recorded again. */
int func_mute(struct sim *s, const char *addr, bool on);
/* Adds more functions than any recording has, some in domains above 16 bits. */
int plug_many(struct sim *s, unsigned int n);

#endif
