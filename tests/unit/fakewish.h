/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records, and a model that comes and goes, on an engine with two methods: "claim" takes a device
 * by one step that sets its driver, "sriov_numvfs" by one that only reports that it made VFs. */
#ifndef PCIDEVFS_FAKEWISH_H
#define PCIDEVFS_FAKEWISH_H

#include <pthread.h>
#include <stdatomic.h>

#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"

extern struct fakewish {
	struct model *m;
	struct engine *e;
	struct intents *in;
	void *arena;
	bool goes_on;
	pthread_t hearing;
	_Atomic int acts;
	_Atomic int refuse; /* errno of every operation, 0 none */
	/* Called once: before the next operation is planned, or in the middle of its step. */
	void (*_Atomic before_plan)(void);
	void (*_Atomic in_step)(void);
} fakewish;

/* Starts a process with the state file in "state"; keep_model: on its predecessor's memory. */
void wish_begin(bool keep_model);
void wish_end(void);

struct plug {
	const char *name, *path, *driver, *physfn;
	unsigned int device;
	uint64_t serial;
	int group, vf;
};
void wish_plug(const struct plug *p);
#define WISH_NIC "0000:02:00.0"
extern const struct plug wish_nic;
/* The machine boots with one device, and stored intents are applied. */
void wish_boot(const struct plug *p);
/* Stores a claim of alice for WISH_NIC, then shuts the machine down. */
void wish_store_claim(const struct plug *p);
/* Boots with that stored; the kernel refuses it with code, once so far. */
void wish_boot_refused(int code);
void wish_unplug(const char *name);
/* Waits for the consequences. */
void wish_edit(const char *name, void (*change)(struct device *dev));
struct key wish_key(const char *name);
/* Returns a copy; zeros if the device does not exist. */
struct device wish_state_of(const char *name);
/* Returns the verdict, 0 or -errno. */
int wish_ask(const char *name, const char *file, const char *value);
void wish_restore(void);
/* Waits until all changes were heard and nothing runs. */
void wish_calm(void);
/* Expects a line of intents with both. */
void wish_expect_line(const char *part, const char *state);

#endif
