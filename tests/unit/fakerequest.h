/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records, and a model that comes and goes, on an engine with three methods: "claim" takes a device
 * by one step that sets its driver, "sriov_numvfs" by one that only reports that it made VFs,
 * "profile" makes a mediated device of REQUEST_NIC or of a device with its ids. */
#ifndef PCIDEVFS_FAKEREQUEST_H
#define PCIDEVFS_FAKEREQUEST_H

#include <pthread.h>
#include <stdatomic.h>

#include "pcidevfs/err.h"
#include "pcidevfs/intent.h"
#include "pcidevfs/model.h"
#include "pcidevfs/txn.h"

extern struct fakerequest {
	struct model *m;
	struct engine *e;
	struct intents *in;
	void *arena;
	bool goes_on;
	pthread_t hearing;
	_Atomic int ops;
	_Atomic int refuse; /* errno of every operation, 0 none */
	/* Called once: before the next operation is planned, or in the middle of its step. */
	void (*_Atomic before_plan)(void);
	void (*_Atomic in_step)(void);
} fakerequest;

/* Starts a process with the state file in "state"; keep_model: on its predecessor's memory. */
void request_begin(bool keep_model);
void request_end(void);

struct plug {
	const char *name, *path, *driver, *physfn;
	unsigned int device;
	uint64_t serial;
	int group, vf;
};
void request_plug(const struct plug *p);
#define REQUEST_NIC "0000:02:00.0"
extern const struct plug request_nic;
/* The machine boots with one device, and stored intents are applied. */
void request_boot(const struct plug *p);
/* Stores a claim of alice for REQUEST_NIC, then shuts the machine down. */
void request_store_claim(const struct plug *p);
/* Boots with that stored; the kernel refuses it with code, once so far. */
void request_boot_refused(int code);
void request_unplug(const char *name);
/* Waits for the consequences. */
void request_edit(const char *name, void (*change)(struct device *dev));
struct key request_key(const char *name);
/* Returns a copy; zeros if the device does not exist. */
struct device request_state_of(const char *name);
/* Returns the verdict, 0 or -errno. */
int request_ask(const char *name, const char *file, const char *value);
/* Of a transaction. */
int request_ask_all(const struct request *requests, size_t n, struct err *ret);
void request_restore(void);
/* Waits until all changes were heard and nothing runs. */
void request_calm(void);
/* Expects a line of intents with both. */
void request_expect_line(const char *part, const char *state);

#endif
