/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine of plain files below test_dir(): sysfs in sys/, device nodes in dev/, and proc/. */
#ifndef PCIDEVFS_FAKEPCI_H
#define PCIDEVFS_FAKEPCI_H

#include "pcidevfs/backend.h"
#include "pcidevfs/plan.h"

struct device;
struct model;

struct fake {
	const char *address;
	const char *vendor, *device, *class; /* NULL: no such file */
	const char *driver;		     /* NULL: none */
	int group;			     /* negative: none */
};

/* Makes an empty machine with the directories of sysfs. */
void fake_machine(void);
void fake_add(const struct fake *f);
void fake_remove(const char *address);
/* Writes an attribute of a function. */
void fake_attr(const char *address, const char *name, const char *text);
/* Makes pf's virtfn<index> and vf's physfn. */
void fake_virtfn(const char *pf, int index, const char *vf);
struct roots fake_roots(void);

/* A model and a backend that has scanned the machine. */
struct world_fake {
	struct model *model;
	struct backend *backend;
	void *arena;
	int spawner; /* its own, or 0 */
};
struct world_fake fake_open(void);
/* Likewise with a given spawner, which the caller keeps. */
struct world_fake fake_open_by(int spawner);
/* Of an NVIDIA GPU and two VFs, which are no vGPUs and list these types. */
#define FAKE_GPU "0000:3b:00.0"
#define FAKE_VF0 "0000:3b:00.4"
#define FAKE_VF1 "0000:3b:00.5"
struct world_fake fake_vgpu_card(const char *types);
void fake_close(struct world_fake *w);

struct key fake_key(const char *address);
struct request fake_request(const char *address, unsigned int virtfn, const char *file,
		      const char *value);
/* The steps as `plan` prints them, or "ERRNO: sentence". */
const char *fake_plan(struct world_fake *w, const struct request *requests, size_t n, bool predict);
/* Likewise of one request. */
const char *fake_plan_of(struct world_fake *w, const char *address, const char *file,
			 const char *value);
/* The card's driver tells these lines (mig_keep()); the card has these caps as well. */
void fake_told(struct world_fake *w, const char *address, uint32_t caps, const char *lines);
void fake_edit(struct world_fake *w, const char *address, void (*change)(struct device *dev));
/* For fake_edit(). */
void fake_by_alice(struct device *dev);
void fake_by_qemu(struct device *dev);
void fake_to_none(struct device *dev);
#define FAKE_UUID "aaaaaaaa-0000-4000-8000-000000000001"
/* Make it into a mediated device of that name, and back. */
void fake_split(struct device *dev);
void fake_whole(struct device *dev);

#endif
