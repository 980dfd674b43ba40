/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was asked and accepted, kept over reboots (DESIGN.md 7).
 *
 * One text file below the state directory, replaced atomically. A record belongs to an identity:
 * where the device sits without bus numbers, its ids, its serial; a VF: its PF's and its index.
 * Each record is applied by itself, once per appearance of its device, through the engine. What
 * others change later is drift: shown, never undone. Thread-safe.
 */
#ifndef PCIDEVFS_INTENT_H
#define PCIDEVFS_INTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "pcidevfs/device.h"

struct engine;
struct err;
struct intents;
struct key;
struct model;
struct out;
struct request;

#define INTENT_FILE "intent"

/* Before the model's changes are dispatched. Reads the state file, which is made when a request is
 * first kept. A damaged one is set aside (its name tells when) and its reason is shown; it never
 * keeps the daemon from starting. An operation that was running in this boot_id, and that no
 * process carries on, leaves its devices stuck until restore has taken it back. */
int intents_open(const char *dir, const char *boot_id, struct model *m, struct intents **ret,
		 struct err *err);
void intents_close(struct intents *in);

/* A claim has ended: what is kept with it goes, as the rows of persist.h say, and what the device
 * had before. */
void intent_end_claim(struct intent *w);

/* struct keeper's keep (txn.h); ctx is the intents. Writes and fsyncs what the model's want fields
 * say now, for pending marked so; -ENOSPC, -EROFS ... with a sentence when the disk refuses. */
int intents_keep(void *ctx, const struct request *requests, size_t n, bool pending,
		 struct err *err);

/* From now on records are applied as their devices appear; the first pass covers what is there.
 * Call once, after the engine has recovered. goes_on: the model was found as a former process left
 * it. */
void intents_restore(struct intents *in, struct engine *e, bool goes_on);
/* Instead: the model says what is stored for the devices that are there, as if all of it held;
 * nothing is applied. For who takes it back. Fails when nothing could be kept, as intents_keep
 * would. */
int intents_note(struct intents *in, struct err *err);
/* After intents_note(): the request that ends the n-th act (from 0) that was interrupted; one that
 * has ended no longer counts. False: there are no more. */
bool intents_interrupted(struct intents *in, unsigned int n, struct request *ret);
/* No further passes; before engine_end(). */
void intents_stop(struct intents *in);
/* A clean end, after engine_end(): claimed devices get back the driver_override they had, so that
 * another owner can take them over. The backend must still be there. */
void intents_lift(struct intents *in);
/* All records that could be applied have been, or ms have passed: for READY=1. */
bool intents_settled(struct intents *in, unsigned int ms);

/* `intents`: a line each: identity, what is requested,
 * state=held|waiting|drifted|refused|mismatch|pending, device now, reason. */
void intents_print(struct intents *in, struct out *o);
/* For health: "state=ok path=..." or what is wrong with it, and what to do. May wait for the disk:
 * not for the FUSE thread. */
void intents_health(struct intents *in, struct out *o);
/* Who finds the state in use is told that it is that of this mount. */
void intents_sign(struct intents *in, const char *mount);
/* Why nothing can be kept in the directory, for people; false: it can, as far as is known. */
bool intents_unusable(struct intents *in, char *ret, size_t size);
/* False, and "": no state file that was set aside is there. Else which, for people. */
bool intents_damaged(struct intents *in, char *ret, size_t size);

/* Who settles what is stored. */
struct settler {
	/* Asked when nothing but the disk can refuse any more: 0, or -errno with the sentence. dev:
	 * whose requests they are or become, NULL where it is not here; owned: its files have
	 * owners. NULL: he may. */
	int (*may)(void *ctx, const struct key *dev, bool owned, struct err *err);
	void *ctx;
	bool again;	/* may() let this very request go before: what it asks for may be done */
	struct key dev; /* out: whose requests were forgotten, where it is here */
	bool root;	/* out: those about the root's own files were */
};
/* ctl's forget and accept: drop the record of an identity as intents prints it; give the record of
 * the device that was here to the mismatch that is here now, or that of a group to all who are in
 * it now. Both wait for the first look at what is here; -EAGAIN when that takes too long. s may be
 * NULL. */
int intents_forget(struct intents *in, const char *identity, struct settler *s, struct err *err);
int intents_accept(struct intents *in, const struct key *dev, struct settler *s, struct err *err);

/* Owner and mode of one file of a device, or (dev NULL) of the root ("" : its directory), as chown
 * and chmod left them. */
struct ownership {
	uid_t uid;
	gid_t gid;
	mode_t mode;
};
/* How files are that were given to nobody: those are no intent, unless their directory is
 * somebody's. is() takes no lock. */
struct owner_default {
	bool (*is)(const void *ctx, const char *file, const struct ownership *owner);
	const void *ctx;
};
/* Kept first; then the nodes of a claimed device change hands, which may fail by itself. A card
 * that came just now may have to be asked for its serial before: blocks as an operation does. */
int intents_set_owner(struct intents *in, const struct key *dev, const char *file,
		      const struct ownership *owner, const struct owner_default *born,
		      struct err *err);
/* Also of a device that came just now, of which no pass has looked for the record yet. */
bool intents_owner(struct intents *in, const struct key *dev, const char *file,
		   struct ownership *ret);
/* Of the device that the request is about, which is not there, and whose parent is. */
bool intents_owner_unborn(struct intents *in, const struct request *about, const char *file,
			  struct ownership *ret);

/* pcidevfsd --early: 1 where a stored request claims a device of these facts, 0 where none does. ret: the driver that had it
 * for the claim, "" where that is not known. pf: of a VF, else NULL. Reads the state file only; no daemon, no mount.
 * -ENOENT: there is none. */
int intents_early(const char *state_dir, const struct device *dev, const struct device *pf,
		  char ret[static DRIVER_NAME], struct err *err);

#endif
